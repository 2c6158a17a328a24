"""Properties of instructions for checks and scheduler: does one order threads, copy in bulk, which lanes may come."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from ptxlab.emulate.language import ALL_LANES
from ptxlab.emulate.program.flat_program import Code, Literal, Reg, Source
from ptxlab.emulate.program.graphs import reachable
from ptxlab.emulate.program.program import Program
from ptxlab.emulate.program.reconvergence import body, onward
from ptxlab.isa.actions import Action, AsyncGroup
from ptxlab.text.source_lines import Place, locations


def acquires(code: Code) -> bool:
    """Whether what its thread does later is ordered after the writes that this strong access may have seen. After a
    relaxed load, and after relaxed operations that take locks, that needs a fence."""
    polls = code.action is Action.LOAD and code.form.order == "relaxed"
    takes = code.action is Action.ATOMIC and (
        code.form.operation in ("cas", "exch") or (code.form.operation == "or" and Literal(0) not in code.sources)
    )
    return code.properties.acquires or not (polls or takes)


def clears(code: Code) -> bool:
    """Whether it may be the first access to a word: `red.and` gives bits of it a value, whatever they were."""
    return code.action is Action.REDUCTION and code.form.operation == "and"


def releases(program: Program) -> bool:
    """Whether any instruction is a fence, or releases what its thread did: else strong accesses order nothing."""
    return any(code.properties.releases for code in program.codes)


def wide(code: Code) -> bool:
    """Whether the scope of a strong access or a fence includes other blocks. True for shared memory, which other blocks
    never see, but for mbarriers, at which they arrive."""
    return code.properties.scope != "cta" or (code.space == "shared" and not code.properties.mbarrier)


_INSTRUCTION = re.compile(r"\s*[@a-z{]")
"""A line that begins with an instruction."""


def barriers_of(program: Program) -> list[int]:
    """For each code index itself + 1; for barriers that a compiler has copied in unrolling a loop, as the place in the
    source tells, that of the first of them; 0 for those in functions that are called from several places.

    Two barriers at one place need not be of a loop. A function that is inlined twice has two; one that is inlined into
    another one may have, since `.loc` names one call alone; and what stands in one line has one place. So only barriers
    that have a place to themselves count."""
    found = [code.index + 1 for code in program.codes]
    barriers = [code for code in program.codes if code.action is Action.BARRIER]
    calls = [code for code in program.codes if code.action is Action.CALL]
    if barriers and calls:
        homes = routines(program)
        targets = [code.target for code in calls]
        often = {target for target in targets if targets.count(target) > 1}
        often = reachable(often, lambda home: [code.target for code in calls if homes[code.index] == home])
        for code in barriers:
            if homes[code.index] in often:
                found[code.index] = 0
    if len(barriers) < 2:
        return found
    places = {number + 1: place for number, place in locations(program.lines)}
    inlined = {place for place, caller in places.values() if caller is not None}
    for number, line in enumerate(program.lines, 1):
        if _INSTRUCTION.match(line):
            places.pop(number - 1, None)
    first: dict[tuple[Place, Place | None], Code] = {}
    for code in barriers:
        place = places.get(code.line)
        if place is not None and place[1] not in inlined and found[code.index] != 0:
            found[code.index] = first.setdefault(place, code).index + 1
    return found


def members_of(code: Code) -> Source | None:
    """The source operand that is the member mask, if there is one."""
    return code.named.get("membermask", (None, ""))[0]


def of_whole_warp(code: Code, full: Collection[int] = ()) -> bool:
    """Whether an instruction that synchronizes lanes surely names the whole warp. full: registers with a full mask."""
    given = members_of(code)
    return given is None or _full(given) or (isinstance(given, Reg) and given.index in full)


def _full(source: Source | None) -> bool:
    value = source.value if isinstance(source, Literal) else None
    return isinstance(value, int) and value & ALL_LANES == ALL_LANES


def is_members(code: Code, k: int) -> bool:
    return [*code.named][k] == "membermask"


def is_bulk(code: Code) -> bool:
    """Whether an instruction copies in bulk, commits such copies to a group or waits for one, or prefetches a tile."""
    if code.action is Action.PREFETCH_TILE:
        return True
    groups = (AsyncGroup.BULK, AsyncGroup.MBARRIER)
    return code.form.op.kind == "async" and not code.properties.mbarrier and code.properties.group in groups


def scheduled(codes: Sequence[Code]) -> dict[str, bool]:
    """What a program has that the scheduler must look after: fields of the context, and constants in the scheduler that
    is compiled for such programs, because most have none of them."""
    codes = list({(code.form, code.action): code for code in codes}.values())  # these tell
    return {
        "Context.bulk_copies": any(is_bulk(code) for code in codes),
        "Context.mbarriers": any(code.properties.mbarrier for code in codes),
        "Context.cluster_barriers": any(code.action is Action.CLUSTER_BARRIER for code in codes),
        "Context.warpgroup_products": any(code.action is Action.WARPGROUP_PRODUCT for code in codes),
    }


def cuts(code: Code) -> bool:
    """Whether later accesses must not be checked before it: it may order threads, or writes what other threads see."""
    return code.properties.orders and not (code.action is Action.STORE and code.space in ("param", "local", "frame"))


def routines(program: Program) -> list[int]:
    """For each instruction the first block of the function that it belongs to."""
    home = [-1] * len(program.blocks)
    for start in {program.entry, *(code.target for code in program.codes if code.action is Action.CALL)}:
        for block in body(program.codes, program.blocks, start):
            home[block] = start
    return [home[code.block] for code in program.codes]


def may_come(program: Program, barrier: Code) -> list[bool]:
    """For each instruction whether a barrier may wait for lanes there: they are in another function, or every path from
    there leads through the barrier, or paths lead to it or out of a loop, but never round the loop without it."""
    homes, codes = routines(program), program.codes
    home, there = homes[barrier.index], barrier.block
    after = [onward(codes, block) for block in program.blocks]
    before: list[list[int]] = [[] for _ in after]
    ends = []
    for block, ways in zip(program.blocks, after, strict=True):
        last = codes[block.last - 1]
        if last.action in (Action.RETURN, Action.EXIT, Action.TRAP) or (block.next < 0 and not block.targets):
            ends.append(block.index)
        for way in ways:
            before[way].append(block.index)

    def reach(starts: list[int], edges: list[list[int]], without: int) -> set[int]:
        others = [[way for way in ways if way != without] for ways in edges]
        return reachable([start for start in starts if start != without], others.__getitem__)

    avoids = reach(ends, before, there)
    loop = reach(after[there], after, -1) & reach(before[there], before, -1)
    comes = {
        block.index
        for block in program.blocks
        if homes[block.first] != home
        or block.index not in avoids
        or (block.index in loop and block.index not in reach(after[block.index], after, there))
    }
    return [code.block in comes for code in codes]


def barrier_before(program: Program, pc: int) -> int:
    """The code index of the barrier right before a program counter."""
    for b in program.blocks:
        follows = b.next >= 0 and 2 * program.blocks[b.next].first == pc
        last = program.codes[b.last - 1]
        if follows and last.action in (Action.BARRIER, Action.CLUSTER_BARRIER, Action.WARPGROUP_WAIT):
            return b.last - 1
    return 0
