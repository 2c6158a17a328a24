"""Where diverged lanes reconverge, and what both engines must know of a program to agree on it.

The rule itself is short: the lanes with the smallest program counter go first (`ptxlab.emulate.rules.lane_scheduling`).
The rest is the layout of the program: functions before their callers, and the blocks of a function in an order in which
the immediate post-dominator of a branch, within one round of the loops around it, comes after everything that can run
between the two (`ptxlab.emulate.program.block_order`). So no lane continues from there while another is still to come.
"""

from __future__ import annotations

from ptxlab.emulate.program.block_order import reachable
from ptxlab.emulate.program.flat_program import Block, Code
from ptxlab.emulate.program.liveness import reads, writes
from ptxlab.isa.actions import Action

POLLING = 256
"""How many rounds one round counts for in a loop that may wait for another thread."""
MOST_EXITS = 31
"""Instructions that end threads and that branches may leave by directly: one bit each in a warp's word."""


def mark(codes: list[Code], blocks: list[Block], *, recursive: bool) -> tuple[int, ...]:
    """Notes on each branch how many loop rounds it counts as, and which `exit` its lanes leave by, and on each
    instruction whether it polls; returns those exits. recursive: functions call themselves, which repeats all of it."""
    polls = _polls(codes)
    polling = _polling_blocks(codes, blocks, polls)
    repeated = set(range(len(blocks))) if recursive else set[int]()
    exits: dict[int, int] = {}
    for code in codes:
        if code.action is not Action.BRANCH:
            continue
        if code.target <= code.block:
            loop = range(code.target, code.block + 1)
            code.rounds = POLLING if any(polling[b] for b in loop) else 1
            if code.rounds == POLLING:
                repeated.update(loop)
        end = codes[blocks[code.target].first]
        if code.guard is not None and end.ends_thread and end.guard is None:
            number = exits.setdefault(code.target, len(exits))
            code.leaves = number if number < MOST_EXITS else -1
    for block in bodies(codes, blocks, repeated):
        for code in codes[blocks[block].first : blocks[block].last]:
            code.polls = code.index in polls
    return tuple(exits)[:MOST_EXITS]


def _polls(codes: list[Code]) -> set[int]:
    """The instructions that read what other threads may change, and whose result another one reads."""
    found = [code for code in codes if code.properties.polls]
    read = {r for code in codes for r in set(reads(code)).difference(writes(code))} if found else set[int]()
    return {code.index for code in found if not read.isdisjoint(writes(code))}


def _polling_blocks(codes: list[Code], blocks: list[Block], polls: set[int]) -> list[bool]:
    """For each block whether it reads what other threads may change, or calls a function that does."""
    polling = [not polls.isdisjoint(range(b.first, b.last)) for b in blocks]
    calls = {b.index: codes[b.last - 1].target for b in blocks if codes[b.last - 1].action is Action.CALL}
    bodies = {start: body(codes, blocks, start) for start in set(calls.values())}
    changed = True
    while changed:
        changed = False
        for block, start in calls.items():
            if not polling[block] and any(polling[b] for b in bodies[start]):
                polling[block] = changed = True
    return polling


def body(codes: list[Code], blocks: list[Block], start: int) -> set[int]:
    """The blocks of a function."""
    return reachable([start], lambda at: onward(codes, blocks[at]))


def bodies(codes: list[Code], blocks: list[Block], some: set[int]) -> set[int]:
    """Some blocks, and those of all functions that are called there or in these."""
    found, new = set[int](), set(some)
    while new:
        found |= new
        called = {codes[blocks[b].last - 1].target for b in new if codes[blocks[b].last - 1].action is Action.CALL}
        new = set[int]().union(*(body(codes, blocks, start) for start in called)) - found
    return found


def onward(codes: list[Code], block: Block) -> list[int]:
    """The blocks of its own function that may follow a block; after a call, the one it returns to."""
    jumps = () if codes[block.last - 1].action in (Action.CALL, Action.RETURN) else block.targets
    return [*jumps, *([block.next] if block.next >= 0 else [])]
