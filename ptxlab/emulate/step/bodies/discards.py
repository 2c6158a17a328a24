"""`discard` in the stepping engine (see `ptxlab.emulate.rules.discards`)."""

from __future__ import annotations

import numpy as np

from ptxlab.emulate.language import Pointer
from ptxlab.emulate.program.flat_program import Code
from ptxlab.emulate.rules.discards import forget_bytes
from ptxlab.emulate.step.body import Body, executes
from ptxlab.emulate.step.operands import Step, Translator
from ptxlab.emulate.step.warp import Warp
from ptxlab.isa.actions import Action


@executes(Action.DISCARD)
class Discards(Body):
    """Bytes become undefined."""

    def step(self, t: Translator, code: Code) -> Step:
        (access,) = code.accesses
        address = t.read(code.named[access.operand][0], "addr", code)

        def run(w: Warp) -> int | None:
            places = address(w).astype(np.uint64).tolist()
            lanes = np.flatnonzero(w.mask).tolist()
            found = [w.place(code, access.what, access.space, places[lane], lane, access.size) for lane in lanes]
            for region, at in found:
                written = None if region.written is None else Pointer[int](region.written, at)
                forget_bytes(Pointer(region.data, at), written)
            return None

        return run
