"""`dataclass` as in the standard library, for the classes that a first launch makes.

The standard one compiles up to seven methods of each class from text: half a millisecond, for a hundred classes. Here
only `__init__` is compiled. The other methods share their code, and do the same.
"""

from __future__ import annotations

import dataclasses
import operator
import reprlib
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
else:

    def dataclass(
        cls: type | None = None, /, *, frozen: bool = False, slots: bool = False, eq: bool = True
    ) -> type | Callable[[type], type]:
        """Makes a class a dataclass. There are no other options, and no fields by keyword only."""
        if cls is None:
            return lambda each: _made(each, frozen=frozen, slots=slots, eq=eq)
        return _made(cls, frozen=frozen, slots=slots, eq=eq)


class _Factory:
    """The default of a parameter whose field has a factory."""

    def __repr__(self) -> str:
        return "<factory>"


_FACTORY = _Factory()
_OWN = ("__repr__", "__eq__", "__hash__", "__getstate__", "__setstate__")
"""What a class may say itself."""


def _made(cls: Any, *, frozen: bool, slots: bool, eq: bool) -> Any:
    if any(dataclasses.is_dataclass(base) for base in cls.__bases__):
        return dataclasses.dataclass(frozen=frozen, slots=slots, eq=eq)(cls)
    own = {name for name in _OWN if cls.__dict__.get(name) is not None}
    made: Any = dataclasses.dataclass(init=False, repr=False, eq=False, slots=slots)(cls)
    fields = dataclasses.fields(made)
    made.__init__ = _init(made, fields, frozen=frozen, slots=slots)
    methods: dict[str, Any] = {"__repr__": _repr}
    if eq:
        methods |= _comparison([f.name for f in fields if f.compare])
        if not frozen:
            methods["__hash__"] = None
    if frozen:
        made.__setattr__, made.__delattr__ = _refusals(made, frozenset(f.name for f in fields))
        if slots:
            methods |= {"__getstate__": _getstate, "__setstate__": _setstate}
    for name, method in methods.items():
        if name not in own:
            setattr(made, name, method)
    parameters = made.__dataclass_params__
    parameters.init, parameters.repr, parameters.eq, parameters.frozen = True, True, eq, frozen
    return made


def _init(cls: Any, fields: tuple[dataclasses.Field[Any], ...], *, frozen: bool, slots: bool) -> Any:
    """`__init__`, which stores each field."""
    given: dict[str, Any] = {"_set": object.__setattr__, "_factory": _FACTORY}
    parameters, body = ["self"], []
    for f in fields:
        if f.kw_only:
            raise TypeError(f"{cls.__name__}.{f.name}: a field by keyword only; use the standard dataclass")
        value = f.name
        if f.default_factory is not dataclasses.MISSING:
            given[f"_default_{f.name}"] = f.default_factory
            made = f"_default_{f.name}()"
            value = f"{made} if {f.name} is _factory else {f.name}" if f.init else made
            default = "=_factory"
        elif f.default is not dataclasses.MISSING:
            given[f"_default_{f.name}"], default = f.default, f"=_default_{f.name}"
            if not f.init:
                if not slots:
                    continue  # an attribute of the class
                value = f"_default_{f.name}"
        else:
            default = ""
            if not f.init:
                continue
        if f.init:
            parameters.append(f.name + default)
        body.append(f"  _set(self, {f.name!r}, {value})" if frozen else f"  self.{f.name} = {value}")
    if hasattr(cls, "__post_init__"):
        body.append("  self.__post_init__()")
    lines = [f"def make({', '.join(given)}):", f" def __init__({', '.join(parameters)}):", *(body or ["  pass"])]
    names: dict[str, Any] = {}
    exec("\n".join([*lines, " return __init__"]), vars(sys.modules[cls.__module__]), names)
    init = names["make"](**given)
    init.__qualname__ = f"{cls.__qualname__}.__init__"
    init.__annotations__ = {f.name: f.type for f in fields if f.init} | {"return": None}
    return init


@reprlib.recursive_repr("...")
def _repr(self: Any) -> str:
    shown = (f"{f.name}={getattr(self, f.name)!r}" for f in dataclasses.fields(self) if f.repr)
    return f"{type(self).__qualname__}({', '.join(shown)})"


def _comparison(names: list[str]) -> dict[str, Any]:
    """`__eq__` and `__hash__`, by these fields."""
    values: Callable[[Any], tuple[Any, ...]]
    if len(names) > 1:
        values = operator.attrgetter(*names)
    elif names:
        only = operator.attrgetter(*names)
        values = lambda self: (only(self),)
    else:
        values = lambda self: ()

    def __eq__(self: Any, other: Any) -> Any:
        return values(self) == values(other) if other.__class__ is self.__class__ else NotImplemented

    def __hash__(self: Any) -> int:
        return hash(values(self))

    return {"__eq__": __eq__, "__hash__": __hash__}


def _refusals(cls: Any, names: frozenset[str]) -> tuple[Any, Any]:
    """`__setattr__` and `__delattr__` of a frozen class."""

    def __setattr__(self: Any, name: str, value: Any) -> None:
        if type(self) is cls or name in names:
            raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")
        super(cls, self).__setattr__(name, value)

    def __delattr__(self: Any, name: str) -> None:
        if type(self) is cls or name in names:
            raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")
        super(cls, self).__delattr__(name)

    return __setattr__, __delattr__


def _getstate(self: Any) -> list[Any]:
    return [getattr(self, f.name) for f in dataclasses.fields(self)]


def _setstate(self: Any, state: list[Any]) -> None:
    for f, value in zip(dataclasses.fields(self), state, strict=True):
        object.__setattr__(self, f.name, value)
