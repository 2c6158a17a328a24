"""Groups of accesses of a basic block that share a check: from one base, with constant offsets that are close."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from ptxlab.emulate.jit.affine.values import Affine
from ptxlab.emulate.jit.llvm.values import BITS, Value
from ptxlab.emulate.program.flat_program import Block, Code, Literal, Mem, Reg, Symbol
from ptxlab.emulate.program.liveness import writes
from ptxlab.emulate.program.program import Program
from ptxlab.emulate.rules.records import CONTIGUOUS, HALVES_CONTIGUOUS, HALVES_UNIFORM, UNIFORM, WITH_GAPS
from ptxlab.emulate.runtime.memory import GUARD
from ptxlab.isa import types
from ptxlab.isa.actions import Action

STRIDED = WITH_GAPS + 1
"""All lanes are active, and each is as many bytes behind the one before."""
ALL_CONTIGUOUS = (CONTIGUOUS, HALVES_CONTIGUOUS)
ALL_UNIFORM = (UNIFORM, HALVES_UNIFORM)


@dataclass(eq=False, repr=False)
class AccessGroup:
    """Accesses of one basic block that share a check: members (code index, offset, bytes), the lowest offset, the bytes
    spanned, and log2 of the strictest alignment.

    The rest is filled in where the first member is emitted. address: the lowest of each lane, a vector or affine, or
    one for all, an i64. Where all lanes have one, `pointer` is the host's for it; else it is for `start`, a device
    address where an allocation begins. written: initcheck's record of it, an i64, as `pointer`. pattern: of the lanes'
    addresses, an i32; patterns: those that there may be. halves: the offsets from `start` of the first lane of each
    half-warp, two i64. stride: bytes from each lane to the next, an i64, if the pattern may be `STRIDED`."""

    site: int
    low: int
    span: int
    log2: int
    write: bool
    members: list[tuple[int, int, int]] = field(default_factory=list)
    address: Value | None = None
    pointer: str = ""
    start: str = ""
    written: str = ""
    pattern: str = ""
    patterns: frozenset[int] = frozenset()
    halves: tuple[str, str] = ("", "")
    stride: str = ""

    @property
    def lanes(self) -> Affine | None:
        """The addresses, if they are affine."""
        return self.address if isinstance(self.address, Affine) else None


@dataclass(frozen=True, eq=False, repr=False)
class Seen:
    """An access whose addresses have been checked, as instruments and the transfer of its data see it.

    The active lanes access `size` bytes each, `count` elements of type `lane`, at `group.address + offset`. uniform:
    all lanes at the same address. Addresses are device addresses, offsets for shared. stored: the values of a store.
    """

    code: Code
    group: AccessGroup
    offset: int
    lane: str
    count: int
    size: int
    uniform: bool
    stored: tuple[Value, ...] | None

    @property
    def step(self) -> int:
        return self.size // self.count

    @property
    def write(self) -> bool:
        return self.stored is not None


def access_shape(code: Code) -> tuple[str, int, int]:
    """The lane type, the number of elements and the bytes of a plain load or store."""
    form = code.form
    lane = types.lane(form.type)
    count = int(form.vec[1:]) if form.vec else 1
    return lane, count, count * BITS[lane] // 8


def judged_anew(program: Program, code: Code) -> bool:
    """Whether an access may be to a heap whose pieces the program frees, which is judged for each lane."""
    return code.space == "global" and program.system.given != 0


def sites_of(program: Program) -> dict[int, int]:
    """The site of each instruction that has one; accesses that share a check have that of the first of them.

    All functions of a program use the same sites, while one may lack blocks that another has several times. What a site
    caches holds for accesses of one size only, so a site belongs to the same instructions in all of them."""
    found = program.found.get(sites_of)
    if not isinstance(found, dict):
        codes = [c for c in program.codes if c.properties.plain or c.properties.atomic or c.properties.lane_copy]
        found = {code.index: site for site, code in enumerate(c for c in codes if c.space not in ("local", "frame"))}
        program.found[sites_of] = found
    return found


class Place(NamedTuple):
    """Where an access goes: what it is relative to, and how many bytes behind that. Accesses of a block that are
    relative to the same are so far from each other."""

    root: object
    offset: int


def place_of(program: Program, code: Code) -> Place:
    """Where a plain access goes. A register to which the block has added numbers counts as the one that it began with:
    compilers write `add.s32 %r2, %r1, -4; ld.shared.u32 %r3, [%r2+8]`."""
    found = program.found.get(place_of)
    if not isinstance(found, dict):
        found = {index: place for block in program.blocks for index, place in _places(program, block).items()}
        program.found[place_of] = found
    place: Place = found[code.index]
    return place


def _places(program: Program, block: Block) -> dict[int, Place]:
    versions: dict[int, int] = {}
    moved: dict[int, Place] = {}

    def place(register: int) -> Place:
        return moved.get(register) or Place((register, versions.get(register, 0)), 0)

    found: dict[int, Place] = {}
    for code in program.codes[block.first : block.last]:
        if code.properties.plain:
            mem = next(s for s in code.sources if isinstance(s, Mem))
            base = Place("constant", 0)
            if isinstance(mem.base, Reg):
                base = place(mem.base.index)
            elif isinstance(mem.base, Symbol) and code.space != "shared":
                base = Place(mem.base.name, 0)  # two variables are two allocations
            found[code.index] = base._replace(offset=base.offset + offset_of(code))
        elif code.properties.accesses:  # it may be what stops the kernel: what comes behind is not checked before it
            moved.clear()
        added = _added(program, code)
        after = added and place(added[0])
        for r in writes(code):
            versions[r] = versions.get(r, 0) + 1
            moved.pop(r, None)
        if added and after:
            moved[writes(code)[0]] = after._replace(offset=after.offset + added[1])
    return found


def _added(program: Program, code: Code) -> tuple[int, int] | None:
    """The register and the number, if an instruction does nothing but to add one to the other."""
    if code.action is not Action.ADD or code.guard is not None or code.form.cc or code.form.sat or len(code.dests) != 1:
        return None
    registers = [s.index for s in code.sources if isinstance(s, Reg)]
    numbers = [s for s in code.sources if isinstance(s, Literal) and s.kind == "int"]
    type_ = code.source_types[0]
    if len(registers) != 1 or len(numbers) != 1 or type_ not in ("s32", "u32", "s64", "u64"):
        return None
    number, bits = int(numbers[0].as_type(type_)), types.WIDTH[type_]
    return registers[0], (number + (1 << bits - 1)) % (1 << bits) - (1 << bits - 1)


def plan_groups(program: Program, first: int, last: int) -> dict[int, AccessGroup]:
    """Sorts the plain accesses of a block into groups: the group of each code index."""
    sites = sites_of(program)
    found: dict[tuple[object, ...], list[Code]] = {}
    for code in program.codes[first:last]:
        if code.properties.plain and code.space not in ("local", "frame"):
            mem = next(s for s in code.sources if isinstance(s, Mem))
            if code.space == "param" and not isinstance(mem.base, Reg):
                continue
            guarded = code.index if code.guard is not None else -1
            key = place_of(program, code).root, code.space, access_shape(code)[2], guarded
            found.setdefault(key, []).append(code)
    groups: dict[int, AccessGroup] = {}
    for codes in found.values():
        for run in _runs(program, codes):
            size = run.members[0][2]
            write = any(program.codes[c].properties.stores for c, _, _ in run.members)
            site = sites[run.members[0][0]]
            group = AccessGroup(site, run.low, run.high - run.low, (size & -size).bit_length() - 1, write, run.members)
            groups.update(dict.fromkeys((c for c, _, _ in run.members), group))
    return groups


def offset_of(code: Code) -> int:
    """The constant part of an access's address; the whole of it where the base is a symbol or a number."""
    mem = next(s for s in code.sources if isinstance(s, Mem))
    base = mem.base.value if isinstance(mem.base, Symbol | Literal) else 0
    return mem.offset + int(base)


@dataclass(eq=False, repr=False)
class _Run:
    """Accesses that may share a check: their bytes, lowest to highest, and (code index, offset, bytes) of each."""

    low: int
    high: int
    members: list[tuple[int, int, int]]


def _runs(program: Program, codes: Sequence[Code]) -> list[_Run]:
    """Splits accesses of one base and size so that each group spans less than a guard gap and has one alignment."""
    runs: list[_Run] = []
    for code in codes:
        offset, size = place_of(program, code).offset, access_shape(code)[2]
        for run in runs:
            low, high = min(run.low, offset), max(run.high, offset + size)
            if high - low < GUARD and (offset - run.low) % size == 0:
                run.low, run.high = low, high
                run.members.append((code.index, offset, size))
                break
        else:
            runs.append(_Run(offset, offset + size, [(code.index, offset, size)]))
    return runs
