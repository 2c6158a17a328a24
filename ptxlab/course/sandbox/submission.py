"""A submission: its cells, and which of them an exercise needs.

A notebook's cells that only show something (plots, the explorer) need not run for a mark. An exercise needs its own
cell, and before it those that bind or change a name which a needed cell uses.
"""

from __future__ import annotations

import ast
import json
import re
import symtable
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

_PERCENT = re.compile(r"^# %%(.*)$", re.MULTILINE)
_MAGIC = re.compile(r"^[ \t]*(?:[%!?].*|[\w.]+\?{1,2}[ \t]*)$", re.MULTILINE)
_PYTHON = re.compile(r"\s*%%(?:time|capture|prun|python3?)\b.*")
"""Magics over a cell whose text is Python all the same."""


@dataclass(frozen=True)
class Cell:
    """A cell of code: its text without magics, its tags, and a name for messages."""

    source: str
    name: str
    tags: tuple[str, ...] = ()


@dataclass(frozen=True)
class Use:
    """The names that a cell uses, and those that it binds or changes."""

    loads: frozenset[str] = frozenset()
    binds: frozenset[str] = frozenset()


@dataclass
class Submission:
    """The cells of one file, in order. `use[i]` is None where cell i is not Python."""

    cells: list[Cell]
    use: list[Use | None] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.use = [used(cell.source) for cell in self.cells]

    def cell_of(self, exercise: str, answer: str, *, named: bool | None = None) -> int | None:
        """The cell of an exercise: by its tag, else by its call of `check`, else the last one that binds the answer.

        named: True for a tag or a call alone, False for neither.
        """
        if named is not False:
            for at, cell in enumerate(self.cells):
                if f"exercise:{exercise}" in cell.tags:
                    return at
            call = re.compile(rf"\b(?:check|score)\(\s*['\"]{re.escape(exercise)}['\"]")
            for at, cell in enumerate(self.cells):
                if call.search(cell.source):
                    return at
        binding = [at for at, use in enumerate(self.use) if use is not None and answer in use.binds]
        return binding[-1] if binding and not named else None

    def needed(self, target: int) -> list[int]:
        """The cells that one cell needs, in order, itself last."""
        own = self.use[target]
        if own is None:
            return [target]
        wanted, chosen = set(own.loads), [target]
        for at in range(target - 1, -1, -1):
            use = self.use[at]
            if use is not None and ("*" in use.binds or use.binds & wanted):
                chosen.append(at)
                wanted |= use.loads
        return chosen[::-1]


def read(name: str, raw: bytes) -> Submission:
    """A submission from a notebook's or a Python file's bytes; ValueError says what is wrong with it."""
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(f"{name} is not text in UTF-8: {error}") from None
    return Submission(list(_notebook(name, text) if name.endswith(".ipynb") else _python(text)))


def _notebook(name: str, text: str) -> Iterator[Cell]:
    try:
        cells = json.loads(text)["cells"]
        code = [(at, cell) for at, cell in enumerate(cells, 1) if cell["cell_type"] == "code"]
        for at, cell in code:
            source = cell["source"] if isinstance(cell["source"], str) else "".join(cell["source"])
            yield Cell(_plain(source), f"cell {at}", tuple(map(str, cell.get("metadata", {}).get("tags", ()))))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ValueError(f"{name} is not a notebook: {type(error).__name__}: {error}") from None


def _python(text: str) -> Iterator[Cell]:
    """The cells of a Python file: one, or those that lines with `# %%` begin."""
    marks = list(_PERCENT.finditer(text))
    starts = [0, *(m.start() for m in marks)]
    for at, (start, end) in enumerate(zip(starts, [*starts[1:], len(text)], strict=True), 1):
        head = marks[at - 2][1] if at > 1 else ""
        tag = re.search(r"(?:\[exercise\][ \t]*|exercise:)([\w-]+)", head)
        if "[markdown]" not in head and text[start:end].strip():
            yield Cell(_plain(text[start:end]), f"part {at}", (f"exercise:{tag[1]}",) if tag else ())


def _plain(source: str) -> str:
    """A cell without magics: a grader is not a notebook. Lines stay where they are."""
    if source.lstrip().startswith("%%") and not _PYTHON.match(source):
        return ""
    try:
        ast.parse(source)
        return source
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return _MAGIC.sub("", source)


def used(source: str) -> Use | None:
    """The names that code uses and binds outside of its functions' own; None if it is not Python."""
    try:
        tree = ast.parse(source)
        table = symtable.symtable(source, "cell", "exec")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    loads, binds = set(), set()
    for symbol in table.get_symbols():
        if symbol.is_referenced():
            loads.add(symbol.get_name())
        if symbol.is_assigned() or symbol.is_imported() or symbol.is_namespace():
            binds.add(symbol.get_name())
    inner = list(table.get_children())
    while inner:
        scope = inner.pop()
        inner += scope.get_children()
        for symbol in scope.get_symbols():
            if symbol.is_global():
                loads.add(symbol.get_name())
                if symbol.is_declared_global() and symbol.is_assigned():
                    binds.add(symbol.get_name())
    for node in _outside_of_functions(tree):  # a.b = 1 and a.append(1) change a
        if isinstance(node, ast.Subscript | ast.Attribute) and not isinstance(node.ctx, ast.Load):
            binds |= _base(node)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            binds |= _base(node.value.func) if isinstance(node.value.func, ast.Attribute) else set()
        if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            loads.add(node.target.id)
        if isinstance(node, ast.ImportFrom) and any(alias.name == "*" for alias in node.names):
            binds.add("*")
    return Use(frozenset(loads), frozenset(binds))


def _outside_of_functions(node: ast.AST) -> Iterator[ast.AST]:
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
            yield child
            yield from _outside_of_functions(child)


def _base(node: ast.AST) -> set[str]:
    """The name at the beginning of `a.b[c].d`."""
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    return {node.id} if isinstance(node, ast.Name) else set()


def exercises_named(raw: bytes) -> set[str]:
    """The exercises that a file's tags and calls of `check` name, without reading it as Python."""
    text = raw.decode("utf-8", "replace")
    return set(re.findall(r"(?:exercise:|\[exercise\] +|(?:check|score)\(\s*\\?['\"])(\d\d-[a-z0-9-]+)", text))


def without_checks(tree: ast.Module) -> ast.Module:
    """Code without its calls of `check` and `score`: they would only cost time here."""
    body: Sequence[ast.stmt] = [
        node
        for node in tree.body
        if not (
            isinstance(node, ast.Expr)
            and isinstance(node.value, ast.Call)
            and isinstance(node.value.func, ast.Name)
            and node.value.func.id in ("check", "score")
        )
    ]
    tree.body = list(body)
    return tree
