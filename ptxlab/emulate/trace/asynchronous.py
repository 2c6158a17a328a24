"""The asynchronous events of a trace: operations on mbarriers and what each still waits for; groups of `wgmma`.

for event in mbarrier_events(recording):
    print(event.step, event.warp, event.what, hex(event.address), event.phase, event.pending, event.bytes)

The recorded steps hold the addresses and operands of these operations, and the end of the trace says when each bulk
copy was performed. So the operations are executed here once more, by the rule that both engines use.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from ptxlab.emulate.program.addresses import SHARED_WINDOW, WINDOW_SIZE
from ptxlab.emulate.program.flat_program import Code, Literal, Reg
from ptxlab.emulate.program.lane_types import LANES
from ptxlab.emulate.program.lowering_cache import lower
from ptxlab.emulate.program.program import Program
from ptxlab.emulate.program.wait_loops import WAITS
from ptxlab.emulate.rules.clusters import mates_of
from ptxlab.emulate.rules.mbarrier_words import INIT, INVAL, UPDATE, WAIT, operated
from ptxlab.emulate.rules.mbarriers import Operation, operation
from ptxlab.emulate.trace.order import Copied
from ptxlab.emulate.trace.recording import Recording, Walker
from ptxlab.errors import TraceError
from ptxlab.isa import mbarrier
from ptxlab.isa.actions import MBARRIER, Action
from ptxlab.isa.convert import PEER
from ptxlab.text import parse


@dataclass(frozen=True)
class MbarrierEvent:
    """One operation of one thread, or the completion of a bulk copy's bytes.

    what: "init", "arrive", "expect_tx", "complete_tx", "inval", or of a wait "passed" and "waits" (it failed); an
    arrival that also announces bytes is "arrive". step: how many steps of all recorded warps came before; number: of
    its own warp's, -1 for a copy. by, warp, lane: who did it, a thread of which block; of a copy the warp that issued
    it, and -1. block, address: where the mbarrier is, in shared memory. Afterwards: phase: how many have ended;
    pending, bytes: the arrivals and bytes that the current phase waits for; ended: whether this operation has ended a
    phase.
    """

    what: str
    block: int
    address: int
    step: int
    warp: int
    number: int
    by: int
    lane: int
    line: int
    phase: int
    pending: int
    bytes: int
    ended: bool


Who = tuple[int, int, int, int, int, int]
"""The fields of an event from `step` to `line`."""


def mbarrier_events(
    recording: Recording, waits: Mapping[tuple[int, int], Collection[int]] | None = None
) -> list[MbarrierEvent]:
    """All operations on mbarriers, in their order; of waits only those in these steps of a warp (block, warp), or all:
    they change nothing, and there may be many. Raises `TraceError` where steps are missing (a window, some lines only,
    a limit that was reached), or blocks of a cluster, which may arrive at each other's mbarriers."""
    return list(Replay(recording).events(waits))


