"""Which PTX lines made what: the lines of m, l and rescale, and the parameter that each memory access goes to.

Both follow registers from definition to use without running anything, and without regard to the order of the lines: a
register that is written in several places has all of them as its definitions.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any

from ptxlab.builder.probes import PARAMETER
from ptxlab.isa import Action, action_of, find_form
from ptxlab.isa.opcodes import writes_first
from ptxlab.text.model import Address, Instruction, Module, Operand
from ptxlab.text.statement_parts import names_in

SERIES = ("m", "l", "rescale")
_MADE_BY = {
    "m": (Action.MAXIMUM, Action.REDUCE_LANES),
    "l": (Action.MULTIPLY_ADD, Action.ADD),
    "rescale": (Action.EXPONENTIAL,),
}
"""What makes each number; what only passes it on (moves, conversions, factors) is looked through."""
_NAMES = {"m": ("row_max", "new_max"), "l": ("row_sum", "total"), "rescale": ("rescale",)}
_LOOKED_THROUGH = frozenset(
    {
        Action.MOVE,
        Action.CONVERT,
        Action.MULTIPLY,
        Action.SELECT,
        Action.SHUFFLE,
        Action.CHANGE_SIGN,
        Action.ADD,
        Action.MULTIPLY_ADD,
        Action.MAXIMUM,
    }
)
_CARRIES: dict[Action | None, tuple[int, ...]] = {
    Action.MOVE: (1,),
    Action.CONVERT_ADDRESS: (1,),
    Action.ADD: (1, 2),
    Action.SUBTRACT: (1,),
    Action.MULTIPLY_ADD: (3,),
    Action.SELECT: (1, 2),
    Action.CONVERT: (1,),
    Action.OR: (1, 2),
}
"""What an instruction does -> the operands through which an address comes out changed but still of the same array."""


def definitions(module: Module) -> dict[str, list[Instruction]]:
    """Register -> the instructions that write it."""
    out: dict[str, list[Instruction]] = defaultdict(list)
    for instruction in _instructions(module):
        if instruction.operands and writes_first(instruction.opcode):
            for name in names_in(instruction.operands[0]):
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
        (i for i, names in accesses(probed).items() if PARAMETER in names and action_of(i.opcode) is Action.STORE),
        key=lambda i: i.line,
    )
    home: dict[tuple[Any, str], list[int]] = defaultdict(list)
    for instruction in _instructions(plain):
        home[plain.spans.get(instruction.line), instruction.opcode].append(instruction.line)
    shared = [r for i in _instructions(probed) if _goes(i, Action.STORE, "shared") for r in names_in(i.operands[1])]
    out: dict[str, list[int]] = {}
    for n, name in enumerate(SERIES):
        found: set[int] = set()
        for store in stores[n::3]:
            found.update(_origin(store.operands[1], name, defined, shared, lambda i: home.get(_key(probed, i), [])))
        out[name] = sorted(found or _named(plain, name))
    return out


def scaled_by(module: Module, lines: list[int]) -> list[int]:
    """The lines that multiply something with what `lines` compute, directly or after a move or a shuffle: of the
    rescale factor, where the output row is scaled."""
    carried = {r for i in _instructions(module) if i.line in lines for r in names_in(i.operands[0])}
    out: list[int] = []
    for instruction in _instructions(module):
        does = action_of(instruction.opcode)
        read = {r for operand in instruction.operands[1:] for r in names_in(operand)} & carried
        if read and does in (Action.MOVE, Action.SHUFFLE):
            carried.update(names_in(instruction.operands[0]))
        elif read and does is Action.MULTIPLY:
            out.append(instruction.line)
    return out


def _named(plain: Module, name: str) -> set[int]:
    """Where only the probes compute a number: the instructions of its kind whose result is called by its name."""
    return {
        i.line
        for i in _instructions(plain)
        if action_of(i.opcode) in _MADE_BY[name]
        and re.sub(r"(_?\d+)+$", "", next(names_in(i.operands[0]), "")[1:]) in _NAMES[name]
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
    where there is none, of what first defined it. After a load from shared memory comes what is stored there."""
    front, seen, nearest = list(names_in(stored)), set[str](), set[int]()
    while front:
        found, behind = set[int](), list[str]()
        for register in front:
            for made in defined.get(register, []):
                lines, does = home(made), action_of(made.opcode)
                if lines and not nearest:
                    nearest = set(lines)
                if lines and does in _MADE_BY[name]:
                    found.update(lines)
                elif _goes(made, Action.LOAD, "shared") and name != "l":
                    behind += shared
                elif does in _LOOKED_THROUGH and made.opcode.endswith((".f32", ".f64", ".b32")):
                    reads = made.operands[1:2] if does is Action.MULTIPLY and name != "rescale" else made.operands[1:]
                    behind += [r for operand in reads for r in names_in(operand)]
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
        written = list(names_in(instruction.operands[0]))
        carries = _CARRIES.get(action_of(instruction.opcode), ())
        if _goes(instruction, Action.LOAD, "param") and isinstance(instruction.operands[1], Address):
            for register in written:
                comes_from[register].update(names_in(instruction.operands[1].base))
        elif carries:
            read = [r for n in carries if n < len(instruction.operands) for r in names_in(instruction.operands[n])]
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
        if not _may_be_global(instruction):
            continue
        bases = [r for o in instruction.operands if isinstance(o, Address) for r in names_in(o.base)]
        names = sorted(set[str]().union(*(comes_from.get(r, set()) for r in bases)))
        if names:
            out[instruction] = names
    return out


def _goes(instruction: Instruction, action: Action, space: str) -> bool:
    """Whether an instruction loads from, or stores to, a state space that its opcode names."""
    known = find_form(instruction.opcode)
    return known is not None and known.op.does is action and known.properties.space == space


def _may_be_global(instruction: Instruction) -> bool:
    """Whether an instruction goes to global memory, or may."""
    known = find_form(instruction.opcode)
    if known is None or known.properties.rows or known.properties.mbarrier:
        return False
    p = known.properties
    if p.action in (Action.COPY, Action.COPY_REDUCE, Action.PREFETCH_TILE):  # between global and shared memory
        return True
    return (p.loads or p.stores or p.action is Action.PREFETCH) and p.space not in ("param", "shared")


def touched(accesses: dict[Instruction, list[str]]) -> dict[int, str]:
    """Line -> the parameters that its access goes to, `key` or `key or value`."""
    return {i.line: " or ".join(names) for i, names in accesses.items()}


def stores_of(accesses: dict[Instruction, list[str]], parameter: str) -> list[list[int]]:
    """[line, offset, bytes] of each store to the array of a parameter, in order; offsets are those in the text."""
    out = []
    for instruction, names in accesses.items():
        address = next((o for o in instruction.operands if isinstance(o, Address)), None)
        stores = action_of(instruction.opcode) in (Action.STORE, Action.STORE_FRAGMENT)
        if parameter in names and stores and address is not None:
            out.append([instruction.line, address.offset, _bytes(instruction.opcode)])
    return sorted(out)


def _bytes(opcode: str) -> int:
    """How many bytes a store of this opcode writes."""
    words = opcode.split(".")
    width = next(
        (int(w[1:]) for w in reversed(words) if w[1:].isdigit() and w[0] in "bufs"), 16 if "bf16" in words else 0
    )
    return width // 8 * next((int(w[1:]) for w in words if w in ("v2", "v4", "v8")), 1)
