"""The checks in compiled code: loads and stores of local memory, and the frames of calls, which lie there."""

from __future__ import annotations

from ptxlab.emulate.jit.checks.check_instrument import CheckInstrument
from ptxlab.emulate.jit.llvm.ir_text import W
from ptxlab.emulate.jit.llvm.values import Value
from ptxlab.emulate.jit.translation.rule_calls import THERE, call
from ptxlab.emulate.rules import initcheck_local


class CheckedLocal(CheckInstrument):
    """initcheck of local memory."""

    def accessed_local(self, at: Value, size: int, stores: bool) -> None:
        t, code, checks = self.t, self.e.code, self.checks
        reads = not stores and code.index not in checks.flow.carried
        if not checks.init or not (stores or reads or code.index in checks.bounds):
            return
        t.store(f"<{W} x i32>", self.m.vector(self.m.trunc("i32", at)), "%addrs", align=64)
        accessed = self.active.bits, "%addrs", str(size)
        if code.index in checks.bounds:
            bounds = map(str, checks.bounds[code.index])
            t.do(call(initcheck_local.within, *THERE, *accessed, *bounds, str(code.index), "0"))
        if stores:
            t.do(call(initcheck_local.stored, *THERE[1:], *accessed))
        elif reads:
            t.do(call(initcheck_local.loaded, *THERE, *accessed, str(code.index), "0"))

    def copied_frame(self, source: int, dest: int, size: int) -> None:
        if self.checks.init:
            given = self.active.bits, str(source), str(dest), str(size)
            self.t.do(call(initcheck_local.copied, *THERE[1:], *given))
