"""mbarriers as the compiling engine runs them: one function for all operations, lane by lane."""

from __future__ import annotations

from typing import Any

from ptxlab.emulate.jit import state as S
from ptxlab.emulate.jit.copies import Copies
from ptxlab.emulate.jit.helpers import fill
from ptxlab.emulate.jit.irtext import W
from ptxlab.emulate.jit.values import Value
from ptxlab.emulate.program.model import Code, Group, Reg
from ptxlab.emulate.rules.instructions import spins
from ptxlab.emulate.step.mbarriers import WAIT, operation
from ptxlab.isa import mbarrier


class Mbarriers(Copies):
    """The part of a block's emitter that is about mbarriers. mbarrier_done, mbarrier_refused: code for the end of an
    operation, and for where one cannot be done."""

    mbarrier_done, mbarrier_refused = "  ret i32 0", ""

    def mbarrier(self, code: Code) -> None:
        """An instruction that works on an mbarrier."""
        t, form, what = self.t, code.form, operation(code)
        assert form is not None
        self.helpers_needed.setdefault("mbarrier", fill(
            "mbarrier.ll", TAG=mbarrier.TAG, TAG_SHIFT=mbarrier.TAG_SHIFT, PHASE_SHIFT=mbarrier.PHASE_SHIFT,
            TX_SHIFT=mbarrier.TX_SHIFT, EXPECTED_SHIFT=mbarrier.EXPECTED_SHIFT, COUNT=mbarrier.COUNT, TX=mbarrier.TX,
            FRESH=mbarrier.TAG << mbarrier.TAG_SHIFT, DONE_HERE=self.mbarrier_done, REFUSED=self.mbarrier_refused,
        ))  # fmt: skip
        names = [s.name for s in form.op.operands if s.role != "dst"]
        given: dict[str, Any] = {
            name: self._read(s, type_)
            for name, s, type_ in zip(names, code.sources, code.source_types, strict=True)
        }  # fmt: skip
        base = given["a"].base
        address = self.add(base, self.const(base.type, given["a"].offset))
        if what.state == "parity":
            first = self.shl(self.zext("i64", given["parity"]), self.const("i64", mbarrier.PHASE_SHIFT))
        else:
            first = given["state"] if what.state else self._amount(given, what.arrivals)
        for value, buffer in (
            (self.zext("i64", address), "%addrs"), (first, "%data"), (self._amount(given, what.bytes), self._second()),
        ):  # fmt: skip
            t.do(f"store <{W} x i64> {self.vector(value)}, ptr {buffer}, align 64")
        flags = what.flags | (4 if what.action == WAIT and spins(self.program, code) else 0)
        result = t.let(
            f"call i32 @mbarrier(ptr %ctx, ptr %cta, ptr %ws, i32 {self.mask_bits}, ptr %addrs, ptr %data, "
            f"ptr {self._second()}, ptr %out, i32 {what.action}, i32 {flags}, i32 {S.SPACES[code.space]}, "
            f"i32 {code.index})"
        )
        fine = t.label("fine")
        t.do(f"br i1 {t.let(f'icmp eq i32 {result}, 0')}, label %{fine}, label %fault")
        t.at(fine)
        if not code.dests:
            return
        out = Value(t.let(f"load <{W} x i64>, ptr %out, align 64"), "i64", False)
        self._write(code.dests[0], code.dest_types[0], self.trunc("i1", out) if what.action == WAIT else out)

    def _second(self) -> str:
        return self.t.let(f"getelementptr i8, ptr %data, i64 {8 * W}")

    def _amount(self, given: dict[str, Any], what: int | str) -> Value:
        if isinstance(what, int):
            return self.const("i64", what)
        value = self.zext("i64", given[what.lstrip("-")])
        return self.sub(self.const("i64", 0), value) if what[0] == "-" else value

    def _write(self, dest: Reg | Group | None, type_: str, result: Value) -> None:
        raise NotImplementedError
