"""What one change would make an answer right: its own lines with one operation, number, name or order changed.

Each change is tried on all cases, the hidden ones included. What is said is true of the answer: with this line changed
and no other it is right. How the line must be is not said.
"""

from __future__ import annotations

import ast
import copy
import inspect
import itertools
import linecache
import re
import textwrap
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ptxlab.course.causes import Said
from ptxlab.course.exercise import Exercise
from ptxlab.course.values import same
from ptxlab.course.verdict import Feedback, Part

MOST, FEW = 40, 8
"""Changes that are tried at most where each of them is a launch; and where a check has said what is missing."""
FIRST = 5
"""Changes of a prediction that are tried together with a second one: those with which most cases are right."""
ONE, TWO = "With one change it would be right in all cases. ", "With two changes it would be right in all cases."

_count = itertools.count(1)
_OPERATIONS: dict[type[ast.operator], tuple[type[ast.operator], ...]] = {
    ast.Add: (ast.Sub, ast.Mult, ast.BitXor), ast.Sub: (ast.Add,), ast.Mult: (ast.Add, ast.FloorDiv, ast.Div),
    ast.Div: (ast.Mult, ast.FloorDiv), ast.FloorDiv: (ast.Mod, ast.Mult, ast.Div), ast.Mod: (ast.FloorDiv, ast.BitAnd),
    ast.BitXor: (ast.Add, ast.BitAnd, ast.BitOr), ast.BitAnd: (ast.BitOr, ast.BitXor, ast.Mod),
    ast.BitOr: (ast.BitAnd, ast.BitXor), ast.LShift: (ast.RShift, ast.Mult), ast.RShift: (ast.LShift, ast.FloorDiv),
}  # fmt: skip
_COMPARISONS: tuple[type[ast.cmpop], ...] = (ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.Eq, ast.NotEq)
_SIGNS: dict[type[ast.operator], str] = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%", ast.Pow: "**",
    ast.BitXor: "^", ast.BitAnd: "&", ast.BitOr: "|", ast.LShift: "<<", ast.RShift: ">>", ast.MatMult: "@",
}  # fmt: skip
_EQUALITY = ({ast.Lt, ast.LtE}, {ast.Gt, ast.GtE})
_CALLS = {"max": ("min",), "min": ("max",), "exp2": ("log2", "exp"), "log2": ("exp2", "log"), "exp": ("log", "exp2"),
          "log": ("exp", "log2"), "append": ("add",), "rsqrt": ("sqrt",), "sqrt": ("rsqrt",)}  # fmt: skip
_WORDS = (("row", "col"), ("col", "row"), ("down", "bfly"), ("up", "bfly"), ("cta", "gpu"), ("x4.", "x4.trans."))
_FACTORS = ("LOG2E", "LN2", "2", "4", "8", "16", "32")


Right = Callable[[Any], bool]
Made = Callable[[Callable[[ast.Module], Any]], Any]
"""Gives a changed program to a function, and returns what that returns."""


@dataclass(frozen=True)
class Change:
    """One change of a program: a question about it, the line, how likely it is (least first), the changed program."""

    says: str
    line: str
    rank: int
    made: Made


def explained(exercise: Exercise, answer: Any, found: Feedback, asked: Sequence[Said], right: Right) -> Feedback:
    """Feedback with the one change that would make an answer right, where no known mistake is named."""
    at, wrong = next(((at, part) for at, part in enumerate(found.parts) if not part.ok), (0, None))
    if wrong is None or wrong.cause or wrong.sort in ("broken", "cost"):
        return found
    says = _of_text(answer, right) if isinstance(answer, str) else _of_function(exercise, answer, wrong, asked, right)
    if not says:
        return found
    parts = (*found.parts[:at], replace(wrong, says=(*wrong.says, says), cause=True), *found.parts[at + 1 :])
    return replace(found, says=(*found.says, says), parts=parts)


