"""The pure half of the `Machine` protocol, on values as LLVM IR.

An operation whose operands are all uniform becomes a scalar instruction, one whose operands are all constants is
computed now (by the interpreter's numpy lanes, so that the two engines cannot disagree about a constant).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ptxlab.emulate.jit.llvm.ir_text import Text, W
from ptxlab.emulate.jit.llvm.values import BITS, LLVM, Address, Mask, Value, constant
from ptxlab.emulate.program.lane_types import DTYPE
from ptxlab.emulate.step.lanes import NAN, Lanes
from ptxlab.isa.machine import OptionalOperations

_FOLD = Lanes()
_INTRINSIC_SUFFIX = {"float": "f32", "double": "f64"}

EXACT = 50
"""Bits of the numbers that `by_floats` divides."""


def _operation(
    name: str, word: str, result: str = "", *, rounded: bool = False, any_nan: bool = False
) -> Callable[..., Value]:
    """A method of `Ops`: the operation `name` of a Machine is an instruction of LLVM ("icmp eq") or, with a dot in
    front, an intrinsic (".umin"). result: its type, if not that of its operands. rounded: its NaN is the canonical one,
    since the CPU's would depend on the order of the operands. any_nan: one NaN is as good as another for it."""

    def method(self: Ops, *values: Value) -> Value:
        type_ = values[0].type
        folded = self._fold(name, result or type_, values)
        if folded is not None:
            return folded
        if rounded or (any_nan and self.through):
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
        return self.one_nan(out) if rounded else out

    return method


def _moving(name: str, word: str) -> Callable[[Ops, Value], Value]:
    """A method of `Ops` whose NaN is that of its operand: of the raw number it gives the raw result."""
    moved = _operation(name, word)

    def method(self: Ops, a: Value) -> Value:
        return self.beside(moved(self, a), lambda: moved(self, a.raw or a), a)

    return method


def _bitwise(name: str, word: str) -> Callable[[Ops, Value, Value], Value]:
    """A method of `Ops` that combines bits. Predicates are combined as words of 32 bits on CPUs without mask registers,
    and where each is known as a word or uniform, as comparisons of affine registers are."""
    lane_by_lane = _operation(name, word)

    def method(self: Ops, a: Value, b: Value) -> Value:
        known = all(value.uniform or _word(value) for value in (a, b)) and bool(a.bits or b.bits)
        if not known and (self.masks or not any(isinstance(value, Mask) for value in (a, b))):
            return lane_by_lane(self, a, b)
        words = ", ".join(self.all_bits(value) for value in (a, b))
        return self.of_bits(self.t.let(f"{word} i32 {words}"))

    return method


def _is_nan(value: Value) -> bool:
    if value.lanes is None or value.type not in NAN:
        return False
    return value.lanes.tobytes() == NAN[value.type].tobytes()


def _word(value: Value) -> str:
    """The bits of a predicate where they are known, else nothing."""
    if value.lanes is not None:
        return str(int(np.packbits(value.lanes, bitorder="little").view(np.uint32)[0]))
    return value.bits


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
        product = self.t.mul(wide, wx, wy)
        shift = str(bits) if uniform else f"splat (i{2 * bits} {bits})"
        high = self.t.lshr(wide, product, shift)
        return Value(self.t.trunc(wide, high, ty), a.type, uniform)

    return method


def _division(word: str) -> Callable[[Ops, Value, Value], Value]:
    """A method of `Ops`: a division that cannot trap. Where it would, it divides by 1; the result is selected later."""

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
        return self.select(by_zero, ones, self.quotients(word, a, safe))

    return method


def by_floats(t: Text, vector: Callable[[Value], str], word: str, a: Value, b: Value, *, signed: bool) -> Value:
    """Quotients or remainders ("udiv", "srem") of 32 lanes by divisions of f64; no lane divides by 0 or overflows, all
    numbers have at most `EXACT` bits. CPUs divide no vectors of integers; LLVM would write 32 divisions.

    Numbers below 2**50 are exact as f64, and a quotient that is not an integer is at least 1 / b from the next one,
    where rounding moves it by at most a / b * 2**-53. So the quotient without its fraction is right. Where all lanes
    divide by one number, its reciprocal is a division for all of them: (a + 1/2) / b is at least 1 / 2b away from an
    integer, and two roundings move it by less.
    """
    floats = f"<{W} x double>"
    kind, ints = LLVM[a.type], f"<{W} x {LLVM[a.type]}>"
    to, back = ("sitofp", "fptosi") if signed else ("uitofp", "fptoui")
    x, y = vector(a), vector(b)
    dividend = t.let(f"{to} {ints} {x} to {floats}")
    if b.uniform:
        half = "splat (double 0.5)"
        if signed:
            half = t.call(floats, f"llvm.copysign.v{W}f64", [(floats, half), (floats, dividend)])
        reciprocal = t.fdiv("double", "1.0", t.let(f"{to} {kind} {b.text} to double"))
        more = t.fadd(floats, dividend, half)
        quotient = t.fmul(floats, more, t.splat("double", reciprocal))
    else:
        quotient = t.fdiv(floats, dividend, t.let(f"{to} {ints} {y} to {floats}"))
    found = t.let(f"{back} {floats} {quotient} to {ints}")
    if word in ("urem", "srem"):
        found = t.sub(ints, x, t.mul(ints, found, y))
    return Value(found, a.type, False)


