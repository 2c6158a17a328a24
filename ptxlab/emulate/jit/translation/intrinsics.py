"""The functions that every rule may call, those of `emulate.language.vectors`, as LLVM IR."""

from __future__ import annotations

import ast
from collections.abc import Callable
from functools import partial
from typing import Any

from ptxlab.emulate.jit.llvm.ir_text import Text
from ptxlab.emulate.jit.translation.expressions import Expressions
from ptxlab.emulate.jit.translation.value_kinds import (
    BOOLEAN,
    U8,
    U32,
    U64,
    VECTORS,
    Pointing,
    Val,
    is_record,
    kind_name,
    literal,
    llvm_type,
)
from ptxlab.emulate.language import vectors as L
from ptxlab.emulate.language.types import ROW, Scalar, Vector, W


class Intrinsics(Expressions):
    """Expressions, and calls of the functions that every rule may use."""

    entry: Text  # at the start of the function, for what lives on the stack

    def intrinsic(self, function: Any, node: ast.Call) -> Val | None:
        made = _INTRINSICS.get(function)
        return None if made is None else made(self, node)

    # -- helpers

    def vector(self, node: ast.expr) -> Val:
        value = self.value(node)
        if not isinstance(value.kind, Vector):
            self.fail(node, f"this is {kind_name(value.kind)}, where lanes are needed; write splat(x)")
        return value

    def words(self, node: ast.expr) -> Val:
        value = self.value(node)
        if not isinstance(value.kind, Pointing) or not isinstance(value.kind.target, Scalar):
            self.fail(node, f"this is {kind_name(value.kind)}, where a pointer to numbers is needed")
        return value

    def mask(self, node: ast.expr) -> str:
        return self.to(self.value(node), U32, node)

    # -- masks

    def lowest(self, mask: str) -> str:
        """The lowest lane of a mask; 32 if it is empty."""
        return self.t.call("i32", "llvm.cttz.i32", [("i32", mask), ("i1", "false")])

    def _first(self, node: ast.Call) -> Val:
        return Val(U32, self.lowest(self.mask(node.args[0])))

    def _last(self, node: ast.Call) -> Val:
        leading = self.t.call("i32", "llvm.ctlz.i32", [("i32", self.mask(node.args[0])), ("i1", "false")])
        return Val(U32, self.t.sub("i32", 31, leading))

    def _of_bits(self, node: ast.Call, name: str) -> Val:
        return Val(U32, self.t.call("i32", f"llvm.{name}.i32", [("i32", self.mask(node.args[0]))]))

    def _lanes(self, node: ast.Call) -> Val:
        kind = VECTORS["boolean", W]
        return Val(kind, self.t.bitcast("i32", self.mask(node.args[0]), llvm_type(kind)))

    def _bits(self, node: ast.Call) -> Val:
        chosen = self.vector(node.args[0])
        if chosen.kind.element.bits != 1:
            self.fail(node, f"bits({kind_name(chosen.kind)}): compare first, as in bits(v != 0)")
        whole = self.t.bitcast(chosen.type, chosen.text, f"i{chosen.kind.width}")
        return Val(U32, whole if chosen.kind.width == W else self.t.zext(f"i{chosen.kind.width}", whole, "i32"))

    def _any(self, node: ast.Call) -> Val:
        return Val(BOOLEAN, self.t.ne("i32", self._bits(node).text, 0))

    def _all(self, node: ast.Call) -> Val:
        chosen = self.vector(node.args[0])
        whole = f"i{chosen.kind.width}"
        return Val(BOOLEAN, self.t.eq(whole, self.t.bitcast(chosen.type, chosen.text, whole), -1))

    # -- lanes

    def _ids(self, node: ast.Call, kind: Any) -> Val:
        element = llvm_type(kind.element)
        return Val(kind, f"<{', '.join(f'{element} {lane}' for lane in range(kind.width))}>")

    def _splat(self, node: ast.Call) -> Val:
        kind = VECTORS["u64", W]
        return Val(kind, self.broadcast(self.number(node.args[0]).text, kind))

    def _cast_lanes(self, node: ast.Call, kind: Any) -> Val:
        return self.cast(self.vector(node.args[0]), kind, node)

    def _select(self, node: ast.Call) -> Val:
        chosen, a, c = self.vector(node.args[0]), self.value(node.args[1]), self.value(node.args[2])
        x, y, kind = self.unified(a, c, node)
        if not isinstance(kind, Vector):
            self.fail(node, "select is for lanes; write `a if c else b` for numbers")
        return Val(kind, self.t.select(chosen.text, llvm_type(kind), x, y, of=chosen.type))

    def _extreme(self, node: ast.Call, *, larger: bool) -> Val:
        found, *others = map(self.value, node.args)
        for other in others:
            x, y, kind = self.unified(found, other, node)
            less, chosen = self.compared("lt", kind, x, y), (y, x) if larger else (x, y)
            found = Val(kind, self.t.select(less.text, llvm_type(kind), *chosen, of=less.type))
        return found

    def _reduced(self, node: ast.Call, operation: str) -> Val:
        values = self.vector(node.args[0])
        element = values.kind.element
        name = f"llvm.vector.reduce.{operation}.v{values.kind.width}i{element.bits}"
        return Val(element, self.t.call(llvm_type(element), name, [(values.type, values.text)]))

    def _extract(self, node: ast.Call) -> Val:
        values, lane = self.vector(node.args[0]), self.number(node.args[1])
        return Val(values.kind.element, self.t.extract(values.type, values.text, lane.text))

    def _insert(self, node: ast.Call) -> Val:
        values, lane = self.vector(node.args[0]), self.number(node.args[1])
        element = values.kind.element
        new = self.to(self.value(node.args[2]), element, node)
        return Val(values.kind, self.t.insert(values.type, values.text, llvm_type(element), new, lane.text))

    def _exchanged(self, node: ast.Call) -> Val:
        values, distance = self.vector(node.args[0]), self.fixed(node.args[1])
        if not isinstance(distance, int):
            self.fail(node, "exchanged(v, distance): the distance is a constant")
        return Val(values.kind, self.t.shuffle(values.type, values.text, [lane ^ distance for lane in range(W)]))

    def _reversed(self, node: ast.Call) -> Val:
        values = self.vector(node.args[0])
        return Val(values.kind, self.t.shuffle(values.type, values.text, range(values.kind.width - 1, -1, -1)))

    def _distinct(self, node: ast.Call) -> Val:
        return Val(U32, self.t.call("i32", "llvm.ctpop.i32", [("i32", self._unlike(node).text)]))

    def _unlike(self, node: ast.Call) -> Val:
        """A loop: the lowest lane left in the mask is one of them, and all lanes with its value leave the mask."""
        values, mask, t = self.vector(node.args[0]), self.mask(node.args[1]), self.t
        again, inside, after = (t.label(name) for name in ("lanes", "do", "done"))
        before, rest, more = t.here, t.name(), t.name()
        t.go(again)
        t.at(again)
        left = t.phi("i32", (mask, before), (rest, inside))
        found = t.phi("i32", (0, before), (more, inside))
        t.branch(t.ne("i32", left, 0), inside, after)
        t.at(inside)
        value = t.extract(values.type, values.text, self.lowest(left), by="i32")
        like = t.eq(values.type, values.text, self.broadcast(value, values.kind))
        t.or_("i32", found, t.and_("i32", left, t.sub("i32", 0, left)), name=more)
        others = t.xor("i32", t.bitcast(f"<{W} x i1>", like, "i32"), -1)
        t.and_("i32", left, others, name=rest)
        t.go(again)
        t.at(after)
        return Val(U32, found)

    # -- memory

    def _lanes_of(self, words: Val, width: int, node: ast.Call) -> Any:
        kind = VECTORS.get((words.kind.target.name, width))
        if kind is None or words.kind.target.bits == 1:
            self.fail(node, f"there are no lanes of {words.kind.target}; cast the pointer to u32 or u64")
        return kind

    def _loaded(self, node: ast.Call, width: int) -> Val:
        words = self.words(node.args[0])
        kind = self._lanes_of(words, width, node)
        return Val(kind, self.t.load(llvm_type(kind), words.text, align=1))

    def _stored(self, node: ast.Call, width: int) -> Val:
        words = self.words(node.args[0])
        kind = self._lanes_of(words, width, node)
        self.t.store(llvm_type(kind), self.to(self.value(node.args[1]), kind, node), words.text, align=1)
        return Val(None)

    def _places(self, node: ast.Call) -> tuple[Any, str, str]:
        """The kind of the values of a gather or scatter, the addresses of its lanes, and which lanes take part."""
        words, index = self.words(node.args[0]), self.vector(node.args[1])
        kind = self._lanes_of(words, index.kind.width, node)
        wide = self.cast(index, U64, node)
        at = self.t.element(llvm_type(kind.element), words.text, wide.text, by=wide.type)
        return kind, at, self.vector(node.args[-1]).text

    def _gather(self, node: ast.Call) -> Val:
        kind, places, chosen = self._places(node)
        element, zeros = llvm_type(kind.element), literal(kind, 0)
        return Val(kind, self.t.gather(element, 1, places, chosen, zeros, kind.width))

    def _scatter(self, node: ast.Call) -> Val:
        kind, places, chosen = self._places(node)
        stored = self.to(self.value(node.args[2]), kind, node)
        self.t.scatter(llvm_type(kind.element), 1, stored, places, chosen, kind.width)
        return Val(None)

    def _copy_bytes(self, node: ast.Call) -> Val:
        to, source = self.value(node.args[0]), self.value(node.args[1])
        given = [("ptr", to.text), ("ptr", source.text), ("i64", self.number(node.args[2]).text), ("i1", "false")]
        self.t.call("void", "llvm.memcpy.p0.p0.i64", given)
        return Val(None)

    def _fill_bytes(self, node: ast.Call) -> Val:
        to, value = self.value(node.args[0]), self.typed(self.value(node.args[1]), node)
        self.t.fill(to.text, self.resized(value, U8), self.number(node.args[2]).text)
        return Val(None)

    def _clear(self, node: ast.Call) -> Val:
        record = self.value(node.args[0])
        if not is_record(record.kind):
            self.fail(node, f"clear is for records; this is {kind_name(record.kind)}")
        self.t.fill(record.text, 0, record.kind.size)
        return Val(None)

    def _local(self, node: ast.Call) -> Val:
        kind, size = self.global_value(node.args[0]), self.fixed(node.args[1])
        if not isinstance(kind, Scalar) and not is_record(kind):
            self.fail(node, "local(type, size): the type of an element, as in local(u64, 32)")
        if not isinstance(size, int):
            self.fail(node, "local(type, size): the size is a constant")
        room = self.entry.alloca(f"[{kind.size * size} x i8]", align=64)
        self.t.fill(room, 0, kind.size * size)
        return Val(Pointing(kind), room)

    def _atomic(self, node: ast.Call) -> Val:
        operation = node.args[0].value if isinstance(node.args[0], ast.Constant) else None
        if operation not in ("add", "sub", "and", "or", "xor", "xchg", "umin", "umax"):
            self.fail(node, 'atomic(operation, words, at, value): the operation is "add", "sub", "and", "or" ...')
        words = self.words(node.args[1])
        target = words.kind.target
        at = self.place(words, self.value(node.args[2]), node)
        value = self.to(self.value(node.args[3]), target, node)
        return Val(target, self.t.atomic(operation, llvm_type(target), at, value, "monotonic"))


