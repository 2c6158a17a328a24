"""The checks in compiled code: registers that may be used before anything is written to them."""

from __future__ import annotations

import functools

from ptxlab.emulate.jit import state as S
from ptxlab.emulate.jit.control import Control
from ptxlab.emulate.jit.rulecode import call
from ptxlab.emulate.program.model import Code
from ptxlab.emulate.program.register_flow import Flow, RegisterFlow, register_flow
from ptxlab.emulate.rules import register_values

THERE = "%check.launch", "%check.block", "%check.warp"
"""What rules about a warp are handed first."""


class CheckedRegisters(Control):
    """Tells the rule of each instruction that reads or writes a register that is followed; most programs have none."""

    init = False
    tables: list[str]

    @functools.cached_property
    def flow(self) -> RegisterFlow:
        """What is followed."""
        return register_flow(self.program)

    def _fields(self) -> None:
        super()._fields()
        self._held(S.Context, "check", "ptr", "check.launch")
        self._held(S.Cta, "checks", "ptr", "check.block")
        self._held(S.Warp, "warp_id", "i32", "check.warp")

    def apply_guard(self, code: Code) -> None:
        super().apply_guard(code)
        if self.init and code.index in self.flow.guards:
            self._follow(self.flow.guards[code.index], self._block_bits, code)
        if self.init and code.index in self.flow.flows:
            self._follow(self.flow.flows[code.index], self.mask_bits, code)

    def _follow(self, flow: Flow, mask: str, code: Code) -> None:
        rows = flow.table()
        name = f"@followed.{'slow' if self.slow else 'fast'}.{len(self.tables)}"
        self.tables.append(f"{name} = internal constant [{len(rows)} x i32] [{', '.join(f'i32 {x}' for x in rows)}]")
        self.t.do(call(register_values.executed, *THERE, mask, str(code.index), name))
