"""The emitter of an LLVM function: what all that emits code shares. Parts of other packages are written against it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from ptxlab.emulate.jit.affine.block_rows import Rows
from ptxlab.emulate.jit.affine.values import Affine
from ptxlab.emulate.jit.emitter.access_groups import AccessGroup, sites_of
from ptxlab.emulate.jit.emitter.function import Function, RegisterFacts
from ptxlab.emulate.jit.emitter.lane_operations import LaneOps
from ptxlab.emulate.jit.emitter.registers import Registers
from ptxlab.emulate.jit.emitter.semantics import Operands
from ptxlab.emulate.jit.llvm.ir_text import W
from ptxlab.emulate.jit.llvm.values import Value
from ptxlab.emulate.jit.translation.rule_calls import call
from ptxlab.emulate.program.flat_program import Code
from ptxlab.emulate.program.program import Program
from ptxlab.emulate.rules import memcheck
from ptxlab.emulate.runtime import state as S


class Emitter(Function):
    """A function with the parts that write into it: operations on lanes, active mask, registers, operands, faults."""

    def __init__(
        self, program: Program, rows: Rows, facts: RegisterFacts, *, diverged: bool, small: bool, features: str
    ) -> None:
        super().__init__(program, rows, facts, diverged=diverged, small=small, features=features)
        self.ops = LaneOps(self)
        self.active = self.ops.mask
        self.registers = Registers(self, self.ops)
        self.operands = Operands(self, self.ops, self.registers)
        self.faults = FaultExits(self, self.ops)
        self.groups: dict[int, AccessGroup] = {}
        """The accesses of the block that share a check, by code index."""
        self.outlines: dict[tuple[object, ...], str] = {}
        """The names of the functions that `Outline` has written, by what their code depends on."""

    def guarded(self, code: Code) -> None:
        """Narrows the active mask to the lanes whose guard holds."""
        self.active.all_of_block()
        if code.guard is not None:
            register, inverted = code.guard
            self.active.where_held(self.registers.read(register), inverted=inverted)

    def site(self) -> str:
        """A pointer to the site of an atomic operation or a copy, which caches the allocation that it found last."""
        return self.t.offset("%sites", sites_of(self.program)[self.code.index] * S.Site.size)


class Part:
    """A part of what emits code. It writes into the emitter's text. m: the emitter's operations on lanes."""

    def __init__(self, e: Emitter) -> None:
        self.e, self.t, self.m, self.active, self.program = e, e.t, e.ops, e.active, e.program


class FaultExits:
    """Faults in emitted code: each is noted in `Context.fault`, and the code branches to `fault:`, where the warp's
    function returns FAULT. The scheduler stops the workers, and `running.faults` puts the fault into words."""

    def __init__(self, f: Function, m: LaneOps) -> None:
        self.f, self.t, self.m, self.active = f, f.t, m, m.mask
        self._code = ""

    def code(self, flag: int = 0) -> str:
        """The instruction that a fault is of, an i32: its index and this flag, or what a function was given."""
        return self._code or str(self.f.code.index | flag)

    @contextmanager
    def of(self, code: str) -> Iterator[None]:
        """In a function for several instructions: what it is given for theirs."""
        before, self._code = self._code, code
        yield
        self._code = before

    def record(self, kind: int, code: str | int, lane: str, address: str) -> None:
        self.t.do(call(memcheck.stop, "%ctx", "%ws", kind, code, lane, address))

    def if_any(self, bad: str, address: Value, flag: int = 0) -> None:
        """Faults if any lane is in `bad` (an i32): the access of the first of them is invalid."""
        t = self.t
        with t.unless(t.eq("i32", bad, 0), cold=True, to="fault"):
            lane = self.active.first(bad)
            if address.uniform:
                at = address.text
            else:
                at = t.extract(address.llvm, address.text, lane, by="i32")
            at = at if address.type == "i64" else t.zext("i32", at, "i64")
            self.record(S.OUT_OF_MEMORY_RANGE, self.code(flag), lane, at)
            if flag:
                self._note_lanes(address)

    def _note_lanes(self, address: Value) -> None:
        """Notes beside a fault where all lanes access memory (see `memcheck.note_lanes`)."""
        t, wide = self.t, self.m.vector(self.m.zext("i64", address))
        t.put(S.Context, "fault.lanes", self.active.bits, "%ctx")
        t.store(f"<{W} x i64>", wide, t.field(S.Context, "fault.addresses", "%ctx"), align=8)

    def always(self, address: int) -> None:
        """Faults whenever a lane executes this access."""
        lane = self.active.first()
        self.record(S.OUT_OF_MEMORY_RANGE, self.f.code.index, lane, str(address))
        after = self.t.label()
        self.t.branch(self.active.any(), "fault", after)
        self.t.at(after)

    def if_failed(self, answer: str) -> None:
        """Faults if a function returned anything but 0, having noted the fault."""
        self.t.fault_if(self.t.ne("i32", answer, 0))

    def unless_all_lanes(self, code: Code, came: str) -> None:
        """Faults unless all lanes execute a warp-wide instruction. came: the lanes before its guard, if any."""
        t = self.t
        with t.unless(t.eq("i32", self.active.bits, -1), cold=True, to="fault"):
            wide = t.zext("i32", self.active.bits, "i64")
            if came:
                by_guard = t.ne("i32", self.active.bits, came)
                flag = t.select(by_guard, "i64", 1 << 32, 0)
                wide = t.or_("i64", wide, flag)
            self.record(S.INCOMPLETE, code.index, "0", wide)

    def unless_same(self, code: Code, value: Value | None) -> None:
        """Faults unless all lanes have the same value of an operand."""
        if value is None or value.uniform:
            return
        t = self.t
        first = self.m.vector(self.m.lane_0(value))
        other = t.ne(value.llvm, value.text, first)
        bits = t.bitcast(f"<{W} x i1>", other, "i32")
        with t.unless(t.eq("i32", bits, 0), cold=True, to="fault"):
            self.record(S.DISAGREE, code.index, self.active.first(bits), "0")


class Outline:
    """One function and a call of it: takes the values that its code depends on, and gives what they are in it. LLVM
    needs less time for a call than for what it calls: so what is to be built quickly calls such functions, where fast
    code has the same in place.

    kind: what else its code depends on; functions of one kind with parameters of the same types are one. held: values
    that have the same name in it. flag: of the faults that it notes."""

    def __init__(self, e: Emitter, *kind: object, held: Sequence[str] = (), flag: int = 0) -> None:
        self.e, self.kind = e, list(kind)
        self._parameters = [*(f"ptr {name}" for name in ("%ctx", "%cta", "%ws", "%data", "%addrs")), *held]
        self._arguments = list(self._parameters)
        self._bits, self._code = self.text("i32", e.active.bits), self.text("i32", e.faults.code(flag))

    def text(self, type_: str, text: str) -> str:
        """A value by its LLVM type and text."""
        name = f"%given{len(self._parameters)}"
        self._parameters.append(f"{type_} {name}")
        self._arguments.append(f"{type_} {text}")
        return name

    def value(self, value: Value) -> Value:
        """A value of lanes; of an affine one the scalars."""
        if isinstance(value, Affine):
            self.kind.append(value.form)
            scalars = (value.base, value.inner, value.stride)
            base, inner, stride = (None if scalar is None else self.value(scalar) for scalar in scalars)
            assert base is not None
            return Affine(value.ops, value.form, base, inner, stride)
        return Value(self.text(value.llvm, value.text), value.type, value.uniform)

    def call(self, name: str, body: Callable[[], str]) -> str:
        """Calls the function, written by `body` where it is new; what it returns, an i32, -1 after a fault."""
        e, t = self.e, self.e.t
        key = name, *self.kind, *self._parameters
        if key not in e.outlines:
            e.outlines[key] = f"{name}.{len(e.outlines)}"
            with t.other_function(), e.active.only(self._bits), e.faults.of(self._code):
                e.active.narrow(self._bits)
                t.ret("i32", body())
                t.at("fault")
                t.ret("i32", -1)
                e.helpers[e.outlines[key]] = t.function(f"i32 @{e.outlines[key]}({', '.join(self._parameters)})")
        return t.call_function("i32", e.outlines[key], *self._arguments)
