"""Where lanes reconverge: one rule for both engines, on programs of every shape."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import pytest
from emulate_programs import ENGINES, kernel, run
from random_flow import KERNEL, Flow, differences, kernel_of
from slow_cases import slow

from ptxlab.emulate import lower
from ptxlab.emulate.program.program import Program
from ptxlab.emulate.program.reconvergence import onward, running_order
from ptxlab.emulate.rules import lane_scheduling
from ptxlab.emulate.step.interpreter import Step
from ptxlab.emulate.step.lanes import mask_bits
from ptxlab.text import parse

needs_both = pytest.mark.skipif(len(ENGINES) == 1, reason="needs llvmlite: there is one engine only")

# -- random programs ---------------------------------------------------------------------------------------------------


@pytest.mark.long
@needs_both
@pytest.mark.parametrize(
    ("first", "kernels"),
    [
        (0, 1),
        *(pytest.param(at * KERNEL, 1, marks=pytest.mark.rest) for at in (1, 2)),
        *slow((at, 50) for at in range(0, 20_000, 50 * KERNEL)),
    ],
)
def test_engines_agree_on_irregular_flow(first: int, kernels: int) -> None:
    assert [text for at in range(first, first + kernels * KERNEL, KERNEL) for text in differences(at)] == []


class Visits:
    """A recorder that keeps which lanes ran which instruction, and which of them ended there, warp by warp."""

    def __init__(self) -> None:
        self.of: dict[tuple[int, int], list[tuple[int, int, int]]] = defaultdict(list)

    def wants(self, block: int, warp: int) -> bool:
        return True

    def record(self, step: Step) -> None:
        code, ended = step.code, np.zeros(32, np.bool_)
        if code.leaves >= 0 or code.ends_thread:
            ended = step.mask if code.guard is None else step.mask & (step.registers[code.guard[0]] ^ code.guard[1])
        self.of[step.block, step.warp].append((code.index, mask_bits(step.mask), mask_bits(ended)))


def reconvergence_points(program: Program) -> list[int]:
    """For each block the one where lanes that diverge at its end reconverge: the first of the blocks that every way
    onward passes, within one round of the loops around it. -1: they do not before they exit or return."""
    count = len(program.blocks)
    ways: list[set[int]] = []
    for block in program.blocks:
        found = set(onward(program.codes, block))
        last = program.codes[block.last - 1]
        if last.leaves >= 0:
            found.discard(last.target)
        for head in [way for way in found if way <= block.index]:
            found.discard(head)
            inside = range(head, block.index + 1)
            found |= {w for b in inside for w in onward(program.codes, program.blocks[b]) if w > block.index}
        ways.append(found or {count})

    def ends(start: int, without: int) -> bool:
        todo, seen = [start], {start}
        while todo:
            for way in ways[todo.pop()] - {without} - seen:
                if way == count:
                    return True
                seen.add(way)
                todo.append(way)
        return False

    return [next((b for b in range(a + 1, count) if not ends(a, b)), -1) for a in range(count)]


def stragglers(program: Program, visits: list[tuple[int, int, int]]) -> list[str]:
    """Each time that lanes left a block converged and some came alone to the block where the analysis says that they
    reconverge."""
    points = reconvergence_points(program)
    ends = {block.last - 1: points[block.index] for block in program.blocks if points[block.index] >= 0}
    starts = {program.blocks[b].first: b for b in ends.values()}
    waiting: dict[int, list[tuple[int, int]]] = defaultdict(list)
    wrong = []
    for index, lanes, ended in visits:
        if index in starts:
            for left, missing in waiting.pop(starts[index], []):
                here = missing & lanes
                if here and here != missing:
                    wrong.append(f"from {left}: {missing:#x} diverged, {here:#x} came to block {starts[index]} alone")
                elif not here:
                    waiting[starts[index]].append((left, missing))
        if index in ends:
            waiting[ends[index]].append((index, lanes))
        for block in waiting if ended else ():
            waiting[block] = [(left, missing & ~ended) for left, missing in waiting[block]]
    return wrong


def plain(seed: int) -> bool:
    """Whether lanes of a random program wait for each other in no other way than by the order of its blocks."""
    flow = Flow(seed, "")
    return not (flow.waits or flow.arrives or flow.locks or flow.recursive)


@pytest.mark.parametrize("seed", [seed for seed in range(60) if plain(seed)])
def test_lanes_reconverge_at_the_post_dominator(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lane_scheduling, "PATIENCE", 1 << 40)
    text, threads = kernel_of(seed, 1)
    visits = Visits()
    run("step", text, threads=threads, x=np.zeros(8, np.uint32), trace=visits)
    program = lower(parse(text))
    assert [text for seen in visits.of.values() for text in stragglers(program, seen)] == []


# -- the analysis ------------------------------------------------------------------------------------------------------


@pytest.mark.rest
def test_loops_may_be_nested_deeper_than_python_recurs() -> None:
    deep = 1100
    successors = [[at + 1] for at in range(deep)] + [[at + 1, deep - 1 - (at - deep)] for at in range(deep, 2 * deep)]
    assert running_order([*successors, []], 0) == list(range(2 * deep + 1))


# -- programs with known results ---------------------------------------------------------------------------------------

CONTINUE = """
    mov.u32 %r5, 0; mov.u32 %r6, 0;
