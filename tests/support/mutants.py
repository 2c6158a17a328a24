"""Wrong variants of a right answer, made by program: one operator, number, operand, statement or line in each.

Variants are made of the answer's syntax tree, or, where the answer is a text of PTX or CUDA C++, of its lines. They
come in an order that takes one of each kind of mistake in turn, the same on every machine.

Three changes that are no mistakes are not made: statements that do not depend on each other are not exchanged, a
parameter's default is left alone (the grader gives the value), and no array in shared memory is made larger (nothing
limits it but where the prompt says so).
"""

from __future__ import annotations

import ast
import difflib
import itertools
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

_COMPARE = {
    ast.Lt: (ast.LtE, ast.Gt),
    ast.LtE: (ast.Lt,),
    ast.Gt: (ast.GtE, ast.Lt),
    ast.GtE: (ast.Gt,),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
}
_BINARY = {
    ast.Add: (ast.Sub,), ast.Sub: (ast.Add,), ast.Mult: (ast.Add,), ast.FloorDiv: (ast.Mod,), ast.Mod: (ast.FloorDiv,),
    ast.Div: (ast.Mult,), ast.BitAnd: (ast.BitOr,), ast.BitOr: (ast.BitAnd,), ast.BitXor: (ast.BitOr, ast.Add),
    ast.LShift: (ast.RShift,), ast.RShift: (ast.LShift,),
}  # fmt: skip
_RETURNS = (
    "r + 1", "r - 1", "2 * r", "r // 2", "0 * r", "max(r, 1)", "r[1:]", "r[:-1]", "r * 2", "r[::-1]",
    "r + type(r)([0])", "r | {0}", "r - {max(r)}", "(*r[1:], r[0])", "(r[0] + 1, *r[1:])", "(*r[:-1], r[-1] + 1)",
    "(*r[:-1], max(r[-1], 1))", "1 - r", "r ** 2", "min(r, 8)", "{x + 1 for x in r}", "{x - 1 for x in r}",
    "{x for x in r if x}", "{*r, 31}", "r ^ {min(r)}", "[*r, *r]", "[x + 1 for x in r]", "[max(x - 1, 0) for x in r]",
    "r // 2 * 2", "r * r", "max(r - 1, 0)",
)  # fmt: skip
"""What a function may return instead of its result `r`; those that its type does not allow are no variants."""
_METHODS = {"max": "min", "min": "max", "exp2": "log2", "log2": "exp2"}
_WORDS = (
    ("row.col", "row.row"), ("row.row", "col.row"), (".row.", ".col."), (".col.", ".row."), (".trans", ""),
    ("bfly", "down"), ("wait_group", "commit_group"),
)  # fmt: skip
_LINES = (
    ("max.", "min."), ("min.", "max."), ("setp.ge", "setp.gt"), ("setp.ge", "setp.lt"), ("neg.", "abs."),
    ("xor", "up"), ("mul.", "add."), ("add.", "sub."), ("mul.", "sub."), ("sub.", "add."), ("ge.", "le."),
    ("ntid", "nctaid"), ("%tid", "%ctaid"), ("%ctaid", "%tid"), (", 4,", ", 8,"), (", 32,", ", 31,"),
    ("+= 32", "+= 31"), ("xor", "down"), ("< n", "<= n"), ("/= 2", "/= 4"), ("* n + i", "+ i"), ("/ n", ""),
    (" + eps", ""), (" + eps", " - eps"), ("rsqrtf", "sqrtf"), ("* scale", ""), ("* w[i]", ""), ("w[i]", "w[0]"),
    ("= 0.0f", "= 1.0f"), ("* row[i];", ";"), ("total +=", "total ="), ("= 16;", "= 8;"),
    ("x + blockIdx.x * n", "x"), ("%v, %low", "%v, %limit"), ("[%x]", "[%x + 4]"), ("@%outside", "@!%outside"),
    ("%i, %n", "%n, %i"), ("%limit;", "%low;"), ("row[i] *", "w[i] *"), ("y[blockIdx.x * n + i]", "y[i]"),
)  # fmt: skip


@dataclass(frozen=True)
class Mutant:
    """A wrong variant: what kind of mistake, what changed in words, and the code."""

    kind: str
    change: str
    code: str


def mutants(solution: str) -> list[Mutant]:
    """The wrong variants of an answer, each once."""
    base = ast.unparse(_bare(ast.parse(solution)))
    kinds: dict[str, list[Mutant]] = {}
    seen = {base}
    for kind, code in itertools.chain(_of_tree(base), _of_text(base)):
        if code in seen:
            continue
        seen.add(code)
        kinds.setdefault(kind, []).append(Mutant(kind, _change(base, code), code))
    spread = [_spread(of_kind) for of_kind in kinds.values()]
    return [m for turn in itertools.zip_longest(*spread) for m in turn if m is not None]


