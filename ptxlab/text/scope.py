"""The names that are declared in a pair of braces of a module, and in those around it."""

from __future__ import annotations

from ptxlab.text.model import Variable


class Scope:
    """The names declared in one pair of braces, and the scopes around it."""

    def __init__(self, outer: Scope | None = None) -> None:
        self.outer = outer
        self.names: dict[str, None] = {}
        self.variables: dict[str, Variable] = {}
        self.ranges: dict[str, Variable] = {}
        # A cache until something is declared here; no scope changes while one inside it is being read.
        self.found: dict[str, Variable | None] = {}
        self._ranges: dict[str, Variable | None] = {}

    def declare(self, variable: Variable) -> None:
        """Adds a variable, or a range of registers."""
        self.found.clear()
        self._ranges.clear()
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
        found = self.variables.get(base) or self.spelt(base, within=True)
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
            found = self.spelt(name)
            if found is None and self.outer is not None:
                found = self.outer.range_of(name)
            self._ranges[name] = found
        return self._ranges[name]

    def spelt(self, name: str, within: bool = False) -> Variable | None:
        """The same in these braces alone; within: only one that goes so far."""
        if not self.ranges:
            return None
        stem = name.rstrip("0123456789")
        for k in range(max(len(stem), len(name) - 9), len(name)):
            variable = self.ranges.get(name[:k])  # at first `%r` of `%r12`
            if variable is not None and (not within or int(name[k:]) < variable.count):
                return variable
        return None

    def names_by_now(self) -> set[str]:
        """Every name that could be meant at this place; of a range the first eight."""
        ranges = {f"{name}{i}" for name, variable in self.ranges.items() for i in range(min(variable.count, 8))}
        return ranges.union(self.names, self.outer.names_by_now() if self.outer is not None else ())
