"""The functions of `emulate.language.vectors` as LLVM IR."""

from __future__ import annotations

import ast
from collections.abc import Callable
from functools import partial
from typing import Any

from ptxlab.emulate.jit.translation import ir
from ptxlab.emulate.jit.translation.expressions import Expressions
from ptxlab.emulate.jit.translation.value_kinds import (
    I1,
    I8,
    I32,
    I64,
    U32,
    U64,
    VECTORS,
    Pointing,
    Val,
    is_record,
    kind_name,
    llvm_type,
)
from ptxlab.emulate.language import vectors as L
from ptxlab.emulate.language.types import ROW, Scalar, Vector, W


class Intrinsics(Expressions):
    """Expressions, and calls of the functions that every rule may use."""

    entry: ir.Builder  # at the start of the function, for what lives on the stack

    def intrinsic(self, function: Any, node: ast.Call) -> Val | None:
        made = _INTRINSICS.get(function)
        return None if made is None else made(self, node)

    # -- helpers

    def vector(self, node: ast.expr) -> Val:
        """An argument that must be lanes or a row."""
        value = self.value(node)
        if not isinstance(value.kind, Vector):
            self.fail(node, f"this is {kind_name(value.kind)}, where lanes are needed; write splat(x)")
        return value

    def words(self, node: ast.expr) -> Val:
        """An argument that must be a pointer to numbers."""
        value = self.value(node)
        if not isinstance(value.kind, Pointing) or not isinstance(value.kind.target, Scalar):
            self.fail(node, f"this is {kind_name(value.kind)}, where a pointer to numbers is needed")
        return value

    def mask(self, node: ast.expr) -> Any:
        """An argument that must be a u32."""
        return self.to(self.value(node), U32, node)

    # -- masks

    def _trailing(self, node: ast.Call) -> Val:
        zeros = self.named("llvm.cttz.i32", I32, [I32, I1])
        return Val(U32, self.b.call(zeros, [self.mask(node.args[0]), ir.Constant(I1, 0)]))

    def _highest(self, node: ast.Call) -> Val:
        zeros = self.named("llvm.ctlz.i32", I32, [I32, I1])
        leading = self.b.call(zeros, [self.mask(node.args[0]), ir.Constant(I1, 0)])
        return Val(U32, self.b.binary("sub", ir.Constant(I32, 31), leading))

    def _of_bits(self, node: ast.Call, name: str) -> Val:
        return Val(U32, self.b.call(self.named(name, I32, [I32]), [self.mask(node.args[0])]))

    def _lanes(self, node: ast.Call) -> Val:
        kind = VECTORS["boolean", W]
        return Val(kind, self.b.convert("bitcast", self.mask(node.args[0]), llvm_type(kind)))

    def _as_bits(self, node: ast.Call) -> Val:
        chosen = self.vector(node.args[0])
        if chosen.kind.element.bits != 1:
            self.fail(node, f"bits({kind_name(chosen.kind)}): compare first, as in bits(v != 0)")
        whole = self.b.convert("bitcast", chosen.ir, ir.number(chosen.kind.width))
        return Val(U32, whole if chosen.kind.width == W else self.b.convert("zext", whole, I32))

    def _any(self, node: ast.Call) -> Val:
        mask = self._as_bits(node)
        return Val(VECTORS["boolean", W].element, self.b.compare("!=", mask.ir, ir.Constant(I32, 0)))

    def _all(self, node: ast.Call) -> Val:
        chosen = self.vector(node.args[0])
        whole = self.b.convert("bitcast", chosen.ir, ir.number(chosen.kind.width))
        return Val(VECTORS["boolean", W].element, self.b.compare("==", whole, ir.Constant(whole.type, -1)))

    # -- lanes

    def _ids(self, node: ast.Call, kind: Any) -> Val:
        return Val(kind, ir.Constant(llvm_type(kind), range(kind.width)))

    def _splat(self, node: ast.Call) -> Val:
        kind = VECTORS["u64", W]
        return Val(kind, self.broadcast(self.number(node.args[0]).ir, kind))

    def _cast_lanes(self, node: ast.Call, kind: Any) -> Val:
        return self.cast(self.vector(node.args[0]), kind, node)

    def _select(self, node: ast.Call) -> Val:
        chosen, a, c = self.vector(node.args[0]), self.value(node.args[1]), self.value(node.args[2])
        x, y, kind = self.unified(a, c, node)
        if not isinstance(kind, Vector):
            self.fail(node, "select is for lanes; write `a if c else b` for numbers")
        return Val(kind, self.b.select(chosen.ir, x, y))

    def _smaller(self, node: ast.Call, *, larger: bool = False) -> Val:
        x, y, kind = self.unified(self.value(node.args[0]), self.value(node.args[1]), node)
        less = self.b.compare("<", x, y)
        return Val(kind, self.b.select(less, *((y, x) if larger else (x, y))))

    def _reduced(self, node: ast.Call, operation: str) -> Val:
        values = self.vector(node.args[0])
        element = values.ir.type.element
        name = f"llvm.vector.reduce.{operation}.v{values.kind.width}i{element.bits}"
        return Val(values.kind.element, self.b.call(self.named(name, element, [values.ir.type]), [values.ir]))

    def _extract(self, node: ast.Call) -> Val:
        values, lane = self.vector(node.args[0]), self.typed(self.value(node.args[1]), node)
        return Val(values.kind.element, self.b.extract(values.ir, lane.ir))

    def _insert(self, node: ast.Call) -> Val:
        values, lane = self.vector(node.args[0]), self.typed(self.value(node.args[1]), node)
        new = self.to(self.value(node.args[2]), values.kind.element, node)
        return Val(values.kind, self.b.insert(values.ir, new, lane.ir))

    def _following(self, node: ast.Call) -> Val:
        values = self.vector(node.args[0])
        last = values.kind.width - 1
        return Val(values.kind, self.b.shuffle(values.ir, [min(lane + 1, last) for lane in range(last + 1)]))

    def _exchanged(self, node: ast.Call) -> Val:
        values, distance = self.vector(node.args[0]), self.fixed(node.args[1])
        if not isinstance(distance, int):
            self.fail(node, "exchanged(v, distance): the distance is a constant")
        return Val(values.kind, self.b.shuffle(values.ir, [lane ^ distance for lane in range(W)]))

    def _reversed(self, node: ast.Call) -> Val:
        values = self.vector(node.args[0])
        return Val(values.kind, self.b.shuffle(values.ir, range(values.kind.width - 1, -1, -1)))

    def _distinct(self, node: ast.Call) -> Val:
        number = self.named("llvm.ctpop.i32", I32, [I32])
        return Val(U32, self.b.call(number, [self._firsts(node)]))

    def _unlike(self, node: ast.Call) -> Val:
        return Val(U32, self._firsts(node))

    def _firsts(self, node: ast.Call) -> Any:
        """The lanes of a mask whose value no lower one has: takes the lowest that is left, and those like it away."""
        values, mask = self.vector(node.args[0]), self.mask(node.args[1])
        b, none = self.b, ir.Constant(I32, 0)
        again, inside, after = (b.block(name) for name in ("lanes", "do", "done"))
        zeros = self.named("llvm.cttz.i32", I32, [I32, I1])
        before = b.here
        b.go(again)
        b.at(again)
        left, found = b.phi(I32), b.phi(I32)
        b.branch(b.compare("!=", left, none), inside, after)
        b.at(inside)
        value = b.extract(values.ir, b.call(zeros, [left, ir.Constant(I1, 1)]))
        like = b.convert("bitcast", b.compare("==", values.ir, self.broadcast(value, values.kind)), I32)
        more = b.binary("or", found, b.binary("and", left, b.negate(left)))
        rest = b.binary("and", left, b.invert(like))
        b.go(again)
        for phi, first, next_ in ((left, mask, rest), (found, none, more)):
            phi.comes(first, before)
            phi.comes(next_, inside)
        b.at(after)
        return found

    # -- memory

    def _loaded(self, node: ast.Call, width: int) -> Val:
        words = self.words(node.args[0])
        kind = self._lanes_of(words, width, node)
        return Val(kind, self.b.load(llvm_type(kind), words.ir, 1))

    def _lanes_of(self, words: Val, width: int, node: ast.Call) -> Any:
        kind = VECTORS.get((words.kind.target.name, width))
        if kind is None or words.kind.target.bits == 1:
            self.fail(node, f"there are no lanes of {words.kind.target}; cast the pointer to u32 or u64")
        return kind

    def _stored(self, node: ast.Call, width: int) -> Val:
        words = self.words(node.args[0])
        kind = self._lanes_of(words, width, node)
        self.b.store(self.to(self.value(node.args[1]), kind, node), words.ir, 1)
        return Val(None)

    def _places(self, node: ast.Call) -> tuple[Val, Any, Val]:
        """The words of a gather or scatter, the addresses of its lanes, and which lanes take part."""
        words, index = self.words(node.args[0]), self.vector(node.args[1])
        kind = self._lanes_of(words, index.kind.width, node)
        wide = self.cast(index, U64, node).ir
        element = ir.number(words.kind.target.bits)
        return Val(kind), self.b.address(words.ir, wide, element), self.vector(node.args[-1])

    def _gather(self, node: ast.Call) -> Val:
        values, places, chosen = self._places(node)
        kind, bits = llvm_type(values.kind), values.kind.element.bits
        width = values.kind.width
        name = f"llvm.masked.gather.v{width}i{bits}.v{width}p0"
        gather = self.named(name, kind, [places.type, chosen.ir.type, kind])
        zeros = ir.Constant(kind, 0)
        arguments = [places, chosen.ir, zeros]
        return Val(values.kind, self.b.call(gather, arguments))

    def _scatter(self, node: ast.Call) -> Val:
        values, places, chosen = self._places(node)
        kind, bits, width = llvm_type(values.kind), values.kind.element.bits, values.kind.width
        name = f"llvm.masked.scatter.v{width}i{bits}.v{width}p0"
        scatter = self.named(name, ir.VOID, [kind, places.type, chosen.ir.type])
        stored = self.to(self.value(node.args[2]), values.kind, node)
        self.b.call(scatter, [stored, places, chosen.ir])
        return Val(None)

    def _copy_bytes(self, node: ast.Call) -> Val:
        to, source = self.value(node.args[0]), self.value(node.args[1])
        copy = self.named("llvm.memcpy.p0.p0.i64", ir.VOID, [ir.PTR, ir.PTR, I64, I1])
        self.b.call(copy, [to.ir, source.ir, self.number(node.args[2]).ir, ir.Constant(I1, 0)])
        return Val(None)

    def _fill_bytes(self, node: ast.Call) -> Val:
        to, value = self.value(node.args[0]), self.typed(self.value(node.args[1]), node)
        octet = value.ir if value.kind.bits == 8 else self.b.convert("trunc", value.ir, I8)
        self._set(to.ir, octet, self.number(node.args[2]).ir)
        return Val(None)

    def _clear(self, node: ast.Call) -> Val:
        record = self.value(node.args[0])
        if not is_record(record.kind):
            self.fail(node, f"clear is for records; this is {kind_name(record.kind)}")
        self._set(record.ir, ir.Constant(I8, 0), ir.Constant(I64, record.kind.size))
        return Val(None)

    def _set(self, to: Any, octet: Any, size: Any) -> None:
        fill = self.named("llvm.memset.p0.i64", ir.VOID, [ir.PTR, I8, I64, I1])
        self.b.call(fill, [to, octet, size, ir.Constant(I1, 0)])

    def _local(self, node: ast.Call) -> Val:
        kind, size = self.global_value(node.args[0]), self.fixed(node.args[1])
        if not isinstance(kind, Scalar) and not is_record(kind):
            self.fail(node, "local(type, size): the type of an element, as in local(u64, 32)")
        if not isinstance(size, int):
            self.fail(node, "local(type, size): the size is a constant")
        room = self.entry.room(ir.array(I8, kind.size * size), align=64)
        self._set(room, ir.Constant(I8, 0), ir.Constant(I64, kind.size * size))
        return Val(Pointing(kind), room)

    def _atomic(self, node: ast.Call) -> Val:
        operation = node.args[0].value if isinstance(node.args[0], ast.Constant) else None
        if operation not in ("add", "sub", "and", "or", "xor", "xchg", "umin", "umax"):
            self.fail(node, 'atomic(operation, words, at, value): the operation is "add", "sub", "and", "or" ...')
        words = self.words(node.args[1])
        target = words.kind.target
        at = self.place(words, self.value(node.args[2]), node)
        value = self.to(self.value(node.args[3]), target, node)
        return Val(target, self.b.atomic(operation, at, value))