def _of_function(exercise: Exercise, answer: Any, wrong: Part, asked: Sequence[Said], right: Right) -> str:
    """The sentence for a function of Python, or for a kernel that is one."""
    function = getattr(answer, "function", answer)
    space = getattr(function, "__globals__", None)
    if space is None:
        return ""
    try:
        names = [node.name for node in ast.parse(exercise.starter).body if isinstance(node, ast.FunctionDef)]
        written = [answer if name == exercise.answer else space.get(name) for name in names]
        text = "\n".join(textwrap.dedent(inspect.getsource(getattr(one, "function", one))) for one in written)
        tree = ast.parse(text)
    except (OSError, TypeError, SyntaxError):  # no function, or one that was typed where no file keeps it
        return ""

    def bound(program: ast.Module | str, name: str = "<change>") -> Any:
        cell = dict(space)
        exec(compile(program, name, "exec"), cell)
        return cell[exercise.answer]

    if not all(map(_ends, (node for node in ast.walk(tree) if isinstance(node, ast.While)))):
        return ""
    known = [_lines_of(ast.parse(code)) for code in (exercise.starter, exercise.solution)]
    if asked:
        changes = lambda code: _ranked(ast.parse(code), code, known, "prediction")
        return _of_prediction(text, changes, bound, asked) or _growth(exercise, function, asked)
    tried = set()
    most = FEW if wrong.name.startswith(("racecheck", "synccheck")) else MOST
    for change in _ranked(tree, text, known, wrong.sort)[:most]:
        name = f"<change {next(_count)}>"
        try:
            code = change.made(ast.unparse)
            linecache.cache[name] = (len(code), None, code.splitlines(keepends=True), name)  # the builder reads it
            if code not in tried and right(bound(code, name)):
                return f"{ONE}{change.says}\n{change.line}"
            tried.add(code)
        except Exception:  # a change need not make sense
            continue
        finally:
            linecache.cache.pop(name, None)
    return ""


def _ends(loop: ast.While) -> bool:
    """Whether a loop of Python ends after any change of other lines: each turn changes what it asks, by a constant."""
    asks = {node.id for node in ast.walk(loop.test) if isinstance(node, ast.Name)}
    steps = [node for node in loop.body if isinstance(node, ast.AugAssign) and isinstance(node.value, ast.Constant)]
    goes = {node.target.id for node in steps if isinstance(node.target, ast.Name)}
    return bool(asks) and asks <= goes and not any(isinstance(node, ast.Continue) for node in ast.walk(loop))


def _lines_of(tree: ast.Module) -> set[str]:
    """The lines of a program as Python writes them."""
    return {line.strip() for line in ast.unparse(tree).splitlines()}


def _of_prediction(text: str, changes: Callable[[str], list[Change]], bound: Any, asked: Sequence[Said]) -> str:
    """The sentence of the one change, or of the two, with which a prediction is right in all cases."""

    def right(program: ast.Module) -> int:
        function = bound(program)
        return sum(same(function(*copy.deepcopy(one.args)), one.truth, one.rtol) for one in asked)

    def of(change: Change) -> int:
        """In how many cases a prediction is right with a change; -1 where it makes no sense."""
        try:
            return int(change.made(right))
        except Exception:
            return -1

    if len({repr(one.truth) for one in asked}) < 2:
        return ""
    now, better = sum(same(one.found, one.truth, one.rtol) for one in asked), []
    for change in changes(text):
        count = of(change)
        if count == len(asked):
            return f"{ONE}{change.says}\n{change.line}"
        better += [(count, change)] if count > now else []
    for _, first in sorted(better, key=lambda pair: (-pair[0], pair[1].rank))[:FIRST]:
        for second in changes(first.made(ast.unparse)):
            if of(second) == len(asked):
                both = dict.fromkeys(f"{one.says}\n{one.line}" for one in (first, second))
                return "\n".join([TWO, *both])
    return ""


