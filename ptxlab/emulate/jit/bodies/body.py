"""The JIT's code for actions that the table's `sem` does not say: one body for each effect.

    class Discards(Body):
        rules = (discard,)

        def emit(self, code): ...

`_OF_ACTIONS` says which actions a body executes; its file is imported where a program has such an instruction. Which
bytes an instruction accesses stands in the instruction table (`Code.accesses`); counters, checks and traces take them
from there, unless a body says more.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Iterable
from typing import TYPE_CHECKING, ClassVar

from ptxlab.emulate.jit.emitter.emitter import Emitter, Part
from ptxlab.emulate.jit.memory.access import Memory
from ptxlab.emulate.jit.translation.rule_calls import Function
from ptxlab.emulate.program.flat_program import Code
from ptxlab.isa.accesses import ALL_LANES, Access
from ptxlab.isa.actions import MBARRIER, Action, AsyncGroup

if TYPE_CHECKING:
    from ptxlab.emulate.jit.checks.check_instrument import Checks
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
        return self.m.vector(self.m.zext("i64", self.e.operands.address(code, access.operand)))

    def _counting(self, code: Code, access: Access) -> str:
        """The lanes that make an access: not those that are told to access no bytes."""
        lanes, given = self.active.bits, self.e.operands.read_named(code, access.count) if access.count else None
        if given is not None:
            some = self.m.not_(given) if given.type == "i1" else self.m.ne(given, self.m.const(given.type, 0))
            lanes = self.active.where(some)
        return lanes if access.lanes == ALL_LANES else self.t.and_("i32", lanes, access.lanes)


A = Action
_OF_GROUPS = {
    (action, AsyncGroup.CP_ASYNC): "async_copies.Copies" for action in (A.COPY, A.COMMIT, A.WAIT_GROUP, A.WAIT_ALL)
}
_OF_ACTIONS = {
    action: place
    for place, actions in {
        "bulk_copies.Bulk": (A.COPY, A.COPY_REDUCE, A.PREFETCH_TILE, A.COMMIT, A.WAIT_GROUP),
        "discards.Discards": (A.DISCARD,),
        "matrices.Matrices": (
            A.MATRIX_PRODUCT, A.FRAGMENT_PRODUCT, A.TRANSPOSE, A.LOAD_ROWS, A.STORE_ROWS, A.LOAD_FRAGMENT,
            A.STORE_FRAGMENT,
        ),
        "mbarriers.Mbarriers": MBARRIER,
        "warpgroups.Warpgroups": (
            A.WARPGROUP_PRODUCT, A.WARPGROUP_FENCE, A.WARPGROUP_COMMIT, A.WARPGROUP_WAIT,
        ),
    }.items()
    for action in actions
}  # fmt: skip
"""The file and the class of each body, by actions of one asynchronous group, or of all others."""


@functools.cache
def _loaded(place: str) -> type[Body]:
    module, _, name = place.partition(".")
    found: type[Body] = getattr(importlib.import_module(f"ptxlab.emulate.jit.bodies.{module}"), name)
    return found


def body_of(code: Code) -> type[Body] | None:
    """The class of what executes an instruction; None for those whose entries have semantics, or no effect."""
    place = _OF_GROUPS.get((code.action, code.properties.group)) or _OF_ACTIONS.get(code.action)
    return None if place is None else _loaded(place)


def bodies_of(codes: Iterable[Code]) -> list[type[Body]]:
    found = dict.fromkeys(map(body_of, codes))
    return [kind for kind in found if kind is not None]


def all_bodies() -> list[type[Body]]:
    return [_loaded(place) for place in dict.fromkeys((*_OF_GROUPS.values(), *_OF_ACTIONS.values()))]


def rules_of(kinds: Iterable[type[Body]], *, checks: bool = False) -> tuple[Function, ...]:
    """The rules that bodies call, always or in a build with checks."""
    return tuple(r for kind in kinds for r in (kind.check_rules() if checks else kind.rules))


class Bodies:
    """The bodies of an emitter: those that its program needs."""

    def __init__(self, e: Emitter, memory: Memory) -> None:
        self._made = {kind: kind(e, memory) for kind in bodies_of(e.program.codes)}

    def of(self, code: Code) -> Body | None:
        """The one that executes an instruction; see `body_of`."""
        kind = body_of(code)
        return None if kind is None else self._made[kind]
