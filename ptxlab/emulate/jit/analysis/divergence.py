"""The blocks that the function for diverged warps contains: those that lanes may run while the warp is diverged.

A warp diverges at a branch whose guard is not the same in all lanes, and its lanes reconverge at the branch's immediate
post-dominator. What may run between the two is little in most programs: what one thread does for all, a loop that
waits. Building only that saves most of the time that compiling the function takes. It is a guess: when lanes come to a
block that is missing, the whole function is built, and they continue in it where they are.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from ptxlab.emulate.program.flat_program import Block, Code, Group, Reg
from ptxlab.emulate.program.graphs import components, dominators, reachable
from ptxlab.emulate.program.liveness import reads, successors, writers_of, writes
from ptxlab.emulate.program.program import Program, once
from ptxlab.emulate.program.reconvergence import bodies, body, onward
from ptxlab.isa.actions import BRANCHES, Action

MOST = 0.25
"""The share of a program's instructions that the function may have in place of all."""


class Region(NamedTuple):
    """The blocks between a divergent branch and `join`, its immediate post-dominator (-1: none)."""

    branch: int
    blocks: frozenset[int]
    join: int


def diverging_blocks(program: Program, uniform: list[bool]) -> frozenset[int] | None:
    """The blocks between branches that lanes may take differently and their immediate post-dominators, as far as they
    are few: a branch over half of the program rather separates warps than lanes, unless it asks what is in memory.
    None if there are none, or lanes surely come to many blocks.

    uniform: the registers that are known to be the same in all lanes of a converged warp."""
    found, large = set[int](), list[Code]()
    for each in sorted(regions(program, uniform), key=lambda region: size_of(program, region.blocks)):
        if large or size_of(program, found | each.blocks) > MOST * len(program.codes):
            large.append(program.codes[program.blocks[each.branch].last - 1])
        else:
            found |= each.blocks
    return None if not found or ask_data(program, large, besides=("local", "frame")) else frozenset(found)


def ask_data(program: Program, codes: Iterable[Code], besides: tuple[str, ...] = ()) -> bool:
    """Whether the guard of one of these instructions depends on memory that threads share, or on these spaces."""
    writers = writers_of(program.codes)
    asked = [r for code in codes for r in reads(code)]
    known = reachable(asked, lambda r: [s for w in writers.get(r, ()) for s in reads(w)])
    spaces = ("global", "shared", "generic", *besides)
    return any(w.properties.loads and w.space in spaces for r in known for w in writers.get(r, ()))


def regions(program: Program, uniform: list[bool]) -> list[Region]:
    """The region of each branch that lanes may take differently."""
    ends = [program.codes[block.last - 1] for block in program.blocks]
    divergent = [b for b, code in enumerate(ends) if code.action in BRANCHES and _varies(code, uniform)]
    if not divergent:
        return []
    flow = _flow(program)
    ways, meeting = flow.after, flow.meeting
    return [Region(at, frozenset(_between(program, ways, ways[at], meeting[at])), meeting[at]) for at in divergent]


def inner_regions(program: Program, uniform: list[bool]) -> list[Region]:
    """The regions within functions: a call is followed by the block behind it, and all that it runs belongs to a region
    in which it is. Lanes that leave the kernel by a branch are left out, since they do not join the others, and so are
    ways to a trap, which belongs to the regions that lead there unless it lies behind the join."""
    if not any(code.action in (Action.CALL, Action.TRAP) or code.leaves >= 0 for code in program.codes):
        return regions(program, uniform)
    blocks, codes = program.blocks, program.codes
    ends = [codes[block.last - 1] for block in blocks]
    divergent = [
        at for at, code in enumerate(ends) if code.action in BRANCHES and code.leaves < 0 and _varies(code, uniform)
    ]
    if not divergent:
        return []
    ways = [staying(codes, blocks, block) for block in blocks]
    meeting = _immediate_post_dominators(ways)
    found = []
    for at in divergent:
        between = _reached(ways, ways[at], meeting[at])
        faults = {to for b in (at, *between) for to in onward(codes, blocks[b]) if _stops(codes, blocks[to])}
        between |= {to for to in faults if to < meeting[at]}
        found.append(Region(at, frozenset(bodies(codes, blocks, between)), meeting[at]))
    return found


