"""Where an instruction came from: the Python expression, the name it is assigned to, and the comment beside it.

`co_positions()` of the calling frame gives the line and column of the expression being evaluated. Looked up in the
source's syntax tree, that position says whether the value is the right-hand side of `x = ...` or `with ... as x`.
Works for files, for notebook cells (IPython puts their text into `linecache`) and, without names and comments, for
code whose source is gone.
"""

from __future__ import annotations

import ast
import io
import linecache
import os
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass, field
from types import CodeType, FrameType

import numpy as np

from ptxlab.errors import Span

HERE = os.path.dirname(os.path.abspath(__file__)) + os.sep
OURS = HERE, os.path.dirname(np.__file__) + os.sep
"""Where functions are that users call: this package, and numpy."""
Position = tuple[int, int, int, int]
Names = str | tuple[str | None, ...] | None


@dataclass(frozen=True, slots=True)
class Site:
    """A place in the user's Python. `names` is what the value is assigned to (a tuple for tuple targets), `indexed`
    that it is one of many (`[k.var(...) for ...]`), `returned` that it is what a helper returns. `owner` is `x` in
    `x.set(...)` and `x += ...`. `test` says what asks for a truth value or a whole number ("if", "while", "and",
    "range", ...) and in which syntax. `above` are the comment lines above it, `gap` that an empty line is."""

    span: Span
    text: str = ""
    names: Names = None
    indexed: bool = False
    returned: bool = False
    owner: str = ""
    test: tuple[str, ast.AST] | None = None
    comment: str = ""
    above: tuple[str, ...] = ()
    gap: bool = False

    @property
    def line(self) -> int:
        """The line the expression starts on."""
        return self.span.line


Assignment = tuple[ast.expr, ast.expr]
"""The target and the value of an assignment."""


@dataclass(slots=True)
class Facts:
    """What the syntax tree of one file says, by position of the expression."""

    lines: list[str] = field(default_factory=list)
    names: dict[Position, Names] = field(default_factory=dict)
    indexed: set[Position] = field(default_factory=set)
    returned: set[Position] = field(default_factory=set)
    owners: dict[Position, ast.expr] = field(default_factory=dict)
    tests: dict[Position, tuple[str, ast.AST]] = field(default_factory=dict)
    ends: dict[Position, int] = field(default_factory=dict)  # the `with` item's expression -> its body's last line
    aliases: dict[str, list[int]] = field(default_factory=dict)  # x -> lines of `x = row_max`, `x = acc[0]`
    functions: dict[int, int] = field(default_factory=dict)  # first line -> last line
    assigned: dict[str, list[Assignment]] = field(default_factory=dict)  # x -> all `x = value`
    stored: dict[str, list[Assignment]] = field(default_factory=dict)  # x -> all `x[i] = value`
    parameters: dict[tuple[int, str], Position] = field(default_factory=dict)  # (def line, name)
    alone: dict[Position, ast.expr] = field(default_factory=dict)  # statements that are a name's attribute
    comments: dict[int, str] = field(default_factory=dict)
    above: dict[int, tuple[str, ...]] = field(default_factory=dict)

    def is_alias(self, name: str, code: CodeType) -> bool:
        """Whether a function binds `name` to what another expression already names."""
        first = code.co_firstlineno
        last = self.functions.get(first, len(self.lines))
        return any(first <= line <= last for line in self.aliases.get(name, ()))

    def gap(self, line: int) -> bool:
        """Whether an empty line comes before a line and the comments above it."""
        before = line - len(self.above.get(line, ())) - 2
        return 0 <= before < len(self.lines) and not self.lines[before].strip()

    def segment(self, span: Span) -> str:
        """The source text of a span on one line, else its first line."""
        if not 0 < span.line <= len(self.lines):
            return ""
        line = self.lines[span.line - 1].rstrip("\n").encode()
        end = span.end_column if span.end_line == span.line else len(line)
        return line[span.column : end].decode(errors="replace").strip()


