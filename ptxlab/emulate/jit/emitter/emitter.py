"""The emitter of an LLVM function: what all that emits code shares. Parts of other rooms are written against it."""

from __future__ import annotations

from ptxlab.emulate.jit.emitter.access_groups import Group, sites_of
from ptxlab.emulate.jit.emitter.fault_exits import FaultExits
from ptxlab.emulate.jit.emitter.function import Build, Function
from ptxlab.emulate.jit.emitter.machine import LaneMachine
from ptxlab.emulate.jit.emitter.operands import Operands
from ptxlab.emulate.jit.emitter.registers import Registers
from ptxlab.emulate.program.flat_program import Code
from ptxlab.emulate.runtime import state as S


class Emitter(Function):
    """A function with the parts that write into it: the machine of lanes and its active mask, registers, operands,
    faults."""

    def __init__(self, build: Build) -> None:
        super().__init__(build)
        self.machine = LaneMachine(self)
        self.active = self.machine.mask
        self.registers = Registers(self, self.machine)
        self.operands = Operands(self, self.machine, self.registers)
        self.faults = FaultExits(self, self.machine)
        self.groups: dict[int, Group] = {}
        """The accesses of the block that share a check, by code index."""

    def guarded(self, code: Code) -> None:
        """Narrows the active mask to the lanes whose guard holds."""
        self.active.all_of_block()
        if code.guard is not None:
            register, inverted = code.guard
            self.active.where_held(self.registers.read(register), inverted=inverted)

    def own_site(self) -> str:
        """A pointer to the site of an atomic operation or a copy, which caches the allocation that it found last."""
        return self.t.offset("%sites", sites_of(self.program)[self.code.index] * S.Site.size)
