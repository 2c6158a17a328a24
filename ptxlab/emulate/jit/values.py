"""Values as LLVM IR: 32 lanes as one vector, or one scalar where all lanes are known to agree.

`Ops` is the pure half of the `Machine` protocol on top of it: an
operation whose operands are all uniform becomes a scalar instruction, one whose operands are all constants is computed
now (by the stepping engine's numpy lanes, so that the two engines cannot disagree about a constant).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np

from ptxlab.emulate.jit.irtext import Text, W
from ptxlab.emulate.program.lane_types import DTYPE
from ptxlab.emulate.step.lanes import NAN, Lanes

LLVM = {"i1": "i1", "i8": "i8", "i16": "i16", "i32": "i32", "i64": "i64", "f32": "float", "f64": "double"}
BITS = {"i1": 1, "i8": 8, "i16": 16, "i32": 32, "i64": 64, "f32": 32, "f64": 64}


class Value:
    """One operand. `text` is an SSA name or a literal; `lanes` is the numpy array of a constant, else None. `raw` is
    the same number before its NaN was made canonical: enough for arithmetic, where a NaN stays one. `bits`: of a
    predicate its lanes as an i32, where that is known; `nan_of`: the number of which it tells whether it is NaN."""

    __slots__ = ("_text", "bits", "lanes", "nan_of", "raw", "type", "uniform")

    def __init__(
        self, text: str, type: str, uniform: bool, lanes: np.ndarray | None = None, raw: Value | None = None
    ) -> None:
        self._text, self.type, self.uniform, self.lanes, self.raw = text, type, uniform, lanes, raw
        self.bits = ""
        self.nan_of: Value | None = None

    @property
    def text(self) -> str:
        """Its SSA name or literal."""
        return self._text

    @property
    def llvm(self) -> str:
        """The LLVM type, scalar or vector."""
        return LLVM[self.type] if self.uniform else f"<{W} x {LLVM[self.type]}>"

    def __repr__(self) -> str:
        return f"Value({self.llvm} {self.text})"


@dataclass(frozen=True)
class Address:
    """What semantics pass to `load`, `store` and `atom`: a base value and a constant byte offset."""

    base: Value
    offset: int


def literal(type: str, lane: np.ndarray) -> str:
    """One element of a constant as LLVM writes it: floats as the hexadecimal of their double, NaN payloads kept."""
    if type == "f32":
        bits = int(lane.view(np.uint32))
        if bits & 0x7F800000 == 0x7F800000:  # a conversion would quiet a signalling NaN
            return f"0x{(bits >> 31) << 63 | 0x7FF << 52 | (bits & 0x7FFFFF) << 29:016X}"
        return f"0x{int(lane.astype(np.float64).view(np.uint64)):016X}"
    if type == "f64":
        return f"0x{int(lane.view(np.uint64)):016X}"
    if type == "i1":
        return "true" if lane else "false"
    return str(int(lane))


def constant(lanes: np.ndarray, type: str) -> Value:
    """A constant: uniform when every lane holds the same bits."""
    raw = lanes.view(np.uint8).reshape(W, -1)
    if (raw == raw[0]).all():
        return Value(literal(type, lanes[0]), type, True, lanes)
    elements = ", ".join(f"{LLVM[type]} {literal(type, x)}" for x in lanes)
    return Value(f"<{elements}>", type, False, lanes)


_FOLD = Lanes()
_INTRINSIC_SUFFIX = {"float": "f32", "double": "f64"}


def _operation(name: str, word: str, result: str = "", *, rounded: bool = False) -> Callable[..., Value]:
    """A method of `Ops`: the operation `name` of a Machine is an instruction of LLVM ("icmp eq") or, with a dot in
    front, an intrinsic (".umin"). result: its type, if not that of its operands. rounded: its NaN is the canonical one,
    since the CPU's would depend on the order of the operands."""

    def method(self: Ops, *values: Value) -> Value:
        type_ = values[0].type
        folded = self._fold(name, result or type_, values)
        if folded is not None:
            return folded
        if rounded:
            values = tuple(v.raw or v for v in values)
        uniform, args = self._args(values)
        ty = self._ty(type_, uniform)
        if word[0] == ".":
            suffix = _INTRINSIC_SUFFIX.get(LLVM[type_], LLVM[type_])
            function = f"llvm{word}." + (suffix if uniform else f"v{W}{suffix}")
            text = self.t.call(ty, function, [(ty, a) for a in args])
        else:
            text = self.t.let(f"{word} {ty} {', '.join(args)}")
        out = Value(text, result or type_, uniform)
        return self._one_nan(out) if rounded else out

    return method


