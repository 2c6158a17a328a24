"""Whose turn it is in a diverged warp. That the rule does the same compiled, programs show that run on both engines."""

from __future__ import annotations

import pytest

from ptxlab.emulate.program.reconvergence import POLLING
from ptxlab.emulate.rules.lane_scheduling import MOST_WAITS, PATIENCE, TURN, choose, go_on, next_lane, tried
from ptxlab.emulate.runtime.state import Context, Turns, Warp


def at(**groups: int) -> tuple[Warp, int]:
    """A warp with lanes at some program counters, `p7=0b110`, and all of these lanes. Lane 31 waits somewhere."""
    warp, ready = Warp.new(), 0
    stand(warp, **groups)
    for lanes in groups.values():
        ready |= lanes
    warp.live = ready | 1 << 31
    return warp, ready


def stand(warp: Warp, **groups: int) -> None:
    """Lets lanes stand at program counters."""
    for name, lanes in groups.items():
        for lane in range(32):
            if lanes >> lane & 1:
                warp.pc[lane] = int(name[1:])


def test_the_smallest_program_counter_goes_first() -> None:
    warp, ready = at(p14=1, p6=2, p10=4)
    assert choose(warp, ready) == 2


def test_turns_go_round_the_lanes_that_are_passed_over() -> None:
    warp, ready = at(p6=0b1001, p14=0b0110, p18=0b10000)
    given = []
    for _ in range(4):
        warp.turns.rounds = PATIENCE
        lanes = choose(warp, ready)
        given.append((lanes, warp.turns.lane))
        for _ in range(TURN):
            assert choose(warp, ready) == lanes
        assert choose(warp, ready) == 0b1001
    assert given == [(0b0110, 1), (0b0110, 2), (0b10000, 4), (0b0110, 1)]


def test_a_turn_ends_when_its_lane_waits() -> None:
    warp = at(p6=1, p14=2, p8=4)[0]
    warp.turns.rounds = PATIENCE
    assert choose(warp, 0b11) == 2
    stand(warp, p16=2)
    assert choose(warp, 0b11) == 2
    assert choose(warp, 0b101) == 1
    assert warp.turns.left == 0


def test_lanes_that_have_synchronized_go_before_all_others_and_take_no_turn() -> None:
    warp, ready = at(p6=1, p15=2, p13=4, p18=8)
    warp.turns.rounds, warp.synced = PATIENCE, 0b110
    assert choose(warp, ready) == 4
    warp.synced = 0b10
    assert choose(warp, ready) == 2
    stand(warp, p14=4, p16=2)
    warp.synced = 0
    assert (warp.turns.left, warp.turns.rounds) == (0, PATIENCE)
    assert choose(warp, ready) == 2


@pytest.mark.parametrize(
    ("live", "wait", "time_slice", "expected", "left"),
    [(0b111, 0b100, 1, 0b11, 0), (0b111, 0, 1, 0b111, 0), (0b11, 0, 0, 0, -1), (0b11, 0b11, 5, 0, 5), (0, 0, 5, 0, 5)],
    ids=["one waits", "all go", "the slice is spent", "all wait", "all have ended"],
)
def test_who_goes_on(live: int, wait: int, time_slice: int, expected: int, left: int) -> None:
    context, warp = Context.new(), Warp.new()
    warp.live, warp.wait, context.slice = live, wait, time_slice
    assert (go_on(context, warp), context.slice) == (expected, left)


@pytest.mark.parametrize(("others_run", "tries"), [(True, PATIENCE - POLLING + 1), (False, PATIENCE // POLLING)])
def test_a_wait_in_vain_counts_as_one_round_if_another_warp_can_end_it(others_run: bool, tries: int) -> None:
    turns, tried_so_often = Turns.new(), 0
    while turns.rounds < PATIENCE:
        tried(turns, ended=False, others_run=others_run)
        turns.rounds += POLLING  # the branch back
        tried_so_often += 1
    assert tried_so_often == tries
    tried(turns, ended=True, others_run=True)
    assert turns.rounds == 0


def test_patience_with_waits_that_end_has_an_end() -> None:
    turns = Turns.new()
    for _ in range(MOST_WAITS):
        turns.rounds = PATIENCE
        tried(turns, ended=True, others_run=True)
    turns.rounds = PATIENCE
    tried(turns, ended=True, others_run=True)
    assert turns.rounds == PATIENCE
    assert next_lane(turns, 0b11, 0b01) == 1  # another lane's turn: from then on it counts anew
    assert turns.waits == 0
