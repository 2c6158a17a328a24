"""mbarriers in the JIT: a call of one rule for all operations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ptxlab.emulate.jit.bodies.body import Body
from ptxlab.emulate.jit.llvm.ir_text import W
from ptxlab.emulate.jit.llvm.values import Value
from ptxlab.emulate.jit.translation.rule_calls import THERE, Function, address, call
from ptxlab.emulate.program.flat_program import Code
from ptxlab.emulate.program.wait_loops import spins
from ptxlab.emulate.rules.mbarrier_words import SPIN, WAIT
from ptxlab.emulate.rules.mbarriers import access_kind, operate, operation
from ptxlab.emulate.runtime import state as S
from ptxlab.isa import mbarrier

if TYPE_CHECKING:
    from ptxlab.emulate.jit.checks.check_instrument import Checks


class Mbarriers(Body):
    rules = (operate,)
    block = "null"
    """The checks' record of the block, in a build with checks."""

    @staticmethod
    def check_rules() -> tuple[Function, ...]:
        from ptxlab.emulate.rules.mbarrier_phases import notified

        return (notified,)

    def emit(self, code: Code) -> None:
        t, what = self.t, operation(code)
        given: dict[str, Any] = {name: self.e.operands.read(*source) for name, source in code.named.items()}
        base = given["a"].base
        address = self.m.add(base, self.m.const(base.type, given["a"].offset))
        if what.state == "parity":
            first = self.m.shl(self.m.zext("i64", given["parity"]), self.m.const("i64", mbarrier.PHASE_SHIFT))
        else:
            first = given["state"] if what.state else self._amount(given, what.arrivals)
        more = self._amount(given, what.bytes)
        for value, buffer in ((self.m.zext("i64", address), "%addrs"), (first, "%data"), (more, self._second())):
            t.store(f"<{W} x i64>", self.m.vector(value), buffer, align=64)
        flags = what.flags | (SPIN if what.action == WAIT and spins(self.program, code) else 0)
        buffers = "%addrs", "%data", self._second(), "%out"
        kind = what.action, flags, S.SPACES[code.space], code.index
        t.fault_if(t.let(call(operate, "%ctx", "%cta", "%ws", self.block, self.active.bits, *buffers, *kind)))
        if not code.dests:
            return
        out = Value(t.load(f"<{W} x i64>", "%out", align=64), "i64", False)
        self.e.operands.write(
            code.dests[0], code.dest_types[0], self.m.trunc("i1", out) if what.action == WAIT else out
        )

    def check(self, code: Code, checks: Checks) -> None:
        self.block = THERE[1]
        (notified,) = self.check_rules()  # the one that belongs to this code
        self.t.store("ptr", address(self.t, notified), self.t.field(S.Context, "phases", "%ctx"))
        (access,) = code.accesses
        checks.access(code, access, access_kind(code))
        checks.of_groups(code)

    def _second(self) -> str:
        return self.t.offset("%data", 8 * W)

    def _amount(self, given: dict[str, Any], what: int | str) -> Value:
        if isinstance(what, int):
            return self.m.const("i64", what)
        value = self.m.zext("i64", given[what.lstrip("-")])
        return self.m.sub(self.m.const("i64", 0), value) if what[0] == "-" else value