class Replay:
    """The operations of a trace, executed again. words: of each mbarrier (block, address) its contents; phases: how
    many of its phases have ended."""

    def __init__(self, recording: Recording) -> None:
        self.recording = recording
        self.program: Program = lower(parse(recording.text), recording.kernel, recording.arch)
        recording.places()  # raises where steps are missing
        self.clusters = {block: mates_of(recording.grid, recording.cluster, block) for block, _ in recording.warps}
        for block, mates in self.clusters.items():
            if not all(mate in self.clusters for mate in mates):
                raise TraceError(
                    f"{recording.name} holds block {block}, but not all {len(mates)} blocks of its cluster, which may "
                    f"arrive at its mbarriers: record it with pl.Trace(blocks={block}, whole_clusters=True)"
                )
        self.walkers = {key: recording.walk(*key) for key in recording.warps}
        self.words: dict[tuple[int, int], int] = {}
        self.phases: dict[tuple[int, int], int] = {}

    def events(self, waits: Mapping[tuple[int, int], Collection[int]] | None = None) -> Iterator[MbarrierEvent]:
        """All operations in order; `waits` as in `mbarrier_events`."""
        operates = np.array([code.action in MBARRIER for code in self.program.codes])
        is_wait = np.array([code.action in WAITS for code in self.program.codes])
        performed = sorted((c for c in self.recording.copies if c.barrier >= 0 and c.ended >= 0), key=lambda c: c.ended)
        codes = {key: self.recording.codes_of(key) for key in self.walkers}
        chosen = {key: operates[of_warp] for key, of_warp in codes.items()}
        if waits is not None:
            for key, of_warp in codes.items():
                named = np.zeros(len(of_warp), np.bool_)
                named[list(waits.get(key, ()))] = True
                chosen[key] &= named | ~is_wait[of_warp]
        made, at = dict.fromkeys(self.walkers, 0), 0
        for block, warp, steps in self.recording.turns:
            key, first = (block, warp), made[block, warp]
            made[key] += steps
            for inside in np.flatnonzero(chosen[key][first : first + steps]).tolist():
                while performed and performed[0].ended <= at + inside:
                    yield self._completed(performed.pop(0))
                code = self.program.codes[int(codes[key][first + inside])]
                yield from self._step(self.walkers[key], code, first + inside, at + inside)
            at += steps
        yield from map(self._completed, performed)

    def _step(self, walker: Walker, code: Code, number: int, step: int) -> Iterator[MbarrierEvent]:
        """One step of a warp: its lanes in their order."""
        accesses = walker.moment(number).accesses
        if not accesses:
            return
        what, (access, *_) = operation(code), accesses
        named = dict(zip([s.name for s in code.form.op.operands][len(code.dests) :], code.sources, strict=False))

        def amount(given: int | str) -> np.ndarray:
            if isinstance(given, int):
                return np.full(LANES, given, np.int64)
            source = named[given.lstrip("-")]
            if isinstance(source, Reg):
                value = walker.value(source.index, number).astype(np.uint64).view(np.int64)
            else:
                assert isinstance(source, Literal)
                value = np.full(LANES, int(source.value), np.int64)
            return -value if given[0] == "-" else value

        x, y = amount(what.state or what.arrivals), amount(what.bytes)
        if what.state == "parity":
            x = x << mbarrier.PHASE_SHIFT
        for lane in np.flatnonzero(access.mask).tolist():
            address = int(access.address[lane])
            offset = address - SHARED_WINDOW if SHARED_WINDOW <= address < SHARED_WINDOW + WINDOW_SIZE else address
            rank, offset = divmod(offset, PEER)
            block = self.clusters[walker.block][rank - 1] if rank else walker.block
            who = step, walker.warp, number, walker.block, lane, code.line
            yield self._operate(what, int(x[lane]), int(y[lane]), (block, offset), who)

    def _completed(self, copied: Copied) -> MbarrierEvent:
        what = Operation(UPDATE, bytes="-size")
        who = copied.ended, copied.warp, -1, copied.block, -1, copied.line
        return self._operate(what, 0, -copied.bytes, (copied.to, copied.barrier), who)

    def _operate(self, what: Operation, x: int, y: int, key: tuple[int, int], who: Who) -> MbarrierEvent:
        """One operation on an mbarrier (block, address)."""
        before, all_ = self.words.get(key, 0), (1 << 64) - 1
        _, word, result = operated(before, what.action, what.flags, x & all_, y & all_)
        ended = what.action == UPDATE and bool((before ^ word) >> mbarrier.PHASE_SHIFT & 1)
        self.words[key] = word
        phase = self.phases[key] = 0 if what.action == INIT else self.phases.get(key, 0) + ended
        said, pending = _said(what, y, passed=bool(result)), mbarrier.pending(word)
        return MbarrierEvent(said, *key, *who, phase, pending, mbarrier.bytes_pending(word), ended)


def _said(what: Operation, bytes_: int, *, passed: bool) -> str:
    if what.action == WAIT:
        return "passed" if passed else "waits"
    if what.action in (INIT, INVAL):
        return "init" if what.action == INIT else "inval"
    return "arrive" if what.arrivals else "expect_tx" if bytes_ > 0 else "complete_tx"


PRODUCTS = (Action.WARPGROUP_PRODUCT, Action.WARPGROUP_COMMIT, Action.WARPGROUP_WAIT)


@dataclass
class ProductGroup:
    """A group of products of one warp. products: how many; line: that of the first. issued, committed, waited: how many
    steps of all recorded warps came before its first product, its commit_group, and the wait_group that
    waits for it; -1 where the trace ends first."""

    block: int
    warp: int
    products: int
    line: int
    issued: int
    committed: int = -1
    waited: int = -1


def product_groups(recording: Recording) -> list[ProductGroup]:
    """The groups of all warps, in the order in which they were issued. Raises `TraceError` where steps are missing."""
    program = lower(parse(recording.text), recording.kernel, recording.arch)
    operates = np.array([code.action in PRODUCTS for code in program.codes])
    out: list[ProductGroup] = []
    for (block, warp), places in recording.places().items():
        codes = recording.codes_of((block, warp))
        group: ProductGroup | None = None
        in_flight: list[ProductGroup] = []
        for number in np.flatnonzero(operates[codes]).tolist():
            code, at = program.codes[int(codes[number])], int(places[number])
            if code.action is Action.WARPGROUP_PRODUCT:
                if group is None:
                    group = ProductGroup(block, warp, 0, code.line, at)
                    out.append(group)
                group.products += 1
            elif code.action is Action.WARPGROUP_COMMIT and group is not None:
                group.committed, group = at, None
                in_flight.append(out[-1])
            elif code.action is Action.WARPGROUP_WAIT:
                left = next(int(source.value) for source in code.sources if isinstance(source, Literal))
                while len(in_flight) > left:
                    in_flight.pop(0).waited = at
    return sorted(out, key=lambda group: group.issued)
