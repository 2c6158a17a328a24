"""The checks in compiled code: registers, and local memory, that may be used before anything is written to them."""

from __future__ import annotations

from ptxlab.emulate.jit.checks.check_instrument import CheckInstrument
from ptxlab.emulate.jit.llvm.ir_text import W
from ptxlab.emulate.jit.llvm.values import Value
from ptxlab.emulate.jit.translation.rule_calls import THERE, call
from ptxlab.emulate.program.flat_program import Code, Literal, Reg
from ptxlab.emulate.rules import initcheck_local, register_checks
from ptxlab.emulate.rules.warpgroup_faults import product_operands
from ptxlab.emulate.runtime import state as S
from ptxlab.isa.actions import Action


class CheckedRegisters(CheckInstrument):
    """Calls the rule at each instruction that reads or writes a register that is followed; most programs have none."""

    def enters(self) -> None:
        """Loads the first arguments of all rules."""
        self.e.held(S.Context, "check", "ptr", "check.launch")
        self.e.held(S.Cta, "checks", "ptr", "check.block")
        self.e.held(S.Warp, "warp_id", "i32", "check.warp")

    def guarded(self, code: Code) -> None:
        if self.checks.init:
            self._of_unwritten(code)
        if self.checks.sync:
            self._of_warpgroup(code)

    def _of_warpgroup(self, code: Code) -> None:
        """What an instruction does to registers of products of `wgmma`."""
        flow, t = self.checks.warpgroups, self.t
        if not self.e.registers.file.products:
            return
        products = t.offset("%ws", self.e.registers.file.products)
        for rule, table in (
            (register_checks.touched, flow.listed(flow.touches.get(code.index, ()))),
            (register_checks.unfenced, flow.numbered(code.index) if code.index in flow.unfenced else [0]),
        ):
            if table[0]:
                listed = self.e.constant("listed", "i32", table)
                t.do(call(rule, *THERE, self.active.bits, products, str(code.index), listed))
        if code.index in flow.writers:
            number = str(flow.writers[code.index])
            t.do(call(register_checks.wrote, products, self.active.bits, number))
        if code.action is Action.WARPGROUP_FENCE and flow.writers:
            t.do(call(register_checks.fenced, products, str(flow.words)))

    def _of_unwritten(self, code: Code) -> None:
        """initcheck: what an instruction does to registers that nothing may have been written to."""
        flow = self.checks.flow
        reads, writes = flow.touches.get(code.index, ([], []))
        if code.guard is not None and code.guard[0] in flow.registers:
            self._read([flow.registers.index(code.guard[0])], self.active.block_bits)
        self._read(reads, self.active.bits)
        if code.action is Action.WARPGROUP_PRODUCT:  # it may add to its results
            adds = product_operands(code).adds
            lanes = self.active.bits
            if isinstance(adds, Reg):
                lanes = self.t.and_("i32", lanes, self.m.bits_of(self.e.registers.read(adds.index)))
            if not isinstance(adds, Literal) or adds.value:
                self._read(writes, lanes)
        if writes:
            given = str(len(writes)), self.e.constant("listed", "i32", writes)
            self.t.do(call(register_checks.written, *THERE[1:], self.active.bits, *given))

    def _read(self, listed: list[int], lanes: str) -> None:
        if listed:
            given = str(self.e.code.index), str(len(listed)), self.e.constant("listed", "i32", listed)
            self.t.do(call(register_checks.read, *THERE, lanes, *given))


class CheckedLocal(CheckInstrument):
    def accessed_local(self, at: Value, size: int, stores: bool) -> None:
        t, code, checks = self.t, self.e.code, self.checks
        if not checks.init:
            return
        t.store(f"<{W} x i32>", self.m.vector(self.m.trunc("i32", at)), "%addrs", align=64)
        accessed = self.active.bits, "%addrs", str(size)
        if code.index in checks.bounds:
            bounds = map(str, checks.bounds[code.index])
            t.do(call(initcheck_local.within, *THERE, *accessed, *bounds, str(code.index), "0"))
        if stores:
            t.do(call(initcheck_local.stored, *THERE[1:], *accessed))
        else:  # a call may move an argument that nothing was written to
            t.do(call(initcheck_local.loaded, *THERE, *accessed, str(code.index)))

    def copied_frame(self, source: int, dest: int, size: int) -> None:
        if self.checks.init:
            given = self.active.bits, str(source), str(dest), str(size)
            self.t.do(call(initcheck_local.copied, *THERE[1:], *given))
