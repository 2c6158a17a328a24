"""Near misses: whether a wrong answer does what the solution with one mistake in it does, and which mistake that is.

The solution is changed in one way after the other: a factor left out, two names exchanged, a quotient rounded down.
Where a change gives what the answer gave, in everything that was looked at, the change says what is wrong.
"""

from __future__ import annotations

import ast
import contextlib
import copy
import inspect
import itertools
import re
import sys
import textwrap
import warnings
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ptxlab.course.causes import plain
from ptxlab.course.cells import run, setup
from ptxlab.course.exercise import Exercise
from ptxlab.launch.run import launch

if TYPE_CHECKING:
    from ptxlab.course.exercise_checks import Grading

BUDGET = 50_000
"""Warp-instructions of one launch of a changed solution."""
STEPS = 20_000
"""Lines of a changed solution that are executed: Python's loops in it may have no end."""
MOST, LAUNCHED = 200, 40
"""Changes of a kernel that are built, and those that are launched."""
EXCHANGED = {
    ast.Mult: (ast.Add, ast.Div, ast.FloorDiv), ast.Add: (ast.Sub, ast.Mult), ast.Sub: (ast.Add,),
    ast.FloorDiv: (ast.Mod,), ast.Mod: (ast.FloorDiv,), ast.Div: (ast.Mult, ast.Sub), ast.BitXor: (ast.Add, ast.BitOr),
    ast.BitAnd: (ast.BitOr,), ast.BitOr: (ast.BitAnd,), ast.LShift: (ast.RShift,), ast.RShift: (ast.LShift,),
}  # fmt: skip
SIGNS = {ast.Mult: "*", ast.Add: "+", ast.Sub: "-", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%", ast.BitXor: "^",
         ast.BitOr: "|", ast.BitAnd: "&", ast.LShift: "<<", ast.RShift: ">>"}  # fmt: skip
EDGES = {ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt}
TURNED = {ast.Lt: ast.Gt, ast.LtE: ast.GtE, ast.Gt: ast.Lt, ast.GtE: ast.LtE, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq}
PAIRS = {"max": "min", "min": "max", "log2": "exp2", "exp2": "log2"}
WORDS = (
    *((f".{a}.", f".{b}.") for a, b in itertools.permutations(("ge", "gt", "lt", "le", "eq", "ne"), 2)),
    *itertools.permutations(("add", "sub", "mul", "max", "min", "neg", "mov"), 2),
    ("@%", "@!%"), ("%i", "%thread"), ("%n", "%i"), ("%i, %n", "%n, %i"), ("%i", "%block"),
    ("%low", "%limit"), ("%limit", "%low"), ("%limit", "%v"), ("f64", "f32"),
    ("_xor_", "_up_"), ("_xor_", "_down_"), ("%sum, %max", "%max, %log"), ("%log", "%max"), ("%max", "%log"),
)  # fmt: skip
"""Words of PTX and of CUDA C++, and what may stand for them."""
LOOPS = ("range", "loop")
OTHERS = {"k", "math", "np", "range", "f16", "f32", "u32", "u64", "b32", "SHAPE", "MMA", "LOG2E", "LN2", "abs", "len"}
"""Names that no other stands for."""

Told = Iterator[tuple[str, ast.AST | None]]


class Change(NamedTuple):
    """One place of a program and what stands there instead; None where it is left out."""

    owner: Any
    at: Any
    new: Any

    def swap(self) -> Change:
        """Puts it in; the result takes it out again."""
        if isinstance(self.owner, list):
            old = self.owner[self.at]
            self.owner[self.at] = self.new
        else:
            old = getattr(self.owner, self.at)
            setattr(self.owner, self.at, self.new)
        return Change(self.owner, self.at, old)


