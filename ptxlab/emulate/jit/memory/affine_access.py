"""Where affine addresses lie: known when the kernel is built, up to one scalar or two, and the allocation.

What the lanes add to the first address is constant, so whether they form a row, one row for each half of the warp, one
address for each half or something else need not be found out; where lanes are a stride apart, its value tells. What is
left for each access: whether the lowest and the highest address lie in the allocation that the site knows, and whether
all lanes are active. Where they do not, or where a lane wraps around, all 32 addresses are made and looked at, as those
that are not affine.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ptxlab.emulate.jit.affine.forms import Form
from ptxlab.emulate.jit.affine.values import Affine
from ptxlab.emulate.jit.emitter.access_groups import AT_A_STRIDE, ROWS, Group
from ptxlab.emulate.jit.emitter.emitter import Emitter, Part
from ptxlab.emulate.jit.llvm.ir_text import COLD, W
from ptxlab.emulate.jit.llvm.values import Value, constant
from ptxlab.emulate.jit.memory.address_resolution import AddressResolution
from ptxlab.emulate.rules.records import (
    ANYWHERE,
    HALVES_IN_A_ROW,
    HALVES_THE_SAME,
    IN_A_ROW,
    IN_ONE_ALLOCATION,
    PARTS_OF_ROWS,
)

FAR = 1 << 40
"""A stride that makes no pattern of its own."""
LANES = tuple(range(W))

Source = tuple[str, str, str, str, str, str, str]
"""What comes from a label: where the allocation starts, its pointer, the record of writes, the pattern, the way, the
offsets, and the label."""


class Extent(NamedTuple):
    """Of the lanes of an access: the first address and the lowest, bytes from there to the highest, bytes that a stride
    adds, if there is one (i64), and what must hold for it (i1)."""

    first: Value
    lowest: Value
    beyond: Value
    stride: Value | None
    conditions: tuple[Value, ...]


def pattern_of(apart: tuple[int, ...], size: int) -> int:
    """The pattern of addresses that are so far from the first of them, of accesses of `size` bytes by all lanes."""
    halves = [[step - half[0] for step in half] for half in (apart[: W // 2], apart[W // 2 :])]
    if apart == tuple(size * k for k in range(W)):
        return IN_A_ROW
    if all(half == [size * k for k in range(W // 2)] for half in halves):
        return HALVES_IN_A_ROW
    return IN_ONE_ALLOCATION if any(step for half in halves for step in half) else HALVES_THE_SAME


def _steady(form: Form) -> bool:
    """Whether each lane is a constant behind the one before."""
    return not form.times and form.apart == tuple(form.apart[1] * k for k in LANES)


def _pattern_of_all(form: Form, size: int) -> int:
    """The pattern of the addresses of a full warp."""
    times = form.times or (0,) * W
    return pattern_of(tuple(a + n * FAR for a, n in zip(form.apart, times, strict=True)), size)


class AffineAccesses(Part):
    """The check of affine addresses."""

    def __init__(self, e: Emitter, sites: AddressResolution) -> None:
        super().__init__(e)
        self.sites = sites

    def locate(self, group: Group, at: Affine, size: int) -> bool:
        """Leaves where the addresses of a group lie; False, and nothing done, where lanes are misaligned or far off."""
        apart, t = at.form.apart, self.t
        if any(step % (1 << group.log2) for step in apart) or max(apart) - min(apart) >= 1 << 30:
            return False
        extent = self._extent(group, at)
        if self.sites.patterns.with_gaps() and _steady(at.form):
            extent = self._of_some(extent, apart[1])
        shared = self.e.code.space == "shared"
        inside = self._in_shared if shared else self._in_allocation
        start, host, shadow, good = inside(group, extent)
        fits, other, placed = (t.label(name) for name in ("fits", "other", "placed"))
        for condition in extent.conditions:
            good = t.and_("i1", good, condition.text)
        t.branch(good, fits, other, COLD)
        t.at(fits)
        group.patterns, found, way = self._patterns(group, at, extent, size)
        offsets = "" if way or group.patterns != {IN_ONE_ALLOCATION} else self._offsets(at.form, extent, start)
        group.patterns |= {ANYWHERE} if self._in_rows(at, size) else {IN_ONE_ALLOCATION, ANYWHERE}
        fits = t.here
        t.go(placed)
        t.at(other)
        with self.t.not_dominating():
            others = self._one_by_one(group, at, self._pattern_of_some(at, size), placed)
            sources = [(start, host, shadow, found, way, offsets, fits), *others]
        t.at(placed)
        start, host, shadow, found = (
            self._joined(kind, [(source[k], source[6]) for source in sources])
            for k, kind in enumerate((extent.first.type, "ptr", "i64", "i32"))
        )
        if way:
            group.way = self._joined("i32", [(source[4], source[6]) for source in sources])
        if offsets:  # the other patterns rarely need them, and make them where they do
            group.offsets = self._joined(f"<{W} x i32>", [source[5:] for source in sources])
        group.lanes, group.start, group.pointer, group.shadow, group.pattern = at, start, host, shadow, found
        off = t.sub(extent.first.type, extent.first.text, start)
        if extent.first.type == "i32":
            off = t.sext("i32", off, "i64")
        group.halves = off, self._half(at.form, extent, off)
        if not shared:
            group.reach = t.sub("i64", extent.lowest.text, start), extent.beyond.text
        if way:
            group.stride = str(apart[1]) if extent.stride is None else extent.stride.text
        if not shared:
            group.members.append((-1, 0, 0))
            self.sites.mixed.add(group.site)
        return True

    def _extent(self, group: Group, at: Affine) -> Extent:
        """From where to where the lanes go."""
        m, form = self.m, at.form
        low, high, even = min(form.apart), max(form.apart), 1 << group.log2
        first, conditions = m.reached(at, 0), []
        lowest, beyond = m.add(first, m.const(first.type, low)) if low else first, m.const("i64", high - low)
        stride = at.stride
        if stride is not None:
            wide = stride if stride.type == "i64" else m.sext("i64", stride)
            stride = wide if form.scale == 1 else m.mul(wide, m.const("i64", form.scale))
            least, most = m.strides(at, stride)
            lowest = m.add(lowest, least if first.type == "i64" else m.trunc("i32", least))
            beyond = m.add(m.sub(most, least), beyond)
            conditions.append(m.ult(m.add(stride, m.const("i64", 1 << 31)), m.const("i64", 1 << 32)))  # it is near 0
            if form.scale % even:
                conditions.append(m.eq(m.and_(stride, m.const("i64", even - 1)), m.const("i64", 0)))
        if at.inner is not None:
            conditions.append(m.straight(at))
        return Extent(first, lowest, beyond, stride, tuple(conditions))

    def _of_some(self, extent: Extent, apart: int) -> Extent:
        """From where to where the active lanes go: inactive ones may lie outside. apart: bytes from each lane to the
        next."""
        m, t = self.m, self.t
        least, most = self.active.ends()
        low = m.mul(Value(least if apart > 0 else most, "i32", True), m.const("i32", apart))
        span = m.mul(Value(t.sub("i32", most, least), "i32", True), m.const("i32", abs(apart)))
        first = extent.first
        lowest = m.add(first, low if first.type == "i32" else m.sext("i64", low))
        return extent._replace(lowest=lowest, beyond=m.zext("i64", span))

    def _in_rows(self, at: Affine, size: int) -> bool:
        """Whether full warps are likely, and access rows: then so do some lanes of the last warp of a CTA, with gaps,
        and none need to be gathered. Where a lane wraps around, each goes by itself."""
        form = at.form
        if form.times or self.e.instruments or self.sites.patterns.with_gaps():
            return False
        alone = self.e.code.space != "shared" or self.m.straight(at).lanes is not None
        return alone and pattern_of(form.apart, size) in ROWS

    def _patterns(self, group: Group, at: Affine, extent: Extent, size: int) -> tuple[frozenset[int], str, str]:
        """The patterns that there may be, the one that there is, and the way, if data may move otherwise."""
        form, in_rows = at.form, self._in_rows(at, size)
        apart, gaps = form.apart, PARTS_OF_ROWS if in_rows or self.sites.patterns.with_gaps() else IN_ONE_ALLOCATION
        pattern = _pattern_of_all(form, size)
        partial = IN_ONE_ALLOCATION
        if pattern in ROWS:  # of some lanes only: a row has gaps
            partial = PARTS_OF_ROWS if self.e.wide else gaps
        found, way = self._of_all(str(pattern), str(partial)), ""
        if pattern in ROWS and found == str(partial):
            return frozenset({partial}), found, way
        steady = form.times == LANES and not any(apart) if form.times else _steady(form)
        if pattern != IN_ONE_ALLOCATION or self.active.partly or not steady:
            return frozenset({pattern, partial}), found, way
        way = self._of_all(str(AT_A_STRIDE), str(IN_ONE_ALLOCATION))
        if extent.stride is None:
            return frozenset({IN_ONE_ALLOCATION}), found, way
        row, tight = self._of_all(str(IN_A_ROW), str(gaps)), self.t.eq("i64", extent.stride.text, size)
        found, way = (self.t.select(tight, "i32", row, other) for other in (found, way))
        return frozenset({IN_A_ROW, gaps, IN_ONE_ALLOCATION}), found, way

    def _of_all(self, whole: str, partial: str) -> str:
        """The pattern of all lanes, or of some."""
        if whole == partial:
            return partial
        all_ = self.t.eq("i32", self.active.bits, -1)
        return self.t.select(all_, "i32", whole, partial)

    def _half(self, form: Form, extent: Extent, off: str) -> str:
        """The offset of the first lane of the second half, given that of the first."""
        second = self.t.add("i64", off, form.apart[W // 2])
        if extent.stride is None:
            return second
        strides = self.m.mul(extent.stride, self.m.const("i64", form.times[W // 2]))
        return self.t.add("i64", second, strides.text)

    def _offsets(self, form: Form, extent: Extent, start: str) -> str:
        """The offsets of all lanes, a vector of i32."""
        kind, first = extent.first.type, extent.first.text
        off = self.t.sub(kind, first, start)
        if kind == "i64":
            off = self.t.trunc("i64", off, "i32")
        found = self.t.add(f"<{W} x i32>", self.t.splat("i32", off), self._vector(form.apart))
        if extent.stride is None:
            return found
        stride = self.t.splat("i32", self.t.trunc("i64", extent.stride.text, "i32"))
        return self.t.add(f"<{W} x i32>", found, self.t.mul(f"<{W} x i32>", stride, self._vector(form.times)))

    def _vector(self, numbers: tuple[int, ...]) -> str:
        """Numbers as a vector of i32."""
        return self.m.vector(constant(np.array(numbers, np.int64).astype(np.uint32), "i32"))

    def _joined(self, kind: str, sources: list[tuple[str, str]]) -> str:
        """A value that comes from several labels."""
        if len({value for value, _ in sources}) == 1:
            return sources[0][0]
        return self.t.phi(kind, *sources)

    def _in_shared(self, group: Group, extent: Extent) -> tuple[str, str, str, str]:
        """The start of shared memory, its pointer, no record of writes, and i1: whether the lowest address and the
        highest lie there."""
        t, start = self.t, str(self.program.shared_start)
        kind = extent.lowest.type
        off = t.sub(kind, extent.lowest.text, start)
        off = off if kind == "i64" else t.zext("i32", off, "i64")
        last = t.sub("i64", "%shared.size", self.m.add(extent.beyond, self.m.const("i64", group.span)).text)
        some = t.sge("i64", last, 0)
        limit = t.ashr("i64", last, group.log2)
        near = t.ule("i64", self.sites.rotate("i64", off, group.log2), limit)
        return start, "%shared", "0", t.and_("i1", some, near)

    def _in_allocation(self, group: Group, extent: Extent) -> tuple[str, str, str, str]:
        """The same for the allocation that the site knows."""
        t = self.t
        _, (start, places, host, shadow) = self.sites.site(group)
        off = t.sub("i64", extent.lowest.text, start)
        beyond = self.m.lshr(extent.beyond, self.m.const("i64", group.log2))
        limit = t.call("i64", "llvm.usub.sat.i64", [("i64", places), ("i64", beyond.text)])
        near = t.ult("i64", self.sites.rotate("i64", off, group.log2), limit)
        return start, host, shadow, near

    def _pattern_of_some(self, at: Affine, size: int) -> str:
        """The pattern where the active lanes lie in memory, though all 32 might not: a row of which some are missing
        is one even if these would lie elsewhere."""
        form, in_rows = at.form, self._in_rows(at, size)
        if not in_rows:
            if form.times or not self.sites.patterns.with_gaps() or pattern_of(form.apart, size) not in ROWS:
                return str(IN_ONE_ALLOCATION)
        straight = self.m.straight(at)
        if straight.lanes is not None:
            return str(PARTS_OF_ROWS)
        return self.t.select(straight.text, "i32", PARTS_OF_ROWS, ANYWHERE if in_rows else IN_ONE_ALLOCATION)

    def _one_by_one(self, group: Group, at: Affine, found: str, placed: str) -> list[Source]:
        """The way of all other addresses, which ends at the label `placed`. found: the pattern, unless they lie in
        several allocations."""
        t = self.t
        if self.e.code.space == "shared":
            off32 = self.sites.inside_shared(group, Value(self.m.vector(at), at.type, False))
            end = t.here
            t.go(placed)
            return [(str(self.program.shared_start), "%shared", "0", found, str(IN_ONE_ALLOCATION), off32, end)]
        mixed = t.label("mixed")
        (start, _, host, shadow), off32 = self.sites.inside_site(group, self.m.vector(at), mixed)
        end = t.here
        t.go(placed)
        t.at(mixed)
        t.go(placed)
        return [
            (start, host, shadow, found, str(IN_ONE_ALLOCATION), off32, end),
            (start, host, shadow, str(ANYWHERE), str(ANYWHERE), "zeroinitializer", mixed),
        ]
