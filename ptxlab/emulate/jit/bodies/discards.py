"""`discard` in the JIT: a call of one rule (`ptxlab.emulate.rules.discards`)."""

from __future__ import annotations

from ptxlab.emulate.jit.bodies.body import Body
from ptxlab.emulate.jit.llvm.ir_text import W
from ptxlab.emulate.jit.translation.rule_calls import call
from ptxlab.emulate.program.flat_program import Code
from ptxlab.emulate.rules.discards import discard


class Discards(Body):
    rules = (discard,)

    def emit(self, code: Code) -> None:
        (access,) = code.accesses
        self.t.store(f"<{W} x i64>", self.places(code, access), "%addrs", align=64)
        self.t.fault_if(self.t.let(call(discard, "%ctx", "%cta", "%ws", self.active.bits, "%addrs", code.index)))
