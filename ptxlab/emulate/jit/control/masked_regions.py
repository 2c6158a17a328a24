"""The regions that a warp runs diverged without leaving the function for converged warps (see `regions`)."""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

from ptxlab.emulate.jit.analysis.divergence import Region, inner_regions, size_of, staying
from ptxlab.emulate.jit.memory.scattered import LARGE
from ptxlab.emulate.program.flat_program import Code
from ptxlab.emulate.program.liveness import successors, writes
from ptxlab.emulate.program.program import Program
from ptxlab.emulate.program.reconvergence import bodies, body, waits_for_others
from ptxlab.emulate.rules.instructions import members_of
from ptxlab.isa.actions import BRANCHES, Action

MOST = 640
"""PTX instructions of a region. They are emitted twice."""
IN_ALL = 1024
"""PTX instructions of all regions together."""
MOST_JOINS = 8
"""Blocks behind calls where the lanes of a region that is a function may meet."""
EXCHANGES = (Action.VOTE, Action.MATCH, Action.REDUCE_LANES, Action.ELECT)
"""Exchanges that lanes of a region may execute: no lane receives a value from a lane that does not take part."""
ENDS = (*BRANCHES, Action.CALL, Action.RETURN, Action.TRAP)
"""What a block of a region may end with."""


class MaskedRegion(NamedTuple):
    """A region as it is emitted: its blocks by rising program counter, the blocks where all lanes may meet, all of them
    behind the region, and the scalars that it writes to. repeats: whether lanes may go back in it, so that it may last.
    counts: whether it counts rounds of loops. leaves: whether lanes may leave the kernel in it."""

    number: int
    blocks: tuple[int, ...]
    joins: tuple[int, ...]
    per_lane: frozenset[int]
    repeats: bool
    counts: bool
    leaves: bool

    @property
    def words(self) -> tuple[int, ...]:
        """The blocks at which lanes may wait; if there is one join, at which all others are."""
        return self.blocks if len(self.joins) == 1 else self.blocks + self.joins

    @property
    def elsewhere(self) -> str:
        """The name of the word that tells which lanes have returned to a block that the region does not lead to."""
        return f"%elsewhere{self.number}"

    @property
    def rounds(self) -> str:
        """The name of the word that counts rounds of loops, in units of 32; and the lane that had a turn last
        (`Turns.lane`)."""
        return f"%rounds{self.number}"

    def label(self, block: int) -> str:
        """Where lanes run a block if any wait there."""
        return f"masked{self.number}.{block}" if block in self.blocks else f"joined{self.number}"

    def word(self, block: int) -> str:
        """The name of the word that tells which lanes wait at a block."""
        return f"%waiting{self.number}.{block}"


def masked_regions(
    program: Program, uniform: list[bool], scalars: int, *, exchanges: bool = False
) -> dict[int, MaskedRegion]:
    """The regions that run predicated, by the block of their branch. Those with one join share the copies of their
    blocks where that saves half of them: of a chain of conditions, each region is the rest of the one before.

    uniform: the registers that are the same in all lanes of a converged warp; scalars: those that are kept as scalars,
    a bit set; exchanges: whether lanes may exchange values in them.
    """
    if len(program.codes) >= LARGE:
        return {}
    by_join: dict[int, list[Region]] = {}
    for region in inner_regions(program, uniform):
        if _fits(program, region, exchanges):
            by_join.setdefault(region.join, []).append(region)
    found: dict[int, MaskedRegion] = {}
    known: dict[frozenset[int], MaskedRegion] = {}
    left = IN_ALL

    def add(branch: int, blocks: frozenset[int], joins: Collection[int]) -> None:
        nonlocal left
        if blocks not in known:
            size = size_of(program, blocks)
            if size > min(MOST, left):
                return
            left -= size
            codes = [code for b in blocks for code in program.codes[program.blocks[b].first : program.blocks[b].last]]
            per_lane = frozenset(r for code in codes for r in writes(code) if scalars >> r & 1)
            repeats = any(to <= at for at in blocks for to in successors(program, at))
            last = [_last(program, at) for at in blocks]
            counts, leaves = any(code.rounds for code in last), any(code.leaves >= 0 for code in last)
            ordered = tuple(sorted(blocks))
            known[blocks] = MaskedRegion(len(known), ordered, tuple(joins), per_lane, repeats, counts, leaves)
        found[branch] = known[blocks]

    unions = {join: frozenset[int]().union(*(r.blocks for r in regions)) for join, regions in by_join.items()}
    for join, union in sorted(unions.items(), key=lambda each: size_of(program, each[1])):
        apiece = sum(size_of(program, blocks) for blocks in {r.blocks for r in by_join[join]})
        shared = apiece > 2 * size_of(program, union)
        for region in by_join[join]:
            add(region.branch, union if shared else region.blocks, (join,))
    for blocks, joins, branches in _functions(program, exchanges):
        for branch in branches:
            if branch not in found:
                add(branch, blocks, joins)
    return found


def _last(program: Program, block: int) -> Code:
    return program.codes[program.blocks[block].last - 1]


def _fits(program: Program, region: Region, exchanges: bool) -> bool:
    """Whether lanes are independent in a region, and its blocks run in the order of program counters, join last."""
    if not region.blocks or region.join <= max(region.blocks) or not _independent(program, region.blocks, exchanges):
        return False
    blocks, all_ = program.blocks, region.blocks | {region.branch}
    ways = {to for at in all_ for to in (blocks[at].next, *staying(program.codes, blocks, blocks[at])) if to >= 0}
    return ways <= region.blocks | {region.join}  # jumps may lead to traps behind the join, too


def _independent(program: Program, blocks: Collection[int], exchanges: bool) -> bool:
    """Whether all that lanes do in some blocks concerns the lanes that execute it and no others. exchanges: or may be
    begun anew with others, from the start of the block, for as long as it has changed registers only."""
    for at in blocks:
        block = program.blocks[at]
        codes, last = program.codes[block.first : block.last], _last(program, at)
        ends = last.action in ENDS
        if ends and (last.ends_thread or (last.leaves >= 0 and block.next < 0)):
            return False
        restarts = exchanges  # whether what has been done so far in the block can be begun anew
        for code in codes[:-1] if ends else codes:
            kind, properties = code.form.op.kind, code.properties
            others = properties.ends_block or properties.converges or kind in ("flow", "warp", "async")
            may_exchange = restarts and code.action in EXCHANGES and members_of(code) is not None
            if (others and not may_exchange) or waits_for_others(code):
                return False
            restarts = restarts and kind in ("pure", "lane") and not code.form.cc
    return True


def _functions(program: Program, exchanges: bool) -> list[tuple[frozenset[int], list[int], list[int]]]:
    """The functions that may be regions: their blocks with those of all that they call, the blocks where they return
    to, and those where lanes may diverge."""
    found = []
    for start in sorted({code.target for code in program.codes if code.action is Action.CALL}):
        inside = body(program.codes, program.blocks, start)  # without what it calls
        blocks = frozenset(bodies(program.codes, program.blocks, inside))
        if not _independent(program, blocks, exchanges):
            continue
        ends = {at: _last(program, at).action for at in inside}
        returns = {to for at in inside if ends[at] is Action.RETURN for to in program.blocks[at].targets}
        joins = sorted(to for to in returns if to > max(blocks))[:MOST_JOINS]
        if joins:
            found.append((blocks, joins, sorted(at for at in inside if ends[at] in (*BRANCHES, Action.RETURN))))
    return found
