"""Segments that are one round of a grid-stride loop: after the last warp of a CTA, the first one begins the next
round."""

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
                self.t.alloca("i64", name=name)
                self.t.store("i64", 0, name)

    def again(self, count: Callable[[], None]) -> None:
        """At the end of a round: another one, from the label `side.by.side` on, if all warps have been in this one and
        the quantum is not spent. count: counts this one."""
        t = self.t
        count()
        left = t.get(S.Context, "quantum")
        of_all = t.eq("ptr", "%first", "%warp.0")
        goes_on = t.and_("i1", of_all, t.sge("i64", left, 0))
        t.branch(goes_on, "side.by.side", "over")
        t.at("side.by.side")
        t.go("warp")
        t.at("over")
