"""`cp.async` in the JIT: a call of one rule (`ptxlab.emulate.rules.async_copies`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ptxlab.emulate.jit.bodies.body import Body
from ptxlab.emulate.jit.emitter.instrument import After
from ptxlab.emulate.jit.llvm.ir_text import W
from ptxlab.emulate.jit.llvm.values import Value
from ptxlab.emulate.jit.translation.rule_calls import Function, call
from ptxlab.emulate.program.flat_program import Code, Mem, Reg
from ptxlab.emulate.rules.async_copies import copy
from ptxlab.emulate.rules.records import READS
from ptxlab.emulate.runtime import state as S
from ptxlab.isa.accesses import ALL_LANES

if TYPE_CHECKING:
    from ptxlab.emulate.jit.checks.check_instrument import Checks

SIZES = 16 * W
"""Where in the buffer %data the bytes that lanes read are passed: after the addresses."""


class Copies(Body):
    """`cp.async` and the instructions that commit to copies or wait for them."""

    rules = (copy,)

    @staticmethod
    def check_rules() -> tuple[Function, ...]:
        from ptxlab.emulate.rules.copies_in_flight import commit, wait_all, wait_group

        return commit, wait_group, wait_all

    def emit(self, code: Code) -> None:
        if not code.properties.lane_copy:
            return
        t, count = self.t, code.number("size")
        to, to_offset, whole = self._addresses(code, "a", "i32", "%data")
        source, source_offset, _ = self._addresses(code, "b", "i64", "%addrs")
        sizes = self._sizes(self.e.operands.read_named(code, "src_size"), count)
        given = to, to_offset, source, source_offset, sizes, self.e.site(), code.index, count
        faults = t.let(call(copy, "%ctx", "%cta", "%ws", self.active.bits, *given))
        if whole is None:
            t.fault_if(faults)
            return
        with t.if_then(faults, to="fault"):  # with the destination's address in full: the rule has only 32 bits of it
            is_to = t.eq("i32", t.get(S.Context, "fault.kind"), S.COPY_TO)
            full = t.extract(f"<{W} x i64>", self.m.vector(whole), t.get(S.Context, "fault.lane"), by="i32")
            noted = t.get(S.Context, "fault.address")
            t.put(S.Context, "fault.address", t.select(is_to, "i64", full, noted))

    def _addresses(self, code: Code, name: str, lane: str, buffer: str) -> tuple[str, int, Value | None]:
        """A pointer to 32 addresses (the lanes of the register itself, or a buffer), the offset to add to each, and the
        64-bit addresses if they had to be truncated to 32: any not in shared memory becomes one out of range."""
        registers, (mem, _) = self.e.registers, code.named[name]
        assert isinstance(mem, Mem)
        if isinstance(mem.base, Reg):
            r = mem.base.index
            if self.program.registers[r].lane == lane and not registers.scalar(r):
                registers.settle(r)
                return self.t.offset("%ws", registers.file.vector[r]), mem.offset, None
            base = registers.read(r)
        else:
            base = self.m.const("i64", int(mem.base.value))
        at, whole = self.m.add(base, self.m.const(base.type, mem.offset)), None
        if at.type != lane:
            if lane == "i64":
                at = self.m.zext("i64", at)
            else:
                whole, at = at, self.memory.rows.in_shared(at)
        self.t.store(f"<{W} x {lane}>", self.m.vector(at), buffer, align=64)
        return buffer, 0, whole

    def _sizes(self, given: Value | None, count: int) -> str:
        """A pointer to the bytes that each lane reads: given as a number, or as a predicate to read none."""
        if given is None:
            return "null"
        if given.type == "i1":
            given = self.m.select(given, self.m.const("i32", 0), self.m.const("i32", count))
        elif given.type != "i32":
            given = self.m.trunc("i32", self.m.umin(given, self.m.const(given.type, 0xFFFFFFFF)))
        p = self.t.offset("%data", SIZES)
        self.t.store(f"<{W} x i32>", self.m.vector(given), p, align=64)
        return p

    def check(self, code: Code, checks: Checks) -> After | None:
        if code.properties.lane_copy:
            return self._checked_copy(code, checks)
        checks.of_groups(code)
        return None

    def _checked_copy(self, code: Code, checks: Checks) -> After:
        """A cp.async: reads its operands before it."""
        size = code.number("size")
        offsets = self.memory.rows.offsets_in_shared(code)
        source = self.m.vector(self.m.zext("i64", self.e.operands.address(code, "b")))
        whole = self._complete(code, size)
        return lambda: self._copied(code, checks, size, offsets, source, whole)

    def _copied(self, code: Code, checks: Checks, size: int, offsets: str, source: str, whole: str) -> None:
        """After a cp.async, when its addresses have been checked: its reads and writes."""
        if checks.race or checks.init:
            self.t.store(f"<{W} x i64>", source, "%addrs", align=64)
            with self.active.only(whole):
                checks.each(0, size, code, READS, "global")
        checks.placed(code, ALL_LANES, size, offsets)

    def _complete(self, code: Code, size: int) -> str:
        """i32: the lanes that copy all their bytes, and not zeros."""
        given = self.e.operands.read_named(code, "src_size")
        if given is None:
            return self.active.bits
        full = self.m.not_(given) if given.type == "i1" else self.m.ule(self.m.const(given.type, size), given)
        return self.active.where(full)
