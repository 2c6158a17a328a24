"""A Python function, called once with symbolic numbers: the graph of what it computes.

    graph = trace(score=lambda score, b, h, q_idx, kv_idx, slopes: score + slopes[h] * (kv_idx - q_idx),
                  parameters=(Parameter("slopes", "real", 1),))

Equal expressions are one node. A node has a kind: "whole" (s32), "real" (the type of the scores) or "truth". The
function may use Python's operators and the functions of numpy that have PTX; on arrays it computes the same.
Every message names the line and the line to write.
"""

from __future__ import annotations

import ast
import functools
import inspect
import math
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from ptxlab.builder import mistakes
from ptxlab.builder.source import Site, Source
from ptxlab.errors import BuildError, PtxlabError
from ptxlab.options import shown

PLACES = ("b", "h", "q_idx", "kv_idx")
"""What a mask_mod takes first; a score_mod takes the score before them."""
KINDS = {"truth": bool, "whole": int, "real": float}
"""The kinds of nodes, the widest last, and the Python numbers that are of each; a bool is an int as well."""
HAS = "a symbolic number has a value only when the kernel runs"
LOG2E, LN2 = math.log2(math.e), math.log(2)


@dataclass(frozen=True)
class Parameter:
    """An array (`ndim` from 1) or a number (`ndim` 0) that a function takes by keyword, and the kind of its values. A
    function asks for an element with as many indices as there are dimensions; `{name}_1` is the second one's size."""

    name: str
    kind: str
    ndim: int = 0


@dataclass(eq=False, slots=True)
class Node:
    """One value. `op`: an operator, a function, "const" and "number" (`value`: the number, or whose it is), "load" (an
    element of the array `value`), or one of `score b h q_idx kv_idx`; `depends` are those that it is made of."""

    op: str
    args: tuple[Node, ...]
    kind: str
    value: Any
    number: int
    depends: frozenset[str]
    site: Site | None = field(repr=False)
    name: str | None
    own: tuple[Any, ...]
    """What makes two nodes the same."""

    @property
    def text(self) -> str:
        """How a message calls it."""
        return self.value if self.op == "number" else self.site.text if self.site else self.op


class Keyed:
    """What is equal to all of its class that have the same `key`."""

    key: Any

    def __eq__(self, other: object) -> bool:
        return isinstance(other, type(self)) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)


@dataclass(frozen=True, eq=False)
class Graph(Keyed):
    """What a score_mod and a mask_mod compute. Two graphs are equal where the same PTX follows from them."""

    score: Node | None
    mask: Node | None
    nodes: tuple[Node, ...]
    parameters: tuple[Parameter, ...]
    indices: tuple[tuple[Node, int, Node], ...]
    """Each element of an array that is asked for: the load, a dimension, and the index there."""

    @functools.cached_property
    def key(self) -> tuple[Any, ...]:
        """The structure, with the names that registers get."""
        roots = tuple(root and root.number for root in (self.score, self.mask))
        return roots, tuple((*node.own, node.name) for node in self.nodes), self.parameters

    def of(self, root: Node) -> list[Node]:
        """The nodes that `root` is made of, itself last, arguments before what takes them."""
        wanted = {root}
        for node in reversed(self.nodes):
            wanted.update(node.args if node in wanted else ())
        return [node for node in self.nodes if node in wanted]

    @property
    def loads(self) -> frozenset[str]:
        """What the indices of array elements depend on."""
        return frozenset().union(*(node.depends for node in self.nodes if node.op == "load"))


