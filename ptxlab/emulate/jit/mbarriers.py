"""mbarriers as the compiling engine runs them: a call of one rule for all operations."""

from __future__ import annotations

from typing import Any

from ptxlab.emulate.jit import state as S
from ptxlab.emulate.jit.copies import Copies
from ptxlab.emulate.jit.irtext import W
from ptxlab.emulate.jit.rulecode import call
from ptxlab.emulate.jit.values import Value
from ptxlab.emulate.program.model import Code, Group, Reg
from ptxlab.emulate.rules.instructions import spins
from ptxlab.emulate.rules.mbarriers import SPIN, WAIT, operate, operation
from ptxlab.isa import mbarrier


class Mbarriers(Copies):
    """The part of a block's emitter that is about mbarriers."""

    def mbarrier(self, code: Code) -> None:
        """An instruction that works on an mbarrier."""
        t, form, what = self.t, code.form, operation(code)
        assert form is not None
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
        flags = what.flags | (SPIN if what.action == WAIT and spins(self.program, code) else 0)
        stops = t.let(call(
            operate, "%ctx", "%cta", "%ws", self.checks_of_block(), self.mask_bits, "%addrs", "%data", self._second(),
            "%out", str(what.action), str(flags), str(S.SPACES[code.space]), str(code.index),
        ))  # fmt: skip
        fine = t.label("fine")
        t.do(f"br i1 {stops}, label %fault, label %{fine}")
        t.at(fine)
        if not code.dests:
            return
        out = Value(t.let(f"load <{W} x i64>, ptr %out, align 64"), "i64", False)
        self._write(code.dests[0], code.dest_types[0], self.trunc("i1", out) if what.action == WAIT else out)

    def checks_of_block(self) -> str:
        """A pointer to what the checks know of the block."""
        return "null"

    def _second(self) -> str:
        return self.t.let(f"getelementptr i8, ptr %data, i64 {8 * W}")

    def _amount(self, given: dict[str, Any], what: int | str) -> Value:
        if isinstance(what, int):
            return self.const("i64", what)
        value = self.zext("i64", given[what.lstrip("-")])
        return self.sub(self.const("i64", 0), value) if what[0] == "-" else value

    def _write(self, dest: Reg | Group | None, type_: str, result: Value) -> None:
        raise NotImplementedError