def _growth(exercise: Exercise, function: Any, asked: Sequence[Said]) -> str:
    """What doubling one of its numbers does to a prediction, and what it does to the truth, where these differ."""
    if not exercise.solution:
        return ""
    cell = dict(function.__globals__)
    exec(exercise.solution, cell)

    def grown(of: Any, at: int) -> list[float]:
        """By which factors a number grows with argument `at`."""
        args = [copy.deepcopy(one.args) for one in asked]
        return [round(of(*a[:at], 2 * a[at], *a[at + 1 :]) / of(*a), 6) for a in args]

    told: dict[bool, str] = {}  # whether the prediction does not depend on an argument at all -> its sentence
    for at, name in enumerate(inspect.signature(function).parameters):
        try:
            yours, right = grown(function, at), grown(cell[exercise.answer], at)
        except Exception:  # not a number, or none that can be doubled
            continue
        if len(set(yours)) == 1 and all(one != other for one, other in zip(yours, right, strict=True)):
            often = _times(right[0]) if len(set(right)) == 1 else f"{min(right):.3g} to {max(right):.3g} times as large"
            says = f"With twice the `{name}` the machine's number is {often}, and yours is {_times(yours[0])}."
            told.setdefault(yours[0] == 1, says)
    return told.get(True, told.get(False, ""))


def _times(factor: float) -> str:
    """By what a number grows, in words."""
    return "the same" if factor == 1 else f"{factor:g} times as large" if factor > 1 else f"1/{1 / factor:g} of it"


def _of_text(answer: str, right: Right) -> str:
    """The sentence for PTX text."""
    for text, says in itertools.islice(_lines(answer.split("\n")), MOST):
        if right(text):
            return f"{ONE}{says}"
    return ""


_OPCODES = {"gt": "ge", "lt": "ge", "le": "ge", "eq": "ge", "add": "mul", "mul": "add", "max": "min", "min": "max",
            "sub": "add", "mov": "neg"}  # fmt: skip


def _lines(lines: list[str]) -> Iterator[tuple[str, str]]:
    """Changes of PTX text: another word in an opcode, another register, two lines exchanged, a line less."""
    code = [at for at, line in enumerate(lines) if re.match(r"\s*(@!?%\w+\s+)?[a-z][\w.:]*(\s+[%\[{]|;)", line)]
    plain = {at: lines[at].split("//")[0].rstrip() for at in code}
    registers = sorted({name for line in plain.values() for name in re.findall(r"%[a-z]\w*\b(?!\.)", line)})

    def changed(at: int, *new: str) -> str:
        return "\n".join([*lines[:at], *new, *lines[at + max(len(new), 1) :]])

    for at, line in plain.items():
        for word, other in _OPCODES.items():
            new = re.sub(rf"^(\s*(?:@!?%\w+\s+)?[a-z0-9.]*?)\b{word}\b", rf"\g<1>{other}", line)
            if new != line:
                yield changed(at, new), f"Is `{word}` the right word there?\n{line.strip()}"
        if "@" in line:
            new = line.replace("@!", "@") if "@!" in line else line.replace("@", "@!")
            yield changed(at, new), f"Which threads execute this line?\n{line.strip()}"
        for found in re.finditer(r"(?<![\w%.])\d[\w.]*", line):
            for other in ("0.0", "0.5", "1.0", "2.0") if "." in found[0] else ("1", "2", "4", "8", "32"):
                new = line[: found.start()] + other + line[found.end() :]
                yield changed(at, new), f"Is {found[0]} the right number there?\n{line.strip()}"
    for at, line in plain.items():
        yield changed(at), f"What is this line for?\n{line.strip()}"
    for at, line in plain.items():
        if at + 1 in plain:
            both = f"{line.strip()}\n{plain[at + 1].strip()}"
            yield changed(at, plain[at + 1], line), f"Which of these comes first?\n{both}"
    for at, line in plain.items():
        for found in list(re.finditer(r"%[a-z]\w*\b(?!\.)", line))[1:]:
            for other in registers:
                new = line[: found.start()] + other + line[found.end() :]
                yield changed(at, new), f"Is `{found[0]}` the register that is needed there?\n{line.strip()}"