def trace(
    score: Callable[..., Any] | None = None,
    mask: Callable[..., Any] | None = None,
    parameters: tuple[Parameter, ...] = (),
) -> Graph:
    """The graph of a score_mod and a mask_mod; `parameters` are passed by keyword to those that take them.

    `BuildError` for a function that cannot be traced: a branch on a number, a function without PTX, an array that is no
    parameter."""
    tracer = Tracer()
    places = [Number(tracer, tracer.node(name, (), "whole")) for name in PLACES]
    given: dict[str, Any] = {}
    for p in parameters:
        given[p.name] = Table(tracer, p) if p.ndim else tracer.given("number", (), p.kind, p.name)

    def root(function: Callable[..., Any] | None, kind: str, *first: Number) -> Node | None:
        if function is None:
            return None
        try:
            answer = function(*first, *places, **given)
        except PtxlabError:
            raise
        except Exception as wrong:
            raise _explained(tracer.source, wrong) from wrong
        code = getattr(inspect.unwrap(function), "__code__", None)
        tracer.at = tracer.source.parameter(code, "") if code else None
        node, tracer.at = tracer.answer(answer, kind), None
        return node

    roots = root(score, "real", Number(tracer, tracer.node("score", (), "real"))), root(mask, "truth")
    found = {root for root in roots if root is not None}
    last: dict[Any, Node] = {}
    for node in reversed(tracer.made):
        found.update(node.args if node in found else ())
        if node in found and node.site is not None and last.setdefault(node.site.span, node) is not node:
            node.name = None  # of the nodes of `x = a * b + c` the last one is x
    indices = tuple(index for index in tracer.indices if index[0] in found)
    return Graph(*roots, tuple(n for n in tracer.made if n in found), parameters, indices)


