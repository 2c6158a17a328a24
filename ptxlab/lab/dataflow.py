"""Which PTX lines made what: the lines behind m, l and rescale, and the parameter that each memory access goes to.

Both follow registers from definition to use without running anything, and without regard to the order of the lines: a
register that is written in several places has all of them as its definitions.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any

from ptxlab.builder.probes import PARAMETER
from ptxlab.text.model import Address, Instruction, Module, Name, Operand, Pair, Vector

SERIES = ("m", "l", "rescale")
_MADE_BY = {"m": ("max", "redux"), "l": ("fma", "add", "mad"), "rescale": ("ex2",)}
"""The opcodes that make each number; what only passes it on (moves, conversions, factors) is looked through."""
_NAMES = {"m": ("row_max", "new_max"), "l": ("row_sum", "total"), "rescale": ("rescale",)}
_LOOKED_THROUGH = frozenset({"mov", "cvt", "mul", "selp", "shfl", "neg", "add", "fma", "max"})
_CARRIES = {
    "mov": (1,),
    "cvta": (1,),
    "add": (1, 2),
    "sub": (1,),
    "mad": (3,),
    "selp": (1, 2),
    "cvt": (1,),
    "or": (1, 2),
}
"""Opcode -> the operands through which an address comes out changed but still of the same array."""
_ACCESSES = frozenset({"ld", "st", "ldu", "atom", "red", "cp", "wmma", "prefetch"})


def registers(operand: Operand) -> Iterator[str]:
    """The names in an operand."""
    if isinstance(operand, Name):
        yield operand.text
    elif isinstance(operand, Vector):
        for element in operand.elements:
            yield from registers(element)
    elif isinstance(operand, Pair):
        yield from registers(operand.first)
        yield from registers(operand.second)
    elif isinstance(operand, Address):
        yield from registers(operand.base)
        if operand.register_offset is not None:
            yield operand.register_offset.text


def definitions(module: Module) -> dict[str, list[Instruction]]:
    """Register -> the instructions that write it."""
    out: dict[str, list[Instruction]] = defaultdict(list)
    for instruction in _instructions(module):
        if instruction.operands and instruction.name not in ("st", "red", "bra", "ret", "bar"):
            for name in registers(instruction.operands[0]):
                out[name].append(instruction)
    return out


def _instructions(module: Module) -> Iterator[Instruction]:
    for function in module.functions:
        yield from function.instructions()


# -- what made m, l and rescale ----------------------------------------------------------------------------------------


def makers(probed: Module, plain: Module) -> dict[str, list[int]]:
    """{m, l, rescale} -> the lines of `plain` that make them: what `probed`, the build with probes, stores to its probe
    buffer is followed back to the instruction that computed it, and found again in the build without."""
    defined = definitions(probed)
    stores = sorted(
        (i for i, names in accesses(probed).items() if PARAMETER in names and i.name == "st"), key=lambda i: i.line
    )
    home: dict[tuple[Any, str], list[int]] = defaultdict(list)
    for instruction in _instructions(plain):
        home[plain.spans.get(instruction.line), instruction.opcode].append(instruction.line)
    shared = [r for i in _instructions(probed) if i.opcode.startswith("st.shared") for r in registers(i.operands[1])]
    out: dict[str, list[int]] = {}
    for n, name in enumerate(SERIES):
        found: set[int] = set()
        for store in stores[n::3]:
            found.update(_origin(store.operands[1], name, defined, shared, lambda i: home.get(_key(probed, i), [])))
        out[name] = sorted(found or _named(plain, name))
    return out


def _named(plain: Module, name: str) -> set[int]:
    """Where only the probes compute a number: the instructions of its kind whose result is called by its name."""
    return {
        i.line
        for i in _instructions(plain)
        if i.name in _MADE_BY[name] and re.sub(r"(_?\d+)+$", "", next(registers(i.operands[0]), "")[1:]) in _NAMES[name]
    }


def _key(module: Module, instruction: Instruction) -> tuple[Any, str]:
    return module.spans.get(instruction.line), instruction.opcode


def _origin(
    stored: Operand,
    name: str,
    defined: dict[str, list[Instruction]],
    shared: list[str],
    home: Callable[[Instruction], list[int]],
) -> set[int]:
    """The lines, as `home` knows them, of the nearest instructions that make this number on the way to a stored value;
    where there is none, of what first defined it. Behind a load from shared memory comes what is stored there."""
    front, seen, nearest = list(registers(stored)), set[str](), set[int]()
    while front:
        found, behind = set[int](), list[str]()
        for register in front:
            for made in defined.get(register, []):
                lines = home(made)
                if lines and not nearest:
                    nearest = set(lines)
                if lines and made.name in _MADE_BY[name]:
                    found.update(lines)
                elif made.opcode.startswith("ld.shared") and name != "l":
                    behind += shared
                elif made.name in _LOOKED_THROUGH and made.opcode.endswith((".f32", ".f64", ".b32")):
                    reads = made.operands[1:2] if made.name == "mul" and name != "rescale" else made.operands[1:]
                    behind += [r for operand in reads for r in registers(operand)]
        if found:
            return found
        seen.update(front)
        front = [r for r in dict.fromkeys(behind) if r not in seen]
    return nearest


# -- what an access touches --------------------------------------------------------------------------------------------


def accesses(module: Module) -> dict[Instruction, list[str]]:
    """Each access to memory whose address comes from pointer parameters, with their names."""
    comes_from: dict[str, set[str]] = defaultdict(set)
    steps: list[tuple[str, list[str]]] = []
    for instruction in _instructions(module):
        if len(instruction.operands) < 2:
            continue
        written = list(registers(instruction.operands[0]))
        if instruction.opcode.startswith("ld.param") and isinstance(instruction.operands[1], Address):
            for register in written:
                comes_from[register].update(registers(instruction.operands[1].base))
        elif instruction.name in _CARRIES:
            read = [
                r
                for n in _CARRIES[instruction.name]
                if n < len(instruction.operands)
                for r in registers(instruction.operands[n])
            ]
            steps += [(register, read) for register in written]
    changed = True
    while changed:
        changed = False
        for register, read in steps:
            new = set[str]().union(*(comes_from[r] for r in read if r in comes_from))
            if not new <= comes_from[register]:
                comes_from[register] |= new
                changed = True
    out = {}
    for instruction in _instructions(module):
        if instruction.name not in _ACCESSES or ".param" in instruction.opcode or ".shared" in instruction.opcode[:10]:
            continue
        bases = [r for o in instruction.operands if isinstance(o, Address) for r in registers(o.base)]
        names = sorted(set[str]().union(*(comes_from.get(r, set()) for r in bases)))
        if names:
            out[instruction] = names
    return out


def touched(accesses: dict[Instruction, list[str]]) -> dict[int, str]:
    """Line -> the parameters that its access goes to, `key` or `key or value`."""
    return {i.line: " or ".join(names) for i, names in accesses.items()}


def stores_of(accesses: dict[Instruction, list[str]], parameter: str) -> list[list[int]]:
    """[line, offset, bytes] of each store to the array of a parameter, in order; offsets are those in the text."""
    out = []
    for instruction, names in accesses.items():
        address = next((o for o in instruction.operands if isinstance(o, Address)), None)
        if parameter in names and instruction.name in ("st", "wmma") and address is not None:
            if instruction.name == "wmma" and ".store" not in instruction.opcode:
                continue
            out.append([instruction.line, address.offset, _bytes(instruction.opcode)])
    return sorted(out)


def _bytes(opcode: str) -> int:
    """How many bytes a store of this opcode writes."""
    words = opcode.split(".")
    width = next(
        (int(w[1:]) for w in reversed(words) if w[1:].isdigit() and w[0] in "bufs"), 16 if "bf16" in words else 0
    )
    return width // 8 * next((int(w[1:]) for w in words if w in ("v2", "v4", "v8")), 1)
