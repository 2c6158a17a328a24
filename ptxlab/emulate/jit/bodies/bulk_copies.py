"""Bulk copies in the JIT: their operands go into buffers, rules do the rest."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ptxlab.emulate.jit.bodies.body import Body
from ptxlab.emulate.jit.llvm.ir_text import W
from ptxlab.emulate.jit.llvm.values import Address, Value
from ptxlab.emulate.jit.translation.rule_calls import Function, address, call
from ptxlab.emulate.program.addresses import PARAM_WINDOW
from ptxlab.emulate.program.flat_program import Code, Mem, Source, Symbol
from ptxlab.emulate.rules.bulk_instructions import LOW, OPERANDS, SHIFTS, bulk_of, finish_groups, issue_lanes
from ptxlab.emulate.runtime import state as S
from ptxlab.isa.actions import Action

if TYPE_CHECKING:
    from ptxlab.emulate.jit.checks.check_instrument import Checks
    from ptxlab.emulate.jit.emitter.instrument import After

COLUMN = 8 * W
"""Bytes of a column of the buffers: a number of 64 bits for each lane."""


class Bulk(Body):
    """Instructions that copy in bulk, and those that wait for such copies. The rules call counters and checks back."""

    rules = (issue_lanes, finish_groups)

    @staticmethod
    def check_rules() -> tuple[Function, ...]:
        from ptxlab.emulate.rules.bulk_checks import completed, issued

        return issued, completed

    def check(self, code: Code, checks: Checks) -> After | None:
        names = "check_issued", "check_completed"
        for name, checking in zip(names, self.check_rules(), strict=True):  # those that belong to this code
            place = self.t.field(S.Context, name, "%ctx")
            self.t.store("ptr", address(self.t, checking), place)
        checks.of_groups(code)
        return super().check(code, checks)

    def emit(self, code: Code) -> None:
        if code.action in (Action.COMMIT, Action.WAIT_GROUP):
            commits = code.action is Action.COMMIT
            left = 0 if commits else code.number("n")
            self.t.do(call(finish_groups, "%ctx", "%cta", "%ws", self.active.bits, left, commits))
            return
        what, named = bulk_of(code), code.named
        for column, name in enumerate(OPERANDS):
            if name in named and named[name][0] is not None and not (name == "b" and code.form.single):
                self._store("%data", column, self._number(code, name))
        if code.form.single:
            for column, value in enumerate(self._value(code)):
                self._store("%data", LOW // W + column, value)
        if code.form.tensor:
            places = self._list(code.sources[-1])
            shifts = self._list(named.get("i", (None, ""))[0])
            for column in range(SHIFTS):
                self._store("%out", column, places[column] if column < len(places) else self.m.const("i64", 0))
            for column in range(3):
                self._store("%out", SHIFTS + column, shifts[column] if column < len(shifts) else self.m.const("i64", 0))
        kind = what.kind, what.grouped, what.multicast, what.space, what.operation, what.type, what.count, code.index
        given = "%ctx", "%cta", "%ws", self.active.bits, "%data", "%out", *kind
        self.t.fault_if(self.t.let(call(issue_lanes, *given)))

    def _store(self, buffer: str, column: int, value: Value) -> None:
        p = self.t.offset(buffer, column * COLUMN)
        self.t.store(f"<{W} x i64>", self.m.vector(value), p, align=64)

    def _number(self, code: Code, name: str) -> Value:
        source, type_ = code.named[name]
        if isinstance(source, Mem):
            if isinstance(source.base, Symbol) and source.base.space == "param":
                return self.m.const("i64", PARAM_WINDOW + source.base.value + source.offset)
            given: Address = self.e.operands.read(source, type_)
            return self._wide(self.m.add(given.base, self.m.const(given.base.type, given.offset)))
        return self._wide(self.e.operands.read(source, type_))

    def _value(self, code: Code) -> tuple[Value, ...]:
        """The value of `st.async` or `red.async` as two numbers."""
        given = self.e.operands.read_named(code, "b")
        parts = [self._wide(v) for v in (given if isinstance(given, tuple) else (given,))]
        if code.form.vec and len(parts) > 1 and code.form.type.endswith("32"):
            pairs = [*parts, *[self.m.const("i64", 0)] * (len(parts) % 2)]
            parts = [
                self.m.or_(low, self.m.shl(high, self.m.const("i64", 32)))
                for low, high in zip(pairs[::2], pairs[1::2], strict=True)
            ]
        return tuple(parts)

    def _wide(self, value: Value) -> Value:
        if value.type[0] == "f":
            value = self.m.bitcast(f"i{value.type[1:]}", value)
        return self.m.zext("i64", value)

    def _list(self, source: Source | None) -> list[Value]:
        """Coordinates or offsets, as many as there are."""
        given = () if source is None else self.e.operands.read(source, "any")
        return [self.m.sext("i64", value) for value in (given if isinstance(given, tuple) else (given,))]
