"""The checks in compiled code: registers that may be used before anything is written to them."""

from __future__ import annotations

from ptxlab.emulate.jit.checks.check_instrument import CheckInstrument
from ptxlab.emulate.jit.translation.rule_calls import THERE, call
from ptxlab.emulate.program.flat_program import Code
from ptxlab.emulate.program.register_flow import Flow
from ptxlab.emulate.rules import register_checks
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
        if self.checks.init and code.index in self.checks.flow.guards:
            self._follow(self.checks.flow.guards[code.index], self.active.block_bits, code)
        if self.checks.init and code.index in self.checks.flow.flows:
            self._follow(self.checks.flow.flows[code.index], self.active.bits, code)
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

    def _follow(self, flow: Flow, mask: str, code: Code) -> None:
        table = self.e.constant("followed", "i32", flow.table())
        self.t.do(call(register_checks.executed, *THERE, mask, str(code.index), table))
