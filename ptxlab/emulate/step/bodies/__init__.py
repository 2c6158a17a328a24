"""Bodies: what the interpreter does for the actions that the table's `sem` does not say, one for each effect.

    @executes(Action.DISCARD)
    class Discards(Body):
        def step(self, t, code): ...

The files of this package are all read, and each names the actions that it executes. Which bytes an instruction accesses
stands in the table (`Code.accesses`); counters, checks and traces get it before the step, unless a body reports its
accesses itself.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable
from typing import ClassVar, TypeVar

import numpy as np

from ptxlab.emulate.program.flat_program import Code
from ptxlab.emulate.step.access import Touch
from ptxlab.emulate.step.launch_checks import LaunchChecks
from ptxlab.emulate.step.operands import Step, Translator
from ptxlab.emulate.step.warp import Warp
from ptxlab.isa.actions import Action, AsyncGroup

Look = Callable[[Warp, np.ndarray], None]
"""Something that the checks do before a step, given the lanes whose guard holds."""


class Body:
    """How instructions of some actions are executed. reports: its steps append their accesses to `w.touches`;
    checked_after: these are then checked (if not, its steps call the checks); guards: its steps apply the guard."""

    reports: ClassVar[bool] = False
    checked_after: ClassVar[bool] = False
    guards: ClassVar[bool] = False

    def step(self, t: Translator, code: Code) -> Step:
        raise NotImplementedError

    def looks(self, checker: LaunchChecks, code: Code) -> list[Look]:
        """What checks do before it, beside looking at its accesses."""
        return []

    def checked(self, checker: LaunchChecks, code: Code, step: Step) -> Step:
        """The step with what checks do after it."""
        return step


B = TypeVar("B", bound=Body)
_BODIES: dict[tuple[Action, AsyncGroup | None], Body] = {}


def executes(*actions: Action, group: AsyncGroup | None = None) -> Callable[[type[B]], type[B]]:
    """Registers a body for actions, of one asynchronous group or of all that have no body of their own."""

    def register(body: type[B]) -> type[B]:
        _BODIES.update(dict.fromkeys(((action, group) for action in actions), body()))
        return body

    return register


def body_of(code: Code) -> Body | None:
    """The body of an instruction; None for those whose entries have semantics, no effect, or one on control flow."""
    return _BODIES.get((code.action, code.properties.group)) or _BODIES.get((code.action, None))


def step_of(t: Translator, body: Body, code: Code) -> Step:
    """The step of an instruction that has a body, without its guard if that does not apply it."""
    step = body.step(t, code)
    return step if body.reports else _reporting(t, code, step)


def _reporting(t: Translator, code: Code, step: Step) -> Step:
    accesses = [(access, t.read(code.named[access.operand][0], "addr", code)) for access in code.accesses]

    def run(w: Warp) -> int | None:
        check = w.spaces.check
        if check is None and w.touches is None:
            return step(w)
        for access, address in accesses:
            touch = Touch(access.what, access.space, address(w).astype(np.uint64), access.size, w.mask)
            if w.touches is not None:
                w.touches.append(touch)
            if check is not None:
                check.touched(w, code, touch)
        return step(w)

    return run


for _module in sorted(module.name for module in pkgutil.iter_modules(__path__)):
    importlib.import_module(f"{__name__}.{_module}")