class Source:
    """Looks up sites during one build; what is known of a file is cached until its text changes."""

    def __init__(self) -> None:
        self.frame: FrameType | None = None  # the user's frame at the last `here()`
        self._sites: dict[tuple[int, int], Site] = {}
        self._codes: dict[int, tuple[CodeType, list[tuple[int | None, ...]]]] = {}
        self._facts: dict[str, Facts] = {}

    def here(self, frame: FrameType) -> Site:
        """The user's expression now being evaluated: the first frame outside of `OURS`, from `frame` outwards."""
        while _is_ours(frame.f_code) and frame.f_back is not None:
            frame = frame.f_back
        self.frame = frame
        return self.site(frame)

    def site(self, frame: FrameType) -> Site:
        """The expression that `frame` is evaluating."""
        code = frame.f_code
        key = (id(code), frame.f_lasti)
        found = self._sites.get(key)
        if found is None:
            found = self._sites[key] = self.at(code, frame.f_lasti)
        return found

    def names(self, frame: FrameType, site: Site) -> tuple[Names, bool, FrameType]:
        """The name(s) the value at `site` will be bound to, whether numbered, and in which frame: a value that a
        helper returns takes the name it is assigned to where the helper was called."""
        while site.names is None and site.returned:
            back = frame.f_back
            if back is None or _is_ours(back.f_code):
                break
            frame, site = back, self.site(back)
        return site.names, site.indexed, frame

    def facts(self, file: str) -> Facts:
        """The facts of a file, read once a build."""
        found = self._facts.get(file)
        if found is None:
            found = self._facts[file] = _facts(file)
        return found

    def parameter(self, code: CodeType, name: str) -> Site:
        """The place of a parameter in a function's signature."""
        facts = self.facts(code.co_filename)
        first = code.co_firstlineno
        for line in range(first, first + 40):  # co_firstlineno is the decorator's line
            position = facts.parameters.get((line, name))
            if position:
                return self._make(code.co_filename, facts, position)
        return Site(Span(code.co_filename, first, 0, first, 0))

    def not_called(self, code: CodeType, builder: str, owner: type[object]) -> Site | None:
        """The first `k.barrier` in a function that should be `k.barrier()`: a method of the builder's class `owner`."""
        facts, first = self.facts(code.co_filename), code.co_firstlineno
        for position, value in facts.alone.items():
            inside = first <= position[0] <= facts.functions.get(first, first)
            name, _, method = ast.unparse(value).partition(".")
            if inside and name == builder and callable(getattr(owner, method, None)):
                return self._make(code.co_filename, facts, position)
        return None

    def at(self, code: CodeType, lasti: int) -> Site:
        """The expression of an instruction of the bytecode."""
        held = self._codes.get(id(code))
        if held is None:
            held = self._codes[id(code)] = (code, list(code.co_positions()))
        line, end_line, column, end_column = held[1][lasti // 2]
        line = line or code.co_firstlineno
        facts = self.facts(code.co_filename)
        if column is None or end_line is None or end_column is None:  # python -X no_debug_ranges
            return self._make(code.co_filename, facts, (line, 0, line, 0))
        return self._make(code.co_filename, facts, (line, column, end_line, end_column))

    def _make(self, file: str, facts: Facts, at: Position) -> Site:
        span = Span(file, *at)
        return Site(
            span,
            facts.segment(span),
            facts.names.get(at),
            at in facts.indexed,
            at in facts.returned,
            ast.unparse(facts.owners[at]) if at in facts.owners else "",
            facts.tests.get(at),
            facts.comments.get(at[0]) or facts.comments.get(at[2], ""),
            facts.above.get(at[0], ()),
            facts.gap(at[0]),
        )


_OURS: dict[str, bool] = {}
_CACHE: dict[str, tuple[str, Facts]] = {}


def _is_ours(code: CodeType) -> bool:
    name = code.co_filename
    known = _OURS.get(name)
    if known is None:
        known = _OURS[name] = os.path.abspath(name).startswith(OURS)
    return known


def _facts(file: str) -> Facts:
    linecache.checkcache(file)
    text = "".join(linecache.getlines(file))
    cached = _CACHE.get(file)
    if cached is None or cached[0] != text:
        cached = _CACHE[file] = (text, _read(text))
    return cached[1]


def _read(text: str) -> Facts:
    facts = Facts(list(io.StringIO(text)))  # `str.splitlines` knows more ends of lines than Python's parser
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):  # a cell with magics that IPython has not translated
        return facts
    for node in ast.walk(tree):
        _node(node, facts)
    _comments(text, facts)
    return facts


def _node(node: ast.AST, facts: Facts) -> None:
    match node:
        case ast.Assign(targets=targets, value=value):
            for target in targets:
                _bind(target, value, facts)
        case ast.AnnAssign(target=target, value=ast.expr() as value) | ast.NamedExpr(target=target, value=value):
            _bind(target, value, facts)
        case ast.Expr(value=ast.Attribute(value=ast.Name()) as value):
            facts.alone[_position(value)] = value
        case ast.AugAssign(target=target):
            facts.owners[_position(node)] = target
        case ast.With(items=items, end_lineno=int() as end):
            for item in items:
                for position in _positions(item.context_expr):
                    facts.ends[position] = end
                if item.optional_vars is not None:
                    _bind(item.optional_vars, item.context_expr, facts)
        case ast.Return(value=ast.expr() as value) | ast.Lambda(body=value):
            for position in _positions(value):
                facts.returned.add(position)
        case ast.Call(func=ast.Attribute(attr="set", value=owner)):
            for position in _positions(node):
                facts.owners[position] = owner
        case ast.FunctionDef(lineno=line, args=args, end_lineno=int() as end):
            facts.functions[min([line, *(d.lineno for d in node.decorator_list)])] = end
            for arg in (*args.posonlyargs, *args.args, *args.kwonlyargs):
                facts.parameters[line, arg.arg] = _position(arg)
    for kind, asked in _tests(node):
        for position in _positions(asked) if isinstance(asked, ast.expr) else (_position(asked),):
            facts.tests.setdefault(position, (kind, node))


