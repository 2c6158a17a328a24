"""The rules of mbarriers in Python and compiled: one word against a plain model, and all lanes of a warp."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from ptxlab.emulate.language import Pointer
from ptxlab.emulate.program.addresses import SHARED_WINDOW
from ptxlab.emulate.rules import mbarriers as M
from ptxlab.emulate.rules.records import Block
from ptxlab.emulate.runtime.state import (
    BAD_MBARRIER,
    GENERIC,
    OUT_OF_MEMORY_RANGE,
    SHARED,
    Cluster,
    Context,
    Cta,
    MemoryMap,
    Warp,
)
from ptxlab.isa import mbarrier
from ptxlab.isa.mbarrier import Problem

rules_in_llvm = pytest.importorskip("compiled_rules")
FULL, START, BYTES = 0xFFFFFFFF, 1024, 512


@pytest.fixture(scope="module")
def compiled() -> Any:
    return rules_in_llvm.Compiled([M.operated, M.operate, M.still_spinning, M.worth_reporting])


# -- one word ----------------------------------------------------------------------------------------------------------


@dataclass
class Gate:
    """An mbarrier as a program sees it."""

    expected: int
    pending: int
    bytes: int = 0
    parity: int = 0

    @property
    def word(self) -> int:
        tag = mbarrier.TAG << mbarrier.TAG_SHIFT
        bytes_ = (self.bytes & mbarrier.TX) << mbarrier.TX_SHIFT
        return self.pending | self.expected << mbarrier.EXPECTED_SHIFT | bytes_ | tag | self.parity << 63

    def arrive(self, count: int, bytes_: int, flags: int) -> int:
        """What goes wrong, or 0."""
        if count > self.pending:
            return Problem.TOO_MANY
        over = count == self.pending and self.bytes + bytes_ == 0
        if over and flags & M.NO_COMPLETE:
            return Problem.COMPLETES
        self.pending, self.bytes = self.pending - count, self.bytes + bytes_
        if flags & M.DROP:
            self.expected -= count
        if over:
            self.pending, self.parity = self.expected, 1 - self.parity
        return M.NO_PROBLEM


@pytest.mark.long
def test_arrivals_against_a_plain_model(compiled: Any) -> None:
    rng = np.random.default_rng(1)
    met = set()
    for _ in range(60):
        count = int(rng.choice([1, 2, 5, 32, mbarrier.COUNT]))
        gate = Gate(count, count)
        _, word, _ = M.operated(0, M.INIT, 0, count, 0)
        assert word == gate.word
        for _ in range(40):
            arrivals = int(rng.choice([0, 1, 1, gate.pending, gate.pending + 1]))
            bytes_ = int(rng.choice([0, 0, 16, -gate.bytes]))
            flags = int(rng.integers(4)) if rng.random() < 0.3 else 0
            before = word
            problem = gate.arrive(arrivals, bytes_, flags)
            given = (word, M.UPDATE, flags, arrivals, bytes_ & (1 << 64) - 1)
            found = M.operated(*given)
            assert found == compiled(M.operated, *given) == (problem, gate.word, before)
            met.add((problem, gate.parity, flags))
            word = found[1]
    assert {problem for problem, _, _ in met} == {M.NO_PROBLEM, Problem.TOO_MANY, Problem.COMPLETES}


@pytest.mark.long
def test_the_other_operations(compiled: Any) -> None:
    word = Gate(4, 3, 16, 1).word
    for given, expected in (
        ((0, M.INIT, 0, 3, 0), (M.NO_PROBLEM, Gate(3, 3).word, 0)),
        ((word, M.INIT, 0, 3, 0), (M.NO_PROBLEM, Gate(3, 3).word, word)),
        ((word, M.INIT, 0, 0, 0), (Problem.BAD_COUNT, word, word)),
        ((word, M.INIT, 0, mbarrier.COUNT, 0), (M.NO_PROBLEM, Gate(mbarrier.COUNT, mbarrier.COUNT).word, word)),
        ((word, M.INIT, 0, mbarrier.COUNT + 1, 0), (Problem.BAD_COUNT, word, word)),
        ((word, M.INVAL, 0, 0, 0), (M.NO_PROBLEM, 0, word)),
        ((word, M.WAIT, M.SPIN, 0, 0), (M.NO_PROBLEM, word, 1)),
        ((word, M.WAIT, M.SPIN, word, 0), (M.NO_PROBLEM, word, 0)),
        ((word, M.WAIT, 0, 1 << 63, 0), (M.NO_PROBLEM, word, 0)),
    ):
        assert M.operated(*given) == compiled(M.operated, *given) == expected
    for unmade in (0, (1 << 64) - 1, 1 << 62):
        for action in (M.INVAL, M.UPDATE, M.WAIT):
            given = (unmade, action, 0, 1, 0)
            assert M.operated(*given) == compiled(M.operated, *given) == (Problem.NOT_INITIALISED, unmade, unmade)


# -- all lanes ---------------------------------------------------------------------------------------------------------


class Place:
    """A warp in a CTA whose shared memory begins at START."""

    def __init__(self) -> None:
        self.context, self.cta, self.warp, self.memory = Context.new(), Cta.new(), Warp.new(), MemoryMap.new()
        self.cta.cluster = Cluster.new()
        self.memory.shared_start, self.memory.shared_size = START, BYTES
        self.context.memory, self.warp.warp_id = self.memory, 3
        self.shared = np.zeros(BYTES, np.uint8)
        self.block: Block | None = None
        self.cta.shared = Pointer(self.shared)
        self.results = Pointer(np.zeros(32, np.uint64))

    def operate(self, rule: Any, at: Any, xs: Any, action: int, mask: int = FULL, ys: Any = 0, **more: int) -> bool:
        words = [Pointer(np.broadcast_to(np.asarray(v, np.uint64), 32).copy()) for v in (at, xs, ys)]
        flags, space, code = more.get("flags", 0), more.get("space", SHARED), more.get("code", 7)
        stops: bool = rule(
            self.context, self.cta, self.warp, self.block, mask, *words, self.results, action, flags, space, code
        )
        return stops

    def left(self) -> tuple[Any, ...]:
        """All that an operation may leave."""
        fault, warp = self.context.fault, self.warp
        spins = [(lane, warp.spin_at[lane], warp.spin_for[lane], warp.spin_code[lane]) for lane in range(32)]
        return (
            self.shared.tobytes(),
            self.results.array.tobytes(),
            warp.spins,
            spins,
            (fault.kind, fault.code, fault.lane, fault.warp, fault.address),
        )


@pytest.fixture(params=["python", "compiled"])
def operate(request: pytest.FixtureRequest, compiled: Any) -> Any:
    if request.param == "python":
        return M.operate
    return lambda *arguments: compiled(M.operate, *arguments)


def word_of(place: Place, at: int) -> int:
    return int(place.shared[at - START :][:8].view(np.uint64)[0])


def test_lanes_arrive_one_after_the_other(operate: Any) -> None:
    place = Place()
    assert not place.operate(operate, START, 32, M.INIT, mask=1)
    assert not place.operate(operate, START + SHARED_WINDOW, 1, M.UPDATE, space=GENERIC)
    assert [int(w) & mbarrier.COUNT for w in place.results.array] == list(range(32, 0, -1))
    assert word_of(place, START) == Gate(32, 32, 0, 1).word


def test_a_wait_that_spins_is_noted_and_forgotten(operate: Any) -> None:
    place = Place()
    for at in (START, START + 8):
        place.operate(operate, at, 1, M.INIT, mask=1)
    place.operate(operate, START, 1, M.UPDATE, mask=1)  # its first phase is over
    at = np.where(np.arange(32) % 2, START + 8, START)
    assert not place.operate(operate, at, 0, M.WAIT, mask=0xFF, flags=M.SPIN, code=11)
    assert place.results.array[:8].tolist() == [1, 0] * 4
    assert place.warp.spins == 0xAA
    assert (place.warp.spin_at[3], place.warp.spin_for[3], place.warp.spin_code[3]) == (START + 8, 0, 11)
    place.operate(operate, START + 8, 1, M.UPDATE, mask=1)
    place.operate(operate, at, 0, M.WAIT, mask=0xF, flags=M.SPIN)
    assert place.warp.spins == 0xA0
    place.operate(operate, at, 0, M.WAIT, mask=0xF0)
    assert place.warp.spins == 0


@pytest.mark.parametrize("wrong", [START + 4, START - 8, START + BYTES, START + BYTES - 4, 0])
def test_a_wrong_address_stops_at_its_lane(operate: Any, wrong: int) -> None:
    place = Place()
    at = np.full(32, START)
    at[5] = wrong
    assert place.operate(operate, at, 32, M.INIT)
    fault = place.context.fault
    found = (fault.kind, fault.code, fault.lane, fault.warp, fault.address)
    assert found == (OUT_OF_MEMORY_RANGE, 7, 5, 3, wrong)
    assert word_of(place, START) == Gate(32, 32).word


def test_an_operation_that_cannot_be_done_stops_at_its_lane(operate: Any) -> None:
    place = Place()
    place.operate(operate, START, 3, M.INIT, mask=1)
    assert place.operate(operate, START, 2, M.UPDATE, mask=0xFF0)
    fault = place.context.fault
    assert (fault.kind, fault.lane, fault.address) == (BAD_MBARRIER, 5, Problem.TOO_MANY)
    assert word_of(place, START) == Gate(3, 1).word


def test_who_spins_on_a_phase_that_is_over_can_go_on(compiled: Any) -> None:
    place = Place()
    place.operate(M.operate, START, 1, M.INIT, mask=1)
    place.warp.live, place.warp.wait = 0xF, 0x3  # lanes 0 and 1 wait at a barrier
    place.operate(M.operate, START, 0, M.WAIT, mask=0xC, flags=M.SPIN)
    given = place.context, place.cta, place.warp
    assert M.still_spinning(*given) is compiled(M.still_spinning, *given) is True
    place.operate(M.operate, START, 1, M.UPDATE, mask=1)
    assert M.still_spinning(*given) is compiled(M.still_spinning, *given) is False
    place.warp.wait = 0xF
    assert M.still_spinning(*given) is compiled(M.still_spinning, *given) is True
