"""Operations on the bits of affine values: where base and steps have no bit in common."""

from __future__ import annotations

from collections.abc import Callable

from ptxlab.emulate.jit.affine.forms import form_of, low_zeros
from ptxlab.emulate.jit.affine.values import Affine, AffineOps
from ptxlab.emulate.jit.llvm.values import BITS, Value


class AffineBits(AffineOps):
    """`AffineOps` with `and`, `or`, `xor` and shifts to the right, by constants."""

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
            if bits >> form.common_zeros == 0:  # nvcc's way to add 32 to the bytes of `256 * tid`
                return self.add(value, by)
        return super().or_(a, b)

    def xor(self, a: Value, b: Value) -> Value:
        """Of a sorting network's `t ^ 16` the lanes are a row in another order, or that of another warp."""
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


def _number(value: Value) -> int | None:
    """A constant that is the same in all lanes."""
    return int(value.lanes[0]) if value.uniform and value.lanes is not None else None