def _bind(target: ast.expr, value: ast.expr, facts: Facts) -> None:
    if isinstance(target, ast.Tuple | ast.List):
        if isinstance(value, ast.Tuple | ast.List) and len(value.elts) == len(target.elts):
            for t, v in zip(target.elts, value.elts, strict=True):
                _bind(t, v, facts)
            return
        names = tuple(t.id if isinstance(t, ast.Name) else None for t in target.elts)
        for t in target.elts:
            if isinstance(t, ast.Name):
                facts.assigned.setdefault(t.id, []).append((t, value))
        for position in _positions(value):
            facts.names[position] = names
        return
    if isinstance(target, ast.Subscript) and isinstance(target.value, ast.Name):
        facts.stored.setdefault(target.value.id, []).append((target, value))
    if not isinstance(target, ast.Name):
        return
    facts.assigned.setdefault(target.id, []).append((target, value))
    if isinstance(value, ast.Name | ast.Attribute | ast.Subscript):
        facts.aliases.setdefault(target.id, []).append(target.lineno)
    if isinstance(value, ast.IfExp):
        _bind(target, value.body, facts)
        _bind(target, value.orelse, facts)
    elif isinstance(value, ast.ListComp | ast.GeneratorExp):
        for position in _positions(value.elt):
            facts.names[position] = target.id
            facts.indexed.add(position)
    else:
        for position in _positions(value):
            facts.names[position] = target.id


def _tests(node: ast.AST) -> Iterator[tuple[str, ast.expr | ast.stmt | ast.pattern]]:
    """The places where Python asks a value for its truth (or for a whole number), with the word that asks."""
    match node:
        case ast.If(test=test):
            yield from (("if", test), ("if", node))
        case ast.While(test=test):
            yield from (("while", test), ("while", node))
        case ast.IfExp(test=test):
            yield from (("ternary", test), ("ternary", node))
        case ast.Assert(test=test):
            yield from (("assert", test), ("assert", node))
        case ast.BoolOp(op=op, values=values):
            for value in (*values, node):
                yield "and" if isinstance(op, ast.And) else "or", value
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield from (("not", operand), ("not", node))
        case ast.Compare(ops=[_, _, *_]):
            yield "chain", node
        case ast.Compare(ops=[ast.In() | ast.NotIn()]):
            yield "in", node
        case ast.Call(func=ast.Name(id=("max" | "min" | "range") as name)):
            yield name, node
        case ast.Call(func=ast.Attribute(attr=("max" | "min") as name), args=[]):
            yield f".{name}", node
        case ast.Match(cases=cases):
            patterns = (each for case in cases for each in ast.walk(case.pattern))
            yield from (("match", each) for each in patterns if isinstance(each, ast.pattern))
        case ast.Subscript():
            yield "index", node


def _position(node: ast.expr | ast.stmt | ast.arg | ast.pattern) -> Position:
    return node.lineno, node.col_offset, node.end_lineno or node.lineno, node.end_col_offset or 0


def _positions(node: ast.expr) -> Iterator[Position]:
    """Where instructions of `node` say they are: a method call whose receiver ends on an earlier line starts, for
    CPython, at the method's name."""
    at = _position(node)
    yield at
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        f = node.func
        if f.end_lineno is not None and f.end_col_offset is not None and f.end_lineno != f.lineno:
            yield f.end_lineno, f.end_col_offset - len(f.attr), at[2], at[3]


def _comments(text: str, facts: Facts) -> None:
    """The comments of a text that Python can parse."""
    own: dict[int, str] = {}
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        words, (line, column) = token.string.lstrip("#!: ").rstrip(), token.start
        if token.type == tokenize.COMMENT and words and not words.startswith(("noqa", "type:", "fmt:", "pragma:")):
            (facts.comments if facts.lines[line - 1][:column].strip() else own)[line] = words
    block: list[str] = []
    for line in range(1, len(facts.lines) + 2):
        if line in own:
            block.append(own[line])
        elif block:  # the first line after them
            facts.above[line], block = tuple(block), []