class Tracer:
    """Makes the nodes of one graph."""

    def __init__(self) -> None:
        self.source = Source()
        self.made: list[Node] = []
        self.known: dict[tuple[Any, ...], Node] = {}
        self.at: Site | None = None
        self.indices: dict[tuple[Node, int, Node], None] = {}

    def here(self) -> Site:
        """The line of the function that is being evaluated."""
        return self.at or self.source.here(sys._getframe(1))

    def node(self, op: str, args: tuple[Node, ...], kind: str, value: Any = None) -> Node:
        """The node of an expression, made at most once."""
        own = op, tuple(a.number for a in args), kind, repr(value)
        if own not in self.known:
            depends = frozenset({op} & {"score", *PLACES}).union(*(a.depends for a in args))
            site, name = None, None
            if op not in ("const", "number", "score", *PLACES):
                site = self.here()
                names = site.names
                if names is None and site.returned and self.at is None and self.source.frame is not None:
                    names, _, _ = self.source.names(self.source.frame, site)
                name = names if isinstance(names, str) else None
            self.known[own] = Node(op, args, kind, value, len(self.made), depends, site, name, own)
            self.made.append(self.known[own])
        return self.known[own]

    def given(self, op: str, args: tuple[Node, ...], kind: str, value: str) -> Number:
        """What the call brings; kernels get a truth as a whole number."""
        made = Number(self, self.node(op, args, "whole" if kind == "truth" else kind, value))
        return self.binary("!=", made, 0) if kind == "truth" else made

    def refuse(self, what: str, write: str = "") -> NoReturn:
        """Raises the error of the line that is being evaluated."""
        raise mistakes.error(self.here(), what, write)

    def no_function(self, name: str) -> NoReturn:
        """Raises the error of a function that has no PTX."""
        known = "np.abs, np.clip, np.exp, np.exp2, np.floor, np.log, np.maximum, np.minimum, np.sqrt, np.tanh, np.where"
        self.refuse(f"{name} has no counterpart in PTX here", _CLOSE.get(name.removeprefix("np."), f"# one of {known}"))

    # -- operands
    def operand(self, value: Any) -> Node:
        """The operand beside an operator, as a node."""
        if isinstance(value, Number):
            if value.tracer is not self:
                self.refuse(
                    "this number belongs to another call; a function must not keep its arguments", "return score"
                )
            return value.node
        if isinstance(value, Table):
            self.refuse(f"`{value.name}` is an array; take an element of it", value.example)
        if isinstance(value, np.ndarray) and value.ndim:
            self.refuse(
                "an array that is not a parameter of the function cannot become a parameter of the kernel",
                "def f(..., kv_idx, table): ... table[h] ...    # and in the call: table=array",
            )
        value = value.item() if isinstance(value, np.generic | np.ndarray) else value
        kind = next((kind for kind, python in KINDS.items() if isinstance(value, python)), "")
        if kind == "whole" and not -(2**31) <= value < 2**31:
            found, write = f"a number of {value.bit_length()} bits", "-np.inf    # or another real number"
            if value.bit_length() < 128:
                found, write = str(value), f"{float(value)!r}"
            self.refuse(f"{found} does not fit s32, in which whole numbers are computed", write)
        if kind:
            return self.node("const", (), kind, value)
        write = "x    # one number" if self.at is None else "return score    # one number"
        self.refuse(f"expected a number, found {shown(value)} ({type(value).__name__})", write)

    def answer(self, value: Any, kind: str) -> Node:
        """What a function returned, as the kind that is wanted of it."""
        if value is None:
            what, write = ("mask", "kv_idx <= q_idx") if kind == "truth" else ("score", "score")
            self.refuse(f"the function returns nothing; a {what}_mod returns a value", f"return {write}")
        node = self.operand(value)
        if (kind == "truth") != (node.kind == "truth"):
            self.refuse(*_ANSWERS[kind])
        return self.to(kind, node)

    def to(self, kind: str, node: Node) -> Node:
        """The node as a wider kind: a truth is 0 or 1."""
        if node.kind == kind:
            return node
        if node.op == "const" and kind == "real":
            return self.node("const", (), "real", float(node.value))
        if node.kind == "truth":
            node = self.node("where", (node, self.operand(1), self.operand(0)), "whole")
        return node if kind == "whole" else self.node("real", (node,), "real")

    def alike(self, *nodes: Node) -> tuple[list[Node], str]:
        """Nodes of one kind: that of the widest."""
        kind = max((node.kind for node in nodes), key=tuple(KINDS).index)
        return [self.to(kind, node) for node in nodes], kind

    # -- operators
    def binary(self, op: str, left: Any, right: Any) -> Number:
        """`left op right`."""
        (a, b), kind = self.alike(self.operand(left), self.operand(right))
        if op in ("/", "//", "%") and b.op == "const" and not b.value:
            self.refuse("this divides by zero", "x / np.maximum(n, 1)".replace("/", op))
        self._has(op, kind)
        if op == "/":
            return Number(self, self.quotient(self.to("real", a), self.to("real", b)))
        if op in ("<<", ">>", "%", "//"):
            a, b, kind = self.to("whole", a), self.to("whole", b), "whole"
        if kind == "truth":
            if op == "==":
                return self.unary("~", self.binary("^", left, right))
            op = {"min": "&", "max": "|", "*": "&", "!=": "^"}.get(op, op)
        return Number(self, self.node(op, (a, b), "truth" if op in _COMPARES else kind))

    def _has(self, op: str, kind: str) -> None:
        """Raises the error of an operator that there is not for a kind."""
        if (kind, op) in _NONE:
            what, write = _NONE[kind, op]
            self.refuse(f"`{op}` {what}", write)

    def quotient(self, a: Node, b: Node) -> Node:
        """a / b: by what is the same for all scores of a head it is a product with the reciprocal, made once."""
        if b.depends & {"score", "q_idx", "kv_idx"}:
            return self.node("/", (a, b), "real")
        by = self.node("const", (), "real", 1 / b.value) if b.op == "const" else self.node("rcp", (b,), "real")
        return self.node("*", (a, by), "real")

    def unary(self, op: str, value: Any) -> Number:
        """`op value`, or a function of one number."""
        a = self.operand(value)
        self._has(op, a.kind)
        if op in ("neg", "abs", "~"):
            a = self.to("whole", a) if a.kind == "truth" and op != "~" else a
            return Number(self, self.node(op, (a,), a.kind))
        if op in ("floor", "ceil") and a.kind != "real":
            return Number(self, a)
        return Number(self, self.node(op, (self.to("real", a),), "real"))

    def power(self, base: Any, exponent: Any) -> Any:
        """`base ** exponent`: a few products, a square root, or by ex2."""
        if isinstance(exponent, int | float) and not isinstance(exponent, bool):
            if exponent in (1, 2, 3, 4):
                return functools.reduce(lambda x, _: self.binary("*", x, base), range(int(exponent) - 1), base)
            if exponent == 0.5:
                return self.unary("sqrt", base)
        if isinstance(base, int) and self.operand(exponent).kind == "whole":
            self.refuse("numpy has no negative powers of whole numbers; use a float", f"{base}.0 ** x")
        if isinstance(base, int | float) and base > 0:
            return self.unary("exp2", self.binary("*", exponent, math.log2(base)))
        self.refuse("`**` has no instruction; powers of a positive number work, and the exponents 0.5 and 1 to 4",
                    "np.exp2(y * np.log2(x))")  # fmt: skip

    def tanh(self, x: Any) -> Any:
        """1 - 2 / (1 + exp(2 x)), absolutely to 1.8e-7: `tanh.approx` has 11 bits."""
        part: Any = self.unary("rcp~", np.exp2(x * (2 * LOG2E)) + 1.0)
        return part * -2.0 + 1.0

    def where(self, condition: Any, a: Any, b: Any) -> Number:
        """`np.where`."""
        test = Number(self, self.operand(condition))
        test = test if test.node.kind == "truth" else self.binary("!=", test, 0)
        nodes, kind = self.alike(self.operand(a), self.operand(b))
        if kind == "truth":
            return self.binary("|", self.binary("&", test, a), self.binary("&", self.unary("~", test), b))
        return Number(self, self.node("where", (test.node, *nodes), kind))

    def load(self, table: Table, index: Any) -> Number:
        """`table[index]`; an index below 0, which a negative position gives, is 0."""
        indices = index if isinstance(index, tuple) else (index,)
        if len(indices) != table.ndim:
            has = f"`{table.name}` has {table.ndim} dimension{'s' * (table.ndim > 1)}"
            self.refuse(f"{has}, found {len(indices)} indices", table.example)
        flat: Any = None
        for n, each in enumerate(indices):
            if isinstance(each, slice) or each is None or each is Ellipsis:
                self.refuse("a slice is an array; take one element", table.example)
            kind = self.operand(each).kind
            if kind != "whole":
                found = "real" if kind == "real" else "a truth"
                self.refuse(f"an index is a whole number, this one is {found}", table.example)
            size = Number(self, self.node("number", (), "whole", f"{table.name}_{n}"))
            inside = each if isinstance(each, int) else self.binary("max", each, 0)
            flat = inside if flat is None else flat * size + inside
        made = self.given("load", (self.operand(flat),), table.kind, table.name)
        load = made.node.args[0] if table.kind == "truth" else made.node
        self.indices |= {(load, n, self.operand(each)): None for n, each in enumerate(indices)}
        return made