HEAD:
    activemask.b32 %r8;
    popc.b32 %r8, %r8;
    add.u32 %r6, %r6, %r8;
    add.u32 %r5, %r5, 1;
    add.u32 %r7, %r5, %r1;
    and.b32 %r7, %r7, 1; setp.eq.u32 %p1, %r7, 0;
    setp.lt.u32 %p2, %r5, 4; @!%p2 bra DONE;
    @%p1 bra HEAD;
    mov.u32 %r7, %r6;
    bra HEAD;
DONE:
    st.global.u32 [%rd3], %r6;
"""
"""Two ways back to the head of a loop, each for half of the lanes."""

OUTER = """
    mov.u32 %r5, 0; mov.u32 %r6, 0;
OUTER:
    add.u32 %r5, %r5, 1;
    activemask.b32 %r8;
    popc.b32 %r8, %r8;
    add.u32 %r6, %r6, %r8;
    mov.u32 %r9, 0;
INNER:
    add.u32 %r9, %r9, 1;
    setp.lt.u32 %p1, %r5, 3; setp.eq.and.u32 %p1, %r9, %r1, %p1; @%p1 bra OUTER;
    setp.lt.u32 %p2, %r9, 40; @%p2 bra INNER;
    st.global.u32 [%rd3], %r6;
"""
"""`continue` of the outer loop from within the inner one, in another round for each lane."""

INTO = """
    mov.u32 %r6, 0; mov.u32 %r5, 2;
    setp.lt.u32 %p1, %r1, 8; @%p1 bra MIDDLE;
TOP:
    activemask.b32 %r8;
    popc.b32 %r8, %r8;
    mad.lo.u32 %r6, %r6, 64, %r8;
MIDDLE:
    activemask.b32 %r8;
    popc.b32 %r8, %r8;
    mad.lo.u32 %r6, %r6, 64, %r8;
    sub.u32 %r5, %r5, 1; setp.ne.u32 %p2, %r5, 0; @%p2 bra TOP;
    st.global.u32 [%rd3], %r6;
"""
"""A jump into the middle of a loop."""

JOIN = """
    setp.lt.u32 %p1, %r1, 8; @%p1 bra OTHER;
    call (%r5), masked, (%r1);
    bra JOIN;
OTHER:
    add.u32 %r5, %r1, 1;
JOIN:
    activemask.b32 %r8;
    popc.b32 %r8, %r8;
    call (%r6), masked, (%r1);
    mad.lo.u32 %r6, %r8, 64, %r6;
    st.global.u32 [%rd3], %r6;
