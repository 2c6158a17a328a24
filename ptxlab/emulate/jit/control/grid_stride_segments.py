"""The loop of a segment that is a round of a grid-stride loop: behind the last warp of a CTA, the first one goes on."""

from __future__ import annotations

from collections.abc import Callable

from ptxlab.emulate.jit.emitter.part import Part
from ptxlab.emulate.runtime import state as S


class GridStrideSegment(Part):
    """Writes what its function has besides that of others."""

    def declare(self) -> None:
        """At the function's entry: what accesses note from round to round (see `prefetches`)."""
        for pair in self.e.rounds or ():
            for name in pair:
                self.t.do(f"{name} = alloca i64")
                self.t.do(f"store i64 0, ptr {name}")

    def again(self, count: Callable[[], None]) -> None:
        """At the end of a round: another one, from the label `side.by.side` on, if all warps have been in this one and
        the quantum is not spent. count: counts this one."""
        t = self.t
        count()
        left = t.let(f"load i64, ptr {t.field(S.Context, 'quantum')}")
        of_all = t.let("icmp eq ptr %first, %warp.0")
        goes_on = t.let(f"and i1 {of_all}, {t.let(f'icmp sge i64 {left}, 0')}")
        t.do(f"br i1 {goes_on}, label %side.by.side, label %over")
        t.at("side.by.side")
        t.go("warp")
        t.at("over")
