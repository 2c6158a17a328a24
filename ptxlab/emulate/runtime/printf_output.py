"""The output of `printf` and `assert`, read from the buffers that the program has filled."""

from __future__ import annotations

import functools
import re

from ptxlab.emulate.program.addresses import ASSERTED, BUFFER, GRID_NAME, HEADER, PRINTED
from ptxlab.emulate.program.printf import Message, formatted
from ptxlab.emulate.program.program import Program
from ptxlab.emulate.runtime.memory import Memory
from ptxlab.errors import DeviceFault

LONGEST = 16 << 20
"""Characters that a launch prints: a format may ask for two billion blanks."""


def messages(program: Program, memory: Memory) -> list[Message]:
    """The output of the threads, in order."""
    system = program.system
    buffer = memory.find(system.printf) if system.printf else None
    if buffer is None:
        return []
    record = PRINTED.itemsize + 4 * system.words
    count, left = int(buffer.data[: HEADER.itemsize].view(HEADER)["taken"][0]), LONGEST
    found, string = list[Message](), functools.partial(read_string, memory)
    for k in range(min(count, BUFFER // record)):
        if left <= 0:
            break
        raw = buffer.data[HEADER.itemsize + k * record :][:record]
        head = raw[: PRINTED.itemsize].view(PRINTED)[0]
        text = read_string(memory, int(head["format"]))
        said = formatted(text, raw[PRINTED.itemsize :].tobytes(), string, left)
        left -= len(said)
        block, thread = ((int(x), int(y), int(z)) for x, y, z in (head["block"], head["thread"]))
        found.append(Message(block, thread, said))
    if count > len(found):
        what = "did not fit into printf's buffer of" if left > 0 else "are left out: there is text of"
        lost = f"... and {count - len(found):,} more that {what} {(BUFFER if left > 0 else LONGEST) >> 20} MiB\n"
        found.append(Message((0, 0, 0), (0, 0, 0), lost))
    return found


def read_string(memory: Memory, address: int, most: int = LONGEST) -> str:
    """The text at a device address, up to its 0 or the end of its allocation: `most` bytes at most."""
    found = memory.find(address)
    if found is None:
        return f"({address:#x}, no address of global memory)" if address else "(null)"
    at, size, raw = address - found.address, 0, b""
    while b"\0" not in raw and size < min(most, found.data.size - at):
        size = min(max(64, 8 * size), most)  # allocations are large, and most texts are short
        raw = found.data[at : at + size].tobytes()
    return raw.partition(b"\0")[0].decode(errors="replace")


def assertion(program: Program, memory: Memory, stopped: DeviceFault) -> DeviceFault:
    """The fault with the message of the failed assertion; another fault is returned as it is."""
    for line, record in program.system.asserts:
        found = memory.find(record)
        if stopped.kind != "trap" or stopped.line != line or found is None or not found.data.any():
            continue
        text, file, number, function = (int(n) for n in found.data.view(ASSERTED)[0])
        name = re.split(r"[/\\]", read_string(memory, file))[-1]
        message = f"{name}:{number & 0xFFFFFFFF}: {read_string(memory, function)}: "
        message += f"Assertion `{read_string(memory, text)}` failed"
        where = {name: getattr(stopped, name) for name in ("kernel", "block", "thread", "source", "span")}
        return DeviceFault("assert", message, line=line, **where)
    return stopped


def hint_at_grid(program: Program, stopped: DeviceFault) -> None:
    """Says what a kernel may lack that asks for its cooperative grid and stops, in a launch that has none."""
    if stopped.kind == "trap" and any(v.name == GRID_NAME for v in program.globals):
        stopped.hint = "a barrier of the whole grid (this_grid().sync()) needs cooperative=True"
        stopped.args = (stopped.render(),)
