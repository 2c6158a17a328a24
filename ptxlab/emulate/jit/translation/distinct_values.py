"""How many different values lanes have (`emulate.language.vectors.distinct`), as LLVM IR.

Numbers of 64 bits that are near one another are made shorter first. Then there are three ways, the next one where the
one before does not do:

- where no lane of the mask has less than the one before, as with a stride: the lanes at which the value changes
- where all are near one another: a bit for each value
- all pairs of lanes, 32 at once: a lane does not count if a lower one has its value
"""

from __future__ import annotations

from ptxlab.emulate.jit.translation import ir
from ptxlab.emulate.jit.translation.conversions import Conversions
from ptxlab.emulate.jit.translation.value_kinds import I1, I32, VECTORS
from ptxlab.emulate.language.types import W

ALL = ir.Constant(I32, -1)
NONE = ir.Constant(I32, 0)
NARROW = ir.vector(I32, W)


class Distinct:
    """Writes the code where the translator is."""

    def __init__(self, into: Conversions) -> None:
        self.into, self.b = into, into.b

    def count(self, values: ir.Value, mask: ir.Value) -> ir.Value:
        """The number, an i32."""
        if values.type.element is I32:
            return self._short(values, mask)
        b, kind = self.b, values.type
        near, far, after = (b.block(name) for name in ("near", "far", "after"))
        above = b.binary("sub", values, self._first(values, mask))
        above = b.binary("add", above, ir.Constant(kind, 1 << 31))
        fits = self._bits(b.compare("<", above, ir.Constant(kind, 1 << 32)))
        b.branch(b.compare("==", b.binary("or", fits, b.invert(mask)), ALL), near, far)
        b.at(near)
        short = self._short(b.convert("trunc", above, NARROW), mask), b.here
        b.go(after)
        b.at(far)
        long = self._one_by_one(values, mask), b.here
        b.go(after)
        b.at(after)
        result = b.phi(I32)
        result.comes(*short)
        result.comes(*long)
        return result

    def _short(self, values: ir.Value, mask: ir.Value) -> ir.Value:
        """Of numbers of 32 bits."""
        b = self.b
        partly, steps, near, marks, pairs, after = (
            b.block(name) for name in ("partly", "steps", "close", "marks", "pairs", "counted")
        )
        full, whole = b.compare("==", mask, ALL), b.here
        b.branch(full, steps, partly)
        b.at(partly)
        filled, part = self._filled(values, mask), b.here
        b.go(steps)
        b.at(steps)
        each = b.phi(NARROW)
        each.comes(values, whole)
        each.comes(filled, part)
        lower = self._lower(each, 1)
        ascending = self._bits(b.compare(">=", values, lower))
        simple = b.compare("==", b.binary("or", ascending, b.invert(mask)), ALL)
        some = b.convert("zext", b.compare("!=", mask, NONE), I32)
        counted = b.binary("add", self._number(self._bits(b.compare("!=", each, lower))), some)
        b.branch(simple, after, near)
        b.at(near)
        distance, close = self._distances(values, mask)
        b.branch(close, marks, pairs)
        b.at(marks)
        marked = self._marked(distance, mask)
        b.go(after)
        b.at(pairs)
        alone = self._number(self.firsts(values, mask))
        b.go(after)
        b.at(after)
        result = b.phi(I32)
        for way in ((counted, steps), (marked, marks), (alone, pairs)):
            result.comes(*way)
        return result

    def _distances(self, values: ir.Value, mask: ir.Value) -> tuple[ir.Value, ir.Value]:
        """How far each lane is above the lowest of the mask, and whether these are all less than 32."""
        b, filled = self.b, self.b.select(self._chosen(mask), values, ir.Constant(NARROW, -1))
        lowest = b.call(self.into.named(f"llvm.vector.reduce.umin.v{W}i32", I32, [NARROW]), [filled])
        distance = b.binary("sub", values, self._broadcast(lowest))
        close = self._bits(b.compare("<", distance, ir.Constant(NARROW, 32)))
        return distance, b.compare("==", b.binary("or", close, b.invert(mask)), ALL)

    def _marked(self, distance: ir.Value, mask: ir.Value) -> ir.Value:
        """How many different distances the lanes of the mask have."""
        b, marks = self.b, self.b.binary("shl", ir.Constant(NARROW, 1), distance)
        chosen = b.select(self._chosen(mask), marks, ir.Constant(NARROW, 0))
        return self._number(b.call(self.into.named(f"llvm.vector.reduce.or.v{W}i32", I32, [NARROW]), [chosen]))

    def firsts(self, values: ir.Value, mask: ir.Value) -> ir.Value:
        """The lanes of the mask whose value no lower one has, an i32; of numbers of 32 bits. Each lane is compared with
        those up to 16 above it, lane 0 being above lane 31; one that is not in the mask has the first one's value."""
        b = self.b
        double: ir.Value = NONE
        each = b.select(self._chosen(mask), values, self._first(values, mask))
        for distance in range(1, W // 2 + 1):
            higher = b.shuffle(each, [(lane + distance) % W for lane in range(W)])
            same = self._bits(b.compare("==", each, higher))
            above = b.binary("shl", same, ir.Constant(I32, distance))
            around = b.binary("and", same, ir.Constant(I32, -1 << W - distance))
            double = b.binary("or", double, b.binary("or", above, around))
        lowest = b.binary("and", mask, b.negate(mask))  # which those below it may seem to have been before
        return b.binary("or", b.binary("and", b.invert(double), mask), lowest)

    def _one_by_one(self, values: ir.Value, mask: ir.Value) -> ir.Value:
        """Counts the first and the last remaining lane, and removes all lanes with their values."""
        b = self.b
        again, inside, after = (b.block(name) for name in ("lanes", "do", "done"))
        before = b.here
        b.go(again)
        b.at(again)
        left, found = b.phi(I32), b.phi(I32)
        b.branch(b.compare("!=", left, NONE), inside, after)
        b.at(inside)
        sides = [self.into.named(f"llvm.{name}.i32", I32, [I32, I1]) for name in ("cttz", "ctlz")]
        low, high = (b.call(side, [left, ir.Constant(I1, 1)]) for side in sides)
        one, two = b.extract(values, low), b.extract(values, b.binary("xor", high, ir.Constant(I32, W - 1)))
        same = [self._bits(b.compare("==", values, self._broadcast(v))) for v in (one, two)]
        rest = b.binary("and", left, b.invert(b.binary("or", *same)))
        unlike = b.convert("zext", b.compare("!=", one, two), I32)
        more = b.binary("add", b.binary("add", found, ir.Constant(I32, 1)), unlike)
        b.go(again)
        for phi, first, next_ in ((left, mask, rest), (found, NONE, more)):
            phi.comes(first, before)
            phi.comes(next_, inside)
        b.at(after)
        return found

    def _lower(self, values: ir.Value, distance: int) -> ir.Value:
        """Each lane's neighbour so far below; the lowest lanes have their own values."""
        return self.b.shuffle(values, [lane - distance if lane >= distance else lane for lane in range(W)])

    def _filled(self, values: ir.Value, mask: ir.Value) -> ir.Value:
        """Lanes that are not in the mask get the largest value of those below that are, or that of the first lane."""
        found = self.b.select(self._chosen(mask), values, self._first(values, mask))
        for distance in (1, 2, 4, 8, 16):
            lower = self._lower(found, distance)
            found = self.b.select(self.b.compare(">", lower, found), lower, found)
        return found

    def _first(self, values: ir.Value, mask: ir.Value) -> ir.Value:
        """The value of the first lane of the mask, in all lanes."""
        zeros = self.into.named("llvm.cttz.i32", I32, [I32, I1])
        number = self.b.binary("and", self.b.call(zeros, [mask, ir.Constant(I1, 0)]), ir.Constant(I32, W - 1))
        return self._broadcast(self.b.extract(values, number))

    def _broadcast(self, value: ir.Value) -> ir.Value:
        spread: ir.Value = self.into.broadcast(value, VECTORS[f"u{value.type.bits}", W])
        return spread

    def _chosen(self, mask: ir.Value) -> ir.Value:
        return self.b.convert("bitcast", mask, ir.vector(I1, W))

    def _bits(self, chosen: ir.Value) -> ir.Value:
        return self.b.convert("bitcast", chosen, I32)

    def _number(self, mask: ir.Value) -> ir.Value:
        return self.b.call(self.into.named("llvm.ctpop.i32", I32, [I32]), [mask])
