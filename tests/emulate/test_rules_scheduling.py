"""The scheduler in Python, its warps scripts: who has a turn when, what opens a barrier, and why a worker stops."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from ptxlab.emulate.language import Pointer, u64
from ptxlab.emulate.language.records import zeroed
from ptxlab.emulate.rules import block_start, scheduling
from ptxlab.emulate.rules.lane_scheduling import PATIENCE
from ptxlab.emulate.rules.scheduling import run_grid
from ptxlab.emulate.runtime.memory import POISON
from ptxlab.emulate.runtime.state import (
    BUDGET_SPENT,
    DEADLOCK,
    DIVERGED,
    DONE,
    FAULT,
    NEEDS_DIVERGED,
    NEEDS_SLOT,
    PATIENT_QUANTA,
    PAUSED,
    STOPPED,
    SUSPENDED,
    Cluster,
    Context,
    Cta,
    Executions,
    MemoryMap,
    Resident,
    Site,
    Warp,
)

Action = Callable[[Context, Cta, Warp], int]


def leave(context: Context, cta: Cta, warp: Warp) -> int:
    """All lanes exit."""
    warp.live = 0
    return DONE


def arrive_at(barrier: int) -> Action:
    """All lanes come to a barrier."""

    def act(context: Context, cta: Cta, warp: Warp) -> int:
        warp.bar[barrier] = warp.wait = warp.live
        return DONE

    return act


def linger(context: Context, cta: Cta, warp: Warp) -> int:
    """The quantum is spent, with two instructions more."""
    context.quantum = -2
    return SUSPENDED


def diverge(context: Context, cta: Cta, warp: Warp) -> int:
    """The warp diverges."""
    return DIVERGED


class World:
    """A worker whose CTAs all run one script: for each warp what it does in its turns, the last again and again."""

    def __init__(
        self, monkeypatch: pytest.MonkeyPatch, script: Sequence[Sequence[Action]], blocks: int = 1, slots: int = 1
    ) -> None:
        self.turns: list[tuple[int, int]] = []
        self.context = context = Context.new()
        size, self.script = Warp.size + 128, script
        self.next, self.stop, self.budget = np.zeros(1, np.uint64), np.zeros(1, np.int32), np.array([1000], np.int64)
        context.next, context.stop, context.budget = Pointer(self.next), Pointer(self.stop), Pointer(self.budget)
        context.memory, context.sites = MemoryMap.new(), Site.many(1)
        context.total, context.warps, context.state_size = blocks, len(script), size
        context.quantum, context.quantum_size, context.steps_left = 10, 10, 1000
        context.mbarriers = context.only = True
        context.grid_x, context.grid_y, context.grid_z = 2, 2, 1
        context.order = Pointer(np.arange(len(script), dtype=np.uint32))
        context.slots, context.slot_limit, context.patience = Resident.many(slots), slots, PATIENT_QUANTA
        self.add_slot()
        self.acted: dict[tuple[int, int], int] = {}
        monkeypatch.setattr(scheduling, "run_converged", self._run)
        monkeypatch.setattr(scheduling, "run_diverged", self._run)
        monkeypatch.setattr(block_start, "clear_registers", lambda warp: None)

    def add_slot(self) -> None:
        """Room for one more CTA, the next to run."""
        context, cta, size = self.context, Cta.new(), self.context.state_size
        states = zeroed(size * len(self.script))
        cta.shared, cta.shared_size = Pointer(np.zeros(8, np.uint8)), 8
        cta.local, cta.local_size = Pointer(np.zeros(8, np.uint8)), 8
        cta.states = Pointer(states)
        for k in range(len(self.script)):
            warp = block_start.warp_of(context, cta, k)
            warp.first_live, warp.warp_id = 0xFFFFFFFF, k
        cta.cluster = Cluster.new()
        cta.cluster.first, cta.cluster.count = context.slot_count, 1
        context.slots[context.slot_count].cta = context.cta = cta
        context.slot, context.slot_count = context.slot_count, context.slot_count + 1

    def _run(self, context: Context, cta: Cta, warp: Warp) -> int:
        key = cta.linear, warp.warp_id
        self.turns.append(key)
        acts = self.script[warp.warp_id]
        number = self.acted[key] = self.acted.get(key, -1) + 1
        return acts[min(number, len(acts) - 1)](context, cta, warp)

    def warps(self) -> list[int]:
        """Who has had a turn, one after the other."""
        return [warp for _, warp in self.turns]

    @property
    def fault(self) -> tuple[int, int, int, int]:
        """Kind, code, warp and lane of what was noted."""
        fault = self.context.fault
        return fault.kind, fault.code, fault.warp, fault.lane


def test_blocks_one_after_the_other(monkeypatch: pytest.MonkeyPatch) -> None:
    places: list[tuple[int, int, int]] = []

    def note(context: Context, cta: Cta, warp: Warp) -> int:
        places.append((cta.ctaid_x, cta.ctaid_y, cta.ctaid_z))
        assert (cta.shared[0], cta.local[7]) == (POISON, POISON)
        cta.shared[0] = 1
        return leave(context, cta, warp)

    world = World(monkeypatch, [[note]], blocks=3)
    assert run_grid(world.context) == DONE
    assert places == [(0, 0, 0), (1, 0, 0), (0, 1, 0)]
    assert (world.context.finished, world.turns) == (3, [(0, 0), (1, 0), (2, 0)])


def test_a_pause_after_so_many_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(monkeypatch, [[arrive_at(0), leave], [arrive_at(0), leave]], blocks=2)
    seen = []
    for _ in range(4):
        world.context.steps_left = 1
        assert run_grid(world.context) == PAUSED
        seen.append(len(world.turns))
    assert seen == [2, 4, 6, 8]
    world.context.steps_left = 1
    assert run_grid(world.context) == DONE
    assert world.turns == [(block, warp) for block in range(2) for _ in range(2) for warp in range(2)]


def test_where_a_warp_begins(monkeypatch: pytest.MonkeyPatch) -> None:
    """At the entry, nobody's turn, whatever the block before has left."""
    found = []

    def look(context: Context, cta: Cta, warp: Warp) -> int:
        turns = warp.turns
        found.append(
            (warp.converged_pc, warp.pc[0], warp.pc[31], warp.synced, warp.ended, turns.rounds, turns.left, turns.lane)
        )
        warp.converged_pc = warp.pc[0] = warp.pc[31] = warp.synced = 4
        turns.rounds = turns.left = turns.lane = 5
        return leave(context, cta, warp)

    world = World(monkeypatch, [[look]], blocks=2)
    world.context.entry = 6
    assert run_grid(world.context) == DONE
    assert found == [(6, 6, 6, 0, 0, 0, 0, 0)] * 2


