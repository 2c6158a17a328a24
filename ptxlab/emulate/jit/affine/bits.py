"""Operations on the bits of affine values: where base and steps have no bit in common, or a bound is known."""

from __future__ import annotations

from collections.abc import Callable

from ptxlab.emulate.jit.affine.forms import MOST, form_of, low_zeros, no_more
from ptxlab.emulate.jit.affine.values import Affine, AffineOps
from ptxlab.emulate.jit.llvm.values import BITS, Value


class AffineBits(AffineOps):
    """`AffineOps` with `and`, `or`, `xor` and shifts to the right."""

    def and_(self, a: Value, b: Value) -> Value:
        for value, by in ((a, b), (b, a)):
            if _no_bit(value, by):  # numba asks for the sign of each index
                return self.const(a.type, 0)
            if isinstance(value, Affine) and value.form.disjoint and by.uniform and by.lanes is not None:
                mask, form = int(by.lanes[0]), value.form
                zeros, steps = max(form.zeros, low_zeros(mask)), [step & mask for step in form.steps]
                if mask >> form.zeros == 0:  # `tid & 31`
                    return self.numbers(a.type, steps)
                same = ~mask % (1 << BITS[a.type]) >> form.zeros == 0  # `tid & -32`
                most = min(form.most, mask % (1 << BITS[a.type]))
                base = value.base if same else super().and_(value.base, by)
                found = self.made(form_of(a.type, steps, zeros, most=most), base)
                if found is not None:
                    return found
        return super().and_(a, b)

    def or_(self, a: Value, b: Value) -> Value:
        for value, by in ((a, b), (b, a)):
            value = value if by.lanes is not None else self._apart(value)
            if isinstance(value, Affine) and value.form.disjoint and by.uniform:
                form, known = value.form, self._known(by)
                zeros = min(form.zeros, known.zeros)
                bits = int(by.lanes[0]) if by.lanes is not None else -1 << zeros
                if not any(step & bits for step in form.steps):
                    found = form_of(a.type, list(form.steps), zeros, most=no_more(a.type, form.most + known.most))
                    return self.made(found, super().or_(value.base, by)) or super().or_(a, b)
            if isinstance(value, Affine) and by.uniform and self._known(by).most >> value.form.common_zeros == 0:
                return self.add(value, by)  # nvcc's way to add 32 to the bytes of `x + 256 * tid`
        return super().or_(a, b)

    def xor(self, a: Value, b: Value) -> Value:
        """Of a sorting network's `t ^ j` the lanes are a row in another order, or that of another warp."""
        for value, by in ((a, b), (b, a)):
            if isinstance(value, Affine) and value.form.disjoint and by.uniform:
                form, known = value.form, self._known(by)
                flipped = (1 << form.high.bit_length()) - 1  # bits that steps may have, of which the base has none
                if by.lanes is None and flipped >> known.zeros:
                    continue
                flipped &= int(by.lanes[0]) if by.lanes is not None else 0
                steps, bits = (
                    [(step ^ flipped) - flipped for step in form.steps],
                    max(form.most, known.most).bit_length(),
                )
                most = no_more(a.type, (1 << bits) - 1)
                found = form_of(a.type, steps, min(form.zeros, known.zeros), most=most)
                return self.made(found, super().xor(value.base, by)) or super().xor(a, b)
        return super().xor(a, b)

    def lshr(self, a: Value, b: Value) -> Value:
        return self._shifted(a, b, super().lshr) or super().lshr(a, b)

    def ashr(self, a: Value, b: Value) -> Value:
        return self._shifted(a, b, super().ashr) or super().ashr(a, b)

    def _shifted(self, a: Value, b: Value, shift: Callable[..., Value]) -> Value | None:
        if not (isinstance(a, Affine) and b.uniform and b.lanes is not None):
            return None
        by = int(b.lanes[0])
        if by >= BITS[a.type]:
            return None
        if a.form.counted and a.form.most >> by == 0:  # the sign of an index, asked for by `t / 32`
            return self.const(a.type, 0)
        if not a.form.disjoint:
            return None
        most = a.form.most >> by if a.form.counted else MOST
        form = form_of(a.type, [step >> by for step in a.form.steps], max(0, a.form.zeros - by), most=most)
        return self.made(form, shift(a.base, b))


def _no_bit(value: Value, mask: Value) -> bool:
    """Whether a mask is a constant that only has bits above those of a value."""
    if not isinstance(value, Affine) or not mask.uniform or mask.lanes is None:
        return False
    return int(mask.lanes[0]) % (1 << value.form.most.bit_length()) == 0
