"""The place of affine addresses: known when the kernel is built, up to one scalar or two, and the allocation.

What the lanes add to the first address is constant, so whether they are contiguous, as a whole or by half-warps, at one
address for each half or something else need not be found out; where lanes differ by a stride, its value tells. What is
left for each access: whether the lowest and the highest address lie in the allocation that the site knows, and whether
all lanes are active. Where they do not, or where a lane wraps around, all 32 addresses are made and looked at, as those
that are not affine.
"""

from __future__ import annotations

from typing import NamedTuple

from ptxlab.emulate.jit.affine.forms import Form
from ptxlab.emulate.jit.affine.values import Affine
from ptxlab.emulate.jit.emitter.access_groups import ALL_CONTIGUOUS, STRIDED, AccessGroup
from ptxlab.emulate.jit.emitter.emitter import Emitter, Part
from ptxlab.emulate.jit.llvm.ir_text import COLD, W
from ptxlab.emulate.jit.llvm.values import Value
from ptxlab.emulate.jit.memory.address_resolution import AddressResolution
from ptxlab.emulate.rules import records

FAR = 1 << 40
"""A distance in place of a stride: so large that it makes no other pattern."""
LANES = tuple(range(W))

Source = tuple[str, str, str, str, str]
"""What comes from a label: the allocation's start and pointer, the record of writes, the pattern, the label."""


class Extent(NamedTuple):
    """The extent of an access: the first address and the lowest, bytes from there to the highest, bytes that a stride
    adds, if there is one (i64), and what must hold for it (i1)."""

    first: Value
    lowest: Value
    beyond: Value
    stride: Value | None
    conditions: tuple[Value, ...]