def test_ends_by_branch_are_counted_when_the_warp_has_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    """For each end that lanes have left by and that the warp has not come to since, once."""

    def part(context: Context, cta: Cta, warp: Warp) -> int:
        warp.live, warp.ended = 0xFF, 0b101
        assert not counts["warps"].any()
        return arrive_at(0)(context, cta, warp)

    def end(context: Context, cta: Cta, warp: Warp) -> int:
        warp.ended |= 0b1000
        return leave(context, cta, warp)

    counts = np.zeros(9, Executions.dtype)
    world = World(monkeypatch, [[part, end]])
    world.context.counts = Executions.many(counts.view(np.uint8))
    world.context.exits = Pointer(np.array([8, 2, 4, 1], np.uint32))
    assert run_grid(world.context) == DONE
    assert counts["warps"].tolist() == [0, 1, 0, 0, 1, 0, 0, 0, 1]
    assert not counts["threads"].any()


def test_blocks_in_another_order(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(monkeypatch, [[leave]], blocks=3)
    world.context.block_order = Pointer(np.array([2, 0, 1], np.uint64))
    assert run_grid(world.context) == DONE
    assert world.turns == [(2, 0), (0, 0), (1, 0)]


def test_a_barrier_waits_for_all_that_are_alive(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(monkeypatch, [[arrive_at(0), leave], [leave], [linger, arrive_at(0), leave]])
    assert run_grid(world.context) == DONE
    assert world.warps() == [0, 1, 2, 2, 0, 2]


def test_a_barrier_with_a_count_waits_for_so_many_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    def arrive(context: Context, cta: Cta, warp: Warp) -> int:
        cta.bar_count[3], cta.bar_yes[3], cta.bar_asked[3] = 64, 40, 64
        return arrive_at(3)(context, cta, warp)

    told: list[tuple[int, int]] = []

    def look(context: Context, cta: Cta, warp: Warp) -> int:
        told.append((warp.yes, warp.asked))
        assert (cta.bar_count[3], cta.bar_yes[3]) == (0, 0)
        return leave(context, cta, warp)

    world = World(monkeypatch, [[arrive, look], [linger, linger, leave], [arrive, look]])
    assert run_grid(world.context) == DONE
    assert world.warps() == [0, 1, 2, 0, 1, 2, 1]
    assert told == [(40, 64), (40, 64)]


def test_arrivals_count(monkeypatch: pytest.MonkeyPatch) -> None:
    """`bar.arrive`: a warp counts and goes on."""

    def arrive(context: Context, cta: Cta, warp: Warp) -> int:
        cta.bar_arrived[1] += 1
        return leave(context, cta, warp)

    def wait(context: Context, cta: Cta, warp: Warp) -> int:
        cta.bar_count[1] = 64
        return arrive_at(1)(context, cta, warp)

    world = World(monkeypatch, [[wait, leave], [arrive]])
    assert run_grid(world.context) == DONE
    assert world.warps() == [0, 1, 0]


def test_a_diverged_warp_arrives_with_its_last_lanes(monkeypatch: pytest.MonkeyPatch) -> None:
    """`bar.arrive` in divergent code: the lanes that come first wait; the warp counts once, and has another turn."""

    def part(context: Context, cta: Cta, warp: Warp) -> int:
        warp.diverged = 1
        warp.bar[1] = warp.arrived[1] = warp.wait = 0xFF
        return DONE

    def complete(context: Context, cta: Cta, warp: Warp) -> int:
        assert (warp.bar[1], cta.bar_arrived[1]) == (0xFF, 0)
        warp.bar[1] = warp.arrived[1] = warp.wait = warp.live
        return DONE

    def look(context: Context, cta: Cta, warp: Warp) -> int:
        assert (warp.bar[1], warp.arrived[1], warp.wait, cta.bar_arrived[1]) == (0, 0, 0, 1)
        return leave(context, cta, warp)

    world = World(monkeypatch, [[part, complete, look], [linger, leave]])
    world.context.run_diverged = 1
    assert run_grid(world.context) == DONE
    assert world.warps() == [0, 1, 0, 1, 0]


def test_lanes_at_bar_sync_keep_the_others_of_their_warp(monkeypatch: pytest.MonkeyPatch) -> None:
    def part(context: Context, cta: Cta, warp: Warp) -> int:
        warp.diverged = 1
        warp.bar[1] = warp.wait = warp.live
        warp.arrived[1] = 0xFF
        cta.bar_count[1] = 64
        return DONE

    world = World(monkeypatch, [[part, leave], [linger, arrive_at(1), leave]])
    world.context.run_diverged = 1
    assert run_grid(world.context) == DONE
    assert world.warps() == [0, 1, 1, 0, 1]


def test_warps_at_two_barriers_wait_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(monkeypatch, [[arrive_at(0)], [arrive_at(1)]])
    assert run_grid(world.context) == FAULT
    assert (world.fault, world.stop[0]) == ((DEADLOCK, 0, 0, 0), 1)


@pytest.mark.parametrize(("word", "outcome"), [(5, FAULT), (5 | 1 << 63, DONE)])
def test_lanes_that_all_spin(monkeypatch: pytest.MonkeyPatch, word: int, outcome: int) -> None:
    """They wait for ever unless the phase that one of them asks for is over."""

    def spin(context: Context, cta: Cta, warp: Warp) -> int:
        warp.spins = warp.live
        for lane in range(32):
            warp.spin_at[lane], warp.spin_for[lane] = 0, 5
        cta.shared.cast(u64)[0] = word
        return DONE

    world = World(monkeypatch, [[spin, leave]])
    assert run_grid(world.context) == outcome
    assert world.warps() == ([0] if outcome == FAULT else [0, 0])


def test_a_budget_is_spent(monkeypatch: pytest.MonkeyPatch) -> None:
    def stand(context: Context, cta: Cta, warp: Warp) -> int:
        warp.converged_pc = 2 * 21
        return linger(context, cta, warp)

    world = World(monkeypatch, [[stand]])
    assert run_grid(world.context) == FAULT
    assert world.fault == (BUDGET_SPENT, 21, 0, 0)
    assert len(world.turns) == 1000 // 12 + 1
    assert world.context.clock == 12 * len(world.turns)


def test_a_launch_that_is_to_stop_stops(monkeypatch: pytest.MonkeyPatch) -> None:
    def halt(context: Context, cta: Cta, warp: Warp) -> int:
        context.stop[0] = 1
        return linger(context, cta, warp)

    world = World(monkeypatch, [[linger, halt]], blocks=4)
    assert run_grid(world.context) == STOPPED
    assert world.turns == [(0, 0), (0, 0)]


def test_the_slow_function_is_asked_for_once(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(monkeypatch, [[diverge, leave], [leave]])
    assert run_grid(world.context) == NEEDS_DIVERGED
    assert world.warps() == [0]
    world.context.run_diverged = 1
    assert run_grid(world.context) == DONE
    assert world.warps() == [0, 0, 1]


def test_a_region_that_was_left_goes_on_with_the_next_quantum(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the function for diverged warps, unless it is a passed-over lane's turn."""

    def give_up(rounds: int) -> Action:
        def act(context: Context, cta: Cta, warp: Warp) -> int:
            context.quantum, warp.region, warp.turns.rounds = -1, 88, rounds
            return DIVERGED

        return act

    def go_on(context: Context, cta: Cta, warp: Warp) -> int:
        assert (warp.diverged, warp.converged_pc, context.quantum) == (0, 88, 10)
        return leave(context, cta, warp)

    world = World(monkeypatch, [[give_up(PATIENCE - 1), go_on], [leave]])
    assert run_grid(world.context) == DONE
    assert world.warps() == [0, 1, 0]
    world = World(monkeypatch, [[give_up(PATIENCE), leave], [leave]])
    assert run_grid(world.context) == NEEDS_DIVERGED


def test_a_block_that_lasts_lets_others_begin(monkeypatch: pytest.MonkeyPatch) -> None:
    """After 16 quanta; then the two take turns, until one has ended and the next begins in its place."""
    world = World(monkeypatch, [[*[linger] * 20, leave]], blocks=3, slots=2)
    assert run_grid(world.context) == NEEDS_SLOT
    assert world.turns == [(0, 0)] * 16
    world.add_slot()
    assert run_grid(world.context) == DONE
    assert world.turns[16:26] == [(1, 0), (0, 0)] * 5
    assert {block: sum(b == block for b, _ in world.turns) for block in range(3)} == {0: 21, 1: 21, 2: 21}


def test_a_seed_shuffles_warps_and_quanta(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: dict[int, Any] = {}
    for seed in (1, 2, 1):
        world = World(monkeypatch, [[arrive_at(0)] * 3 + [linger, leave]] * 4)
        world.context.random = seed
        assert run_grid(world.context) == DONE
        assert sorted(world.warps()) == sorted([0, 1, 2, 3] * 5)
        rounds = [world.warps()[k : k + 4] for k in (0, 4, 8)]
        assert all(sorted(each) == [0, 1, 2, 3] for each in rounds)
        assert seen.setdefault(seed, world.turns) == world.turns
    assert seen[1] != seen[2]
