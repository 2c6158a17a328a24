"""What the compiling engine does for the actions that the table's `sem` does not say: one body for each effect.

    @executes(Action.DISCARD, rules=(discard,))
    class Discards(Body):
        def emit(self, code): ...

The files of `bodies/` are all read, and each names the actions that it executes. Which bytes an instruction accesses
stands in the table (`Code.accesses`); counters, checks and traces take them from there, unless a body says more.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, ClassVar, TypeVar

from ptxlab.emulate.jit.emitter.part import Part
from ptxlab.emulate.jit.memory.access import Memory
from ptxlab.emulate.jit.translation.rulecode import Function
from ptxlab.emulate.program.model import Code
from ptxlab.isa.accesses import ALL_LANES, Access
from ptxlab.isa.actions import Action, AsyncGroup

if TYPE_CHECKING:
    from ptxlab.emulate.jit.checks.checked import Checks
    from ptxlab.emulate.jit.emitter.emitter import Emitter
    from ptxlab.emulate.jit.emitter.instrument import After
    from ptxlab.emulate.jit.instruments.counting import Counting


class Body(Part):
    """How instructions of some actions are executed. rules: those that its code calls."""

    rules: ClassVar[tuple[Function, ...]] = ()

    def __init__(self, e: Emitter, memory: Memory, others: Bodies) -> None:
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
        return lanes if access.lanes == ALL_LANES else self.t.let(f"and i32 {lanes}, {access.lanes}")


B = TypeVar("B", bound=Body)
_BODIES: dict[tuple[Action, AsyncGroup | None], type[Body]] = {}


def executes(*actions: Action, group: AsyncGroup | None = None) -> Callable[[type[B]], type[B]]:
    """Registers a body for actions, of one asynchronous group or of all that have no body of their own."""

    def register(body: type[B]) -> type[B]:
        _BODIES.update(dict.fromkeys(((action, group) for action in actions), body))
        return body

    return register


class Bodies:
    """The bodies of an emitter."""

    def __init__(self, e: Emitter, memory: Memory) -> None:
        self._e, self._memory = e, memory
        self._made: dict[type[Body], Body] = {}
        for kind in dict.fromkeys(_BODIES.values()):
            self.part(kind)

    def part(self, kind: type[B]) -> B:
        """The one of a class, made when it is first asked for: others need it."""
        made = self._made.get(kind)
        if made is None:
            made = self._made[kind] = kind(self._e, self._memory, self)
        assert isinstance(made, kind)
        return made

    def of(self, code: Code) -> Body | None:
        """The one that executes an instruction; None of those whose entries have semantics, or no effect."""
        kind = body_of(code)
        return None if kind is None else self._made[kind]


def body_of(code: Code) -> type[Body] | None:
    """The class of what executes an instruction."""
    return _BODIES.get((code.action, code.properties.group)) or _BODIES.get((code.action, None))


def all_rules(*, checks: bool) -> tuple[Function, ...]:
    """The rules that bodies call, always or in a build with checks."""
    kinds = dict.fromkeys(_BODIES.values())
    return tuple(r for kind in kinds for r in (kind.check_rules() if checks else kind.rules))