_INTRINSICS: dict[Any, Callable[[Intrinsics, ast.Call], Val]] = {
    min: partial(Intrinsics._extreme, larger=False),
    max: partial(Intrinsics._extreme, larger=True),
    L.first: Intrinsics._first,
    L.last: Intrinsics._last,
    L.count: partial(Intrinsics._of_bits, name="ctpop"),
    L.reversed_bits: partial(Intrinsics._of_bits, name="bitreverse"),
    L.lanes: Intrinsics._lanes,
    L.bits: Intrinsics._bits,
    L.any_of: Intrinsics._any,
    L.all_of: Intrinsics._all,
    L.lane_ids: partial(Intrinsics._ids, kind=VECTORS["u32", W]),
    L.row_ids: partial(Intrinsics._ids, kind=VECTORS["u64", ROW]),
    L.splat: Intrinsics._splat,
    L.widen: partial(Intrinsics._cast_lanes, kind=U64),
    L.narrow: partial(Intrinsics._cast_lanes, kind=U32),
    L.select: Intrinsics._select,
    L.minimum: partial(Intrinsics._extreme, larger=False),
    L.maximum: partial(Intrinsics._extreme, larger=True),
    L.least: partial(Intrinsics._reduced, operation="umin"),
    L.either: partial(Intrinsics._reduced, operation="or"),
    L.extract: Intrinsics._extract,
    L.insert: Intrinsics._insert,
    L.distinct: Intrinsics._distinct,
    L.unlike: Intrinsics._unlike,
    L.exchanged: Intrinsics._exchanged,
    L.reversed_lanes: Intrinsics._reversed,
    L.load_lanes: partial(Intrinsics._loaded, width=W),
    L.load_row: partial(Intrinsics._loaded, width=ROW),
    L.store_lanes: partial(Intrinsics._stored, width=W),
    L.store_row: partial(Intrinsics._stored, width=ROW),
    L.gather: Intrinsics._gather,
    L.scatter: Intrinsics._scatter,
    L.copy_bytes: Intrinsics._copy_bytes,
    L.fill_bytes: Intrinsics._fill_bytes,
    L.clear: Intrinsics._clear,
    L.local: Intrinsics._local,
    L.atomic: Intrinsics._atomic,
}
