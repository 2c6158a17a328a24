"""Instructions that do not end a block, and what instruments add before and after each."""

from __future__ import annotations

from ptxlab.emulate.jit.bodies.table import Bodies
from ptxlab.emulate.jit.emitter.emitter import Emitter
from ptxlab.emulate.jit.emitter.part import Part
from ptxlab.emulate.jit.emitter.semantics import Semantics
from ptxlab.emulate.jit.memory.access import Memory
from ptxlab.emulate.jit.translation.rule_calls import call
from ptxlab.emulate.program.flat_program import Code
from ptxlab.emulate.rules.clusters import arrive
from ptxlab.emulate.runtime import state as S
from ptxlab.isa.actions import BODIED, Action


class Execution(Part):
    """Instructions between labels."""

    def __init__(self, e: Emitter, memory: Memory, bodies: Bodies) -> None:
        super().__init__(e)
        self.memory, self.bodies = memory, bodies
        self.semantics = Semantics(e, e.machine, e.operands)

    def emit(self, code: Code) -> None:
        """An instruction, and what instruments add before and after it."""
        after = [then for instrument in self.e.instruments if (then := instrument.before(code))]
        self._emit(code)
        for then in reversed(after):
            then()

    def _emit(self, code: Code) -> None:
        if code.copy is not None:
            self._copy(*code.copy)
            return
        if code.action is Action.TAKE_REDUCED:
            self._reduced(code)
            return
        if code.action is Action.CLUSTER_BARRIER:  # its arrival; the wait ends a block
            for instrument in self.e.instruments:
                instrument.cluster_barrier(code)
            self.t.do(call(arrive, "%ws", self.active.bits))
            return
        if code.form.op.kind in ("none", "flow"):  # no effect on results; `bar.warp.sync` of a warp that has converged
            return
        if code.form.op.kind in BODIED and (body := self.bodies.of(code)) is not None:
            body.emit(code)
            return
        self.semantics.emit(code)

    def _reduced(self, code: Code) -> None:
        """After `bar.red`: the barrier's result goes into the destination."""
        form, m = code.form, self.m
        yes, asked = m.field(S.Warp, "yes", "i32"), m.field(S.Warp, "asked", "i32")
        if form.operation == "popc":
            result = yes
        elif form.operation == "and":
            result = m.eq(yes, asked)
        else:
            result = m.ne(yes, m.const("i32", 0))
        self.e.operands.write(code.dests[0], code.dest_types[0], result)

    def _copy(self, source: int, dest: int, size: int) -> None:
        """Arguments and results of a call, from frame to frame in every lane."""
        self.memory.local.copy(source, dest, size)
        for instrument in reversed(self.e.instruments):
            instrument.copied_frame(source, dest, size)
