"""The decorator that marks a function as a rule: it runs in Python as it is, and the translator reads its source."""

from __future__ import annotations

import ast
import functools
import linecache
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar, overload

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(eq=False, repr=False)
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
        code = self.function.__code__
        return _functions(code.co_filename)[code.co_firstlineno]

    @functools.cached_property
    def types(self) -> dict[str, Any]:
        """Its parameters' types by name, and its result's under "return"."""
        names = dict(self.function.__globals__)
        return {
            name: (names.get(given) or eval(given, names)) if isinstance(given, str) else given
            for name, given in self.function.__annotations__.items()
        }

    @property
    def parameters(self) -> list[str]:
        code = self.function.__code__
        return list(code.co_varnames[: code.co_argcount])


@functools.lru_cache(maxsize=64)
def _functions(file: str) -> dict[int, ast.FunctionDef]:
    """The functions of a file by the line at which they begin, that of the first decorator. A file is parsed once for
    all of its rules: parsing them one by one takes ten times as long."""
    found: dict[int, ast.FunctionDef] = {}
    waiting: list[ast.stmt] = list(ast.parse("".join(linecache.getlines(file))).body)
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.FunctionDef):
            found[min([node.lineno, *(one.lineno for one in node.decorator_list)])] = node
        waiting += getattr(node, "body", [])
    return found


_rules: dict[Callable[..., Any], Rule] = {}


@overload
def rule(function: F) -> F: ...


@overload
def rule(
    *, symbol: str = "", inline: bool = False, cold: bool = False, external: bool = False, pointer: str = ""
) -> Callable[[F], F]: ...


def rule(function: F | None = None, **options: Any) -> F | Callable[[F], F]:
    """Marks a function as a rule and returns it unchanged.

    symbol: the name of the compiled function, otherwise "module.function". inline: it is inlined where it is called.
    cold: it runs rarely. external: compiled rules call the function of that symbol in other code; rules in Python call
    the Python body. pointer: compiled rules call the function that this field (a u64) of the first argument, a record,
    points to.
    """

    def mark(function: F) -> F:
        _rules[function] = Rule(function, **options)
        return function

    return mark if function is None else mark(function)


def rule_of(function: Callable[..., Any]) -> Rule:
    if function not in _rules:
        raise TypeError(f"{function.__name__} is not a rule; write @rule above it")
    return _rules[function]