def _conversion(name: str, word: str) -> Callable[[Ops, str, Value], Value]:
    """A method of `Ops` that makes a value another type by an instruction of LLVM."""

    def method(self: Ops, type_: str, value: Value) -> Value:
        return value if value.type == type_ else self._convert(name, word, type_, value, type_)

    return method


def _high(name: str, widen: str) -> Callable[[Ops, Value, Value], Value]:
    """A method of `Ops`: the upper half of a product."""

    def method(self: Ops, a: Value, b: Value) -> Value:
        folded = self._fold(name, a.type, (a, b))
        if folded is not None:
            return folded
        uniform, (x, y) = self._args((a, b))
        bits = BITS[a.type]
        ty, wide = self._ty(a.type, uniform), f"i{2 * bits}" if uniform else f"<{W} x i{2 * bits}>"
        wx, wy = self.t.let(f"{widen} {ty} {x} to {wide}"), self.t.let(f"{widen} {ty} {y} to {wide}")
        product = self.t.let(f"mul {wide} {wx}, {wy}")
        shift = str(bits) if uniform else f"splat (i{2 * bits} {bits})"
        high = self.t.let(f"lshr {wide} {product}, {shift}")
        return Value(self.t.let(f"trunc {wide} {high} to {ty}"), a.type, uniform)

    return method


def _division(word: str) -> Callable[[Ops, Value, Value], Value]:
    """A method of `Ops`: a division that cannot trap. Where it would, it divides by 1 and the defined result is put in
    after."""

    def method(self: Ops, a: Value, b: Value) -> Value:
        folded = self._fold(word, a.type, (a, b))
        if folded is not None:
            return folded
        zero, one, ones = self.const(a.type, 0), self.const(a.type, 1), self.const(a.type, -1)
        by_zero = self.eq(b, zero)
        safe = self.select(by_zero, one, b)
        if word[0] == "s":
            # The minimum over -1 overflows; over 1 it gives the minimum back, and remainder 0: what is defined.
            lowest = self.const(a.type, 1 << (BITS[a.type] - 1))
            safe = self.select(self.and_(self.eq(a, lowest), self.eq(b, ones)), one, safe)
        uniform = a.uniform and safe.uniform
        x, y = (v.text if uniform else self.vector(v) for v in (a, safe))  # by a constant is not a division at all
        result = Value(self.t.let(f"{word} {self._ty(a.type, uniform)} {x}, {y}"), a.type, uniform)
        return self.select(by_zero, ones, result)

    return method