def _refusing(what: str, write: str) -> Callable[..., NoReturn]:
    """A method of a symbolic number or array (`{0}`) that has none."""

    def refuse(self: Any, *_: Any, **__: Any) -> NoReturn:
        tracer: Tracer = self.tracer
        tracer.refuse(what.format(self), write.format(self))

    return refuse


class Number(np.lib.mixins.NDArrayOperatorsMixin):
    """A symbolic number: what it is becomes known when the kernel runs. Its operators are numpy's functions."""

    def __init__(self, tracer: Tracer, node: Node) -> None:
        self.tracer, self.node = tracer, node

    def __repr__(self) -> str:
        return f"<{self.node.kind} number {self.node.name or self.node.value or self.node.op}>"

    if not TYPE_CHECKING:  # mypy would believe in every attribute

        def __getattr__(self, name: str) -> NoReturn:
            if name.startswith("_") or name in ("tracer", "node"):
                raise AttributeError(name)
            write = {"astype": "x    # kinds mix as in numpy"}.get(name, _CLOSE.get(name, f"np.{name}(x)"))
            self.tracer.refuse(f"a symbolic number has no `{name}`; numpy's functions take it", write)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        t = self.tracer
        if method == "__call__" and not options:
            if ufunc in _MADE_OF:
                return _MADE_OF[ufunc](*inputs)
            if ufunc in _OPERATIONS:
                op = _OPERATIONS[ufunc]
                return t.power(*inputs) if op == "**" else (t.binary if len(inputs) == 2 else t.unary)(op, *inputs)
        return t.no_function(f"np.{ufunc.__name__}" + " with options" * (ufunc in _MADE_OF or ufunc in _OPERATIONS))

    def __array_function__(self, function: Any, types: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if function is np.where and len(args) == 3 and not kwargs:
            return self.tracer.where(*args)
        if function is np.clip and len(args) + len(kwargs) == 3 and kwargs.keys() <= {"a_min", "a_max", "min", "max"}:
            x, low, high = *args, *(kwargs[name] for name in ("a_min", "min", "a_max", "max") if name in kwargs)
            x = x if high is None else np.minimum(x, high)
            return x if low is None else np.maximum(x, low)
        self.tracer.no_function(f"np.{function.__name__}")

    # -- what a symbolic number cannot do
    def __bool__(self) -> NoReturn:
        raise mistakes.truth(self.tracer.here(), HAS, _of_mod)

    def _python(self) -> NoReturn:
        site = self.tracer.here()
        word, node = site.test or ("", None)
        what, write = "Python needs a number when the kernel is built; kinds mix as in numpy", "x"
        if word == "range":
            what, write = "a Python loop runs when the kernel is built", "n * x    # in one expression"
        elif site.text.startswith(("int(", "float(")):
            inner = site.text.partition("(")[2].removesuffix(")")
            floors = site.text[0] == "i" and self.node.kind == "real"
            what, write = f"{what}: it need not be converted", f"np.floor({inner})" if floors else inner
        elif word == "index" and isinstance(node, ast.Subscript):
            what, write = _captured(ast.unparse(node.value))
        elif site.text.startswith("math."):
            what, write = "Python's mathematics works when the kernel is built", "np" + site.text.removeprefix("math")
        raise mistakes.error(site, f"{HAS}; {what}", write)

    __index__ = __int__ = __float__ = __floor__ = __ceil__ = _python

    def _refused(self, *_: Any) -> NoReturn:
        self.tracer.no_function(self.tracer.here().text.partition("(")[0].removeprefix("math."))

    __round__ = __trunc__ = _refused

    __iter__ = __len__ = _refusing("this is one number; there is nothing to iterate over", "table[h]    # of an array")
    __hash__ = _refusing(f"{HAS}; a dictionary or a set needs it when the kernel is built", "table[h]    # of an array")
    __getitem__ = _refusing("this is one number, not an array; a parameter of the function may be an array", "table[h]")

    def __format__(self, spec: str) -> str:
        if not spec:
            return repr(self)
        self.tracer.refuse(f"{HAS}; there is none to show when the kernel is built", "print(out.o)    # of the result")


class Table(np.lib.mixins.NDArrayOperatorsMixin):
    """A symbolic array, a parameter of the function: `ids[q_idx]`."""

    def __init__(self, tracer: Tracer, parameter: Parameter) -> None:
        self.tracer, self.name, self.kind, self.ndim = tracer, parameter.name, parameter.kind, parameter.ndim

    @property
    def example(self) -> str:
        """An element that could be meant."""
        indices = {1: "h", 2: "b, kv_idx", 3: "b, h, kv_idx"}.get(self.ndim, ", ".join(PLACES[: self.ndim]))
        return f"{self.name}[{indices}]"

    def __getitem__(self, index: Any) -> Number:
        return self.tracer.load(self, index)

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__"):
            raise AttributeError(name)
        name = "shape[0]" if name == "shape" else name
        self.tracer.refuse(
            f"`{self.name}.{name}` is not known when the kernel is built, which takes arrays of any size",
            f"def f(..., kv_idx, {self.name}, n): ...    # and in the call: n={self.name}.{name}",
        )

    def __len__(self) -> int:
        return int(self.__getattr__("shape[0]"))

    __array__ = __array_ufunc__ = __bool__ = __iter__ = _refusing(
        "`{0.name}` is an array; take an element of it", "{0.example}"
    )
    __setitem__ = _refusing("`{0.name}` is only read; a function changes no array", "{0.example}")


def _tanh_approx(x: Any) -> Any:
    """np.tanh with the 11 bits that `tanh.approx.f32` has; in float64 with all."""
    found = np.tanh(x)
    return np.float32(np.float16(found)) if found.dtype == np.float32 else found


_COMPARES = ("<", "<=", ">", ">=", "==", "!=")
_NONE = {
    (kind, op): (what, write.format(op))
    for kind, ops, what, write in (
        ("real", "& | ^", "takes booleans or whole numbers; one of these is a float", "(x > 0) {} (y > 0)"),
        ("real", "<< >> % //", "is for whole numbers; one of these is a float", "np.floor(x / y)"),
        ("real", "~", "inverts booleans or whole numbers; this one is a float", "x <= 0"),
        ("truth", "< <= > >=", "compares numbers; these are booleans", "a & ~b"),
        ("truth", "+", "needs numbers; these are booleans", "a | b"),
        ("truth", "-", "needs numbers; these are booleans", "a ^ b"),
    )
    for op in ops.split()
}
"""What there is not: an operator for a kind, why, and the line to write."""
_ANSWERS = {
    "truth": ("a mask_mod returns a boolean, whether the key is seen; this is a number", "return kv_idx <= q_idx"),
    "real": ("a score_mod returns a number; this is a boolean", "return np.where(seen, score, -np.inf)"),
}
"""What is said of a function that returns another kind."""
NUMPY: dict[str, Callable[..., Any]] = {
    "+": np.add, "-": np.subtract, "*": np.multiply, "/": np.true_divide, "//": np.floor_divide, "%": np.remainder,
    "&": np.bitwise_and, "|": np.bitwise_or, "^": np.bitwise_xor, "<<": np.left_shift, ">>": np.right_shift,
    "<": np.less, "<=": np.less_equal, ">": np.greater, ">=": np.greater_equal, "==": np.equal, "!=": np.not_equal,
    "neg": np.negative, "abs": np.absolute, "~": np.invert, "min": np.minimum, "max": np.maximum, "where": np.where,
    "exp2": np.exp2, "log2": np.log2, "sqrt": np.sqrt, "floor": np.floor, "ceil": np.ceil, "rcp": np.reciprocal,
    "rcp~": np.reciprocal, "tanh~": _tanh_approx,
}  # fmt: skip
"""Each operation of a graph but "real" and "load" as numpy's function."""
_OPERATIONS = {function: op for op, function in NUMPY.items()} | {np.power: "**"}
_MADE_OF: dict[Any, Callable[..., Any]] = {
    np.fmin: np.minimum, np.fmax: np.maximum, np.fabs: np.absolute, np.float_power: np.power,
    np.logical_and: np.bitwise_and, np.logical_or: np.bitwise_or, np.logical_xor: np.bitwise_xor,
    np.logical_not: np.invert, np.exp: lambda x: np.exp2(x * LOG2E), np.log: lambda x: np.log2(x) * LN2,
    np.square: lambda x: x * x, np.reciprocal: lambda x: 1.0 / x, np.tanh: lambda x: x.tracer.tanh(x),
    np.positive: lambda x: x,
}  # fmt: skip
"""Functions of numpy in terms of the operations."""


def rebinding(cls: type[Any]) -> None:
    """Makes `x += y` bind x to a new value of the class, so that a function never changes what it was given."""
    for name in "add sub mul truediv floordiv mod pow and or xor lshift rshift".split():
        setattr(cls, f"__i{name}__", getattr(cls, f"__{name}__"))


rebinding(Number)
_CLOSE = {"sum": "x + y", "max": "np.maximum(x, y)", "min": "np.minimum(x, y)", "any": "a | b", "all": "a & b",
          "round": "np.floor(x + 0.5)", "expm1": "np.exp(x) - 1", "log1p": "np.log(1 + x)", "isinf": "x == -np.inf",
          "sign": "np.where(x > 0, 1, -1)", "fmod": "x % n", "divmod": "x // n", "take": "table[h]"}  # fmt: skip
"""What to write instead of functions without PTX."""


def _captured(name: str) -> tuple[str, str]:
    """What is said of an array that is taken from around the function, and the line to write."""
    own = name.rpartition(".")[2]
    what = f"`{name}` is not a parameter of the function, so it is not one of the kernel"
    return what, f"def f(..., kv_idx, {own}): ...    # and in the call: {own}={name}"


def _explained(source: Source, wrong: Exception) -> BuildError:
    """The error of a function that failed when it was called: an array of a closure refuses a symbolic index before
    this module sees it, as `torch.where` refuses a symbolic number."""
    trace = wrong.__traceback__
    while trace is not None and trace.tb_next is not None and "numpy" not in trace.tb_next.tb_frame.f_code.co_filename:
        trace = trace.tb_next
    assert trace is not None
    site = source.at(trace.tb_frame.f_code, trace.tb_lasti)
    name = site.text.partition("[")[0]
    if isinstance(wrong, IndexError) and name.replace(".", "").isidentifier():
        return mistakes.error(site, *_captured(name))
    if isinstance(wrong, NameError) and wrong.name is not None:
        near = mistakes.closest(wrong.name, trace.tb_frame.f_code.co_varnames)
        what = f"there is no `{wrong.name}` here{mistakes.close(wrong.name, near)}"
        module = wrong.name in ("np", "numpy", "math", "torch")
        line = "import numpy as np    # its functions work on symbolic numbers" if module else _captured(wrong.name)[1]
        return mistakes.error(site, what, near[0] if near else line)
    what = f"the function cannot be called with symbolic numbers: {type(wrong).__name__}: {wrong}"
    return mistakes.error(site, what, f"np.{site.text.partition('.')[2]}" if site.text.startswith("torch.") else "")


def _of_mod(node: ast.AST | None) -> str:
    """The line of numpy for a statement or a call that asks a number for its truth value."""
    match node:
        case ast.If(test=test, body=[ast.Return(value=ast.expr() as a)], orelse=other):
            after = other[0].value if other and isinstance(other[0], ast.Return) and other[0].value else None
            otherwise = {"score": "-np.inf", "True": "False", "False": "True"}.get(ast.unparse(a), "score")
            b = ast.unparse(after) if after else otherwise
            return f"return np.where({ast.unparse(test)}, {ast.unparse(a)}, {b})"
        case ast.IfExp(test=test, body=a, orelse=b):
            return f"np.where({ast.unparse(test)}, {ast.unparse(a)}, {ast.unparse(b)})"
        case ast.Match(subject=subject, cases=cases) if all(
            isinstance(each.body[0], ast.Return) and not isinstance(each.pattern, ast.MatchOr) for each in cases
        ):
            line = "score"
            for each in reversed(cases):
                value, answer = ast.unparse(each.pattern), ast.unparse(each.body[0]).removeprefix("return ")
                equal = f"{ast.unparse(subject)} == {value}"
                line = answer if value == "_" else f"np.where({equal}, {answer}, {line})"
            return f"return {line}"
        case (
            ast.Call(func=ast.Name(id=name), args=[ast.List(elts=given) | ast.Tuple(elts=given)] | given)
            | ast.Call(func=ast.Attribute(value=ast.Call(args=[ast.List(elts=given)]), attr=name))
        ):
            join = f"np.{name}imum({{}}, {{}})".format
            return functools.reduce(join, map(ast.unparse, given))
    loops = "    # there is no loop here" * isinstance(node, ast.While)
    return f"np.where({ast.unparse(getattr(node, 'test', ast.Name('test')))}, a, b){loops}"
