"""`cp.async` in the stepping engine: each lane's bytes are moved when the copy is issued (see `rules.async_copies`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ptxlab.emulate.language import Pointer
from ptxlab.emulate.program.flat_program import Code
from ptxlab.emulate.program.lane_types import LANES
from ptxlab.emulate.rules import copies_in_flight as in_flight
from ptxlab.emulate.rules.async_copies import move
from ptxlab.emulate.step.access import Touch
from ptxlab.emulate.step.body import Body, Look, executes
from ptxlab.emulate.step.lanes import mask_bits
from ptxlab.emulate.step.launch_checks import LaunchChecks
from ptxlab.emulate.step.memory_ranges import Region
from ptxlab.emulate.step.operands import Step, Translator
from ptxlab.emulate.step.warp import Warp
from ptxlab.isa.actions import Action, AsyncGroup


@executes(Action.COPY, Action.COMMIT, Action.WAIT_GROUP, Action.WAIT_ALL, group=AsyncGroup.CP_ASYNC)
class Copies(Body):
    """`cp.async`; a commit or a wait does nothing, but for the checks."""

    tells = checked_after = True

    def step(self, t: Translator, code: Code) -> Step:
        return _Copy(t, code).run if code.properties.lane_copy else lambda w: None

    def looks(self, checker: LaunchChecks, code: Code) -> list[Look]:
        if not checker.sync or code.properties.lane_copy:
            return []
        return [commits] if code.action is Action.COMMIT else [_waits(code)]


def commits(w: Warp, mask: np.ndarray) -> None:
    """synccheck: copies that these lanes have issued belong to a group."""
    in_flight.commit(w.spaces.check.record, w.warp, mask_bits(mask))


def _waits(code: Code) -> Look:
    """synccheck: lanes have waited for all groups, or all but some."""
    everything = code.action is Action.WAIT_ALL
    left = 0 if everything else code.number("n")

    def look(w: Warp, mask: np.ndarray) -> None:
        block, lanes = w.spaces.check.record, mask_bits(mask)
        if everything:
            in_flight.wait_all(block, w.warp, lanes)
        else:
            in_flight.wait_group(block, w.warp, lanes, left)

    return look


class _Copy:
    """One `cp.async`."""

    def __init__(self, t: Translator, code: Code) -> None:
        self.code, self.size = code, code.number("size")
        reads = t.named(code)
        self.to: Callable[[Warp], Any] = reads["a"]
        self.source: Callable[[Warp], Any] = reads["b"]
        self.wanted: Callable[[Warp], Any] = reads["src_size"]

    def run(self, w: Warp) -> int | None:
        to, source, wanted = self.to(w).astype(np.uint64), self.source(w).astype(np.uint64), self.wanted(w)
        if wanted is None:
            counts = np.full(LANES, self.size)
        elif wanted.dtype == np.bool_:  # "ignore the source"
            counts = np.where(wanted, 0, self.size)
        else:
            counts = np.minimum(wanted, wanted.dtype.type(self.size)).astype(np.int64)
        if w.touches is not None:
            w.touches.append(Touch("load", "global", source, self.size, w.mask & (counts > 0)))
            w.touches.append(Touch("store", "shared", to, self.size, w.mask))
        if (counts[w.mask] == self.size).all() and self._at_once(w, to[w.mask], source[w.mask]):
            return None
        for lane in np.flatnonzero(w.mask).tolist():
            count = int(counts[lane])
            there = _pointer(w.place(self.code, "store", "shared", int(to[lane]), lane, self.size))
            here = None
            if count:
                here = _pointer(w.place(self.code, "load", "global", int(source[lane]), lane, count, self.size))
            move(there, here, count, self.size)
        return None

    def _at_once(self, w: Warp, to: np.ndarray, source: np.ndarray) -> bool:
        """Copies all bytes of all lanes if they come from one allocation. Whether that could be done."""
        there, here = w.spaces.shared, w._region("global", int(source[0]))
        if here is None:
            return False
        target, origin = to - there.base, source - here.base
        if not there.holds(target, self.size) or not here.holds(origin, self.size):
            return False
        piece, size = np.dtype(f"V{self.size}"), np.uint64(self.size)
        there.view(piece)[target // size] = here.view(piece)[origin // size]
        return True


def _pointer(place: tuple[Region, int]) -> Pointer[int]:
    region, offset = place
    return Pointer(region.data, offset)
