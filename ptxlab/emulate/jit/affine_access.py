"""Where affine addresses lie: known when the kernel is built, up to one scalar and the allocation.

What the lanes add to the first address is constant, so whether they form a row, one row for each half of the warp, one
address for each half or something else need not be found out. What is left for each access: whether the lowest and the
highest address lie in the allocation that the site knows, and whether all lanes are active. Where they do not, or where
a lane wraps around, all 32 addresses are made and looked at, as those that are not affine.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ptxlab.emulate.jit.affine import Affine
from ptxlab.emulate.jit.groups import Group
from ptxlab.emulate.jit.irtext import COLD, W
from ptxlab.emulate.jit.part import Part
from ptxlab.emulate.jit.values import Value, constant

if TYPE_CHECKING:
    from ptxlab.emulate.jit.access import Memory
    from ptxlab.emulate.jit.emit import Emitter

ROW, GATHERED, ANYWHERE, ROWS, ONES, GAPS = 0, 2, 3, 4, 5, 6
"""Patterns (see `Seen`)."""

Source = tuple[str, str, str, str, str, str]
"""What comes from a label: where the allocation starts, its pointer, the record of writes, the pattern, the offsets,
and the label."""


def pattern_of(apart: tuple[int, ...], size: int) -> int:
    """The pattern of addresses that are so far from the first of them, of accesses of `size` bytes by all lanes."""
    halves = [[step - half[0] for step in half] for half in (apart[: W // 2], apart[W // 2 :])]
    if apart == tuple(size * k for k in range(W)):
        return ROW
    if all(half == [size * k for k in range(W // 2)] for half in halves):
        return ROWS
    return GATHERED if any(step for half in halves for step in half) else ONES


class AffineAccesses(Part):
    """The check of affine addresses."""

    def __init__(self, e: Emitter, memory: Memory) -> None:
        super().__init__(e)
        self.memory = memory

    def locate(self, group: Group, at: Affine, size: int) -> bool:
        """Leaves where the addresses of a group lie; False, and nothing done, where lanes are misaligned or far off."""
        apart, t = at.form.apart, self.t
        low, high = min(apart), max(apart)
        if any(step % (1 << group.log2) for step in apart) or high - low >= 1 << 30:
            return False
        pattern = partial = pattern_of(apart, size)
        if pattern != GATHERED:  # of some lanes only: a row has gaps
            partial = GAPS if pattern in (ROW, ROWS) and self.memory.patterns.with_gaps() else GATHERED
        first = self.m.reached(at, 0)
        lowest = self.m.add(first, self.m.const(first.type, low)) if low else first
        inside = self._in_shared if first.type == "i32" else self._in_allocation
        start, host, shadow, good = inside(group, lowest, high - low)
        fits, other, placed = (t.label(name) for name in ("fits", "other", "placed"))
        if at.inner is not None:
            good = t.let(f"and i1 {good}, {self.m.straight(at).text}")
        t.do(f"br i1 {good}, label %{fits}, label %{other}{COLD}")
        t.at(fits)
        found = str(pattern)
        if pattern != partial:
            whole = t.let(f"icmp eq i32 {self.active.bits}, -1")
            found = t.let(f"select i1 {whole}, i32 {pattern}, i32 {partial}")
        offsets = "" if pattern != GATHERED else self._offsets(first, start, apart)
        t.go(placed)
        t.at(other)
        with self.m.own_splats():
            sources = [(start, host, shadow, found, offsets, fits), *self._one_by_one(group, at, placed)]
        t.at(placed)
        start, host, shadow, found = (
            self._joined(kind, [(source[k], source[5]) for source in sources])
            for k, kind in enumerate((first.type, "ptr", "i64", "i32"))
        )
        if offsets:  # the other patterns rarely need them, and make them where they do
            group.offsets = self._joined(f"<{W} x i32>", [source[4:] for source in sources])
        group.lanes, group.start, group.pointer, group.shadow, group.pattern = at, start, host, shadow, found
        group.patterns = frozenset({pattern, partial, GATHERED, ANYWHERE})
        off = t.let(f"sub {first.type} {first.text}, {start}")
        if first.type == "i32":
            off = t.let(f"sext i32 {off} to i64")
        group.halves = off, t.let(f"add i64 {off}, {apart[W // 2]}")
        if first.type == "i64":
            group.members.append((-1, 0, 0))
            self.memory.mixed.add(group.site)
        return True

    def _offsets(self, first: Value, start: str, apart: tuple[int, ...]) -> str:
        """The offsets of all lanes, a vector of i32."""
        off = self.t.let(f"sub {first.type} {first.text}, {start}")
        if first.type == "i64":
            off = self.t.let(f"trunc i64 {off} to i32")
        steps = constant(np.array(apart, np.int64).astype(np.uint32), "i32").text
        return self.t.let(f"add <{W} x i32> {self.t.splat('i32', off)}, {steps}")

    def _joined(self, kind: str, sources: list[tuple[str, str]]) -> str:
        """A value that comes from several labels."""
        if len({value for value, _ in sources}) == 1:
            return sources[0][0]
        return self.t.let(f"phi {kind} " + ", ".join(f"[{value}, %{label}]" for value, label in sources))

    def _in_shared(self, group: Group, lowest: Value, beyond: int) -> tuple[str, str, str, str]:
        """The start of shared memory, its pointer, no record of writes, and i1: whether the lowest address and the one
        so far beyond it lie there."""
        t, start = self.t, str(self.program.shared_start)
        off = t.let(f"zext i32 {t.let(f'sub i32 {lowest.text}, {start}')} to i64")
        last = t.let(f"sub i64 %shared.size, {group.span + beyond}")
        some = t.let(f"icmp sge i64 {last}, 0")
        limit = t.let(f"ashr i64 {last}, {group.log2}")
        near = t.let(f"icmp ule i64 {self.memory.rotate('i64', off, group.log2)}, {limit}")
        return start, "%shared", "0", t.let(f"and i1 {some}, {near}")

    def _in_allocation(self, group: Group, lowest: Value, beyond: int) -> tuple[str, str, str, str]:
        """The same for the allocation that the site knows."""
        t = self.t
        _, (start, places, host, shadow) = self.memory.site(group)
        off = t.let(f"sub i64 {lowest.text}, {start}")
        limit = t.call("i64", "llvm.usub.sat.i64", [("i64", places), ("i64", str(beyond >> group.log2))])
        near = t.let(f"icmp ult i64 {self.memory.rotate('i64', off, group.log2)}, {limit}")
        return start, host, shadow, near

    def _one_by_one(self, group: Group, at: Affine, placed: str) -> list[Source]:
        """The way of all other addresses, which ends at the label `placed`."""
        t = self.t
        if at.type == "i32":
            off32 = self.memory.inside_shared(group, Value(self.m.vector(at), "i32", False))
            end = t.here
            t.go(placed)
            return [(str(self.program.shared_start), "%shared", "0", str(GATHERED), off32, end)]
        mixed = t.label("mixed")
        (start, _, host, shadow), off32 = self.memory.inside_site(group, self.m.vector(at), mixed)
        end = t.here
        t.go(placed)
        t.at(mixed)
        t.go(placed)
        return [
            (start, host, shadow, str(GATHERED), off32, end),
            (start, host, shadow, str(ANYWHERE), "zeroinitializer", mixed),
        ]