def staying(codes: list[Code], blocks: list[Block], block: Block) -> list[int]:
    """The blocks of the same function that may follow a block, for lanes that neither leave the kernel nor stop it."""
    ways = [block.next] if codes[block.last - 1].leaves >= 0 else onward(codes, block)
    return [to for to in ways if not _stops(codes, blocks[to])] or ways


def _stops(codes: list[Code], block: Block) -> bool:
    """Whether a block ends with a trap that nobody passes."""
    return block.next < 0 and codes[block.last - 1].action is Action.TRAP


def written_while_diverged(program: Program, divergent: Iterable[Region], alive: list[int]) -> set[int]:
    """Registers that are written where lanes have diverged, in these regions, and are read where they reconverge. Lanes
    that took other ways hold different values there, so that a warp which insists on keeping a scalar could not
    return to the function for converged warps. alive: those that may be read after the start of each block."""
    found = set[int]()
    for region in divergent:
        if region.join >= 0:
            for block in map(program.blocks.__getitem__, region.blocks):
                codes = program.codes[block.first : block.last]
                found.update(r for code in codes for r in writes(code) if alive[region.join] >> r & 1)
    return found


def in_loops(program: Program, uniform: list[bool]) -> list[Region]:
    """The regions in loops: a warp may reach their branch again from behind them."""
    found = regions(program, uniform)
    if not found:
        return []
    after = _flow(program).after
    of = {block: k for k, part in enumerate(components(range(len(after)), after.__getitem__)) for block in part}
    return [region for region in found if region.join >= 0 and of[region.branch] == of[region.join]]


class _Flow(NamedTuple):
    """The successors of each block, and its immediate post-dominator."""

    after: list[list[int]]
    meeting: list[int]


@once
def _flow(program: Program) -> _Flow:
    after = [successors(program, block.index) for block in program.blocks]
    return _Flow(after, _immediate_post_dominators(after))


def _between(program: Program, after: list[list[int]], starts: list[int], end: int) -> set[int]:
    """The blocks on ways from some blocks to another, that one not included; functions called on the way are."""
    found = _reached(after, starts, end)
    calls = [program.blocks[b] for b in found if program.codes[program.blocks[b].last - 1].action is Action.CALL]
    return found.union(*(body(program.codes, program.blocks, start) for block in calls for start in block.targets))


def _reached(after: list[list[int]], starts: list[int], end: int) -> set[int]:
    """The blocks on ways from some blocks to another, without functions."""
    return reachable((s for s in starts if s != end), lambda at: (s for s in after[at] if s != end))


def size_of(program: Program, blocks: Iterable[int]) -> int:
    return sum(program.blocks[b].last - program.blocks[b].first for b in blocks)


def _varies(code: Code, uniform: list[bool]) -> bool:
    """Whether lanes of a converged warp may leave a block by different ways."""
    read = [code.guard[0]] if code.guard is not None else []
    for source in code.sources:
        elements = source.elements if isinstance(source, Group) else (source,)
        read += [e.index for e in elements if isinstance(e, Reg)]
    return not all(uniform[r] for r in read)


def _immediate_post_dominators(after: list[list[int]]) -> list[int]:
    """For each block the first one that all ways from it to the end share, -1 if there is none or no way to the end:
    its dominator in the reversed graph, whose root is an end behind all blocks."""
    end = len(after)
    before: list[list[int]] = [[] for _ in range(end + 1)]
    for at, ways in enumerate(after):
        for to in ways or [end]:
            before[to].append(at)
    nearest = dominators(end, before.__getitem__)
    return [-1 if nearest.get(at, end) == end else nearest[at] for at in range(end)]