class Changes:
    """The changes of a solution that a student may have written, with what is to be said of them."""

    def __init__(self, exercise: Exercise) -> None:
        self.tree = ast.parse(ast.unparse(_inlined(ast.parse(exercise.solution))))
        self.known = set(re.findall(r"[A-Za-z_]\w*", exercise.starter + exercise.prompt)) | {"LOG2E", "LN2", "math"}
        self.starter = ast.parse(ast.unparse(ast.parse(exercise.starter)))
        given = ast.unparse(self.starter).splitlines()
        lines = ast.unparse(self.tree).splitlines()
        self.given = exercise.starter.splitlines()
        self.own = {n for n, line in enumerate(lines, 1) if line not in given}
        self.lines = set(range(len(lines) + 1))
        arguments = [a for f in ast.walk(self.tree) if isinstance(f, ast.FunctionDef) for a in f.args.args]
        assigned = [n for n in ast.walk(self.tree) if isinstance(n, ast.Assign) and isinstance(n.targets[0], ast.Name)]
        self.locals = {getattr(n.targets[0], "id", ""): n.value for n in assigned}
        self.pointers = {a.arg for a in arguments if "Ptr" in ast.dump(a) or "TensorMap" in ast.dump(a)}
        self.parameters = [a.arg for a in arguments if not a.annotation]
        self.sizes = [a.arg for f in ast.walk(self.tree) if isinstance(f, ast.FunctionDef) for a in f.args.kwonlyargs]
        statements = [s for f in ast.walk(self.tree) if isinstance(f, ast.FunctionDef) for s in f.body]
        used = [n.id for s in statements for n in ast.walk(s) if isinstance(n, ast.Name)]
        self.names = [n for n in dict.fromkeys(used) if n not in OTHERS]

    def shown(self, node: ast.AST | None) -> str:
        """A short expression in backticks if a student knows its names; else ""."""
        if node is None:
            return ""
        if isinstance(node, ast.Name) and node.id in self.locals and node.id not in self.known:
            return self.shown(self.locals[node.id])
        text, inside = ast.unparse(node), [*ast.walk(node)]
        names = {n.id for n in inside if isinstance(n, ast.Name)}
        simple = len(text) <= 24 and sum(isinstance(n, ast.BinOp) for n in inside) < 2
        return f"`{text}`" if simple and names <= self.known | {"range", "max", "min", "len"} else ""

    def __iter__(self) -> Iterator[tuple[str, str]]:
        """(What is to be said, the program): each change alone, and those of which the same is said together; those of
        what is the student's to write come first."""
        every = self.lines
        for lines in (self.own, every - self.own):
            self.lines = lines
            yield from sorted(self._made(), key=lambda one: "belongs" in one[0])
        head, _, body = ast.unparse(self.tree).partition(":\n")
        for one, other in itertools.pairwise(self.parameters):
            swapped = re.sub(rf"\b{one}\b", "\0", body)
            swapped = re.sub(rf"\b{other}\b", one, swapped).replace("\0", other)
            yield f"`{one}` and `{other}` are exchanged", f"{head}:\n{swapped}"

    def _made(self) -> Iterator[tuple[str, str]]:
        told: dict[str, list[Change]] = {}
        for says, change in self._changes():
            told.setdefault(says, []).append(change)
        for says, changes in told.items():
            for some in [[one] for one in changes] + ([changes] if len(changes) > 1 else []):
                back = [change.swap() for change in some]
                yield says, ast.unparse(ast.fix_missing_locations(self.tree))
                for change in reversed(back):
                    change.swap()

    def _changes(self) -> list[tuple[str, Change]]:
        found = [*_given(self.tree, self.starter)] if self.lines is self.own else []
        for node in ast.walk(self.tree):
            for field, value in ast.iter_fields(node):
                places: list[Any] = [(value, n, x) for n, x in enumerate(value)] if isinstance(value, list) else []
                for owner, at, child in places or [(node, field, value)]:
                    if getattr(child, "lineno", 0) in self.lines:
                        found += [(says, Change(owner, at, new)) for says, new in self._of(child)]
                if places and isinstance(value[0], ast.stmt):
                    found += [(says, Change(node, field, changed)) for says, changed in self._of_body(value)]
        return found

    def _of(self, node: Any) -> Told:
        """What may stand in the place of an expression."""
        for kind in type(node).__mro__:
            yield from getattr(self, f"_{kind.__name__}", lambda node: ())(node)

    def _BinOp(self, node: ast.BinOp) -> Told:
        a, b, op = node.left, node.right, type(node.op)
        left, right = self.shown(a), self.shown(b)
        whole = _rounded_up(node)
        if whole:
            yield from self._quotient(*whole)
            return
        for one, other in ((a, b), (b, a)) if op is ast.Mult else ():
            if _rounded_up(one):
                over, by = _rounded_up(one) or (one, one)
                late = ast.BinOp(ast.BinOp(over, ast.Mult(), other), ast.FloorDiv(), by)
                yield f"only the product is divided by {self.shown(by) or 'a size'}, and rounded down", late
        lost = {
            ast.Mult: "{} is missing as a factor", ast.Add: "{} is not added", ast.Sub: "{} is not subtracted",
            ast.Mod: "`%` {} is missing", ast.FloorDiv: "nothing is divided by {}", ast.Div: "nothing is divided by {}",
        }.get(op, "`" + SIGNS.get(op, "") + "` {} is missing")  # fmt: skip
        yield lost.format(right or "something"), a
        if op in (ast.Mult, ast.Add, ast.BitXor, ast.BitAnd, ast.BitOr):
            yield lost.format(left or "something"), b
        if op in (ast.Sub, ast.FloorDiv, ast.Div, ast.Mod):
            yield f"{left or 'one side'} and {right or 'the other'} are exchanged", ast.BinOp(b, node.op, a)
        if op is ast.FloorDiv:
            up = ast.UnaryOp(ast.USub(), ast.BinOp(ast.UnaryOp(ast.USub(), a), ast.FloorDiv(), b))
            yield f"a quotient by {right or 'something'} is rounded up", up
        yield from self._crossed(node) if op is ast.Add else ()
        for sign in EXCHANGED.get(op, ()):
            between = f" between {left} and {right}" if left and right else f" before {right}" if right else ""
            yield f"`{SIGNS[sign]}` stands{between} where another operation belongs", ast.BinOp(a, sign(), b)

    def _quotient(self, a: Any, b: Any) -> Told:
        down = ast.BinOp(a, ast.FloorDiv(), b)
        by = f"{self.shown(a) or 'a number'} divided by {self.shown(b) or 'another'}"
        yield f"{by} is rounded down, where a rest is left over", down
        yield f"1 is added to {by} even where no rest is left over", ast.BinOp(down, ast.Add(), ast.Constant(1))
        yield f"nothing is divided by {self.shown(b) or 'a size'}", a

    def _UnaryOp(self, node: ast.UnaryOp) -> Told:
        whole = _rounded_up(node)
        if whole:
            yield from self._quotient(*whole)
        elif ast.unparse(node) == "-math.inf":
            yield "a maximum begins with 0", ast.Constant(0.0)
        elif isinstance(node.op, ast.USub) and not isinstance(node.operand, ast.Constant | ast.BinOp):
            yield "a sign is the other way round", node.operand

    def _Compare(self, node: ast.Compare) -> Told:
        for table, says in ((EDGES, "the case that {} equals {} is decided the other way"),
                            (TURNED, "the comparison of {} with {} is the other way round")):  # fmt: skip
            other = table.get(type(node.ops[0]))
            if other:
                sides = (self.shown(x) or "a number" for x in (node.left, node.comparators[0]))
                yield says.format(*sides), ast.Compare(node.left, [other()], node.comparators)

    def _Constant(self, node: ast.Constant) -> Told:
        value = node.value
        if isinstance(value, str) and "\n" in value:
            yield from self._text(value)
        elif isinstance(value, str):
            for word, instead in ((".row", ".col"), (".col", ".row"), (".trans", ""), (".x4", ".x2"), (".gpu", ".cta")):
                if word in value and " " not in value:
                    says = f"`{instead}` stands where another word belongs" if instead else f"`{word}` is missing"
                    yield says, ast.Constant(value.replace(word, instead, 1))
        elif isinstance(value, int) and not isinstance(value, bool):
            for new in (4, 8, 16, 32, 64) if self.parameters and value > 3 else ():
                yield f"{new} stands where another number belongs", ast.Constant(new)
            for name in self.parameters if value > 3 else ():
                yield f"`{name}` stands where another number belongs", ast.Name(name, ast.Load())
            for new, says in ((value - 1, "1 too small"), (value + 1, "1 too large"), (value * 2, "twice as large"),
                              (value // 2, "half as large")):  # fmt: skip
                if new >= 0 and new != value and not (value < 3 and "t" in says.split()[0]):
                    yield f"a number, {new}, is {says}", ast.Constant(new)
        elif isinstance(value, float):
            yield f"{1.0 - bool(value):g} stands where another number belongs", ast.Constant(1.0 - bool(value))

    def _text(self, text: str) -> Told:
        """What may stand in the place of PTX or CUDA C++: a line or a word less, or another word."""
        lines = text.splitlines()
        for n, line in enumerate(lines):
            if not line.strip() or line in self.given:
                continue
            others: list[tuple[str, list[str]]] = [(f"`{line.split('//')[0].split()[0]}` is missing", [])]
            others += [(f"`{new.strip('.')}` stands where something else belongs", [line.replace(old, new, 1)])
                       for old, new in WORDS if old in line]  # fmt: skip
            for says, new in others:
                yield says, ast.Constant("\n".join([*lines[:n], *new, *lines[n + 1 :]]))
            if n + 1 < len(lines) and lines[n + 1] not in self.given:
                other = [*lines[:n], lines[n + 1], line, *lines[n + 2 :]]
                yield "two lines are in the wrong order", ast.Constant("\n".join(other))

    def _Name(self, node: ast.Name) -> Told:
        if not isinstance(node.ctx, ast.Load) or node.id in OTHERS:
            return
        for new in self.names:
            if new != node.id and (new in self.pointers) == (node.id in self.pointers):
                other = "another array" if new in self.pointers else "another number"
                yield (
                    f"{self.shown(ast.Name(new)) or 'a number'} stands where {other} belongs",
                    ast.Name(new, ast.Load()),
                )
        if node.id not in self.pointers and getattr(node, "lineno", 0) in self.own:
            yield from ((f"{n} stands where a variable belongs", ast.Constant(n)) for n in (0, 1))
            for size in self.sizes:
                more = ast.BinOp(node, ast.Mult(), ast.Name(size, ast.Load()))
                yield f"{self.shown(node) or 'a number'} is multiplied by `{size}`, and should not be", more
        if node.id in self.parameters:
            for by, size in ((ast.Add(), "large"), (ast.Sub(), "small")):
                yield f"`{node.id}` is 1 too {size}", ast.BinOp(node, by, ast.Constant(1))
            for number in (2, 4, 8, 16, 32):
                more = ast.BinOp(node, ast.Mult(), ast.Constant(number))
                yield f"{number} stands where a variable belongs", ast.Constant(number)
                yield f"`{node.id}` counts {number} times", more

    def _Call(self, node: ast.Call) -> Told:
        name = getattr(node.func, "attr", getattr(node.func, "id", ""))
        for n, x in enumerate(node.args):
            if name in ("max", "min") and len(node.args) == 2:
                yield f"`{name}` with {self.shown(node.args[1 - n]) or 'something'} is missing", x
            elif name in ("log2", "exp2", "abs", "log", "exp", "tanh", "sqrt"):
                yield f"`{name}` is missing", x
            elif name == "select":
                yield f"it is {self.shown(x) or 'one of two values'} in every case", x
            if name in LOOPS and not isinstance(x, ast.Constant):
                for by, says in ((ast.Sub(), "seldom"), (ast.Add(), "often")):
                    once = ast.BinOp(x, by, ast.Constant(1))
                    args = [*node.args[:n], once, *node.args[n + 1 :]]
                    yield f"a loop runs once too {says}", ast.Call(node.func, args, node.keywords)
        if name == "fma":
            a, b, c = node.args
            yield "the product stands alone: nothing is added to it", ast.BinOp(a, ast.Mult(), b)
            says = f"{self.shown(a) or 'a factor'} multiplies the sum of the other two"
            yield says, ast.BinOp(a, ast.Mult(), ast.BinOp(b, ast.Add(), c))
            yield f"{self.shown(a) or 'a number'} is missing as a factor", ast.BinOp(b, ast.Add(), c)
            yield f"{self.shown(b) or 'a number'} is missing as a factor", ast.BinOp(a, ast.Add(), c)
            for n, m in ((0, 1), (1, 0), (2, 0), (2, 1), (0, 2), (1, 2)):
                args = [*node.args[:n], node.args[m], *node.args[n + 1 :]]
                says = f"{self.shown(node.args[m]) or 'an operand'} stands where another operand belongs"
                yield says, ast.Call(node.func, args, [])
        if name in PAIRS and isinstance(node.func, ast.Attribute):
            func = ast.Attribute(node.func.value, PAIRS[name], ast.Load())
            yield f"`{PAIRS[name]}` stands where `{name}` belongs", ast.Call(func, node.args, node.keywords)
        yield from self._swapped(node.args, lambda args: ast.Call(node.func, args, node.keywords))
        for n, keyword in enumerate(node.keywords):
            rest = [*node.keywords[:n], *node.keywords[n + 1 :]]
            yield f"`{keyword.arg}=` is missing", ast.Call(node.func, node.args, rest)
            for mode in ("down", "up") if keyword.arg == "mode" else ():
                other = ast.keyword("mode", ast.Constant(mode))
                says = f"lanes exchange with `{mode}`, so that one side does not hear the other"
                yield says, ast.Call(node.func, node.args, [*rest, other])

    def _swapped(self, items: list[Any], made: Callable[[list[Any]], ast.AST]) -> Told:
        for n, (one, other) in enumerate(itertools.pairwise(items)):
            if not any(isinstance(x, ast.JoinedStr) or isinstance(getattr(x, "value", 0), str) for x in (one, other)):
                names = f"{self.shown(one) or 'two values'} and {self.shown(other) or 'its neighbour'}"
                yield f"{names} are exchanged", made([*items[:n], other, one, *items[n + 2 :]])

    def _Tuple(self, node: ast.Tuple) -> Told:
        if isinstance(node.ctx, ast.Load):
            yield from self._swapped(node.elts, lambda items: ast.Tuple(items, ast.Load()))
            numbers = [x.value for x in node.elts if isinstance(x, ast.Constant) and isinstance(x.value, int)]
            for n, one in enumerate(node.elts) if len(numbers) == len(node.elts) > 1 else ():
                yield f"{numbers[n]} is missing", ast.Tuple([x for x in node.elts if x is not one], ast.Load())
            if len(numbers) == len(node.elts) > 2 and all(x & (x - 1) == 0 for x in numbers):
                more = ast.Tuple([*node.elts, ast.Constant(2 * max(numbers))], ast.Load())
                yield f"{2 * max(numbers)} is one too many", more

    def _IfExp(self, node: ast.IfExp) -> Told:
        for x in (node.body, node.orelse):
            yield f"it is {self.shown(x) or 'one of two values'} in every case", x

    def _BoolOp(self, node: ast.BoolOp) -> Told:
        for x in node.values:
            yield (
                f"the condition {self.shown(x)} is missing",
                ast.BoolOp(node.op, [y for y in node.values if y is not x]),
            )

    def _Subscript(self, node: ast.Subscript) -> Told:
        for says, index in self._crossed(node.slice):
            yield says, ast.Subscript(node.value, index, node.ctx)

    def _crossed(self, node: ast.expr) -> Iterator[tuple[str, ast.expr]]:
        """An expression of two or three names, two of which have changed places."""
        names = dict.fromkeys(n.id for n in ast.walk(node) if isinstance(n, ast.Name))
        for one, other in itertools.combinations([n for n in names if n not in self.pointers], 2):
            crossed = copy.deepcopy(node)
            for name in ast.walk(crossed):
                if isinstance(name, ast.Name):
                    name.id = {one: other, other: one}.get(name.id, name.id)
            if len(names) < 5:
                yield f"{self.shown(ast.Name(one)) or 'a number'} and `{other}` have changed places", crossed

    def _Slice(self, node: ast.Slice) -> Told:
        yield "the other end of the list is taken", ast.Slice(node.upper, node.lower)

    def _of_body(self, body: list[ast.stmt]) -> Iterator[tuple[str, list[ast.stmt]]]:
        """What may stand in the place of some statements: one less, in another order, without a condition."""
        for n, one in enumerate(body):
            if one.lineno not in self.lines or isinstance(one, ast.Return | ast.FunctionDef):
                continue
            before, behind = body[:n], body[n + 1 :]
            text = self.shown(one.value if isinstance(one, ast.Expr) else getattr(one, "target", None))
            what = f"{text} is missing" if isinstance(one, ast.Expr) else f"{text or 'something'} is not changed"
            if isinstance(one, ast.Expr) and ".set" in ast.unparse(one):
                what = "a variable keeps its old value"
            if not isinstance(one, ast.With | ast.For | ast.If | ast.While):
                yield what if text else "an instruction is missing", before + (behind or [ast.Pass()])
            elif len(body) > 1 or one.body:
                head = one.test if isinstance(one, ast.If) else None
                if isinstance(one, ast.With) and isinstance(one.items[0].context_expr, ast.Call):
                    head = next(iter(one.items[0].context_expr.args), None)
                told = f"the condition {self.shown(head)}" if self.shown(head) else "a condition"
                yield f"{told} is missing: all do it", before + one.body + behind
            if isinstance(one, ast.Assign) and not isinstance(one.value, ast.Tuple | ast.Constant):
                name = self.shown(one.targets[0]) or self.shown(one.value) or "a number"
                for by, size in ((ast.Add(), "large"), (ast.Sub(), "small")):
                    off = ast.Assign(one.targets, ast.BinOp(one.value, by, ast.Constant(1)), lineno=one.lineno)
                    yield f"{name} is 1 too {size}", [*before, off, *behind]
            if behind and behind[0].lineno in self.lines:
                yield "two steps are in the wrong order", [*before, behind[0], one, *behind[1:]]


def _inlined(tree: ast.Module) -> ast.Module:
    """A function that is a formula in steps as one expression, whose names are those of its parameters."""
    body = tree.body[0].body if isinstance(tree.body[0], ast.FunctionDef) else []
    steps, last = [s for s in body if isinstance(s, ast.Assign)], body[-1:]
    if len(steps) + 2 != len(body) or not isinstance(last[0], ast.Return) or not steps:
        return tree
    known: dict[str, ast.expr] = {}

    class Put(ast.NodeTransformer):
        def visit_Name(self, node: ast.Name) -> ast.expr:
            return known.get(node.id, node)

    for step in steps:
        (target,), value = step.targets, Put().visit(copy.deepcopy(step.value))
        pairs = zip(target.elts, value.elts, strict=True) if isinstance(target, ast.Tuple) else [(target, value)]
        known |= {ast.unparse(one): other for one, other in pairs}
    last[0] = Put().visit(last[0])
    del body[1:-1]
    return tree


def _given(right: Any, starter: Any) -> Iterator[tuple[str, Change]]:
    """The changes that bring back one expression of the starter, where it has the same place."""
    for field, value in ast.iter_fields(right):
        other: Any = getattr(starter, field, None)
        several = isinstance(value, list) and isinstance(other, list) and len(value) == len(other)
        places: list[Any] = []
        if several:
            places = [(value, n, x, y) for n, (x, y) in enumerate(zip(value, other, strict=True))]
        for owner, at, one, was in places or [(right, field, value, other)]:
            if type(one) is type(was) and isinstance(one, ast.AST):
                yield from _given(one, was)
            if isinstance(one, ast.expr) and isinstance(was, ast.expr) and ast.dump(one) != ast.dump(was):
                text = ast.unparse(was)
                yield f"`{text if len(text) < 60 else '...'}` is still what was given", Change(owner, at, was)


def _rounded_up(node: Any) -> tuple[Any, Any] | None:
    """Dividend and divisor of `-(-a // b)` and of `(a + (b - 1)) // b`; None for others."""
    match node:
        case ast.UnaryOp(ast.USub(), ast.BinOp(ast.UnaryOp(ast.USub(), a), ast.FloorDiv(), b)):
            return a, b
        case ast.BinOp(ast.BinOp(a, ast.Add(), ast.BinOp(c, ast.Sub(), ast.Constant(1))), ast.FloorDiv(), b):
            return (a, b) if ast.dump(b) == ast.dump(c) else None
    return None


def near_miss(exercise: Exercise, answer: Any, g: Grading) -> str:
    """What is to be said of a wrong answer that does what a changed solution does; "" where none does.

    g: the checks of the answer, all cases.
    """
    if not exercise.solution.strip():
        return ""
    changes: dict[str, str] = {}
    for says, code in Changes(exercise):
        changes.setdefault(code, says)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if g.launches:
            fits = [*_kernels(exercise, [*changes][:MOST], g)]
            code = next((code for code, exact in fits if exact), fits[0][0] if fits else "")
            head = "Your kernel behaves like a right one with one change"
            return code and f"{head}{_where(exercise, code, answer)}: {changes[code]}."
        return _of_function(exercise, [*changes.items()], g)


def _where(exercise: Exercise, code: str, answer: Any) -> str:
    """The line of an answer in which a change is, or behind which something is left out, if it has the same line."""
    right, made = (text.splitlines() for text in (ast.unparse(ast.parse(exercise.solution)), code))
    at = next((n for n, (one, other) in enumerate(zip(right, made, strict=False)) if one != other), 0)
    word, line = (" behind", made[at - 1].strip()) if made[at] in right else (" in", made[at].strip())
    with contextlib.suppress(OSError, TypeError, SyntaxError):
        source = inspect.getsource(getattr(answer, "function", answer))
        own = [one.strip() for one in ast.unparse(ast.parse(textwrap.dedent(source))).splitlines()]
        return f"{word} `{line}`" if line in own and line[-1:] != ":" else ""
    return ""


def _of_function(exercise: Exercise, changes: list[tuple[str, str]], g: Grading) -> str:
    """What is to be said of a function that returns what one with a change returns, in each call; of one that returns
    several values, of each that is wrong."""
    results = [result for _, result, _ in g.calls]
    if all(repr(one) == repr(results[0]) for one in results):
        return ""
    given: dict[str, Any] = {}
    exec(setup(exercise), given)

    def members(code: str) -> list[list[Any]]:
        """For each value that is returned the values of all calls."""
        with contextlib.suppress(Exception):  # whatever a change makes of a program
            space = dict(given)
            exec(compile(code, "<cell>", "exec"), space)
            return _members([_ending(again, space[exercise.answer]) for again, _, _ in g.calls])
        return []

    right, found = members(exercise.solution), _members(results)

    def same(one: list[Any], other: list[Any]) -> bool:
        return all(alike(a, b, call[2]) for a, b, call in zip(one, other, g.calls, strict=True))

    wrong = [n for n, one in enumerate(right) if len(found) == len(right) and not same(one, found[n])]
    fits: dict[int, str] = {}
    whole: dict[str, None] = {}
    for code, says in changes if wrong else ():
        made = members(code)
        if len(made) == len(right) and all(same(made[n], found[n]) for n in wrong):
            whole.setdefault(says)
        for n in wrong if len(made) == len(right) else ():
            if same(made[n], found[n]):
                fits.setdefault(n, says)
    if whole:
        return f"Your results are those of a right function with one change: {next(iter(whole))}." * (len(whole) < 4)
    if len(fits) < len(wrong) or not wrong:
        return ""
    each = "; ".join(f"in number {n + 1}, {fits[n]}" for n in wrong)
    return f"Your results are those of a right function with {len(wrong)} changes: {each}."


def _members(results: list[Any]) -> list[list[Any]]:
    """Values of calls, for each place of a tuple; one list where they are no tuples of one length."""
    if results and all(isinstance(one, tuple) and len(one) == len(results[0]) for one in results):
        return [list(column) for column in zip(*results, strict=True)]
    return [results]


def _kernels(exercise: Exercise, programs: list[str], g: Grading) -> Iterator[tuple[str, bool]]:
    """The programs whose kernel leaves what an answer has left, in each launch; and whether it is the same kernel."""
    wrong, made = g.wrong(), {}
    if not wrong:
        return

    def written(one: Any) -> str:
        return plain(str(getattr(one.kernel, "ptx", one.kernel)))

    ptx, built = _ptx(run(exercise, exercise.solution), wrong[0])
    lost = any(a.dtype.kind == "f" and np.isnan(a).any() for a in wrong[0].arrays if isinstance(a, np.ndarray))
    seen, differs = {ptx}, wrong[0].ended and not lost and not _launched(built, wrong[0])
    for code in programs:
        with contextlib.suppress(Exception):
            kernel = run(exercise, code)
            ptx, _ = _ending(lambda made: _ptx(made, wrong[0]), kernel)
            if ptx == written(wrong[0]) and all(_ptx(kernel, one)[0] == written(one) for one in g.launches):
                yield code, True
                return
            if ptx not in seen:
                seen.add(ptx)
                made[code] = kernel
    ended = [*wrong[:1], *(one for one in g.launches if one.ended and one is not wrong[0])]
    for code in [*made][:LAUNCHED] if differs else ():
        with contextlib.suppress(Exception):
            if all(_launched(_ptx(made[code], one)[1], one) for one in ended):
                yield code, False


def _ptx(kernel: Any, one: Any) -> tuple[str, Any]:
    built = kernel(**one.python) if one.python else kernel
    return plain(str(getattr(built, "ptx", built))), built


def _ending(again: Callable[[Any], Any], function: Any) -> Any:
    """What a call of a function of a changed solution gives; it ends after so many lines."""
    left = STEPS

    def count(frame: Any, event: str, given: Any) -> Any:
        nonlocal left
        left -= 1
        if left < 0:
            raise TimeoutError
        return count if frame.f_code.co_filename.startswith("<cell") else None

    before = sys.gettrace()
    sys.settrace(count)
    try:
        return again(function)
    finally:
        sys.settrace(before)


def _launched(built: Any, one: Any) -> bool:
    """Whether a kernel leaves what an answer has left in a launch."""
    args = tuple(copy.deepcopy(a) for a in one.before)
    launch(built, one.grid, one.block, *args, device="step", checks=(), budget=BUDGET, **one.options)
    return all(alike(getattr(a, "array", a), b) for a, b in zip(args, one.arrays, strict=True))


def alike(one: Any, other: Any, atol: Any = 0.0) -> bool:
    """Whether two values are the same but for rounding."""
    if isinstance(one, set | str | dict | bool) or one is None:
        return bool(one == other)
    if isinstance(one, list | tuple):
        return (
            isinstance(other, list | tuple)
            and len(one) == len(other)
            and all(alike(a, b, atol) for a, b in zip(one, other, strict=True))
        )
    if isinstance(one, np.ndarray) and one.dtype.kind not in "biuf":
        return True
    with contextlib.suppress(TypeError, ValueError):
        size = float(np.nanmax(np.abs(np.asarray(other, float)), initial=0.0)) if np.size(other) else 0.0
        return bool(np.allclose(one, other, 1e-4, atol + (1e-6 * size if np.isfinite(size) else 0.0), equal_nan=True))
    return False
