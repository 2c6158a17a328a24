"""Which body executes which action. A body's file is imported where a program has an instruction that needs it."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Iterable

from ptxlab.emulate.jit.bodies.body import Body
from ptxlab.emulate.jit.emitter.emitter import Emitter
from ptxlab.emulate.jit.memory.access import Memory
from ptxlab.emulate.jit.translation.rule_calls import Function
from ptxlab.emulate.program.flat_program import Code
from ptxlab.isa.actions import MBARRIER, Action, AsyncGroup

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
    """The classes of what executes these instructions."""
    found = dict.fromkeys(map(body_of, codes))
    return [kind for kind in found if kind is not None]


def all_bodies() -> list[type[Body]]:
    """The classes of all bodies."""
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
