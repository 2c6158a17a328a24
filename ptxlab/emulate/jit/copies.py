"""`cp.async` as the compiling engine runs it: a call of one rule for each size (`ptxlab.emulate.rules.copies`)."""

from __future__ import annotations

from ptxlab.emulate.jit import state as S
from ptxlab.emulate.jit.irtext import W
from ptxlab.emulate.jit.matrix import Matrices
from ptxlab.emulate.jit.rulecode import call
from ptxlab.emulate.jit.values import Value
from ptxlab.emulate.program.model import Code, Literal, Mem, Program, Reg
from ptxlab.emulate.rules.copies import COPY
from ptxlab.isa.actions import Action


def copies(code: Code) -> bool:
    """Whether this is a copy itself, not a commit or a wait."""
    return code.action is Action.COPY


class Copies(Matrices):
    """The asynchronous part of a block's emitter."""

    program: Program
    sites: int

    def asynchronous(self, code: Code) -> None:
        """An instruction of kind "async"."""
        if not copies(code):
            return
        t, form = self.t, code.form
        assert form is not None
        names = [s.name for s in form.op.operands if s.role != "dst"]
        given = dict(zip(names, code.sources, strict=True))
        types = dict(zip(names, code.source_types, strict=True))
        to, from_, size = given["a"], given["b"], given["size"]
        assert isinstance(to, Mem)
        assert isinstance(from_, Mem)
        assert isinstance(size, Literal)
        count = int(size.value)
        to_at, to_add, whole = self._addresses(to, "i32", "%data")
        from_at, from_add, _ = self._addresses(from_, "i64", "%addrs")
        sizes = self._sizes(self._read(given["src_size"], types["src_size"]), count)
        site = t.let(f"getelementptr i8, ptr %sites, i64 {self.sites * S.Site.size}")
        self.sites += 1
        stops = t.let(call(
            COPY[count], "%ctx", "%cta", "%ws", self.mask_bits, to_at, str(to_add), from_at, str(from_add), sizes, site,
            str(code.index),
        ))  # fmt: skip
        fine, wrong = t.label("fine"), t.label("wrong") if whole is not None else "fault"
        t.do(f"br i1 {stops}, label %{wrong}, label %{fine}")
        if whole is not None:
            t.at(wrong)
            self._correct(whole)
        t.at(fine)

    def _correct(self, to: Value) -> None:
        """After a fault: the function has seen the destinations in 32 bits only; notes the address as it was given."""
        t = self.t
        kind, lane, address = (t.field(S.Context, f"fault.{name}") for name in ("kind", "lane", "address"))
        here = t.let(f"icmp eq i32 {t.let(f'load i32, ptr {kind}')}, {S.COPY_TO}")
        given = t.let(f"extractelement <{W} x i64> {self.vector(to)}, i32 {t.let(f'load i32, ptr {lane}')}")
        noted = t.let(f"load i64, ptr {address}")
        t.do(f"store i64 {t.let(f'select i1 {here}, i64 {given}, i64 {noted}')}, ptr {address}")
        t.do("br label %fault")

    def _addresses(self, mem: Mem, lane: str, buffer: str) -> tuple[str, int, Value | None]:
        """Where 32 addresses lie, and what is to be added to each: the register's own place, or a buffer. Third the
        addresses in 64 bits where they had to be cut to 32: those of no shared memory become one that is out of range.
        """
        r = mem.base.index if isinstance(mem.base, Reg) else -1
        if r >= 0 and self.program.registers[r].lane == lane and (self.slow or not self.uniform[r]):
            self._settle_register(r)
            return self.t.let(f"getelementptr i8, ptr %ws, i64 {self.file.vector[r]}"), mem.offset, None
        base = self.read_register(r) if r >= 0 else self.const("i64", int(mem.base.value))  # type: ignore[union-attr]
        at = self.add(base, self.const(base.type, mem.offset))
        whole = None
        if at.type != lane:
            if lane == "i64":
                at = self.zext("i64", at)
            else:
                whole, at = at, self._in_shared(at)
        self.t.do(f"store <{W} x {lane}> {self.vector(at)}, ptr {buffer}, align 64")
        return buffer, 0, whole

    def _sizes(self, given: Value | None, count: int) -> str:
        """Where it says how many bytes each lane reads: a number, or a predicate that asks for none."""
        if given is None:
            return "null"
        if given.type == "i1":
            given = self.select(given, self.const("i32", 0), self.const("i32", count))
        elif given.type != "i32":
            given = self.trunc("i32", self.umin(given, self.const(given.type, count)))
        p = self.t.let("getelementptr i8, ptr %data, i64 512")
        self.t.do(f"store <{W} x i32> {self.vector(given)}, ptr {p}, align 64")
        return p
