"""From the graph of a traced function to PTX, and to bounds and numbers.

`Lowering` emits each node where its inputs are complete: once per kernel (`slopes[h]`), row (`ids[q_idx]`), key column
(`ids[kv_idx]`) or element. `evaluate` computes the same in numpy, `bounds` with intervals.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from ptxlab.builder import math64
from ptxlab.builder.builder import Builder
from ptxlab.builder.operators import OPCODES
from ptxlab.builder.pointer import Ptr
from ptxlab.builder.registers import Register, f64, pred, s32, u64
from ptxlab.builder.traced import NUMPY, Graph, Node

Place = tuple[Any, ...]
"""What a value belongs to: (row or None, key column or None, element or None)."""
_WORDS = {"sqrt": "sqrt.rn", "rcp": "rcp.rn", "rcp~": "rcp.approx", "exp2": "ex2.approx", "log2": "lg2.approx",
          "tanh~": "tanh.approx", "floor": "cvt.rmi.{0}", "ceil": "cvt.rpi.{0}", "real": "cvt.rn.{0}",
          "where": "selp"}  # fmt: skip
"""What an instruction is called, without the type of its operands, where the builder has no operator for it."""


class Lowering:
    """Emits the nodes of a graph, whose parameters are the kernel's `extra` ones; `real` is the type of the scores.
    `leaves(name, place, clamped)` gives the register of b, h, q_idx, kv_idx or the score at a place; clamped: as it may
    stand in an index, within the positions that exist. `per_row`: which of b, h, q_idx differ from row to row."""

    def __init__(
        self,
        k: Builder,
        graph: Graph,
        real: type[Any],
        leaves: Callable[[str, Place, bool], Any],
        per_row: Iterable[str],
    ) -> None:
        self.k, self.graph, self.real, self.leaves = k, graph, real, leaves
        self.per_row = frozenset(per_row)
        self.types: dict[str, type[Any]] = {"whole": s32, "real": real, "truth": pred}
        self.known: dict[tuple[Any, ...], Any] = {}
        sizes = (f"{p.name}_{n}" for p in graph.parameters for n in range(p.ndim))
        self.bounds = bounds(graph, dict.fromkeys(["b", "h", "kv_idx", *sizes], (0, 2.0**31)), {})
        self.uses = Counter(argument for node in graph.nodes for argument in node.args)

    def hoist(self, rows: Sequence[int]) -> None:
        """Emits what depends on no key and no score, for each of these rows."""
        for node in self.graph.nodes:
            for row in rows if node.args and not node.depends & {"score", "kv_idx"} else ():
                self.value(node, (row, None, None), self._only_indexes(node))

    def _only_indexes(self, node: Node) -> bool:
        """Whether only indices of arrays take a node: its clamped form is made with them."""
        users = [n for n in self.graph.nodes if node in n.args]
        return bool(users) and all(n.op == "load" or self._only_indexes(n) for n in users)

    def value(self, node: Node, place: Place, clamped: bool = False) -> Any:
        """The register of a node at a place, or the number of a constant."""
        row, column, element = place
        at = (
            row if node.depends & self.per_row else None,
            column if "kv_idx" in node.depends else None,
            element if "score" in node.depends else None,
        )
        if node.op == "const":
            return node.value
        if node.op == "number":
            return self.k.extra[node.value]
        clamped = clamped and bool(node.depends & {"q_idx", "kv_idx"})
        if node.op in ("score", "b", "h", "q_idx", "kv_idx"):
            return self.leaves(node.op, at, clamped)
        key = node, at, clamped
        held = self.known.get(key)
        if held is None or (isinstance(held, Register) and (not held.scope.open or held.dead is not None)):
            held = self.known[key] = self._emit(node, place, clamped)
        return held

    def _emit(self, node: Node, place: Place, clamped: bool) -> Any:
        op = node.op
        if op == "load":
            return self._load(node, place)
        if op == "+" and node.kind == "real":
            for product, other in (node.args, node.args[::-1]):
                if product.op == "*" and self.uses[product] == 1 and self._often(product) == self._often(node):
                    factors = [self.value(a, place, clamped) for a in (*product.args, other)]
                    return self._made(f"fma.rn.{self.real.ptx}", factors, node)
        values = [self.value(a, place, clamped) for a in node.args]
        if op == "max" and node.kind == "whole" and self.bounds[node.args[0]][0] >= self.bounds[node.args[1]][1]:
            return values[0]
        values = [self._operand(value, a, node) for value, a in zip(values, node.args, strict=True)]
        if op in ("//", "%"):
            return self._floored(node, *values)
        if self.real is f64 and op in ("exp2", "log2"):
            return getattr(math64, op)(self.k, values[0], node.site)
        typed = self.types[node.args[-1].kind].ptx
        word = "rcp.rn" if op == "rcp~" and self.real is f64 else _WORDS.get(op, op)
        values = [*values[1:], values[0]] if op == "where" else values
        return self._made(OPCODES.get((op, typed), f"{word.format(self.real.ptx)}.{typed}"), values, node)

    def _often(self, node: Node) -> tuple[bool, bool]:
        """Whether a node is made for each row, and for each key."""
        each = "score" in node.depends
        return bool(self.per_row) if each else bool(node.depends & self.per_row), each or "kv_idx" in node.depends

    def _made(self, opcode: str, values: Sequence[Any], node: Node) -> Any:
        cls, site = self.types[node.kind], node.site
        return self.k._emit(opcode, *values, result=cls, hint=node.name, temporary=node.name is None, site=site)

    def _step(self, node: Node, opcode: str, *values: Any, result: type[Any] = s32) -> Any:
        """An instruction on the way to a node."""
        return self.k._emit(opcode, *values, result=result, temporary=True, site=node.site)

    def _operand(self, value: Any, argument: Node, node: Node) -> Any:
        """A value as an instruction takes it: truths, and real numbers that stand alone, in registers."""
        if isinstance(value, Register):
            return value
        if argument.kind == "truth":
            return self._step(node, "setp.eq.s32", self._step(node, "mov.s32", int(value)), 1, result=pred)
        alone = len(node.args) == 1 and argument.kind == "real"
        return self._step(node, f"mov.{self.real.ptx}", value, result=self.real) if alone else value

    def _floored(self, node: Node, a: Any, b: Any) -> Any:
        """`//` and `%`, which round down, of PTX's, which round toward zero; shorter where the signs are known."""
        divides = node.op == "//"
        if isinstance(b, int) and b > 0 and b & (b - 1) == 0:
            opcode, other = ("shr.s32", b.bit_length() - 1) if divides else ("and.b32", b - 1)
            return self._made(opcode, [a, other], node)
        if all(self.bounds[argument][0] >= 0 for argument in node.args):
            return self._made(OPCODES[node.op, "s32"], [a, b], node)
        step = functools.partial(self._step, node)
        rest = step("rem.s32", a, b)
        signs = step("setp.lt.s32", step("xor.b32", rest, b), 0, result=pred)
        wrong = step("and.pred", signs, step("setp.ne.s32", rest, 0, result=pred), result=pred)
        found = step("div.s32", a, b) if divides else rest
        moved = step("sub.s32", found, 1) if divides else step("add.s32", rest, b)
        return self._made("selp.s32", [moved, found, wrong], node)

    def _load(self, node: Node, place: Place) -> Any:
        table: Ptr[Any] = self.k.extra[node.value]
        at = self.value(node.args[0], place, True)
        if isinstance(at, int):
            pointer: Any = table.moved(at * table.size)
        else:
            address = self._step(node, "mad.wide.s32", at, table.size, table.base, result=u64)
            pointer = Ptr(self.k, address, table.element)
        return self._made(f"ld.global.{self.types[node.kind].ptx}", [pointer], node)