class Ops:
    """The pure operations of a Machine, written as LLVM IR into a text."""

    def __init__(self, t: Text) -> None:
        self.t = t
        self._splats: dict[str, str] = {}

    # -- shapes
    def vector(self, value: Value) -> str:
        """The value as a vector operand, without its type."""
        if not value.uniform:
            return value.text
        if value.lanes is not None:
            if value.type == "i1":
                return f"splat (i1 {value.text})"
            return f"splat ({LLVM[value.type]} {value.text})"
        found = self._splats.get(value.text)
        if found is None:
            found = self._splats[value.text] = self.t.splat(LLVM[value.type], value.text)
        return found

    def forget_splats(self) -> None:
        """At a block's start: nothing computed before is known to dominate."""
        self._splats.clear()

    @contextmanager
    def own_splats(self) -> Iterator[None]:
        """Splats made in here are forgotten at the end: their block does not dominate what follows."""
        kept = dict(self._splats)
        yield
        self._splats = kept

    def wide(self, address: Address) -> Value:
        """An address as i64."""
        base = address.base if address.base.type == "i64" else self.zext("i64", address.base)
        return self.add(base, self.const("i64", address.offset))

    def of_bits(self, bits: str) -> Value:
        """The predicate whose lanes are the bits of an i32."""
        value = Value(self.t.let(f"bitcast i32 {bits} to <{W} x i1>"), "i1", False)
        value.bits = bits
        return value

    def lane_0(self, value: Value) -> Value:
        """The value of lane 0 in all lanes."""
        if value.uniform:
            return value
        return Value(self.t.let(f"extractelement {value.llvm} {value.text}, i64 0"), value.type, True)

    def _args(self, values: tuple[Value, ...]) -> tuple[bool, list[str]]:
        if all(v.uniform for v in values):
            return True, [v.text for v in values]
        return False, [self.operand(v) for v in values]

    def operand(self, value: Value) -> str:
        """The value as a vector operand of an instruction that gains nothing from knowing a constant."""
        return self.vector(value)

    def _fold(self, operation: str, type_: str, values: tuple[Value, ...], *before: object) -> Value | None:
        if not values or any(v.lanes is None for v in values):
            return None
        with np.errstate(all="ignore"):
            lanes = getattr(_FOLD, operation)(*before, *[v.lanes for v in values])
        return constant(np.asarray(lanes, DTYPE[type_]), type_)

    def _ty(self, type_: str, uniform: bool) -> str:
        return LLVM[type_] if uniform else f"<{W} x {LLVM[type_]}>"

    def _one_nan(self, d: Value) -> Value:
        """The number with the canonical NaN for any other; where only arithmetic reads it, LLVM drops this again."""
        if d.lanes is not None:
            return d
        return Value(self.select(self.isnan(d), constant(NAN[d.type], d.type), d).text, d.type, d.uniform, raw=d)

    def _convert(self, operation: str, word: str, type_: str, value: Value, *before: object) -> Value:
        folded = self._fold(operation, type_, (value,), *before)
        if folded is not None:
            return folded
        uniform, (arg,) = self._args((value,))
        source, target = self._ty(value.type, uniform), self._ty(type_, uniform)
        return Value(self.t.let(f"{word} {source} {arg} to {target}"), type_, uniform)

    # -- constants and lanes
    def const(self, type: str, value: int | float) -> Value:
        return constant(_FOLD.const(type, value), type)

    def lane_id(self) -> Value:
        return constant(np.arange(W, dtype=np.uint32), "i32")

    # -- integers
    add, sub, mul = _operation("add", "add"), _operation("sub", "sub"), _operation("mul", "mul")
    and_, or_, xor = _operation("and_", "and"), _operation("or_", "or"), _operation("xor", "xor")
    shl, lshr, ashr = _operation("shl", "shl"), _operation("lshr", "lshr"), _operation("ashr", "ashr")
    umin, umax = _operation("umin", ".umin"), _operation("umax", ".umax")
    smin, smax = _operation("smin", ".smin"), _operation("smax", ".smax")
    popc, brev = _operation("popc", ".ctpop"), _operation("brev", ".bitreverse")
    umulh, smulh = _high("umulh", "zext"), _high("smulh", "sext")
    udiv, sdiv, urem, srem = _division("udiv"), _division("sdiv"), _division("urem"), _division("srem")

    def not_(self, a: Value) -> Value:
        return self.xor(a, self.const(a.type, -1 if a.type != "i1" else 1))

    def clz(self, a: Value) -> Value:
        folded = self._fold("clz", a.type, (a,))
        if folded is not None:
            return folded
        uniform, (arg,) = self._args((a,))
        ty = self._ty(a.type, uniform)
        name = f"llvm.ctlz.{'' if uniform else f'v{W}'}{a.type}"
        return Value(self.t.call(ty, name, [(ty, arg), ("i1", "false")]), a.type, uniform)

    # -- comparisons
    eq, ne = _operation("eq", "icmp eq", "i1"), _operation("ne", "icmp ne", "i1")
    ult, ule = _operation("ult", "icmp ult", "i1"), _operation("ule", "icmp ule", "i1")
    slt, sle = _operation("slt", "icmp slt", "i1"), _operation("sle", "icmp sle", "i1")
    feq = _operation("feq", "fcmp oeq", "i1")
    flt, fle = _operation("flt", "fcmp olt", "i1"), _operation("fle", "fcmp ole", "i1")

    def isnan(self, a: Value) -> Value:
        folded = self._fold("isnan", "i1", (a,))
        if folded is not None:
            return folded
        a = a.raw or a
        uniform, (arg,) = self._args((a,))
        zero = "0.0" if uniform else "zeroinitializer"
        test = Value(self.t.let(f"fcmp uno {self._ty(a.type, uniform)} {arg}, {zero}"), "i1", uniform)
        test.nan_of = a
        return test

    # -- floating point
    fadd, fsub = _operation("fadd", "fadd", rounded=True), _operation("fsub", "fsub", rounded=True)
    fmul, fdiv = _operation("fmul", "fmul", rounded=True), _operation("fdiv", "fdiv", rounded=True)
    fma, fsqrt = _operation("fma", ".fma", rounded=True), _operation("fsqrt", ".sqrt", rounded=True)
    fabs, fneg = _operation("fabs", ".fabs"), _operation("fneg", "fneg")
    floor, ceil = _operation("floor", ".floor"), _operation("ceil", ".ceil")
    ftrunc, rint = _operation("ftrunc", ".trunc"), _operation("rint", ".rint")

    # -- conversions
    zext, sext = _conversion("zext", "zext"), _conversion("sext", "sext")
    trunc, bitcast = _conversion("trunc", "trunc"), _conversion("bitcast", "bitcast")
    utof, stof = _conversion("utof", "uitofp"), _conversion("stof", "sitofp")
    ftou, ftos = _conversion("ftou", "fptoui"), _conversion("ftos", "fptosi")

    def fpext(self, a: Value) -> Value:
        return self._convert("fpext", "fpext", "f64", a)

    def fptrunc(self, a: Value) -> Value:
        return self._one_nan(self._convert("fptrunc", "fptrunc", "f32", a))

    def half_to_float(self, a: Value) -> Value:
        folded = self._fold("half_to_float", "f32", (a,))
        if folded is not None:
            return folded
        uniform, (arg,) = self._args((a,))
        half = "half" if uniform else f"<{W} x half>"
        bits = self.t.let(f"bitcast {self._ty('i16', uniform)} {arg} to {half}")
        return Value(self.t.let(f"fpext {half} {bits} to {self._ty('f32', uniform)}"), "f32", uniform)

    def float_to_half(self, a: Value) -> Value:
        folded = self._fold("float_to_half", "i16", (a,))
        if folded is not None:
            return folded
        uniform, (arg,) = self._args((a,))
        half = "half" if uniform else f"<{W} x half>"
        rounded = self.t.let(f"fptrunc {self._ty('f32', uniform)} {arg} to {half}")
        return Value(self.t.let(f"bitcast {half} {rounded} to {self._ty('i16', uniform)}"), "i16", uniform)

    def select(self, condition: Value, a: Value, b: Value) -> Value:
        if condition.lanes is not None and condition.uniform:
            return a if condition.lanes[0] else b
        folded = self._fold("select", a.type, (condition, a, b))
        if folded is not None:
            return folded
        if b.raw is not None and condition.nan_of is b.raw and a.lanes is not None:
            if (a.lanes.view(np.uint8) == np.full(W, NAN[b.type], DTYPE[b.type]).view(np.uint8)).all():
                return b  # as it is
        uniform, (c, x, y) = self._args((condition, a, b))
        ty = self._ty(a.type, uniform)
        return Value(self.t.let(f"select {self._ty('i1', uniform)} {c}, {ty} {x}, {ty} {y}"), a.type, uniform)
