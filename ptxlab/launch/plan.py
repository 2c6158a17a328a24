"""The plan of a kernel, made from its text once: its function, parameters and shared memory."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ptxlab.errors import LaunchError
from ptxlab.launch import arguments
from ptxlab.launch.parameters import Bound, Parameter

if TYPE_CHECKING:
    from ptxlab.text.model import Function, Module


@dataclass(frozen=True, slots=True)
class Plan:
    """A kernel, ready to be bound to arguments.

    static_shared: bytes of shared memory that its text declares. added: arguments for its last parameters, which the
    compiler has added after the programmer's. scratch: bytes of global memory for each block that the first of `added`
    points to. adapt: makes the arguments for the PTX out of the programmer's, where
    the compiler has turned one into several.
    """

    module: Module
    function: Function
    parameters: list[Parameter]
    static_shared: int
    added: Sequence[Any]
    adapt: Callable[[Sequence[Any]], Sequence[Any]] | None = None
    scratch: int = 0

    def bind(self, args: Sequence[Any], variables: Sequence[Bound] = (), blocks: int = 1) -> list[Bound]:
        """Each parameter with its argument, checked; see `arguments.bind`. blocks: the grid's, for scratch memory."""
        given = args if self.adapt is None else self.adapt(args)
        added = self.added
        if self.scratch:
            added = (np.zeros(self.scratch * blocks, np.uint8), *added[1:])
        return arguments.bind(self.function.name, self.parameters, given, added, variables)


_plans: dict[tuple[int, str | None], tuple[Any, Plan]] = {}
_PLANS_SIZE = 64


def planned(kernel: Any, entry: str | None = None) -> Plan:
    """The plan of a kernel, given as `launch` takes it, its declarations checked; the last ones are cached. Errors as
    of `launch`."""
    from ptxlab.collection import uncollected
    from ptxlab.emulate.program.call_graph import entry_function
    from ptxlab.text import declared

    module = _module(kernel)
    key = id(kernel if not isinstance(kernel, str) else module), entry
    kept = _plans.get(key)
    if kept is not None and kept[1].module is module:
        return kept[1]
    uncollected(declared.check)(module)
    function = entry_function(module, entry or getattr(kernel, "name", None) or None)
    added = () if kernel is module else getattr(kernel, "trailing", ())  # a module's `trailing` is text
    adapt = getattr(kernel, "adapt", None)
    scratch = int(getattr(kernel, "scratch", 0)) if added else 0
    static = _static_shared(module, function)
    plan = Plan(module, function, _parameters(kernel, function), static, added, adapt, scratch)
    _plans[key] = kernel, plan  # the object is cached too, so that no other gets its id
    for oldest in list(_plans)[:-_PLANS_SIZE]:
        _plans.pop(oldest, None)
    return plan


def _module(kernel: Any) -> Module:
    """The parsed module of PTX text, of a module, or of an object with `.module`."""
    from ptxlab import text

    module = _parsed(kernel) if isinstance(kernel, str) else getattr(kernel, "module", kernel)
    if not isinstance(module, text.Module):
        what = type(kernel).__name__
        raise LaunchError(f"kernel: PTX text, a parsed module or a builder's kernel is wanted, got {what}")
    return module


@functools.lru_cache(maxsize=64)
def _parsed(ptx: str) -> Module:
    from ptxlab.text import parse

    return parse(ptx)


def _parameters(kernel: Any, function: Function) -> list[Parameter]:
    """The kernel's parameters; a kernel from Python or compiled source also says what its pointers point to."""
    from ptxlab.emulate.program.layout import align_of, size_of

    typed = dict(getattr(kernel, "params", ()))
    out = []
    for v in function.params:
        element = getattr(typed.get(v.name), "element", None)
        pointer: bool | None = False
        if element is not None or ".ptr" in v.attributes:
            pointer = True
        elif v.name not in typed and not v.shape and size_of(v) == 8 and v.type[0] != "f":
            pointer = None
        name = "" if element is None else getattr(element, "name", str(element))
        box, swizzle = getattr(typed.get(v.name), "box", ()), getattr(typed.get(v.name), "swizzle", 0)
        out.append(Parameter(v.name, v.type, size_of(v), align_of(v), bool(v.shape), pointer, name, box, swizzle))
    return out


def _static_shared(module: Module, function: Function) -> int:
    """Bytes of shared memory that the kernel and the module declare."""
    from ptxlab.emulate.program.layout import Area, align_of, size_of
    from ptxlab.text.model import Declaration

    area = Area()
    declared = (s for s in (function.body.walk() if function.body else ()) if isinstance(s, Declaration))
    for v in (*module.variables, *(v for s in declared for v in s.variables)):
        if v.space == "shared" and v.linkage != "extern":
            area.place(size_of(v), align_of(v))
    return area.end
