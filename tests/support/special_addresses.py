"""Every form that touches memory, at addresses where something may go wrong: 0, powers of two, the ends of everything.

`programs(opcode)` are kernels around one instruction, which differ in how the address under test comes to it;
`outcome` runs one on an engine and says all that can be seen of it.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator

import numpy as np

from ptxlab.emulate import Memory, execute
from ptxlab.emulate.program.addresses import (
    GLOBALS_BASE,
    HEAP_BASE,
    LOCAL_WINDOW,
    PARAM_WINDOW,
    SHARED_WINDOW,
    WINDOW_SIZE,
)
from ptxlab.errors import DeviceFault
from ptxlab.isa import examples, form
from ptxlab.isa.actions import SAMPLERS
from ptxlab.isa.table import all_ops
from ptxlab.text import Module, parse
from ptxlab.text.validate import validate

SIZE, SHARED, LOCAL, PARAMS, TABLE = 256, 1024, 64, 32, 64
"""Bytes of each of the two arrays, of shared and local memory, of the parameters, and of the constant table."""
SECOND = HEAP_BASE + 4608
"""Where the second array lies: behind the first and its guard gap."""
WORD = 1 << 64

_ENDS = [
    (HEAP_BASE, SIZE), (SECOND, SIZE), (GLOBALS_BASE, TABLE), (0, SHARED), (0, LOCAL), (0, PARAMS), (1024, SHARED),
    *((window, size) for window in (SHARED_WINDOW, LOCAL_WINDOW, PARAM_WINDOW)
      for size in (WINDOW_SIZE, SHARED, LOCAL, PARAMS)),
    (SHARED_WINDOW + 1024, SHARED),
]  # fmt: skip
POWERS = sorted(
    {
        n % WORD
        for power in (31, 32, 47, 48, 63, 64)
        for n in (*range((1 << power) - 1, (1 << power) + 2), (1 << power) - 16, (1 << power) - 8, (1 << power) - 4)
    }
    | {0, 1, 4, 16}
)
ENDS = sorted(
    {
        n % WORD
        for start, size in _ENDS
        for end in (start, start + size)
        for n in (end - 16, end - 8, end - 4, end - 1, end, end + 1, end + 16)
    }
)
ADDRESSES = sorted({*POWERS, *ENDS})
FEW = [0, 1, 1 << 31, 1 << 32, (1 << 63) - 1, 1 << 63, WORD - 16, WORD - 1, HEAP_BASE, HEAP_BASE + SIZE - 16,
       HEAP_BASE + SIZE, SHARED_WINDOW, SHARED_WINDOW + 2048, LOCAL_WINDOW + LOCAL, PARAM_WINDOW + PARAMS,
       2048]  # fmt: skip
"""For the run at every change."""


def opcodes() -> list[str]:
    """Every opcode with an address that the emulator executes: each word of each slot once."""
    found: dict[str, None] = {}
    for entry in all_ops():
        if entry.executed and any(s.type == "addr" for s in entry.operands):
            found |= dict.fromkeys(examples.opcodes(entry))
    return list(found)


def forms() -> dict[str, list[str]]:
    """The same by the name of the instruction."""
    found: dict[str, list[str]] = {}
    for opcode in opcodes():
        found.setdefault(opcode.partition(".")[0], []).append(opcode)
    return found


SHAPES = {
    "one address": "[%at]", "one address of 32 bits": "[%low]", "an offset": "[%less+64]", "below": "[%more+-64]",
    "one lane of 32": "[%mixed]", "one lane of 32, an offset": "[%mixed_less+64]", "a row": "[%row]",
    "a row of 32 bits": "[%low_row]", "32 bits and an offset": "[%low_less+64]", "32 bits and below": "[%low_more+-64]",
    "a row of 32 bits and an offset": "[%low_row_less+64]",
}  # fmt: skip
"""How the address comes to the instruction."""
HANDLES = ("one address", "one lane of 32", "a row")
"""The same for the handle of a texture or surface, which has no offset and no 32 bits."""


def programs(opcode: str) -> Iterator[tuple[str, str]]:
    """A kernel for each way the address may come, and for each of the instruction's addresses; its name, its text."""
    line = examples.line(opcode)
    places = [m.span() for m in re.finditer(r"\[[^\],]*\]?", line)]  # of `[map, {x, y}]` the coordinates stay
    handle = form(opcode).properties.action in SAMPLERS

    def put(shape: str, start: int, end: int) -> str:
        return line[:start] + (shape if line[end - 1] == "]" else shape.removesuffix("]")) + line[end:]

    for number, place in enumerate(places):
        for shape in HANDLES if handle else SHAPES:
            made = text(put(SHAPES[shape], *place), opcode)
            if "32 bits" not in shape or not validate(parse(made)):  # from sm_90 on shared memory alone has such ones
                yield f"{opcode}, address {number}, {shape}", made
    mixed, at = put("[%mixed]", *places[0]), put("[%at]", *places[0])
    yield f"{opcode}, in a branch", text(f"@!%five bra SKIP; {mixed} SKIP:", opcode)
    yield f"{opcode}, not executed", text(f"@%p8 {at}", opcode)


