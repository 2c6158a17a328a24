"""The names that are declared in a pair of braces of a module, and in those around it."""

from __future__ import annotations

from collections.abc import Iterator

from ptxlab.text.model import Variable


class Scope:
    """The names declared in one pair of braces, and the scopes around it."""

    def __init__(self, outer: Scope | None = None) -> None:
        self.outer = outer
        self.names: set[str] = set()
        self.variables: dict[str, Variable] = {}
        self.ranges: dict[str, Variable] = {}
        # What was asked for, until something is declared here: no scope changes while one inside it is looked at.
        self._listed: dict[frozenset[str], tuple[str, ...]] = {}
        self._found: dict[str, Variable | None] = {}
        self._ranges: dict[str, Variable | None] = {}

    def declare(self, variable: Variable) -> None:
        """Adds a variable, or a range of registers."""
        self._listed.clear()
        self._found.clear()
        self._ranges.clear()
        if variable.count:
            self.ranges[variable.name] = variable
        else:
            self.names.add(variable.name)
            self.variables[variable.name] = variable

    def find(self, name: str) -> Variable | None:
        """The innermost declaration of a name, or of the vector that it is an element of; None without one."""
        if name not in self._found:
            base = name.partition(".")[0]
            found = self.variables.get(base) or self._spelt(base, within=True)
            if found is None and self.outer is not None:
                found = self.outer.find(name)
            self._found[name] = found
        return self._found[name]

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
        digits = len(name) - len(name.rstrip("0123456789"))
        for k in range(len(name) - min(digits, 9), len(name)):
            variable = self.ranges.get(name[:k])
            number = name[k:]
            if variable is not None and (not within or int(number) < variable.count):
                return variable
        return None

    def all_names(self, more: frozenset[str] = frozenset()) -> tuple[str, ...]:
        """Every name that could be meant here, and `more`, sorted; of a range the first eight."""
        if more not in self._listed:
            self._listed[more] = tuple(sorted({*self._names(), *more}))
        return self._listed[more]

    def _names(self) -> Iterator[str]:
        yield from self.names
        for name, variable in self.ranges.items():
            yield from (f"{name}{i}" for i in range(min(variable.count, 8)))
        if self.outer is not None:
            yield from self.outer._names()
