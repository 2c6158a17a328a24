"""Prefetches of rows that this CPU would not foresee: those of later CTAs, and those of later rounds of a loop."""

from __future__ import annotations

from ptxlab.emulate.jit.emitter.access_groups import Group
from ptxlab.emulate.jit.emitter.emitter import Emitter
from ptxlab.emulate.jit.emitter.part import Part
from ptxlab.emulate.jit.llvm.ir_text import PROMOTED, W
from ptxlab.emulate.jit.memory.address_resolution import AddressResolution
from ptxlab.emulate.runtime import state as S

LINE = 64
"""Bytes of a cache line, on most CPUs."""
BEHIND = 4 * LINE
"""How far behind a row of this CTA lies what is prefetched for others."""
NEAR_BEHIND = 2 * LINE
"""The same of short rows: the blocks that come next take fewer bytes of a row. With four lines 8 x 8 x 8 threads take
1.4 times as long."""
LARGE = 8 << 20
"""Bytes of arrays from which on rows of later rounds are prefetched: smaller ones may lie in a cache, where it takes
longer than it gains."""
STAYS, DATA = 3, 1
"""Of `llvm.prefetch`: the line should stay in all caches, and is no code."""
ROUNDS = 2
"""How many rounds of a loop later they are accessed."""


class Prefetches(Part):
    """Writes them where an access has found its row."""

    def __init__(self, e: Emitter, sites: AddressResolution) -> None:
        super().__init__(e)
        self.sites = sites

    def behind(self, group: Group, rows: tuple[str, ...], size: int) -> None:
        """What lies behind rows of a line or two: the next CTAs will ask for it. Of shorter rows several are in a line,
        and each row begins in one. rows: the offsets of those that are not short."""
        t, length = self.t, size * W // max(1, len(rows))
        for start, times in group.rows.starts if group.rows else ():
            far = t.mul("i64", group.stride, times) if times else "0"
            place = t.add("i64", t.add("i64", group.halves[0], far), start + NEAR_BEHIND)
            self._lines(group, t.offset(group.pointer, place), LINE)
        for row in rows if self.e.tiles and LINE <= length <= 2 * LINE else ():
            place = t.add("i64", row, BEHIND)
            self._lines(group, t.offset(group.pointer, place), length)

    def later(self, group: Group, host: str, row: str, size: int) -> None:
        """What the warp accesses in later rounds, if each is as far away as the first warp's last two are from each
        other. host, row: the pointer to an allocation, and the row's offset."""
        t, rounds, length = self.t, self.e.rounds, size * W
        assert rounds is not None
        if not LINE <= length <= 4 * LINE:
            return
        before, step = f"%{PROMOTED}.before{len(rounds)}", f"%{PROMOTED}.step{len(rounds)}"
        rounds.append((before, step))
        site = group.place or t.offset("%sites", group.site * S.Site.size)
        places = t.get(S.Site, "places", site)
        with t.if_then(t.uge("i64", places, LARGE >> group.log2)):
            place = t.ptrtoint("ptr", t.offset(host, row), "i64")
            is_first = t.eq("ptr", "%ws", "%warp.0")
            last = t.load("i64", before)
            t.store("i64", t.select(is_first, "i64", place, last), before)
            known = t.load("i64", step)
            far = t.select(is_first, "i64", t.sub("i64", place, last), known)
            t.store("i64", far, step)
            there = t.add("i64", place, t.mul("i64", far, ROUNDS))
            self._lines(group, t.inttoptr("i64", there, "ptr"), length)

    def _lines(self, group: Group, place: str, length: int) -> None:
        """So many bytes from a place on."""
        for line in range(0, length, LINE):
            each = self.t.offset(place, line)
            how = [("i32", str(number)) for number in (int(group.write), STAYS, DATA)]
            self.t.call("void", "llvm.prefetch.p0", [("ptr", each), *how])