@np.errstate(all="ignore")
def evaluate(
    graph: Graph, root: Node, leaves: Mapping[str, Any], values: Mapping[str, Any], real: Any = np.float32
) -> Any:
    """What `root` is, computed in numpy as a kernel does it: whole numbers whole, real ones in `real`. leaves: arrays
    or numbers of `score b h q_idx kv_idx` that broadcast; values: the parameters, `{name}_1` of arrays included."""
    known: dict[Node, Any] = {}
    for node in graph.of(root):
        args, kind = [known[a] for a in node.args], real if node.kind == "real" else np.int64
        if node.op in NUMPY:
            known[node] = NUMPY[node.op](*args)
        elif node.op == "const":
            known[node] = real(node.value) if node.kind == "real" else node.value
        elif node.op == "load":
            table = np.asarray(values[node.value]).reshape(-1)
            known[node] = table[np.clip(args[0], 0, max(0, table.size - 1))].astype(kind)
        else:
            found = args[0] if args else values[node.value] if node.op == "number" else leaves[node.op]
            known[node] = np.asarray(found).astype(kind)
    return known[root]


Bounds = tuple[Any, Any]
"""The least and the greatest that something can be: numbers, or arrays."""


def bounds(graph: Graph, leaves: Mapping[str, Bounds], values: Mapping[str, Any]) -> dict[Node, Bounds]:
    """Between which numbers each node is, where each leaf is between two: arrays broadcast. A truth is 0 or 1, so
    (1, 1) is always true and (0, 0) never. values: numbers and arrays; what is not known may be anything."""
    known: dict[Node, Bounds] = {}
    with np.errstate(all="ignore"):
        for node in graph.nodes:
            low, high = _bound(node, [known[a] for a in node.args], leaves, values)
            known[node] = np.where(np.isnan(low), -np.inf, low), np.where(np.isnan(high), np.inf, high)
    return known