class Ops(OptionalOperations):
    """The pure operations of a Machine, written as LLVM IR into a text."""

    masks = True
    """Whether the CPU has mask registers, so that vectors of i1 may live as long as any value."""
    through = False
    """Whether numbers keep their raw ones where they are moved, selected and compared. LLVM drops what nobody needs."""

    def __init__(self, t: Text) -> None:
        self.t = t
        self._lanes: dict[tuple[str, str], str] = {}

    # -- shapes
    def vector(self, value: Value) -> str:
        """The value as a vector operand, without its type."""
        if not value.uniform:
            return value.text
        if value.lanes is not None:
            if value.type == "i1":
                return f"splat (i1 {value.text})"
            return f"splat ({LLVM[value.type]} {value.text})"
        made = self.t.dominating
        found = made.get(value.text)
        if found is None:
            found = made[value.text] = self.t.splat(LLVM[value.type], value.text)
        return found

    def forget_splats(self) -> None:
        """At a block's start: nothing computed before is known to dominate."""
        self.t.dominating.clear()
        self._lanes.clear()

    def wide(self, address: Address) -> Value:
        """An address as i64. What is added to a register of 32 bits wraps around."""
        if address.base.type == "i64":
            return self.add(address.base, self.const("i64", address.offset))
        return self.zext("i64", self.add(address.base, self.const("i32", address.offset % (1 << 32))))

    def lanes_of(self, bits: str) -> str:
        """The bits of an i32 as a vector of i1; on CPUs without mask registers made once in each basic block."""
        found = self._lanes.get((bits, self.t.here))
        if found is None or self.masks:
            found = self._lanes[bits, self.t.here] = self.t.bitcast("i32", bits, f"<{W} x i1>")
        return found

    def of_bits(self, bits: str) -> Value:
        """The predicate whose lanes are the bits of an i32."""
        if not self.masks:
            return Mask(self.t, self.lanes_of, bits)
        value = Value(self.lanes_of(bits), "i1", False)
        value.bits = bits
        return value

    def bits_of(self, value: Value) -> str:
        return value.bits or self.t.bitcast(f"<{W} x i1>", self.vector(value), "i32")

    def all_bits(self, value: Value) -> str:
        """The lanes of a predicate that may be the same in all of them, as an i32."""
        if not value.uniform or value.lanes is not None:
            return _word(value) or self.bits_of(value)
        return self.t.sext("i1", value.text, "i32")

    def short(self, value: Value) -> Value:
        """A predicate that other basic blocks will read: its bits, on CPUs without mask registers."""
        if self.masks or value.uniform or value.bits or value.lanes is not None:
            return value
        return Mask(self.t, self.lanes_of, self.bits_of(value), value.text)

    def lane_0(self, value: Value) -> Value:
        if value.uniform:
            return value
        return Value(self.t.extract(value.llvm, value.text, 0), value.type, True)

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

    def one_nan(self, d: Value) -> Value:
        """A result of arithmetic with the canonical NaN for any other; LLVM drops this if only arithmetic reads it."""
        if d.lanes is not None:
            return d
        return self._made_canonical(self.isnan(d), constant(NAN[d.type], d.type), d)

    def _made_canonical(self, is_nan: Value, nan: Value, d: Value) -> Value:
        out = Value(self._selected(is_nan, nan, d).text, d.type, d.uniform, raw=d.raw or d)
        out.canonical = True
        return out

    def beside(self, value: Value, raw: Callable[[], Value], *given: Value) -> Value:
        """A value made by moving others, with the raw value that the same makes of their raw numbers."""
        if self.through and value.lanes is None and any(each.raw is not None for each in given):
            value.raw = raw()
        return value

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
    and_, or_, xor = _bitwise("and_", "and"), _bitwise("or_", "or"), _bitwise("xor", "xor")
    shl, lshr, ashr = _operation("shl", "shl"), _operation("lshr", "lshr"), _operation("ashr", "ashr")
    umin, umax = _operation("umin", ".umin"), _operation("umax", ".umax")
    smin, smax = _operation("smin", ".smin"), _operation("smax", ".smax")
    popc, brev = _operation("popc", ".ctpop"), _operation("brev", ".bitreverse")
    umulh, smulh = _high("umulh", "zext"), _high("smulh", "sext")
    udiv, sdiv, urem, srem = _division("udiv"), _division("sdiv"), _division("urem"), _division("srem")

    def quotients(self, word: str, a: Value, b: Value) -> Value:
        """Quotients or remainders of numbers that LLVM may divide. It divides by a constant without a division."""
        uniform = a.uniform and b.uniform
        if uniform or b.lanes is not None or a.type == "i64":
            x, y = (v.text if uniform else self.vector(v) for v in (a, b))
            return Value(self.t.let(f"{word} {self._ty(a.type, uniform)} {x}, {y}"), a.type, uniform)
        return by_floats(self.t, self.vector, word, a, b, signed=word[0] == "s")

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
    feq = _operation("feq", "fcmp oeq", "i1", any_nan=True)
    flt, fle = (_operation(name, word, "i1", any_nan=True) for name, word in (("flt", "fcmp olt"), ("fle", "fcmp ole")))

    def isnan(self, a: Value) -> Value:
        folded = self._fold("isnan", "i1", (a,))
        if folded is not None:
            return folded
        # Where `a` is needed anyway, to test its raw number would keep that one alive beside it.
        uniform, (arg,) = self._args(((a.raw or a) if self.through else a,))
        zero = "0.0" if uniform else "zeroinitializer"
        test = Value(self.t.unordered(self._ty(a.type, uniform), arg, zero), "i1", uniform)
        test.nan_of = a.raw or a
        return test

    # -- floating point
    fadd, fsub = _operation("fadd", "fadd", rounded=True), _operation("fsub", "fsub", rounded=True)
    fmul, fdiv = _operation("fmul", "fmul", rounded=True), _operation("fdiv", "fdiv", rounded=True)
    fma, fsqrt = _operation("fma", ".fma", rounded=True), _operation("fsqrt", ".sqrt", rounded=True)

    def any_nan(self, a: Value) -> Value:
        return (a.raw or a) if self.through else a

    fabs, fneg = _moving("fabs", ".fabs"), _moving("fneg", "fneg")
    floor, ceil = _operation("floor", ".floor"), _operation("ceil", ".ceil")
    ftrunc, rint = _operation("ftrunc", ".trunc"), _operation("rint", ".rint")

    # -- conversions
    zext, sext = _conversion("zext", "zext"), _conversion("sext", "sext")
    trunc = _conversion("trunc", "trunc")

    def bitcast(self, type_: str, value: Value) -> Value:
        return self.beside(self._bits(type_, value), lambda: self._bits(type_, value.raw or value), value)

    _bits = _conversion("bitcast", "bitcast")
    utof, stof = _conversion("utof", "uitofp"), _conversion("stof", "sitofp")
    ftou, ftos = _conversion("ftou", "fptoui"), _conversion("ftos", "fptosi")

    def fpext(self, a: Value) -> Value:
        return self._convert("fpext", "fpext", "f64", a)

    def fptrunc(self, a: Value) -> Value:
        return self.one_nan(self._convert("fptrunc", "fptrunc", "f32", a))

    def half_to_float(self, a: Value) -> Value:
        folded = self._fold("half_to_float", "f32", (a,))
        if folded is not None:
            return folded
        uniform, (arg,) = self._args((a,))
        half = "half" if uniform else f"<{W} x half>"
        bits = self.t.bitcast(self._ty("i16", uniform), arg, half)
        return Value(self.t.fpext(half, bits, self._ty("f32", uniform)), "f32", uniform)

    def float_to_half(self, a: Value) -> Value:
        folded = self._fold("float_to_half", "i16", (a,))
        if folded is not None:
            return folded
        uniform, (arg,) = self._args((a,))
        half = "half" if uniform else f"<{W} x half>"
        rounded = self.t.fptrunc(self._ty("f32", uniform), arg, half)
        return Value(self.t.bitcast(half, rounded, self._ty("i16", uniform)), "i16", uniform)

    def select(self, condition: Value, a: Value, b: Value) -> Value:
        if condition.lanes is not None and condition.uniform:
            return a if condition.lanes[0] else b
        folded = self._fold("select", a.type, (condition, a, b))
        if folded is not None:
            return folded
        if condition.nan_of is not None and condition.nan_of is (b.raw or b) and _is_nan(a):
            return b if b.canonical else self._made_canonical(condition, a, b)
        if a.type == "i1" and not self.masks and not (condition.uniform and a.uniform and b.uniform):
            yes, then, other = (self.all_bits(value) for value in (condition, a, b))
            held = self.t.and_("i32", yes, then)
            failed = self.t.and_("i32", self.t.xor("i32", yes, -1), other)
            return self.of_bits(self.t.or_("i32", held, failed))
        chosen = self._selected(condition, a, b)
        return self.beside(chosen, lambda: self._selected(condition, a.raw or a, b.raw or b), a, b)

    def _selected(self, condition: Value, a: Value, b: Value) -> Value:
        uniform, (c, x, y) = self._args((condition, a, b))
        ty = self._ty(a.type, uniform)
        return Value(self.t.select(c, ty, x, y, of=self._ty("i1", uniform)), a.type, uniform)