"""
MASKED = """
.func (.reg .u32 %result) masked(.reg .u32 %a)
{
    .reg .u32 %mask;
    activemask.b32 %mask;
    popc.b32 %result, %mask;
}
"""
"""A function that is called from one side of a branch, and again behind the join: ways through it lead past the
join."""


@pytest.mark.parametrize(
    ("body", "before", "expected"),
    [
        (CONTINUE, "", [128] * 32),
        (OUTER, "", [32] + [32 + 31 + 31] * 31),
        (INTO, "", [(8 * 64 + 32) * 64 + 32] * 8 + [((32 * 64 + 32) * 64 + 24) * 64 + 24] * 24),
        (JOIN, MASKED, [32 * 64 + 32] * 32),
    ],
    ids=["continue", "continue of the outer loop", "into a loop", "a function on one side"],
)
def test_who_is_there(engine: str, body: str, before: str, expected: list[int]) -> None:
    found, _ = run(engine, kernel(body, before))
    assert found.tolist() == expected


def test_ends_by_branch_are_counted_once(engine: str) -> None:
    """Lanes that branch to the end do not wait there, and the warp is counted with the last that come, if any do."""
    text = kernel("""
    setp.lt.u32 %p1, %r1, 4; @%p1 bra DONE;
    setp.lt.u32 %p1, %r1, 8; @%p1 bra OTHER;
    bar.sync 0;
    activemask.b32 %r6;
    st.global.u32 [%rd3], %r6;
    setp.lt.u32 %p1, %r1, 40;
    @%p1 exit;
    bra DONE;
OTHER:
    exit;
DONE:
""")
    found, report = run(engine, text)
    assert found.tolist() == [0] * 8 + [0xFFFFFF00] * 24
    lines = text.splitlines()
    ends = {lines[line - 1].strip(): counts for line, counts in report.lines.items()}
    assert (ends["exit;"], ends["ret;"], ends["@%p1 exit;"]) == ((1, 4), (1, 4), (1, 24))


@pytest.mark.parametrize("counters", [False, True])
def test_lanes_that_meet_go_on_together_and_are_counted_so(engine: str, counters: bool) -> None:
    """Two ways to one vote: each is counted that comes to it, the warp once behind it; and it waits for no lane that
    has ended."""
    text = kernel("""
    setp.lt.u32 %p1, %r1, 8;
    setp.lt.u32 %p2, %r1, 16;
    @%p1 vote.sync.ballot.b32 %r6, %p2, -1;
    @%p1 bra ON;
    @!%p2 exit;
    vote.sync.ballot.b32 %r6, %p2, -1;
ON: activemask.b32 %r7;
    add.u32 %r6, %r6, %r7;
    st.global.u32 [%rd3], %r6;
""")
    found, report = run(engine, text, counters=counters)
    assert found.tolist() == [0xFFFF + 0xFFFF] * 16 + [0] * 16
    lines = text.splitlines()
    counts = {lines[line - 1].strip(): count for line, count in report.lines.items()}
    assert counts["@%p1 vote.sync.ballot.b32 %r6, %p2, -1;"] == (1, 32)
    assert counts["vote.sync.ballot.b32 %r6, %p2, -1;"] == (1, 8)
    assert counts["add.u32 %r6, %r6, %r7;"] == (1, 16)


def test_three_groups_and_a_lock(engine: str) -> None:
    """Lanes spin in two places for a lock that a lane far behind both holds: turns reach it."""
    spin = """
{0}:
    atom.global.cas.b32 %r7, [%rd2], 0, 1;
    setp.ne.u32 %p3, %r7, 0;
    @%p3 bra {0};
    ld.volatile.global.u32 %r8, [%rd2+4];
    add.u32 %r8, %r8, 1;
    st.volatile.global.u32 [%rd2+4], %r8;
    membar.gl;
    atom.global.exch.b32 %r7, [%rd2], 0;
    bra DONE;
"""
    x = np.zeros(2, np.uint32)
    run(
        engine,
        kernel(f"""
    setp.eq.u32 %p1, %r1, 31;
    setp.lt.u32 %p2, %r1, 16;
    @!%p1 bra WAIT;
    atom.global.exch.b32 %r7, [%rd2], 1;
    mov.u32 %r9, 600;
WAIT:
    setp.ne.u32 %p3, %r9, 600; @%p3 bra SPIN;
    bra HOLD;
SPIN:
    @%p2 bra SECOND;
{spin.format("FIRST")}
{spin.format("SECOND")}
HOLD:
    sub.u32 %r9, %r9, 1; setp.ne.u32 %p3, %r9, 0; @%p3 bra HOLD;
    atom.global.exch.b32 %r7, [%rd2], 0;
DONE:
    st.global.u32 [%rd3], %r1;
"""),
        x=x,
    )
    assert x.tolist() == [0, 31]
