"""Affine values: lanes that differ by constants, so that one scalar stands for all 32.

`%tid.x` is 32 numbers, but while a warp is converged it is one number and the constants 0 to 31. So is all that follows
from it by additions, and by multiplications by constants: most indices, and most addresses. Such a value is

    lane k:    base + steps[k]                           an i32 or an i64
    lane k:    base + scale * extend(inner + steps[k])   an i64 made of an i32: `mul.wide.s32`, `cvt.u64.u32`
               + beyond[k]                               and of what is added to it

with the scalars `base` and `inner`, and with `steps`, `scale` and the kind of extension as constants: its `Form`. In a
block whose rows are 32 threads long, or a multiple, `%tid.x` has the steps 0, 1, ..., 31; in one with rows of 16 it has
0 to 15 twice, and `%tid.y` has 0 sixteen times, then 1.

The second line is there because extension is not affine: 0x7fffffff + 1 in 32 bits, then `cvt.s64.s32`, is
-0x80000000. It keeps both halves of the calculation, so that the value is exact whatever the lanes hold. Where no lane
wraps around (`AffineOps.straight`, one comparison of two scalars), lanes differ by scale * steps[k].

Lanes may also differ by multiples of a scalar that is known when the kernel runs, as in `row * n`: then `times[k] *
stride` is added to `steps[k]`, with `times` as one more constant of the form.

Values of the first form are closed under addition, subtraction and multiplication by constants, since these are exact
modulo 2^32 or 2^64; to one of the second form one of the first without a stride can be added (`p = x + i * n; p[j]`),
and it can be multiplied by a constant. Where the low bits of `base` are known to be 0 and `steps` need no others
(`Form.zeros`: %tid.x begins at a multiple of 32 in each warp), base and steps do not meet in `and`, `or`, `xor` and
`shr` by constants: `tid & 31` and `tid >> 5` are affine too, the second with steps that are all 0. Anything else needs
all lanes, and makes a vector of them: `Affine.text`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ptxlab.emulate.jit.affine.forms import FARTHEST, Form, form_of, low_zeros, signed, times_of
from ptxlab.emulate.jit.llvm.ir_text import W
from ptxlab.emulate.jit.llvm.values import BITS, LLVM, Value, constant
from ptxlab.emulate.jit.llvm.wide_operations import WideOps


class Affine(Value):
    """An affine value whose lanes are not all the same. `base`, `inner` and `stride` are uniform values."""

    __slots__ = ("base", "form", "inner", "ops", "stride")

    def __init__(
        self, ops: AffineOps, form: Form, base: Value, inner: Value | None = None, stride: Value | None = None
    ) -> None:
        super().__init__("", form.type, False)
        self.ops, self.form, self.base, self.inner, self.stride = ops, form, base, inner, stride

    @property
    def text(self) -> str:
        """All lanes, as a vector."""
        return self.ops.spread(self)


class AffineOps(WideOps):
    """`Ops` that keep affine values affine, as far as `affine` is set."""

    affine = False
    ends_first = True
    """Whether a comparison looks at the least and the greatest lane before all: faster code, three times the text."""

    # -- the two representations

    def as_affine(self, value: Value) -> Affine | None:
        """A value of lanes as an affine one, if it is: a scalar and a constant are, too."""
        if isinstance(value, Affine):
            return value
        if value.type not in ("i32", "i64"):
            return None
        if value.uniform:
            zeros = 0 if value.lanes is None else min(low_zeros(int(value.lanes[0])), BITS[value.type])
            return Affine(self, Form(value.type, (0,) * W, zeros=zeros), value)
        if value.lanes is None:
            return None
        lanes = [int(lane) % (1 << BITS[value.type]) for lane in value.lanes]
        form = form_of(value.type, [lane - lanes[0] for lane in lanes], low_zeros(lanes[0]))
        return None if form is None else Affine(self, form, self.const(value.type, lanes[0]))

    def _listed_lanes(self, value: Value) -> Value:
        """A value as an affine one, if it is a number for each lane."""
        if value.uniform or value.lanes is None or not self.affine:
            return value
        return self.as_affine(value) or value

    def made(self, form: Form | None, base: Value, stride: Value | None = None) -> Value | None:
        """A value of the first form; the scalar where all lanes are the same, None where there is no such form."""
        if form is None:
            return None
        return base if form.level else Affine(self, form, base, None, stride)

    def numbers(self, type_: str, lanes: Sequence[int]) -> Value:
        return constant(np.array(lanes, np.int64).astype(f"u{BITS[type_] // 8}"), type_)

    def spread(self, value: Affine) -> str:
        """All lanes of an affine value, as a vector. It is made once in each block of LLVM's."""
        form, t = value.form, self.t
        scalars = [scalar and scalar.text for scalar in (value.base, value.inner, value.stride)]
        key = f"{t.here} {scalars} {form}"
        if key not in t.dominating:
            first = value.inner or value.base
            lanes = Value(self._splat(first), first.type, False)
            if any(form.steps):
                lanes = Value(
                    self._added(lanes.text, self._listed(form.steps, first.type), first.type), first.type, False
                )
            if value.stride is not None:
                times = self._listed(form.times, first.type)
                strides = t.mul(f"<{W} x {first.type}>", self._splat(value.stride), times)
                lanes = Value(self._added(lanes.text, strides, first.type), first.type, False)
            if value.inner is not None:
                extended = super().zext("i64", lanes) if form.extension == "zext" else super().sext("i64", lanes)
                scaled = extended if form.scale == 1 else super().mul(extended, self.const("i64", form.scale))
                lanes = Value(self._added(self._splat(value.base), scaled.text, "i64"), "i64", False)
                if form.beyond:
                    lanes = Value(self._added(lanes.text, self._listed(form.beyond, "i64"), "i64"), "i64", False)
            t.dominating[key] = lanes.text
        return t.dominating[key]

    def _listed(self, numbers: tuple[int, ...], type_: str) -> str:
        return self.numbers(type_, numbers).text

    def _splat(self, scalar: Value) -> str:
        if scalar.lanes is not None:
            return f"splat ({LLVM[scalar.type]} {scalar.text})"
        return self.t.splat(LLVM[scalar.type], scalar.text)

    def _added(self, a: str, b: str, type_: str) -> str:
        return self.t.add(f"<{W} x {LLVM[type_]}>", a, b)

    # -- scalars that decide for all lanes

    def reached(self, value: Affine, step: int) -> Value:
        """base + step, or base + scale * extend(inner + step): the value of the lanes with this step and no more."""
        if value.inner is None:
            return self._plus(value.base, step)
        at = self._plus(value.inner, step)
        wide = super().zext("i64", at) if value.form.extension == "zext" else super().sext("i64", at)
        scaled = wide if value.form.scale == 1 else super().mul(wide, self.const("i64", value.form.scale))
        return super().add(value.base, scaled)

    def _plus(self, value: Value, step: int) -> Value:
        return super().add(value, self.const(value.type, step)) if step else value

    def straight(self, value: Affine) -> Value:
        """i1: whether no lane wraps around before it is extended."""
        if value.inner is None:
            return self.const("i1", 1)
        if value.stride is not None:
            return self._straight(value, value.inner, value.stride)
        low, high = (self._plus(value.inner, step) for step in (value.form.low, value.form.high))
        return super().sle(low, high) if value.form.extension == "sext" else super().ule(low, high)

    def _straight(self, value: Affine, inner: Value, stride: Value) -> Value:
        """i1: whether, with a stride, the least and the greatest sum that are possible fit into 32 bits."""
        form, add, ult = value.form, super().add, super().ult
        extended = super().zext("i64", inner) if form.extension == "zext" else super().sext("i64", inner)
        least = self.const("i64", 0 if form.extension == "zext" else 1 << 31)  # makes the least number 0
        fits = []
        for end, step in zip(self.strides(value, super().sext("i64", stride)), (form.low, form.high), strict=True):
            fits.append(ult(add(self._plus(add(extended, end), step), least), self.const("i64", 1 << 32)))
        return super().and_(*fits)

    def strides(self, value: Affine, stride: Value) -> tuple[Value, Value]:
        """The least and the most that a stride, an i64 near 0, adds in any lane."""
        mul, times = super().mul, value.form.times
        ends = [mul(stride, self.const("i64", n)) for n in (min(times), max(times))]
        return super().smin(*ends), super().smax(*ends)

    # -- operations

    def _affine(self, *values: Value) -> list[Affine] | None:
        """The values as affine ones, if all are; None also where scalars or constants need no lanes."""
        if not self.affine or all(v.uniform for v in values) or all(v.lanes is not None for v in values):
            return None
        found = [self.as_affine(v) for v in values]
        return None if any(v is None for v in found) else [v for v in found if v is not None]

    def add(self, a: Value, b: Value) -> Value:
        return self._sum(a, b, 1) or super().add(a, b)

    def sub(self, a: Value, b: Value) -> Value:
        return self._sum(a, b, -1) or super().sub(a, b)

    def _sum(self, a: Value, b: Value, sign: int) -> Value | None:
        found = self._affine(a, b)
        if found is None:
            return None
        x, y = found
        operation = super().add if sign > 0 else super().sub
        if not x.form.extension and not y.form.extension:
            if y.stride is not None and (x.stride is not None or sign < 0):
                return None
            stride = x.stride or y.stride
            steps = [p + sign * q for p, q in zip(x.form.steps, y.form.steps, strict=True)]
            form = form_of(a.type, steps, min(x.form.zeros, y.form.zeros), x.form.times or y.form.times)
            if y.base.lanes is not None and y.form.level and not int(y.base.lanes[0]):
                return a
            if sign < 0 and stride is None and form is not None and x.base.text == y.base.text:  # `tid - (tid & -32)`
                return self.numbers(a.type, form.steps)
            return None if form is None else self.made(form, operation(x.base, y.base), stride)
        extended, other = (x, y) if x.form.extension else (y, x)
        if other.form.extension or other.form.times:
            return None
        beyond = x.form.outside, [sign * step for step in y.form.outside]
        scale = extended.form.scale if extended is x else sign * extended.form.scale
        form = extended.form.with_beyond([p + q for p, q in zip(*beyond, strict=True)], scale)
        if form is None:
            return None
        return Affine(self, form, operation(x.base, y.base), extended.inner, extended.stride)

    def not_(self, a: Value) -> Value:  # nvcc's `n - 1 - x` is `n + ~x`
        return self.sub(self.const(a.type, -1), a) if isinstance(a, Affine) else super().not_(a)

    def mul(self, a: Value, b: Value) -> Value:
        for value, by in ((a, b), (b, a)):
            if by.uniform and by.lanes is not None:
                found = self._scaled(value, signed(int(by.lanes[0]), BITS[by.type]))
            else:
                found = self._strided(value, by)
            if found is not None:
                return found
        return super().mul(a, b)

    def _strided(self, value: Value, by: Value) -> Value | None:
        """A value of the first form times a scalar that is not known when the kernel is built."""
        value = self._listed_lanes(value)
        if not isinstance(value, Affine) or value.inner is not None or value.stride is not None or not by.uniform:
            return None
        found = times_of(value.form)
        if found is None:
            return None
        form, factor = found
        stride = by if factor == 1 else super().mul(by, self.const(by.type, factor))
        return Affine(self, form, super().mul(value.base, by), None, stride)

    def shl(self, a: Value, b: Value) -> Value:
        found = None
        if b.uniform and b.lanes is not None and int(b.lanes[0]) < BITS[a.type] - 1:
            found = self._scaled(a, 1 << int(b.lanes[0]))
        return found or super().shl(a, b)

    def _scaled(self, value: Value, factor: int) -> Value | None:
        if not isinstance(value, Affine):
            return None
        base, form = super().mul(value.base, self.const(value.type, factor)), value.form
        if value.inner is None:
            zeros = form.zeros + low_zeros(factor)
            stride, times = value.stride, form.times if factor else ()
            if stride is not None:
                stride = super().mul(stride, self.const(value.type, factor))
            found = form_of(value.type, [factor * step for step in form.steps], zeros, times)
            return self.made(found, base, stride)
        scale = factor * form.scale
        if not 0 < abs(scale) <= FARTHEST:
            return None
        scaled = form.with_beyond([factor * step for step in form.outside], scale)
        return None if scaled is None else Affine(self, scaled, base, value.inner, value.stride)

    def zext(self, type_: str, value: Value) -> Value:
        return self._extended("zext", type_, value) or super().zext(type_, value)

    def sext(self, type_: str, value: Value) -> Value:
        return self._extended("sext", type_, value) or super().sext(type_, value)

    def _extended(self, extension: str, type_: str, value: Value) -> Value | None:
        if not isinstance(value, Affine) or (value.type, type_) != ("i32", "i64"):
            return None
        steps, times = value.form.steps, value.form.times
        form = Form("i64", steps, extension, 1, times)
        return Affine(self, form, self.const("i64", 0), value.base, value.stride)

    def trunc(self, type_: str, value: Value) -> Value:
        if not isinstance(value, Affine) or (value.type, type_) != ("i64", "i32") or value.stride is not None:
            return super().trunc(type_, value)
        base = super().trunc("i32", value.base)
        if value.inner is not None:
            base = super().add(base, super().mul(value.inner, self.const("i32", value.form.scale)))
        form = form_of("i32", list(value.form.lane_offsets), value.form.zeros)
        return self.made(form, base) or super().trunc(type_, value)

    def select(self, condition: Value, a: Value, b: Value) -> Value:
        found = self._affine(a, b) if condition.uniform and condition.lanes is None else None
        if found is None or found[0].form != found[1].form:
            return super().select(condition, a, b)
        (x, y), choose = found, super().select
        inner, stride = (
            choose(condition, p, q) if p is not None and q is not None else None
            for p, q in ((x.inner, y.inner), (x.stride, y.stride))
        )
        return Affine(self, x.form.common(y.form), choose(condition, x.base, y.base), inner, stride)

    # -- bits, by constants, where base and steps have none in common

    def and_(self, a: Value, b: Value) -> Value:
        for value, by in ((a, b), (b, a)):
            if isinstance(value, Affine) and value.form.disjoint and (mask := _number(by)) is not None:
                form = value.form
                zeros, steps = max(form.zeros, low_zeros(mask)), [step & mask for step in form.steps]
                if mask >> form.zeros == 0:  # `tid & 31`
                    return self.numbers(a.type, steps)
                same = ~mask % (1 << BITS[a.type]) >> form.zeros == 0  # `tid & -32`
                base = value.base if same else super().and_(value.base, by)
                found = self.made(form_of(a.type, steps, zeros), base)
                if found is not None:
                    return found
        return super().and_(a, b)

    def or_(self, a: Value, b: Value) -> Value:
        for value, by in ((a, b), (b, a)):
            if not isinstance(value, Affine) or (bits := _number(by)) is None:
                continue
            form = value.form
            if form.disjoint and not any(step & bits for step in form.steps):
                found = form_of(a.type, list(form.steps), min(form.zeros, low_zeros(bits)))
                return self.made(found, super().or_(value.base, by)) or super().or_(a, b)
        return super().or_(a, b)

    def xor(self, a: Value, b: Value) -> Value:
        """Exclusive or; in a sorting network's `t ^ 16` lanes keep the values of a warp in another order."""
        for value, by in ((a, b), (b, a)):
            if isinstance(value, Affine) and value.form.disjoint and (bits := _number(by)) is not None:
                form = value.form
                flipped = bits & ((1 << form.high.bit_length()) - 1)  # of bits that steps have, and the base has not
                steps = [(step ^ flipped) - flipped for step in form.steps]
                found = form_of(a.type, steps, min(form.zeros, low_zeros(bits)))
                return self.made(found, super().xor(value.base, by)) or super().xor(a, b)
        return super().xor(a, b)

    def lshr(self, a: Value, b: Value) -> Value:
        return self._shifted(a, b, super().lshr) or super().lshr(a, b)

    def ashr(self, a: Value, b: Value) -> Value:
        return self._shifted(a, b, super().ashr) or super().ashr(a, b)

    def _shifted(self, a: Value, b: Value, shift: Callable[..., Value]) -> Value | None:
        by = _number(b)
        if not isinstance(a, Affine) or not a.form.disjoint or by is None or by >= BITS[a.type]:
            return None
        if a.form.index and by == BITS[a.type] - 1:  # `t / 32` of an int asks for the sign of t
            return self.const(a.type, 0)
        form = form_of(a.type, [step >> by for step in a.form.steps], max(0, a.form.zeros - by))
        return self.made(form, shift(a.base, b))

    # -- comparisons

    def ult(self, a: Value, b: Value) -> Value:
        return self._compared("ult", "ule", a, b)

    def ule(self, a: Value, b: Value) -> Value:
        return self._compared("ule", "ule", a, b)

    def slt(self, a: Value, b: Value) -> Value:
        return self._compared("slt", "sle", a, b)

    def sle(self, a: Value, b: Value) -> Value:
        return self._compared("sle", "sle", a, b)

    def _compared(self, comparison: str, order: str, a: Value, b: Value) -> Value:
        """A comparison with a scalar: where it gives the same for the least and the greatest lane, all lanes agree."""
        holds: Callable[..., Value] = getattr(super(), comparison)
        ordered: Callable[..., Value] = getattr(super(), order)
        if b.lanes is None:
            a = self._listed_lanes(a)
        if a.lanes is None:
            b = self._listed_lanes(b)
        one = a if isinstance(a, Affine) else b
        other = b if one is a else a
        if not isinstance(one, Affine) or not other.uniform or not self.ends_first:
            return holds(a, b)
        if one.stride is not None or one.form.beyond:
            return holds(a, b)
        t = self.t
        ends = [self.reached(one, step) for step in one.form.ends]
        first, last = (holds(end, other) if one is a else holds(other, end) for end in ends)
        agree = super().and_(super().xor(super().xor(first, last), self.const("i1", 1)), ordered(*ends))
        if one.inner is not None:
            agree = super().and_(agree, self.straight(one))
        mixed, known = t.label("mixed"), t.label("compared")
        same = t.sext("i1", first.text, "i32")
        before = t.here
        t.branch(agree.text, known, mixed)
        t.at(mixed)
        with t.not_dominating():
            vector = holds(a, b)
            bits = t.bitcast(f"<{W} x i1>", self.vector(vector), "i32")
        end = t.here
        t.go(known)
        t.at(known)
        return self.of_bits(t.phi("i32", (same, before), (bits, end)))


def _number(value: Value) -> int | None:
    """A constant that is the same in all lanes."""
    return int(value.lanes[0]) if value.uniform and value.lanes is not None else None