_INTRINSICS: dict[Any, Callable[[Intrinsics, ast.Call], Val]] = {
    L.first: Intrinsics._trailing,
    L.last: Intrinsics._highest,
    L.count: partial(Intrinsics._of_bits, name="llvm.ctpop.i32"),
    L.reversed_bits: partial(Intrinsics._of_bits, name="llvm.bitreverse.i32"),
    L.lanes: Intrinsics._lanes,
    L.bits: Intrinsics._as_bits,
    L.any_of: Intrinsics._any,
    L.all_of: Intrinsics._all,
    L.lane_ids: partial(Intrinsics._ids, kind=VECTORS["u32", W]),
    L.row_ids: partial(Intrinsics._ids, kind=VECTORS["u64", ROW]),
    L.splat: Intrinsics._splat,
    L.widen: partial(Intrinsics._cast_lanes, kind=U64),
    L.narrow: partial(Intrinsics._cast_lanes, kind=U32),
    L.select: Intrinsics._select,
    L.minimum: Intrinsics._smaller,
    L.maximum: partial(Intrinsics._smaller, larger=True),
    L.least: partial(Intrinsics._reduced, operation="umin"),
    L.either: partial(Intrinsics._reduced, operation="or"),
    L.extract: Intrinsics._extract,
    L.insert: Intrinsics._insert,
    L.distinct: Intrinsics._distinct,
    L.unlike: Intrinsics._unlike,
    L.following: Intrinsics._following,
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
