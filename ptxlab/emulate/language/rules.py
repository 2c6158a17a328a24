"""The decorator that marks a function as a rule: Python as it stands, and a source for the translator."""

from __future__ import annotations

import ast
import functools
import inspect
import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar, overload

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(eq=False)
class Rule:
    """A function of the rules' language: what the translator reads. See `rule`."""

    function: Callable[..., Any]
    symbol: str = ""
    inline: bool = False
    cold: bool = False
    external: bool = False
    pointer: str = ""

    def __post_init__(self) -> None:
        self.symbol = self.symbol or f"{self.function.__module__.rsplit('.', 1)[-1]}.{self.function.__name__}"

    @functools.cached_property
    def tree(self) -> ast.FunctionDef:
        """The function's syntax tree, its lines numbered as in its file."""
        lines, start = inspect.getsourcelines(self.function)
        tree = ast.increment_lineno(ast.parse(textwrap.dedent("".join(lines))), start - 1)
        (found,) = tree.body
        assert isinstance(found, ast.FunctionDef)
        return found

    @functools.cached_property
    def types(self) -> dict[str, Any]:
        """Its parameters' types by name, and its result's under "return"."""
        names = self.function.__globals__
        return {
            name: eval(told, dict(names)) if isinstance(told, str) else told
            for name, told in self.function.__annotations__.items()
        }

    @property
    def parameters(self) -> list[str]:
        """The names of its parameters in order."""
        return [argument.arg for argument in self.tree.args.args]


_rules: dict[Callable[..., Any], Rule] = {}


@overload
def rule(function: F) -> F: ...


@overload
def rule(
    *, symbol: str = "", inline: bool = False, cold: bool = False, external: bool = False, pointer: str = ""
) -> Callable[[F], F]: ...


def rule(function: F | None = None, **options: Any) -> F | Callable[[F], F]:
    """Marks a function as a rule and gives it back as it is.

    symbol: the name of the compiled function, otherwise "module.function". inline: it is written out where it is
    called. cold: it runs seldom. external: other code has a function of that symbol, which compiled rules call; the
    Python body is what rules in Python call. pointer: so is the function that this field (a u64) of the first argument,
    a record, points to.
    """

    def mark(function: F) -> F:
        _rules[function] = Rule(function, **options)
        return function

    return mark if function is None else mark(function)


def rule_of(function: Callable[..., Any]) -> Rule:
    """What the decorator noted of a rule."""
    if function not in _rules:
        raise TypeError(f"{function.__name__} is not a rule; write @rule above it")
    return _rules[function]