def text(line: str, opcode: str) -> str:
    """A kernel that executes a line and stores the registers that it may have written."""
    results = [f"st.global.b32 [%out+{4 * k}], %r{k + 1};" for k in range(4)]
    results += [f"st.global.b64 [%out+{32 + 8 * k}], %rd{k + 1};" for k in range(4)]
    results += [f"st.global.f32 [%out+{96 + 4 * k}], %f{k + 1};" for k in range(4)]
    if opcode.startswith(("ld.global.b", "ld.u")):  # what nobody reads is looked at all the same
        results = []
    return f""".version 8.8
.target sm_100a
.address_size 64
.const .align 16 .b8 table[{TABLE}] = {{{", ".join(str(n) for n in range(TABLE))}}};
.visible .entry k(.param .u64 input, .param .u64 result, .param .u64 address, .param .u64 good)
{{
{examples.DECLARATIONS}
.reg .b64 %out, %at, %less, %more, %mixed, %mixed_less, %row, %wide, %good;
.reg .b32 %low, %low_less, %low_more, %low_row, %low_row_less, %lane; .reg .pred %five;
    mov.u32 %lane, %tid.x;
    ld.param.u64 %rd1, [input];
    ld.param.u64 %out, [result];
    mad.wide.u32 %out, %lane, 128, %out;
    ld.param.u64 %at, [address];
    ld.param.u64 %good, [good];
    sub.u64 %less, %at, 64; add.u64 %more, %at, 64; setp.eq.u32 %five, %lane, 5;
    selp.b64 %mixed, %at, %good, %five; sub.u64 %mixed_less, %mixed, 64; cvt.u64.u32 %wide, %lane;
    mad.lo.u64 %row, %wide, 16, %at; cvt.u32.u64 %low, %at; sub.u32 %low_less, %low, 64;
    add.u32 %low_more, %low, 64; mad.lo.u32 %low_row, %lane, 16, %low;
    sub.u32 %low_row_less, %low_row, 64;
    {line}
    {" ".join(results)}
done:
    ret;
}}
"""


def good(opcode: str, place: int = 0) -> int:
    """An address that an instruction may have in its space."""
    found = opcode.partition(".")[0]
    if found in ("cp", "mbarrier", "ldmatrix", "stmatrix"):
        return 1024
    words = opcode.replace("::", ".").split(".")
    return {"shared": 1024, "local": 0, "param": 0, "const": GLOBALS_BASE}.get(
        next((w for w in words if w in ("shared", "local", "param", "const")), ""), HEAP_BASE
    )


@functools.lru_cache(maxsize=4)
def parsed(kernel: str) -> Module:
    return parse(kernel)


def outcome(engine: str, kernel: str, address: int, good: int) -> tuple[object, ...]:
    """What an engine makes of it: the fault with its line, address and thread, or what lies in memory afterwards."""
    memory = Memory()
    first = memory.allocate(SIZE, "x", np.arange(SIZE, dtype=np.uint8))
    second = memory.allocate(SIZE, "y", np.arange(SIZE, dtype=np.uint8)[::-1].copy())
    result = memory.allocate(32 * 128, "result")
    assert (first.address, second.address) == (HEAP_BASE, SECOND)
    params = np.array([first.address, result.address, address, good], np.uint64).tobytes()
    try:
        execute(
            parsed(kernel), "k", engine=engine, grid=(1,), block=(32,), params=params, memory=memory, workers=1,
            budget=10_000,
        )  # fmt: skip
    except DeviceFault as fault:
        return fault.kind, fault.line, fault.address, fault.block, fault.thread, fault.message
    return "ran", first.data.tobytes(), second.data.tobytes(), result.data.tobytes()