_AT_ENDS: dict[str, Callable[..., Any]] = {
    op: NUMPY[op] for op in "+ - * / min max neg floor ceil rcp where < <= > >= & | ^ ~".split()
}
_AT_ENDS |= {
    "real": np.positive,
    "//": lambda x, y: np.floor(x / y),
    "<<": lambda x, n: x * np.exp2(n),
    ">>": lambda x, n: np.floor(x * np.exp2(-n)),
}
"""Functions that grow or fall in each operand: the least and the greatest are where the operands have theirs. `& | ^ ~`
are so of truths."""


def _bound(node: Node, args: list[Bounds], leaves: Mapping[str, Bounds], values: Mapping[str, Any]) -> Bounds:
    op, rule = node.op, _AT_ENDS.get(node.op)
    anything = (0.0, 1.0) if node.kind == "truth" else (-math.inf, math.inf)
    if op == "const" or (op == "number" and node.value in values):
        value = float(node.value if op == "const" else values[node.value])
        return value, value
    if op == "load":
        return anything if values.get(node.value) is None else _among(values[node.value], *args[0])
    if not args:
        return leaves.get(node.value if op == "number" else op, anything)
    truths = node.args[-1].kind == "truth"
    args = [
        (np.asarray(low, bool if truths else float), np.asarray(high, bool if truths else float)) for low, high in args
    ]
    (low, high), (least, most) = args[0], args[-1]
    if op == "abs":
        return np.maximum(0, np.maximum(low, -high)), np.maximum(-low, high)
    if op in ("==", "!="):
        equal, may = (low == high) & (least == most) & (low == least), (low <= most) & (least <= high)
        return (1.0 * equal, 1.0 * may) if op == "==" else (1.0 * ~may, 1.0 * ~equal)
    if op == "%":
        start = np.floor(low / least) * least
        once = (least == most) & (high < start + least)  # all of it between two multiples
        found = np.where(once, low - start, 0), np.where(once, high - start, most - 1)
        return np.where(least > 0, found[0], -np.inf), np.where(least > 0, found[1], np.inf)
    if rule is None or (op in ("&", "|", "^", "~") and not truths):
        return anything
    ends = np.broadcast_arrays(*(np.asarray(rule(*each), float) for each in itertools.product(*args)))
    known = (least > 0) | (most < 0) if op in ("/", "//", "rcp") else True
    # 0 * inf is 0 where inf stands for an unknown number; a real one can be inf, and the product NaN
    lowest, highest = (np.fmin, np.fmax) if node.kind == "whole" else (np.minimum, np.maximum)
    return np.where(known, lowest.reduce(ends), -np.inf), np.where(known, highest.reduce(ends), np.inf)


def _among(array: Any, low: Any, high: Any) -> Bounds:
    """Bounds of an array's elements from `low` to `high`, arrays of indices, which are brought into the array."""
    flat = np.append(np.asarray(array, float), (0.0, 0.0))  # a stretch ends before an element
    low, high = np.broadcast_arrays(*(np.clip(x, 0, max(0, flat.size - 3)) for x in (low, high)))
    each, back = np.unique(low * flat.size + high, return_inverse=True)
    ends = np.stack([each // flat.size, each % flat.size + 1], -1).astype(np.int64).reshape(-1)
    least, most = (function.reduceat(flat, ends)[::2] for function in (np.minimum, np.maximum))
    return least[back].reshape(low.shape), most[back].reshape(low.shape)
