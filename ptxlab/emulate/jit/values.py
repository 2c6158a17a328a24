"""Values as LLVM IR: 32 lanes as one vector, or one scalar where all lanes are known to agree.

`Ops` is the pure half of the `Machine` protocol on top of it: an
operation whose operands are all uniform becomes a scalar instruction, one whose operands are all constants is computed
now (by the stepping engine's numpy lanes, so that the two engines cannot disagree about a constant).
"""

from __future__ import annotations

from collections.abc import Iterator
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
    the same number before its NaN was made canonical: enough for arithmetic, where a NaN stays one."""

    __slots__ = ("lanes", "raw", "text", "type", "uniform")

    def __init__(
        self, text: str, type: str, uniform: bool, lanes: np.ndarray | None = None, raw: Value | None = None
    ) -> None:
        self.text, self.type, self.uniform, self.lanes, self.raw = text, type, uniform, lanes, raw

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
        if bits & 0x7F800000 == 0x7F800000:  # converting would make a signalling NaN quiet
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
_INT_BINARY = {
    "add": "add", "sub": "sub", "mul": "mul", "and_": "and", "or_": "or", "xor": "xor", "shl": "shl", "lshr": "lshr",
    "ashr": "ashr",
}  # fmt: skip
_FLOAT_BINARY = {"fadd": "fadd", "fsub": "fsub", "fmul": "fmul", "fdiv": "fdiv"}
_COMPARE = {
    "eq": "icmp eq", "ne": "icmp ne", "ult": "icmp ult", "ule": "icmp ule", "slt": "icmp slt", "sle": "icmp sle",
    "feq": "fcmp oeq", "flt": "fcmp olt", "fle": "fcmp ole",
}  # fmt: skip
_INTRINSIC = {
    "umin": "umin", "umax": "umax", "smin": "smin", "smax": "smax", "popc": "ctpop", "brev": "bitreverse",
    "fsqrt": "sqrt", "fabs": "fabs", "floor": "floor", "ceil": "ceil", "ftrunc": "trunc", "rint": "rint", "fma": "fma",
}  # fmt: skip
_ROUNDED = {"fadd", "fsub", "fmul", "fdiv", "fma", "fsqrt"}
"""Operations whose NaN is the canonical one: the CPU's would depend on the order of the operands."""
_CAST = {
    "zext": "zext", "sext": "sext", "trunc": "trunc", "bitcast": "bitcast", "utof": "uitofp", "stof": "sitofp",
    "ftou": "fptoui", "ftos": "fptosi",
}  # fmt: skip


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
        """Splats made in here are forgotten behind: their block does not dominate what follows."""
        kept = dict(self._splats)
        yield
        self._splats = kept

    def wide(self, address: Address) -> Value:
        """An address as i64."""
        base = address.base if address.base.type == "i64" else self.zext("i64", address.base)
        return self.add(base, self.const("i64", address.offset))

    def as_i64(self, value: Value) -> Value:
        """A number without its sign in 64 bits."""
        return value if value.type == "i64" else self.zext("i64", value)

    def lane_0(self, value: Value) -> Value:
        """The value of lane 0 in all lanes."""
        if value.uniform:
            return value
        return Value(self.t.let(f"extractelement {value.llvm} {value.text}, i64 0"), value.type, True)

    def _args(self, values: tuple[Value, ...]) -> tuple[bool, list[str]]:
        if all(v.uniform for v in values):
            return True, [v.text for v in values]
        return False, [self.vector(v) for v in values]

    def _fold(self, operation: str, type_: str, values: tuple[Value, ...], *before: object) -> Value | None:
        if not values or any(v.lanes is None for v in values):
            return None
        with np.errstate(all="ignore"):
            lanes = getattr(_FOLD, operation)(*before, *[v.lanes for v in values])
        return constant(np.asarray(lanes, DTYPE[type_]), type_)

    def _ty(self, type_: str, uniform: bool) -> str:
        return LLVM[type_] if uniform else f"<{W} x {LLVM[type_]}>"

    # -- families
    def _apply(self, operation: str, values: tuple[Value, ...]) -> Value:
        type_ = values[0].type
        result = "i1" if operation in _COMPARE else type_
        folded = self._fold(operation, result, values)
        if folded is not None:
            return folded
        if operation in _ROUNDED:
            values = tuple(v.raw or v for v in values)
        uniform, args = self._args(values)
        ty = self._ty(type_, uniform)
        if operation in _INTRINSIC:
            suffix = LLVM[type_].replace("float", "f32").replace("double", "f64")
            name = f"llvm.{_INTRINSIC[operation]}." + (suffix if uniform else f"v{W}{suffix}")
            text = self.t.call(ty, name, [(ty, a) for a in args])
        else:
            word = _INT_BINARY.get(operation) or _FLOAT_BINARY.get(operation) or _COMPARE[operation]
            text = self.t.let(f"{word} {ty} {', '.join(args)}")
        out = Value(text, result, uniform)
        return self._one_nan(out) if operation in _ROUNDED else out

    def _one_nan(self, d: Value) -> Value:
        """The number with the canonical NaN for any other; where only arithmetic reads it, LLVM drops this again."""
        if d.lanes is not None:
            return d
        return Value(self.select(self.isnan(d), constant(NAN[d.type], d.type), d).text, d.type, d.uniform, raw=d)

    def _cast(self, operation: str, type_: str, value: Value) -> Value:
        if value.type == type_:
            return value
        folded = self._fold(operation, type_, (value,), type_)
        if folded is not None:
            return folded
        uniform, (arg,) = self._args((value,))
        source, target = self._ty(value.type, uniform), self._ty(type_, uniform)
        return Value(self.t.let(f"{_CAST[operation]} {source} {arg} to {target}"), type_, uniform)

    # -- constants and lanes
    def const(self, type: str, value: int | float) -> Value:
        return constant(_FOLD.const(type, value), type)

    def lane_id(self) -> Value:
        return constant(np.arange(W, dtype=np.uint32), "i32")

    # -- integers
    def add(self, a: Value, b: Value) -> Value:
        return self._apply("add", (a, b))

    def sub(self, a: Value, b: Value) -> Value:
        return self._apply("sub", (a, b))

    def mul(self, a: Value, b: Value) -> Value:
        return self._apply("mul", (a, b))

    def and_(self, a: Value, b: Value) -> Value:
        return self._apply("and_", (a, b))

    def or_(self, a: Value, b: Value) -> Value:
        return self._apply("or_", (a, b))

    def xor(self, a: Value, b: Value) -> Value:
        return self._apply("xor", (a, b))

    def shl(self, a: Value, b: Value) -> Value:
        return self._apply("shl", (a, b))

    def lshr(self, a: Value, b: Value) -> Value:
        return self._apply("lshr", (a, b))

    def ashr(self, a: Value, b: Value) -> Value:
        return self._apply("ashr", (a, b))

    def umin(self, a: Value, b: Value) -> Value:
        return self._apply("umin", (a, b))

    def umax(self, a: Value, b: Value) -> Value:
        return self._apply("umax", (a, b))

    def smin(self, a: Value, b: Value) -> Value:
        return self._apply("smin", (a, b))

    def smax(self, a: Value, b: Value) -> Value:
        return self._apply("smax", (a, b))

    def popc(self, a: Value) -> Value:
        return self._apply("popc", (a,))

    def brev(self, a: Value) -> Value:
        return self._apply("brev", (a,))

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

    def umulh(self, a: Value, b: Value) -> Value:
        return self._high("umulh", "zext", a, b)

    def smulh(self, a: Value, b: Value) -> Value:
        return self._high("smulh", "sext", a, b)

    def _high(self, operation: str, widen: str, a: Value, b: Value) -> Value:
        folded = self._fold(operation, a.type, (a, b))
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

    def udiv(self, a: Value, b: Value) -> Value:
        return self._divide("udiv", a, b)

    def sdiv(self, a: Value, b: Value) -> Value:
        return self._divide("sdiv", a, b)

    def urem(self, a: Value, b: Value) -> Value:
        return self._divide("urem", a, b)

    def srem(self, a: Value, b: Value) -> Value:
        return self._divide("srem", a, b)

    def _divide(self, word: str, a: Value, b: Value) -> Value:
        """A division that cannot trap: where it would, it divides by 1 and the defined result is put in after."""
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
        uniform, (x, y) = self._args((a, safe))
        result = Value(self.t.let(f"{word} {self._ty(a.type, uniform)} {x}, {y}"), a.type, uniform)
        return self.select(by_zero, ones, result)

    # -- comparisons
    def eq(self, a: Value, b: Value) -> Value:
        return self._apply("eq", (a, b))

    def ne(self, a: Value, b: Value) -> Value:
        return self._apply("ne", (a, b))

    def ult(self, a: Value, b: Value) -> Value:
        return self._apply("ult", (a, b))

    def ule(self, a: Value, b: Value) -> Value:
        return self._apply("ule", (a, b))

    def slt(self, a: Value, b: Value) -> Value:
        return self._apply("slt", (a, b))

    def sle(self, a: Value, b: Value) -> Value:
        return self._apply("sle", (a, b))

    def feq(self, a: Value, b: Value) -> Value:
        return self._apply("feq", (a, b))

    def flt(self, a: Value, b: Value) -> Value:
        return self._apply("flt", (a, b))

    def fle(self, a: Value, b: Value) -> Value:
        return self._apply("fle", (a, b))

    def isnan(self, a: Value) -> Value:
        folded = self._fold("isnan", "i1", (a,))
        if folded is not None:
            return folded
        uniform, (arg,) = self._args((a,))
        zero = "0.0" if uniform else "zeroinitializer"
        return Value(self.t.let(f"fcmp uno {self._ty(a.type, uniform)} {arg}, {zero}"), "i1", uniform)

    # -- floating point
    def fadd(self, a: Value, b: Value) -> Value:
        return self._apply("fadd", (a, b))

    def fsub(self, a: Value, b: Value) -> Value:
        return self._apply("fsub", (a, b))

    def fmul(self, a: Value, b: Value) -> Value:
        return self._apply("fmul", (a, b))

    def fdiv(self, a: Value, b: Value) -> Value:
        return self._apply("fdiv", (a, b))

    def fma(self, a: Value, b: Value, c: Value) -> Value:
        return self._apply("fma", (a, b, c))

    def fsqrt(self, a: Value) -> Value:
        return self._apply("fsqrt", (a,))

    def fabs(self, a: Value) -> Value:
        return self._apply("fabs", (a,))

    def floor(self, a: Value) -> Value:
        return self._apply("floor", (a,))

    def ceil(self, a: Value) -> Value:
        return self._apply("ceil", (a,))

    def ftrunc(self, a: Value) -> Value:
        return self._apply("ftrunc", (a,))

    def rint(self, a: Value) -> Value:
        return self._apply("rint", (a,))

    def fneg(self, a: Value) -> Value:
        folded = self._fold("fneg", a.type, (a,))
        if folded is not None:
            return folded
        uniform, (arg,) = self._args((a,))
        return Value(self.t.let(f"fneg {self._ty(a.type, uniform)} {arg}"), a.type, uniform)

    # -- conversions
    def zext(self, type: str, a: Value) -> Value:
        return self._cast("zext", type, a)

    def sext(self, type: str, a: Value) -> Value:
        return self._cast("sext", type, a)

    def trunc(self, type: str, a: Value) -> Value:
        return self._cast("trunc", type, a)

    def bitcast(self, type: str, a: Value) -> Value:
        return self._cast("bitcast", type, a)

    def utof(self, type: str, a: Value) -> Value:
        return self._cast("utof", type, a)

    def stof(self, type: str, a: Value) -> Value:
        return self._cast("stof", type, a)

    def ftou(self, type: str, a: Value) -> Value:
        return self._cast("ftou", type, a)

    def ftos(self, type: str, a: Value) -> Value:
        return self._cast("ftos", type, a)

    def fpext(self, a: Value) -> Value:
        return self._float_cast("fpext", "fpext", "f64", a)

    def fptrunc(self, a: Value) -> Value:
        return self._one_nan(self._float_cast("fptrunc", "fptrunc", "f32", a))

    def _float_cast(self, operation: str, word: str, type_: str, a: Value) -> Value:
        folded = self._fold(operation, type_, (a,))
        if folded is not None:
            return folded
        uniform, (arg,) = self._args((a,))
        source, target = self._ty(a.type, uniform), self._ty(type_, uniform)
        return Value(self.t.let(f"{word} {source} {arg} to {target}"), type_, uniform)

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
        uniform, (c, x, y) = self._args((condition, a, b))
        ty = self._ty(a.type, uniform)
        return Value(self.t.let(f"select {self._ty('i1', uniform)} {c}, {ty} {x}, {ty} {y}"), a.type, uniform)