def pattern_of(form: Form, size: int) -> int:
    """The pattern of such addresses, of accesses of `size` bytes by all lanes."""
    offsets = form.lane_offsets
    if form.times == LANES and not any(offsets):
        return STRIDED
    if form.times:
        offsets = tuple(offset + n * FAR for offset, n in zip(offsets, form.times, strict=True))
    halves = [[offset - half[0] for offset in half] for half in (offsets[: W // 2], offsets[W // 2 :])]
    if offsets == tuple(size * k for k in LANES):
        return records.CONTIGUOUS
    if all(half == [size * k for k in range(W // 2)] for half in halves):
        return records.HALVES_CONTIGUOUS
    if not form.times and offsets == tuple(offsets[1] * k for k in LANES):
        return STRIDED
    return records.IN_ONE_ALLOCATION if any(offset for half in halves for offset in half) else records.HALVES_UNIFORM


class AffineAccesses(Part):
    def __init__(self, e: Emitter, sites: AddressResolution) -> None:
        super().__init__(e)
        self.sites = sites

    def locate(self, group: AccessGroup, at: Affine, size: int) -> bool:
        """Leaves where the addresses of a group lie; False, and nothing done, where lanes are misaligned or far off, or
        may wrap around in shared memory."""
        offsets, t = at.form.lane_offsets, self.t
        shared = self.e.code.space == "shared"
        if any(step % (1 << group.log2) for step in offsets) or max(offsets) - min(offsets) >= 1 << 30:
            return False
        if shared and at.inner is not None:
            return False
        group.address = at
        extent = self._extent(group, at)
        start, host, written, good = (self._in_shared if shared else self._in_allocation)(group, extent)
        fits, other, placed = (t.label(name) for name in ("fits", "other", "placed"))
        for condition in extent.conditions:
            good = t.and_("i1", good, condition.text)
        t.branch(good, fits, other, COLD)
        t.at(fits)
        pattern = self._pattern(group, at.form, extent, size)
        group.patterns |= set() if shared else {records.ANYWHERE}
        fits = t.here
        t.go(placed)
        t.at(other)
        with self.t.not_dominating():
            sources = [(start, host, written, pattern, fits), self._one_by_one(group, at, placed)]
        t.at(placed)
        group.start, group.pointer, group.written, group.pattern = (
            self._joined(kind, [(source[k], source[4]) for source in sources])
            for k, kind in enumerate((extent.first.type, "ptr", "i64", "i32"))
        )
        off = t.sub(extent.first.type, extent.first.text, group.start)
        if extent.first.type == "i32":
            off = t.sext("i32", off, "i64")
        group.halves = off, self._half(at.form, extent, off)
        if STRIDED in group.patterns:
            group.stride = str(offsets[1]) if extent.stride is None else extent.stride.text
        return True

    def _extent(self, group: AccessGroup, at: Affine) -> Extent:
        """From where to where the lanes go."""
        m, form = self.m, at.form
        low, high, even = min(form.lane_offsets), max(form.lane_offsets), 1 << group.log2
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

    def _pattern(self, group: AccessGroup, form: Form, extent: Extent, size: int) -> str:
        """The pattern that there is; notes in the group those that there may be. Where some lanes are inactive, only
        contiguous ones have a pattern with gaps, even if the others would lie elsewhere."""
        pattern = pattern_of(form, size)
        partial = records.WITH_GAPS if pattern in ALL_CONTIGUOUS else records.IN_ONE_ALLOCATION
        group.patterns = frozenset({pattern, partial, *([records.IN_ONE_ALLOCATION] if form.times else [])})
        found = str(pattern)
        if extent.stride is not None and pattern == STRIDED:
            group.patterns |= {records.CONTIGUOUS}
            found = self.t.select(self.t.eq("i64", extent.stride.text, size), "i32", records.CONTIGUOUS, STRIDED)
        if pattern == partial:
            return found
        return self.t.select(self.t.eq("i32", self.active.bits, -1), "i32", found, partial)

    def _half(self, form: Form, extent: Extent, off: str) -> str:
        """The offset of the first lane of the second half, given that of the first."""
        second = self.t.add("i64", off, form.lane_offsets[W // 2])
        if extent.stride is None:
            return second
        strides = self.m.mul(extent.stride, self.m.const("i64", form.times[W // 2]))
        return self.t.add("i64", second, strides.text)

    def _joined(self, kind: str, sources: list[tuple[str, str]]) -> str:
        """A value that comes from several labels."""
        if len({value for value, _ in sources}) == 1:
            return sources[0][0]
        return self.t.phi(kind, *sources)

    def _in_shared(self, group: AccessGroup, extent: Extent) -> tuple[str, str, str, str]:
        """The start of shared memory, its pointer, no record of writes, and i1: whether the lowest address and the
        highest lie there."""
        _, good = self.sites.range_in_shared(group, extent.lowest, extent.beyond)
        return str(self.program.shared_start), "%shared", "0", good

    def _in_allocation(self, group: AccessGroup, extent: Extent) -> tuple[str, str, str, str]:
        """The start, pointer and record of writes of the site's allocation, and i1: whether the access lies in it."""
        t = self.t
        _, (start, places, host, written) = self.sites.site(group)
        off = t.sub("i64", extent.lowest.text, start)
        beyond = self.m.lshr(extent.beyond, self.m.const("i64", group.log2))
        limit = t.call("i64", "llvm.usub.sat.i64", [("i64", places), ("i64", beyond.text)])
        near = t.ult("i64", self.sites.rotate("i64", off, group.log2), limit)
        return start, host, written, near

    def _one_by_one(self, group: AccessGroup, at: Affine, placed: str) -> Source:
        """The way of all other addresses, which ends at the label `placed`: active lanes lie in memory, though all 32
        might not, or do not follow each other as they were built to."""
        t, found = self.t, str(records.IN_ONE_ALLOCATION)
        if records.WITH_GAPS in group.patterns and not at.form.times:  # a stride of 32 bits may wrap around
            found = str(records.WITH_GAPS)
            if at.inner is not None:  # else no lane can wrap around
                found = t.select(self.m.straight(at).text, "i32", records.WITH_GAPS, records.ANYWHERE)
        if self.e.code.space == "shared":
            self.sites.inside_shared(group, at)
            source = str(self.program.shared_start), "%shared", "0", found, t.here
        else:
            (start, _, host, written), where = self.sites.inside_site(group)
            found = t.select(t.eq("i32", where, records.ANYWHERE), "i32", records.ANYWHERE, found)
            source = start, host, written, found, t.here
        t.go(placed)
        return source
