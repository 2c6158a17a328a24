"""`cp.async` in the stepping engine: the bytes are moved when the copy is issued.

That is one of the orders in which a GPU may do it, and the earliest: what commits and waits then has nothing to do, and
a missing wait does not show. `_Copy.move` is all there is to a copy once its addresses have been checked, and may be
called later as well.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ptxlab.emulate.program.model import Code, Literal
from ptxlab.emulate.runtime.faults import access_fault
from ptxlab.emulate.step.access import Region, Touch
from ptxlab.emulate.step.lanes import LANES
from ptxlab.emulate.step.warp import Warp
from ptxlab.isa.actions import Action

if TYPE_CHECKING:
    from ptxlab.emulate.step.translate import Step, Translator

Place = tuple[Region, int]


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
        assert code.form is not None
        self.code, self.size = code, copy_size(code)
        names = [s.name for s in code.form.op.operands if s.role != "dst"]
        reads = dict(zip(names, t.readers(code), strict=True))
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
        for lane in np.flatnonzero(w.mask).tolist():
            count = int(counts[lane])
            there = self._place(w, "store", "shared", int(to[lane]), self.size, lane)
            here = self._place(w, "load", "global", int(source[lane]), count, lane) if count else None
            self.move(here, there, count)
        return None

    def move(self, here: Place | None, there: Place, count: int) -> None:
        """Copies `count` bytes and writes zeros behind them."""
        region, at = there
        if here is not None:
            region.data[at : at + count] = here[0].data[here[1] : here[1] + count]
        region.data[at + count : at + self.size] = 0

    def _place(self, w: Warp, what: str, space: str, address: int, count: int, lane: int) -> Place:
        region = w._region(space, address)
        offset = -1 if region is None else address - int(region.base)
        if region is None or not 0 <= offset <= region.size - count or address % self.size:
            machine = w.machine
            raise access_fault(
                machine.program, machine.launch, machine.memory, line=self.code.line, block=w.block_index,
                thread=w.warp * LANES + lane, what=what, space=space, address=address, size=self.size,
            )  # fmt: skip
        return region, offset
