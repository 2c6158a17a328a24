"""The names that are declared in a pair of braces of a module, and in those around it."""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable, Iterator
from itertools import islice

from ptxlab.text.model import Variable

Declared = tuple[int, ...]
Names = Callable[[frozenset[str]], tuple[str, ...]]
"""Gives the names that could be meant, and more that it is given."""


class Scope:
    """The names declared in one pair of braces, and the scopes around it."""

    def __init__(self, outer: Scope | None = None) -> None:
        self.outer = outer
        self.names: dict[str, None] = {}
        self.variables: dict[str, Variable] = {}
        self.ranges: dict[str, Variable] = {}
        self._listed: dict[Hashable, tuple[str, ...]] = {}
        # A cache until something is declared here; no scope changes while one inside it is being read.
        self.found: dict[str, Variable | None] = {}
        self._ranges: dict[str, Variable | None] = {}
        self._by_now: Names | None = None
        self.parts: dict[int, tuple[Hashable, bool] | None] = {}  # of the operands in these braces, see `shape`

    def declare(self, variable: Variable) -> None:
        """Adds a variable, or a range of registers."""
        self.found = {}  # a new one: holders of the old one keep the meanings from before
        self._ranges.clear()
        self._by_now = None
        self.parts.clear()
        if variable.count:
            self.ranges[variable.name] = variable
        else:
            self.names[variable.name] = None
            self.variables[variable.name] = variable

    def find(self, name: str) -> Variable | None:
        """The innermost declaration of a name, or of the vector that it is an element of; None without one."""
        if name in self.found:
            return self.found[name]
        base = name.partition(".")[0]
        found = self.variables.get(base) or self._spelt(base, within=True)
        if found is None and self.outer is not None:
            found = self.outer.find(name)
        self.found[name] = found
        return found

    def has(self, name: str) -> bool:
        """Whether the name is declared here or further out."""
        if name in self.names or self.find(name) is not None:
            return True
        return self.outer is not None and self.outer.has(name)

    def range_of(self, name: str) -> Variable | None:
        """The innermost range `%f<4>` that `%f7` belongs to by its spelling, whether or not it goes so far."""
        if name not in self._ranges:
            found = self._spelt(name)
            if found is None and self.outer is not None:
                found = self.outer.range_of(name)
            self._ranges[name] = found
        return self._ranges[name]

    def _spelt(self, name: str, within: bool = False) -> Variable | None:
        """The same in these braces alone; `within` asks for its number to be in the range."""
        if not self.ranges:
            return None
        stem = name.rstrip("0123456789")
        first = self.ranges.get(stem)
        if (
            first is not None
            and 0 < len(name) - len(stem) < 10
            and (not within or int(name[len(stem) :]) < first.count)
        ):
            return first  # `%r` of `%r12`, as most are
        length = len(name)
        for k in range(max(len(stem), length - 9), length):
            variable = self.ranges.get(name[:k])
            if variable is not None and (not within or int(name[k:]) < variable.count):
                return variable
        return None

    def names_by_now(self) -> Names:
        """What gives every name that could be meant at this place, and more, sorted; of a range the first eight."""
        if self._by_now is None:
            self._by_now = functools.partial(self._sorted, self._declared())
        return self._by_now

    def _declared(self) -> Declared:
        """How many names and ranges are declared by now, here and in each scope around."""
        return (len(self.names), len(self.ranges), *(self.outer._declared() if self.outer is not None else ()))

    def _sorted(self, declared: Declared, more: frozenset[str]) -> tuple[str, ...]:
        if (declared, more) not in self._listed:
            self._listed[declared, more] = tuple(sorted({*self._names(declared), *more}))
        return self._listed[declared, more]

    def _names(self, declared: Declared) -> Iterator[str]:
        names, ranges, *outer = declared
        yield from islice(self.names, names)
        for name, variable in islice(self.ranges.items(), ranges):
            yield from (f"{name}{i}" for i in range(min(variable.count, 8)))
        if self.outer is not None:
            yield from self.outer._names(tuple(outer))
