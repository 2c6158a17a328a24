"""What the compiling engine does for the actions that the table's `sem` does not say: one body for each effect.

    class Discards(Body):
        rules = (discard,)

        def emit(self, code): ...

Which actions a body executes stands in `table`. Which bytes an instruction accesses stands in the instruction table
(`Code.accesses`); counters, checks and traces take them from there, unless a body says more.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from ptxlab.emulate.jit.emitter.part import Part
from ptxlab.emulate.jit.memory.access import Memory
from ptxlab.emulate.jit.translation.rule_calls import Function
from ptxlab.emulate.program.flat_program import Code
from ptxlab.isa.accesses import ALL_LANES, Access

if TYPE_CHECKING:
    from ptxlab.emulate.jit.checks.check_instrument import Checks
    from ptxlab.emulate.jit.emitter.emitter import Emitter
    from ptxlab.emulate.jit.emitter.instrument import After
    from ptxlab.emulate.jit.instruments.counting import Counting


class Body(Part):
    """How instructions of some actions are executed. rules: those that its code calls."""

    rules: ClassVar[tuple[Function, ...]] = ()

    def __init__(self, e: Emitter, memory: Memory) -> None:
        super().__init__(e)
        self.memory = memory

    @staticmethod
    def check_rules() -> tuple[Function, ...]:
        """Those that it calls in a build with checks. They are imported here and in what calls them: most builds have
        no checks, and do not load their modules."""
        return ()

    def emit(self, code: Code) -> None:
        """The instruction, for the lanes of the active mask."""
        raise NotImplementedError

    def count(self, code: Code, counting: Counting) -> None:
        """Before it, in a build with counters: counts its accesses."""
        for access in (each for each in code.accesses if each.traffic):
            lanes = self._counting(code, access)
            counting.anywhere(code.index, self.places(code, access), 0, access.size, access.space, lanes)

    def check(self, code: Code, checks: Checks) -> After | None:
        """Before it, in a build with checks: what is returned is called after it."""
        for access in code.accesses:
            checks.access(code, access)
        return None

    def places(self, code: Code, access: Access) -> str:
        """The addresses of an access, a vector of i64."""
        return self.m.vector(self.m.zext("i64", self.e.operands.address(code, access.operand)))

    def _counting(self, code: Code, access: Access) -> str:
        """The lanes that make an access: not those that are told to access no bytes."""
        lanes, given = self.active.bits, self.e.operands.read_named(code, access.count) if access.count else None
        if given is not None:
            some = self.m.not_(given) if given.type == "i1" else self.m.ne(given, self.m.const(given.type, 0))
            lanes = self.active.where(some)
        return lanes if access.lanes == ALL_LANES else self.t.and_("i32", lanes, access.lanes)