def twice(solution: str) -> Iterator[Mutant]:
    """Variants with two mistakes, for an answer that is too short for many with one."""
    first = mutants(solution)
    seen = {mutant.code for mutant in first} | {ast.unparse(_bare(ast.parse(solution)))}
    for one in first:
        for two in mutants(one.code):
            if two.code not in seen:
                seen.add(two.code)
                yield Mutant(f"{one.kind}, {two.kind}", f"{one.change}; then {two.change}", two.code)


def _marked(base: str) -> ast.Module:
    """The tree of an answer; numbers that are no part of it, or may be larger without harm, are marked."""
    tree = ast.parse(base)
    for node in ast.walk(tree):
        match node:
            case ast.arguments(kw_defaults=[*defaults]):
                given = [below for default in defaults if default is not None for below in ast.walk(default)]
                for below in given:
                    below.__dict__["left alone"] = True
            case ast.Call(func=ast.Attribute(attr="shared"), args=[_, size, *_]):
                for below in ast.walk(size):
                    below.__dict__["may be larger"] = True
    return tree


def _bare(tree: ast.Module) -> ast.Module:
    """A tree without docstrings."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and ast.get_docstring(node) is not None:
            node.body[:1] = []
    return tree


def _spread(found: list[Mutant]) -> list[Mutant]:
    """The same variants in an order in which the first few come from all over the answer."""
    order = sorted(range(len(found)), key=lambda n: (int(f"{n:010b}"[::-1], 2), n))
    return [found[n] for n in order]


def _change(base: str, code: str) -> str:
    old, new = (text.replace("\\n", "\n").splitlines() for text in (base, code))
    lines = [line for line in difflib.ndiff(old, new) if line[:1] in "+-"]
    gone, come = ([" ".join(line[2:].split()) for line in lines if line[0] == sign] for sign in "-+")
    if sorted(gone) == sorted(come):  # moved, not changed
        first, second = next((a, b) for a, b in zip(old, new, strict=True) if a != b)
        return f"{second.strip()} before {first.strip()}"
    return f"{' | '.join(gone) or 'nothing'} => {' | '.join(come) or 'nothing'}"


def _of_tree(base: str) -> Iterator[tuple[str, str]]:
    """(kind, code) of the variants of an answer, node by node of its tree."""
    whole = _marked(base)
    for at, node in enumerate(ast.walk(whole)):
        for which, (kind, _) in enumerate(_edits(node)):
            fresh = _marked(base)
            edits = list(_edits(_nth(fresh, at)))
            edits[which][1]()
            yield kind, ast.unparse(ast.fix_missing_locations(fresh))


def _nth(tree: ast.AST, at: int) -> ast.AST:
    return next(itertools.islice(ast.walk(tree), at, None))


def _edits(node: ast.AST) -> Iterator[tuple[str, Callable[[], object]]]:
    """What can be done wrong at a node: (kind, does it in place)."""
    match node:
        case ast.Compare(ops=[op]):
            for other in _COMPARE.get(type(op), ()):
                yield "comparison", lambda other=other: node.ops.__setitem__(0, other())
        case ast.BinOp(op=op):
            for other in _BINARY.get(type(op), ()):
                yield "operator", _set(node, "op", other())
            for kept in ("left", "right"):
                one = {"op": ast.Mult(), "left": getattr(node, kept), "right": ast.Constant(1)}
                yield "operand", lambda one=one: node.__dict__.update(one)
        case ast.Return(value=ast.expr() as value):
            for wrong in _RETURNS:
                yield "result", _set(node, "value", _expression(f"(lambda r: {wrong})({ast.unparse(value)})"))
        case ast.UnaryOp(op=ast.USub()):
            yield "operator", _set(node, "op", ast.UAdd())
        case ast.AugAssign(op=ast.Add()):
            yield "operator", _set(node, "op", ast.Sub())
        case ast.AugAssign(op=ast.BitOr()):
            yield "operator", _set(node, "op", ast.BitXor())
            yield "operator", _set(node, "op", ast.BitAnd())
        case ast.Set(elts=[_, *_]):
            yield "missing", lambda: node.__dict__.update(elts=[ast.Starred(ast.Tuple([], ast.Load()), ast.Load())])
        case ast.Constant(value=bool() | None):
            return
        case ast.Constant(value=int() | float() as value):
            if "left alone" in node.__dict__:
                return
            if "may be larger" not in node.__dict__:
                yield "off by one", _set(node, "value", value + 1)
            if value:
                yield "off by one", _set(node, "value", value - 1)
        case ast.Constant(value=str() as text) if len(text) < 80:
            for old, new in _WORDS:
                if old in text:
                    yield "word", _set(node, "value", text.replace(old, new, 1))
        case ast.Name(id="LN2" | "LOG2E"):
            yield "constant", _set(node, "id", "1.0")
        case ast.UnaryOp(op=ast.USub(), operand=ast.Attribute(attr="inf")):
            yield "constant", lambda: (setattr(node, "op", ast.UAdd()), setattr(node, "operand", ast.Constant(0.0)))
            yield "constant", _set(node, "op", ast.UAdd())
        case ast.Tuple(elts=[_, _, *_] as elements, ctx=ast.Load()) if all(
            isinstance(e, ast.Constant) for e in elements
        ):
            yield "missing", lambda: elements.pop()
            yield "missing", lambda: elements.pop(0)
        case ast.IfExp():
            yield "branch", _set(node, "test", ast.UnaryOp(ast.Not(), node.test))
        case ast.Call():
            yield from _of_call(node)
    if isinstance(node, ast.For | ast.comprehension):
        for wrong in ("[1:]", "[:-1]"):
            yield "turns", _set(node, "iter", _expression(f"list({ast.unparse(node.iter)}){wrong}"))
    if isinstance(node, ast.FunctionDef) and not any(a.annotation for a in node.args.args):
        names = [a.arg for a in node.args.args]
        uses = [n for n in ast.walk(node) if isinstance(n, ast.Name) and n.id in names and isinstance(n.ctx, ast.Load)]
        for use, other in itertools.product(uses, names):
            if other != use.id:
                yield "operand", _set(use, "id", other)
    for name in ("body", "orelse"):
        body = getattr(node, name, None)
        if isinstance(body, list):
            yield from _of_body(body)


def _set(node: ast.AST, name: str, value: object) -> Callable[[], object]:
    """What gives a node another part."""
    return lambda: setattr(node, name, value)


def _expression(text: str) -> ast.expr:
    """The tree of an expression."""
    return ast.parse(text, mode="eval").body


def _of_call(node: ast.Call) -> Iterator[tuple[str, Callable[[], object]]]:
    called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    arguments = node.args
    if isinstance(node.func, ast.Attribute) and called in _METHODS:
        yield "function", _set(node.func, "attr", _METHODS[called])
    elif called in _METHODS:
        yield "function", _set(node.func, "id", _METHODS[called])
    if called in ("reversed", "sorted", "abs", "sum", "len", "set", "list", "int"):
        same = {"func": _expression("(lambda x: x)"), "keywords": []}
        yield "missing call", lambda: node.__dict__.update(same)
    if called in ("max", "min") and len(arguments) == 2:
        for keep in (0, 1):
            same = {"func": ast.Name("(lambda x: x)"), "args": [arguments[keep]]}
            yield "missing edge", lambda same=same: node.__dict__.update(same)
    if called == "select":
        yield "order", lambda: arguments.__setitem__(slice(1, 3), [arguments[2], arguments[1]])
        yield "missing edge", lambda: arguments.__setitem__(2, arguments[1])
    if called == "fma":
        yield "operand", lambda: arguments.__setitem__(1, ast.Constant(1.0))
        yield "operand", lambda: arguments.__setitem__(2, ast.Constant(0.0))
    if called == "loop":
        for at in range(len(node.keywords)):
            yield "loop", lambda at=at: node.keywords.pop(at)


def _of_body(body: list[ast.stmt]) -> Iterator[tuple[str, Callable[[], object]]]:
    for at, statement in enumerate(body):
        match statement:
            case ast.Expr(value=ast.Constant()) | ast.FunctionDef() | ast.Return():
                continue
            case ast.With(items=[item]) | ast.With(items=[item, *_]) if item.optional_vars is None:
                yield "no condition", lambda at=at, s=statement: body.__setitem__(slice(at, at + 1), s.body)
        gone = (
            "no barrier" if "barrier" in ast.unparse(statement) and isinstance(statement, ast.Expr) else "no statement"
        )
        yield gone, lambda at=at: body.__setitem__(slice(at, at + 1), [] if len(body) > 1 else [ast.Pass()])
        if (
            at + 1 < len(body)
            and not isinstance(body[at + 1], ast.Return | ast.FunctionDef)
            and _ordered(statement, body[at + 1])
        ):
            yield "order", lambda at=at: body.__setitem__(slice(at, at + 2), [body[at + 1], body[at]])


def _ordered(first: ast.stmt, second: ast.stmt) -> bool:
    """Whether it matters which of two statements comes first."""
    (wrote, read, acts, looks), (wrote2, read2, acts2, looks2) = _touched(first), _touched(second)
    names = wrote & (read2 | wrote2) or wrote2 & read
    return bool(names) or (acts and (acts2 or looks2)) or (acts2 and looks)


def _touched(statement: ast.stmt) -> tuple[set[str], set[str], bool, bool]:
    """(names it changes, names it reads, whether it acts on memory or other threads, whether it reads memory)."""
    wrote, read, acts, looks = set[str](), set[str](), False, False
    for node in ast.walk(statement):
        match node:
            case ast.Name(id=name, ctx=ast.Store()):
                wrote.add(name)
            case ast.Name(id=name):
                read.add(name)
            case ast.Call(func=ast.Attribute(attr="set" | "append", value=value)):
                wrote |= {n.id for n in ast.walk(value) if isinstance(n, ast.Name)}
            case ast.Call(func=ast.Attribute(attr="op"), args=[ast.JoinedStr() | ast.Constant() as opcode, *_]) if (
                _reads(opcode)
            ):
                looks = True
            case ast.Call(func=ast.Attribute(attr="op" | "barrier" | "store" | "probe" | "return_if" | "shfl")):
                acts = True
            case ast.Subscript(ctx=ast.Store()):
                acts = True
                wrote |= {n.id for n in ast.walk(node.value) if isinstance(n, ast.Name)}
            case ast.Subscript() | ast.Call(func=ast.Attribute(attr="load")):
                looks = True
    if isinstance(statement, ast.AugAssign):
        read |= wrote
    return wrote - {"k"}, read, acts, looks


def _reads(opcode: ast.expr) -> bool:
    """Whether an instruction only brings something into registers."""
    return any(word in ast.unparse(opcode) for word in ("wmma.load", "ldmatrix", "cvt."))


def _of_text(base: str) -> Iterator[tuple[str, str]]:
    """Variants of an answer that is a text in another language: lines left out, exchanged, or with another word."""
    tree = ast.parse(base)
    for node in ast.walk(tree):
        if not (
            isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and re.search(r"\.entry|__global__", node.value)
        ):
            continue
        whole = node.value
        lines = whole.splitlines()
        found = []
        for at, line in enumerate(lines):
            if not line.strip().endswith(";") or line.strip().startswith("."):
                continue
            found.append(("no statement", lines[:at] + lines[at + 1 :]))
            if at + 1 < len(lines) and lines[at + 1].strip().endswith(";") and _dependent(line, lines[at + 1]):
                found.append(("order", [*lines[:at], lines[at + 1], line, *lines[at + 2 :]]))
            for old, new in _LINES:
                if old in line:
                    found.append(("word", [*lines[:at], line.replace(old, new, 1), *lines[at + 1 :]]))
            for kind, changed in itertools.chain(_other_registers(line, whole), _in_line(line)):
                found.append((kind, [*lines[:at], changed, *lines[at + 1 :]]))
        for kind, changed in found:
            node.value = "\n".join(changed) + "\n"
            yield kind, ast.unparse(tree)
        node.value = whole


def _in_line(line: str) -> Iterator[tuple[str, str]]:
    """A line of PTX with another address, another constant, or another guard."""
    for address in re.finditer(r"\[(%\w+)\]", line):
        for by in ("+4", "-4", "+8"):
            yield "off by one", f"{line[: address.start()]}[{address[1]}{by}]{line[address.end() :]}"
    for constant in ("0f3F800000", "0fBF800000", "0f7F800000"):  # 1, -1 and infinity
        if re.search(r"0f[0-9A-F]{8}", line) and constant not in line:
            yield "constant", re.sub(r"0f[0-9A-F]{8}", constant, line)
    guard = re.match(r"(\s*)@(!?)(%\w+)\s+", line)
    if guard:
        yield "no condition", guard[1] + line[guard.end() :]
        yield "branch", f"{guard[1]}@{'' if guard[2] else '!'}{guard[3]} {line[guard.end() :]}"


def _other_registers(line: str, text: str) -> Iterator[tuple[str, str]]:
    """A line of PTX with another register of the same type in the place of one that it reads."""
    types = {}
    for declared in re.findall(r"\.reg\s+(\.\w+)\s+([^;]+);", text):
        types.update({name.strip(): declared[0] for name in declared[1].split(",")})
    for read in list(re.finditer(r"%[\w.]+", line))[1:]:
        for other, of_type in types.items():
            if of_type == types.get(read.group()) and other != read.group():
                yield "operand", line[: read.start()] + other + line[read.end() :]


def _dependent(line: str, below: str) -> bool:
    """Whether it matters which of two lines comes first: they share a name that one of them writes. Of a line of CUDA
    C++ every name counts, of one of PTX the first register."""
    names, others = (set(re.findall(r"%?[A-Za-z_]\w*", text)) for text in (line, below))
    if "%" not in line:
        return bool(names & others)
    wrote, wrote_below = (re.search(r"%\w+", text) for text in (line, below))
    return bool((wrote and wrote.group() in others) or (wrote_below and wrote_below.group() in names))
