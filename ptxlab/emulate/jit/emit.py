"""One LLVM function that runs one warp from where it stands until it must stop: at a barrier, its end, or a fault.

There are two of them, made from the same blocks by the same semantics: `fast` for a warp that is together and `slow`
for one that has split (see the modules of those names). They differ in how control moves, in where registers live and
in whether a write must spare the lanes that do not execute.
"""

from __future__ import annotations

import numpy as np

from ptxlab.emulate.jit import state as S
from ptxlab.emulate.jit.control import Control
from ptxlab.emulate.jit.groups import Group, plan_groups
from ptxlab.emulate.jit.values import BITS
from ptxlab.emulate.program.model import Block, Program
from ptxlab.emulate.runtime.state import UniformRegister

SIGNATURE = "ptr noalias %ctx, ptr noalias %cta, ptr noalias %ws"


class Emitter(Control):
    """Writes one of the two functions of a program; `slow` says which."""

    def __init__(
        self, program: Program, uniform: list[bool], alive: list[int], file: S.RegisterFile, *, wide: bool
    ) -> None:
        super().__init__(program, uniform, alive, file)
        self.wide = wide
        self.tables: list[str] = []
        self.helpers_needed: dict[str, str] = {}
        self.sites = 0
        self.groups: dict[int, Group] = {}

    # -- the function --------------------------------------------------------------------------------------------------

    def function(self) -> str:
        """The LLVM text of the function, with its tables."""
        for block in self.program.blocks:
            groups, self.sites = plan_groups(self.program, block.first, block.last, self.sites)
            self.groups = groups
            self.block(block)
        body, self.t.lines = self.t.lines, []
        self._fields()
        self.dispatch()
        lines = [f"define i32 @{'slow' if self.slow else 'fast'}({SIGNATURE}) nounwind alignstack(64) {{", "entry:"]
        lines += [*self.t.lines, *body, "fault:", f"  ret i32 {S.FAULT}", "}"]
        return "\n".join(self.tables) + "\n" + "\n".join(lines) + "\n"

    def block(self, block: Block) -> None:
        """A basic block."""
        raise NotImplementedError

    def dispatch(self) -> None:
        """From the function's entry to where the warp stands."""
        raise NotImplementedError

    def table(self, registers: int) -> tuple[str, int]:
        """A constant table of the uniform registers among a bit set, and how many these are."""
        rows = [
            (self.file.vector[r], self.file.scalar[r], BITS[register.lane] // 8)
            for r, register in enumerate(self.program.registers)
            if registers >> r & 1 and self.uniform[r]
        ]
        if not rows:
            return "null", 0
        name = f"@table.{'slow' if self.slow else 'fast'}.{len(self.tables)}"
        words = np.array(rows, UniformRegister.dtype).view(np.uint32)
        listed = ", ".join(f"i32 {x}" for x in words)
        self.tables.append(f"{name} = internal constant [{words.size} x i32] [{listed}]")
        return name, len(rows)
