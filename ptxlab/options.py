"""Single options of the public calls, checked where they are given: whole numbers, switches, several of a kind.

Each check raises `LaunchError` with the option's name, what is wanted and what was given.
"""

from __future__ import annotations

import difflib
import functools
import importlib
import inspect
import math
import re
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Never, TypeVar

import numpy as np

from ptxlab.errors import LaunchError

F = TypeVar("F", bound=Callable[..., Any])

MISSING: Any = inspect.Parameter.empty
"""The default of an argument that must be given: to `help` and to `inspect` it has none."""


def all_given(write: str, **given: Any) -> None:
    """LaunchError for arguments that are `MISSING`. write: the call with all of them."""
    if names := [name for name, value in given.items() if value is MISSING]:
        several = f"{', '.join(names[:-1])} and {names[-1]} are"
        listed = f"the argument {names[0]} is" if len(names) == 1 else several
        raise LaunchError(f"{listed} missing\n  write:  {write}")


def complete(write: str = "") -> Callable[[F], F]:
    """A public function or class whose calls without an argument that must be given get the line to write; by default
    the call with the names of all of these."""

    def completed(function: F) -> F:
        if isinstance(function, type):
            function.__init__ = complete(write or _call(function))(function.__init__)  # type: ignore[misc]
            return function
        needed = _needed(function)

        @functools.wraps(function)
        def call(*args: Any, **options: Any) -> Any:
            __tracebackhide__ = True  # in pytest and in notebooks
            if left := [name for name in needed[len(args) :] if name not in options]:
                all_given(write or _call(function), **dict.fromkeys(left, MISSING))
            return function(*args, **options)

        return call  # type: ignore[return-value]

    return completed


def unexpected(
    function: Callable[..., Any], given: Mapping[str, Any], write: str = "", also: Callable[..., Any] | None = None
) -> LaunchError:
    """The error for an option that a function does not have, with the one that is meant, or with what to write: the
    call that has it. also: a function whose options are its own as well."""
    name = next(iter(given))
    parameters = [p for f in (function, also) if f is not None for p in inspect.signature(f).parameters.values()]
    has = [p.name for p in parameters if p.kind is p.KEYWORD_ONLY or p.default is not p.empty]
    close = difflib.get_close_matches(name, has, 1, 0.8)
    if not write and close:
        write = f"{close[0]}={shown(given[name])}"
    elsewhere = ""
    if not write and any(p.name == name and p.kind is p.VAR_POSITIONAL for p in parameters):
        write = _call(function, "", f"*{name}")
    for other in () if write else ("launch", "attention", "decode", "compare", "inspect", "cuda"):
        found = getattr(importlib.import_module("ptxlab"), other)
        if name in inspect.signature(found).parameters:
            elsewhere, write = f", which pl.{other} has", _call(found, name, f"{name}={shown(given[name])}")
            break
    text = f"{function.__name__} has no option {name}={elsewhere}; its options are {', '.join(has)}"
    return LaunchError(text + (f"\n  write:  {write}" if write else ""))


def _needed(function: Callable[..., Any]) -> list[str]:
    """The names of the arguments that must be given."""
    parameters = inspect.signature(function).parameters.values()
    return [p.name for p in parameters if p.default is p.empty and p.kind is p.POSITIONAL_OR_KEYWORD]


def _call(function: Callable[..., Any], name: str = "", option: str = "") -> str:
    """The call of a public function with its arguments by name, and an option."""
    words, kinds = _needed(function), [p.kind for p in inspect.signature(function).parameters.values()]
    words += ["..."] if inspect.Parameter.VAR_POSITIONAL in kinds and option and option[0] != "*" else []
    return f"pl.{function.__name__}({', '.join(words + ([] if not option or name in words else [option]))})"


def meant(word: object, words: Iterable[str]) -> str:
    """`; did you mean scalar?`, or nothing."""
    known, plain = {each.lower(): each for each in words}, word.lower() if isinstance(word, str) else ""
    close = difflib.get_close_matches(plain, known, 1, 0.8)
    if not close and len(plain) > 2:
        close = [each for each in known if each.startswith(plain)]
    return f"; did you mean {known[close[0]]}?" if close else ""


class NotCalled:
    """What is not a function: calls and `[grid, block]` of it, as other libraries launch, get the line to write."""

    __slots__ = ()

    def launched(self) -> str:
        """The line to write."""
        return "pl.launch(kernel, grid, block, ...)"

    def __call__(self, *args: object, **options: object) -> Never:
        what = getattr(self, "name", "") or type(self).__name__
        raise LaunchError(f"{what} is a kernel, not a function\n  write:  {self.launched()}")

    def __getitem__(self, key: Any) -> Any:
        self()

    __iter__ = None

    if not TYPE_CHECKING:  # mypy would believe in every attribute

        def __getattr__(self, name: str) -> Never:
            """`kernel.launch` and `kernel.run` of other libraries."""
            line = f"\n  write:  {self.launched()}" if name in ("launch", "run") else ""
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}{line}", name=name, obj=self)


def shown(value: object) -> str:
    """A value for a message, in one line that is not long."""
    text = " ".join(repr(value).split())
    return text if len(text) <= 80 else f"{text[:77]}..."


def is_whole(value: Any) -> bool:
    """Whether this is a whole number: an int or a numpy integer, and no bool."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def whole(what: str, value: Any, least: int, most: int | None = None) -> int:
    """A whole number from `least` on, up to `most`."""
    if not is_whole(value) or value < least:
        raise LaunchError(f"{what}: expected a whole number of at least {least}, got {shown(value)}")
    if most is not None and value > most:
        raise LaunchError(f"{what}: expected a whole number up to {most}, got {shown(value)}")
    return int(value)


def switch(what: str, value: Any) -> bool:
    """True or False, and nothing that merely counts as such."""
    if not isinstance(value, bool | np.bool_):
        raise LaunchError(f"{what}: expected True or False, got {shown(value)}")
    return bool(value)


def finite(what: str, value: Any) -> float:
    """A finite number, of Python or of numpy."""
    number = math.nan
    if isinstance(value, float | int | np.floating | np.integer) and not isinstance(value, bool):
        try:
            number = float(value)
        except OverflowError:  # an int beyond every float
            pass
    if not math.isfinite(number):
        raise LaunchError(f"{what}: expected a finite number, got {shown(value)}")
    return number


def several(value: Any) -> list[Any] | None:
    """What a list, a tuple, a set, an array or a generator holds; None for what holds nothing to go through, and for
    texts and bytes, which are one thing."""
    if isinstance(value, str | bytes | bytearray | memoryview | Mapping) or not isinstance(value, Iterable):
        return None
    if isinstance(value, np.ndarray) and value.ndim == 0:
        return None
    return list(value)


def target(what: str, value: Any) -> None:
    """The name of an architecture, or None."""
    if value is not None and not (isinstance(value, str) and re.fullmatch(r"sm_\d+[a-z]?", value)):
        number = re.search(r"\d{2,3}[af]?\b", str(value))
        write = f"\n  write:  {what}='sm_{number[0]}'" if number else ""
        raise LaunchError(f"{what}: expected a target such as 'sm_90', got {shown(value)}{write}")


def text(what: str, value: Any) -> None:
    """A text, or None: for a target that somebody else has to know."""
    if value is not None and not isinstance(value, str):
        raise LaunchError(f"{what}: expected a string such as 'sm_90', got {shown(value)}")