def _ranked(tree: ast.Module, text: str, known: Sequence[set[str]], sort: str) -> list[Change]:
    """Changes of a program, the likely ones first. known: the lines of the starter, and those of the solution; sort: of
    the wrong part, or "prediction"."""
    return sorted(_Changes(tree, text, known, sort).of(tree, 0), key=lambda change: change.rank)


class _Changes:
    """The changes of one program."""

    def __init__(self, tree: ast.Module, text: str, known: Sequence[set[str]], sort: str) -> None:
        nodes = list(ast.walk(tree))
        self.tree, self.lines, self.known, self.sort = tree, text.splitlines(), known, sort
        stored = {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
        tests = [name for node in nodes if isinstance(node, ast.While) for name in ast.walk(node.test)]
        self.counted = {name.id for name in tests if isinstance(name, ast.Name)}  # a change of theirs may never end
        given = [node for node in nodes if isinstance(node, ast.arg) and node.arg != "k"]
        self.names, self.given = sorted(stored | {arg.arg for arg in given}), {arg.arg for arg in given}
        types = {arg.arg: ast.unparse(arg.annotation) if arg.annotation else "" for arg in given}
        self.sizes = [name for name, of in types.items() if not re.match("Ptr|f32|TensorMap", of)]
        self.pointers = {name for name, of in types.items() if of.startswith("Ptr")}
        for node in nodes:  # `row = key + j * D` is a pointer, and so is what k.shared makes
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                first = ast.unparse(node.value).split(" + ")[0].removesuffix(".cast(b32)")
                if first in self.pointers or "k.shared(" in first:
                    self.pointers.add(node.targets[0].id)

    def alike(self, name: str) -> list[str]:
        """Other names of what a name may be, a pointer or not."""
        return [x for x in self.names if x != name and (x in self.pointers) == (name in self.pointers)]

    def with_(self, parent: Any, field: str, at: int | None, new: Any) -> Made:
        """Gives the program with something else in one place to a function, and returns what that returns."""

        def made(use: Callable[[ast.Module], Any]) -> Any:
            before = getattr(parent, field)
            setattr(parent, field, new if at is None else [*before[:at], new, *before[at + 1 :]])
            try:
                return use(ast.fix_missing_locations(self.tree))
            finally:
                setattr(parent, field, before)

        return made

    def line(self, node: ast.stmt) -> str:
        return self.lines[node.lineno - 1].split("  #")[0].strip()

    def of(self, parent: ast.AST, own: int, line: str = "") -> Iterator[Change]:
        """The changes inside of a node. own: what is added to the rank of a change in its line."""
        for field, value in ast.iter_fields(parent):
            if isinstance(parent, ast.While) and field == "test":
                continue
            if isinstance(parent, ast.FunctionDef) and field in ("args", "decorator_list", "returns"):
                continue
            if field in ("body", "orelse") and isinstance(value, list):
                yield from self.block(parent, field, value)
                continue
            for at, node in enumerate(value) if isinstance(value, list) else [(None, value)]:
                if isinstance(node, ast.expr) and not isinstance(getattr(node, "ctx", None), ast.Store):
                    whole = self.sort == "prediction" or isinstance(
                        parent, ast.stmt | ast.Subscript | ast.Call | ast.Tuple
                    )
                    for rank, new, says in _instead(node, self, whole):
                        yield Change(says, line, rank + own, self.with_(parent, field, at, new))
                if isinstance(node, ast.AST):
                    yield from self.of(node, own, line)

    def block(self, parent: ast.AST, field: str, body: list[ast.stmt]) -> Iterator[Change]:
        """The changes of statements that follow each other, and those inside of them."""
        for at, node in enumerate(body):
            if (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)) or self.counts(node):
                continue
            line, plain = self.line(node), ast.unparse(node).splitlines()[0]
            own = -10 * sum(plain not in lines for lines in self.known)
            yield from self.of(node, own, line)
            for rank, says, lines, new in self.moved(node, line, body[at + 1 :]):
                yield Change(
                    says, lines, rank + own, self.with_(parent, field, None, [*body[:at], *new] or [ast.Pass()])
                )

    def counts(self, node: ast.stmt) -> bool:
        """Whether a statement gives a value to what ends a loop of Python."""
        stored = [name.id for name in ast.walk(node) if isinstance(name, ast.Name) and isinstance(name.ctx, ast.Store)]
        return isinstance(node, ast.Assign | ast.AugAssign) and not self.counted.isdisjoint(stored)

    def moved(self, node: ast.stmt, line: str, after: list[ast.stmt]) -> Iterator[tuple[int, str, str, list[ast.stmt]]]:
        """What a statement and those behind it may be: (rank, question, lines, statements)."""
        if isinstance(node, ast.FunctionDef):
            return
        yield 2, "What is this line for?", line, after
        simple = isinstance(node, ast.Assign | ast.AugAssign | ast.Expr | ast.Return)
        used = [name for name in ast.walk(node) if isinstance(name, ast.Name) and isinstance(name.ctx, ast.Load)]
        pair = sorted({name.id for name in used if name.id in self.names and simple})
        numbers = [n.value for n in ast.walk(node) if isinstance(n, ast.Constant) and type(n.value) is int]
        for number in {n for n in numbers if numbers.count(n) > 1 and simple}:
            for other in (2 * number, number // 2, 4 * number, number + 1, number - 1):
                new = copy.deepcopy(node)
                for n in ast.walk(new):
                    if isinstance(n, ast.Constant) and n.value == number:
                        n.value = other
                yield 1, f"Is `{number}` the right number in this line?", line, [new, *after]
        for one, two in itertools.combinations(pair, 2):
            if two in self.alike(one):
                new = copy.deepcopy(node)
                for name in ast.walk(new):
                    if isinstance(name, ast.Name) and isinstance(name.ctx, ast.Load) and name.id in (one, two):
                        name.id = two if name.id == one else one
                yield 1, f"Have `{one}` and `{two}` changed places?", line, [new, *after]
        if self.sort == "finding":
            barrier = ast.parse("k.barrier()").body
            yield 3, "What must have happened in all threads before this line?", line, [*barrier, node, *after]
        if after and not isinstance(after[0], ast.Return):
            both = f"{line}\n{self.line(after[0])}"
            yield 1, "Which of these comes first?", both, [after[0], node, *after[1:]]
        if isinstance(node, ast.With | ast.For):
            less, more = copy.copy(node), copy.copy(node)
            less.body, more.body = node.body[:-1], [*node.body, *after[:1]]
            if less.body:
                yield 2, f"Does this line belong in `{line}`?", self.line(node.body[-1]), [less, node.body[-1], *after]
            if after:
                yield 2, f"Does this line belong behind `{line}`?", self.line(after[0]), [more, *after[1:]]


def _instead(node: ast.expr, of: _Changes, top: bool) -> Iterator[tuple[int, ast.expr, str]]:
    """What may stand in the place of an expression: (rank, it, sentence). top: whether it is a value or an index."""
    text = ast.unparse(node)
    shown = f"`{text}`"
    if isinstance(node, ast.BinOp):
        sign = _SIGNS[type(node.op)]
        between = f"between `{ast.unparse(node.left)}` and `{ast.unparse(node.right)}`"
        if isinstance(node.op, ast.FloorDiv):
            up = ast.parse(f"-(-({ast.unparse(node.left)}) // ({ast.unparse(node.right)}))", mode="eval").body
            plus = ast.parse(
                f"({ast.unparse(node.left)} + ({ast.unparse(node.right)} - 1)) // ({ast.unparse(node.right)})",
                mode="eval",
            ).body
            for new in (up, plus):
                yield 0, new, f"{shown} rounds down: what becomes of the rest?"
        one = ast.unparse(node.right) == "1"  # what is multiplied by 1 is what it was
        for op in () if one else _OPERATIONS.get(type(node.op), ()):
            yield 0, ast.BinOp(node.left, op(), node.right), f"Is `{sign}` the right operation {between}?"
        for kept, gone in ((node.left, node.right), (node.right, node.left)):
            yield 1, kept, f"In {shown} there is too much: what is `{ast.unparse(gone)}` for?"
        if not isinstance(node.op, ast.Add | ast.Mult | ast.BitXor | ast.BitAnd | ast.BitOr):
            yield 1, ast.BinOp(node.right, node.op, node.left), f"In {shown} the two sides have changed places."
        for new in _regrouped(node):
            yield 1, new, f"In {shown}, what is computed first?"
    if isinstance(node, ast.UnaryOp) and isinstance(node.operand, ast.BinOp):
        left = node.operand.left
        if isinstance(node.operand.op, ast.FloorDiv) and isinstance(left, ast.UnaryOp):
            down = ast.BinOp(left.operand, ast.FloorDiv(), node.operand.right)
            yield 0, down, f"{shown} rounds up: is the rest wanted?"
        yield 1, node.operand, f"Is the sign of {shown} the right one?"
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        for way in _COMPARISONS:
            if not isinstance(node.ops[0], way):
                equal = {way, type(node.ops[0])} in _EQUALITY
                what = "which side has equality?" if equal else "which way round is it meant?"
                yield 0, ast.Compare(node.left, [way()], node.comparators), f"In {shown}, {what}"
    if isinstance(node, ast.BoolOp):
        joined = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        yield 0, ast.BoolOp(joined, node.values), f"In {shown}, is it both, or either?"
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float) and not isinstance(node.value, bool):
        yield from _numbers(node.value, shown)
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        for word, other in _WORDS:
            for found in re.finditer(re.escape(word), node.value):
                new = ast.Constant(node.value[: found.start()] + other + node.value[found.end() :])
                yield 0, new, f"Look at the word `{word.strip('.')}`."
    if isinstance(node, ast.Call):
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        for other in _CALLS.get(name, ()):
            func: Any = copy.copy(node.func)
            setattr(func, "attr" if isinstance(func, ast.Attribute) else "id", other)
            yield 0, ast.Call(func, node.args, node.keywords), f"Is `{name}` the right function there?"
        if name == "set" and isinstance(node.func, ast.Attribute) and len(node.args) == 1:
            old, given = ast.unparse(node.func.value), ast.unparse(node.args[0])
            for both in (f"k.max({old}, {given})", f"k.min({old}, {given})", f"{old} + {given}"):
                args = [ast.parse(both, mode="eval").body]
                says = f"`{old}` loses what it had: what is to become of the two?"
                yield 1, ast.Call(node.func, args, node.keywords), says
        same_both_ways = name in ("max", "min")
        for first, second in [] if same_both_ways else itertools.combinations(range(len(node.args)), 2):
            args = list(node.args)
            args[first], args[second] = args[second], args[first]
            says = f"`{ast.unparse(args[second])}` and `{ast.unparse(args[first])}` have changed places."
            yield 1, ast.Call(node.func, args, node.keywords), says
        if name in ("max", "min") and len(node.args) == 2:
            says = f"Is `{name}` what {shown} is to do?"
            yield 1, ast.BinOp(node.args[0], ast.Add(), node.args[1]), says
        if name in ("max", "min", "exp2", "log2", "exp", "log", "abs", "select"):
            for arg in node.args:
                yield 1, arg, f"What is `{name}` for in {shown}?"
    if isinstance(node, ast.Name | ast.Subscript) and text not in ("k", "math", "np"):
        for function in ("math.exp", "math.log", "abs", "-") if of.sort == "prediction" else ("k.exp2", "k.log2", "-"):
            wrapped = ast.parse(f"{function}({text})", mode="eval").body
            yield 2, wrapped, f"Is {shown} itself meant there, or what a function makes of it?"
    if isinstance(node, ast.IfExp):
        yield 1, ast.IfExp(node.test, node.orelse, node.body), f"The two cases of {shown} have changed places."
    if (isinstance(node, ast.Name) and node.id in of.names) or isinstance(
        node, ast.Subscript | ast.Attribute | ast.Call
    ):
        for other in of.alike(text):
            akin = not {*re.split(r"[_\d]", text)}.isdisjoint(re.split(r"[_\d]", other))  # row_max, new_max
            rank = 1 if akin else 2 if isinstance(node, ast.Name) or other in of.given else 5
            yield rank, ast.Name(other, ast.Load()), f"Is {shown} what is needed there?"
    if isinstance(node, ast.Tuple) and all(isinstance(n, ast.Constant) and isinstance(n.value, int) for n in node.elts):
        numbers = [ast.literal_eval(n) for n in node.elts]
        more = ([2 * numbers[0], *numbers], [*numbers, numbers[-1] // 2], [*numbers, 2 * numbers[-1]])
        for others in (*more, numbers[1:], numbers[:-1], [2 * n for n in numbers], [n // 2 for n in numbers]):
            yield 1, ast.parse(repr(tuple(others)), mode="eval").body, f"Are {shown} the right ones, and all?"
    if isinstance(node, ast.BinOp | ast.Name | ast.Call | ast.Subscript | ast.Constant) and isinstance(text, str):
        for factor in (*_FACTORS, *(of.names if of.sort == "prediction" else of.sizes)):
            by = ast.parse(factor, mode="eval").body
            rank = 2 if factor in (*_FACTORS[:2], *of.sizes) else 3 if top else 4
            yield rank, ast.BinOp(node, ast.Mult(), by), f"To {shown} a factor is missing: {_about(factor)}"
            if isinstance(node, ast.Name) and factor in _FACTORS and not top:
                yield 4, ast.BinOp(node, ast.FloorDiv(), by), f"{shown} is too large: is it to be divided by something?"
            if top:
                up = ast.parse(f"-(-({text}) // {factor})", mode="eval").body
                yield 5, up, f"{shown} is too large: how many are there in one of something, and what of the rest?"
                yield 5, ast.BinOp(node, ast.FloorDiv(), by), f"{shown} is too large: is it to be divided by something?"
                yield 5, ast.BinOp(node, ast.Add(), by), f"Something is missing in {shown}: what is to be added?"
                yield 3, ast.BinOp(node, ast.Mod(), by), f"{shown} goes too far: where does it begin again?"
        if top or isinstance(node, ast.Name):
            for step, far in ((ast.Add(), 1), (ast.Sub(), 1), (ast.Add(), 2)):
                yield 2, ast.BinOp(node, step, ast.Constant(far)), f"{shown} is off by {far}."


def _about(factor: str) -> str:
    """What is said of a factor that is missing."""
    return f"where does {factor} go?" if factor.isupper() else f"which part does `{factor}` have in it?"


def _regrouped(node: ast.BinOp) -> Iterator[ast.expr]:
    """The same operands and operations with other parentheses."""
    if isinstance(node.right, ast.BinOp):
        inner = node.right
        yield ast.BinOp(ast.BinOp(node.left, node.op, inner.left), inner.op, inner.right)
    if isinstance(node.left, ast.BinOp):
        inner = node.left
        yield ast.BinOp(inner.left, inner.op, ast.BinOp(inner.right, node.op, node.right))


def _numbers(value: int | float, shown: str) -> Iterator[tuple[int, ast.expr, str]]:
    """What may stand in the place of a number."""
    if isinstance(value, int):
        for near in (value - 1, value + 1):
            yield 2 if value in (1, 2) else 0, ast.Constant(near), f"The {shown} is off by one."
    others = {2 * value, value // 2, 4 * value, value // 4, value - 1, value + 1, 0, 1, 3, 7, 8, 16, 31, 32} - {value}
    for other in sorted(others):
        factor = ", or is a factor missing?" if other in (2 * value, 4 * value) and value else "?"
        rank = 1 if other in (2 * value, value // 2) else 3
        yield rank, ast.Constant(type(value)(other)), f"Is {shown} the right number there{factor}"
    if isinstance(value, float):
        for endless in ("-math.inf", "math.inf"):
            yield 1, ast.parse(endless, mode="eval").body, f"Is {shown} the right number to begin with?"
