"""`cp.async` in the stepping engine: each lane's bytes are moved when the copy is issued (see `rules.copies`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ptxlab.emulate.language import Pointer
from ptxlab.emulate.program.lane_types import LANES
from ptxlab.emulate.program.model import Code, Literal
from ptxlab.emulate.rules.copies import move
from ptxlab.emulate.step.access import Region, Touch
from ptxlab.emulate.step.warp import Warp
from ptxlab.isa.actions import Action

if TYPE_CHECKING:
    from ptxlab.emulate.step.translate import Step, Translator


def copy_size(code: Code) -> int:
    """The bytes a lane copies: 4, 8 or 16."""
    return next(int(s.value) for s in code.sources if isinstance(s, Literal))


def translate(t: Translator, code: Code) -> Step:
    """The step of an instruction of kind "async"; a commit or a wait does nothing."""
    if code.action is not Action.COPY:
        return lambda w: None
    return _Copy(t, code).run


class _Copy:
    """One `cp.async`."""

    def __init__(self, t: Translator, code: Code) -> None:
        self.code, self.size = code, copy_size(code)
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
