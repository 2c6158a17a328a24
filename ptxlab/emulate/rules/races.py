"""Which accesses are ordered: the rules of `racecheck`, and the record that it keeps of each word of memory.

A word (4 bytes, or fewer where the program has narrower accesses) remembers its last writer and two readers, each as
one 64-bit number:

    63..48  block + 1 (modulo 65535)      11    strong: volatile, relaxed, acquire, release or atomic
    47..30  time: the block's clock       10    many lanes of the warp did it together
    29..12  code index                    9..5  warp        4..0  lane

The clock of a block ticks at whatever orders its threads: a barrier, an instruction that lanes of a warp meet at, a
fence. An access is ordered before another one

- of the same thread, always (lanes that made an access in one instruction count as one thread to it);
- of the same warp, if a `.sync` instruction (`bar.warp.sync`, a shuffle, a vote, a matrix instruction) lies between
  whose mask names both lanes;
- of the same block, if a barrier lies between that both warps took part in, whatever its number, or a chain of those;
- of the same block, if its warp has arrived at an mbarrier since in a phase that the other warp has waited for;
- of the same block, if its warp has executed a fence since, and the other's a strong access since that;
- of another block, likewise: a fence here, a strong access there.

Two strong accesses never race, nor do a load and a compare-and-swap, which fails if the load saw an old value. What
this does not see: a fence followed by no store that the other side reads; all
but the first two readers of a word; a second writer to other bytes. A write that leaves a word as it is does not race
with the write before it. It never takes an ordered pair for a race.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ptxlab.emulate.program.model import Program
from ptxlab.emulate.rules.findings import RAW, SAME, WAR, WAW
from ptxlab.emulate.rules.notes import another
from ptxlab.emulate.rules.records import BLOCK, BLOCKS, CODE, LANE, LAST_TIME, MANY, STRONG, TIME, WARP
from ptxlab.isa import types

_ID = np.uint64(0xFFFF << BLOCK | 0x7FF)
_MANY = np.uint64(1 << MANY)
_ZERO = np.uint64(0)

Noted = Callable[[int, int, int, int], None]
"""Called with the kind of hazard, the record that is new, the one that it collides with, and the word's number."""


def granule(program: Program) -> int:
    """Bytes that one record covers: the narrowest access of the program, 4 at most."""
    widths = [
        types.width(code.form.type) // 8
        for code in program.codes
        if code.form is not None and code.name in ("ld", "st", "ldu", "atom", "red") and code.form.type in types.WIDTH
    ]
    return min([4, *widths])


def compares(program: Program) -> frozenset[int]:
    """The code indices of compare-and-swap."""
    codes = program.codes
    return frozenset(c.index for c in codes if c.name == "atom" and c.form is not None and c.form.operation == "cas")


class Shadow:
    """The records of a stretch of memory: last writer, first reader, another reader."""

    def __init__(self, words: int) -> None:
        self.writer, self.reader, self.other = (np.zeros(words, np.uint64) for _ in range(3))


class Published:
    """What blocks have made known to each other: for each the clock at its last fence; and when its first fence and its
    last strong access were, by a clock of the whole launch."""

    def __init__(self) -> None:
        self.now = 0
        self.fenced: dict[int, int] = {}
        self.first: dict[int, int] = {}
        self.acquired: dict[int, int] = {}


class Order:
    """The clock of one block, and what its warps know of each other."""

    def __init__(self, block: int, published: Published, compares: frozenset[int] = frozenset()) -> None:
        self.compares = compares
        self.block, self.published = block % BLOCKS + 1, published
        self.time = self.full = 1
        self.simple = True  # no barrier of a part of the block so far
        self.sync = np.zeros((32, 32), np.int64)  # [w, v]: w comes after what v did before this time
        self.arrived = np.zeros((16, 32), np.int64)  # when a warp last arrived at a barrier and went on
        self.parts: list[dict[int, int]] = [{} for _ in range(32)]  # lanes of a warp that have met by themselves: when
        self.fenced, self.first, self.acquired = (np.zeros(32, np.int64) for _ in range(3))

    def tick(self) -> int:
        """Time goes on. When the clock has run out, all that is remembered is too old to be told apart."""
        self.time = min(self.time + 1, LAST_TIME)
        return self.time

    def together(self, warp: int) -> None:
        """Lanes of a warp have met."""
        self.sync[warp, warp] = self.tick()

    def meet(self, warp: int, masks: list[int], live: int) -> None:
        """Lanes of a warp come to meet, each the lanes that it names. As long as sets of fewer than all are apart or
        within each other, nobody knows of others through them."""
        for mask in dict.fromkeys(masks):
            if not live & ~mask:
                self.together(warp)
                continue
            parts, time = self.parts[warp], self.tick()
            across = any(mask & held not in (0, mask, held) for held in parts)
            if across or (mask not in parts and len(parts) == 8):
                self.sync[warp, warp] = time
            else:
                parts[mask] = time

    def arrive(self, warp: int, barrier: int) -> None:
        """A warp has passed `bar.arrive`."""
        self.arrived[barrier, warp] = self.tick()

    def opened(self, barrier: int, waiting: list[int], everyone: bool) -> None:
        """A barrier lets these warps go."""
        time = self.tick()
        if everyone and not self.arrived[barrier].any():
            self.full = time
            return
        self.simple = False
        came = self.arrived[barrier].copy()
        came[waiting] = time
        known = np.maximum(self.sync[came > 0].max(axis=0), came)
        for warp in waiting:
            self.sync[warp] = np.maximum(self.sync[warp], known)
        self.arrived[barrier] = 0

    def release(self, warp: int) -> np.ndarray:
        """What a warp knows when it arrives at an mbarrier, with all that it has done until now."""
        known: np.ndarray = self.sync[warp].copy()
        known[warp] = self.tick()
        return known

    def learn(self, warp: int, known: np.ndarray) -> None:
        """The warp has waited for those arrivals."""
        self.simple = False
        self.sync[warp] = np.maximum(self.sync[warp], known)

    def fence(self, warp: int) -> None:
        """What the warp has done is to be seen before what it does from now on."""
        published, time = self.published, self.tick()
        self.fenced[warp] = time
        self.first[warp] = self.first[warp] or time
        published.now += 1
        published.fenced[self.block] = time
        published.first.setdefault(self.block, published.now)

    def acquire(self, warp: int) -> None:
        """The warp has made a strong access, with which it may have seen that others were done."""
        self.acquired[warp] = self.time
        self.published.acquired[self.block] = self.published.now

    # -- the rules -----------------------------------------------------------------------------------------------------

    def ordered(self, record: int, me: int, *, wrote: bool) -> bool:
        """Whether what the record says comes before an access `me`; `wrote`: it is a write."""
        if not record:
            return True
        time = record >> TIME & LAST_TIME
        block, mine = record >> BLOCK, me >> BLOCK
        if block != mine:
            known = self.published
            fenced = known.fenced.get(block, 0) > time
            return fenced and known.first[block] <= known.acquired.get(mine, 0)
        v, w = record >> WARP & 31, me >> WARP & 31
        many, all_ = record >> MANY & 1, me >> MANY & 1
        if v == w and ((many and (all_ or wrote)) or (not many and not all_ and record & 31 == me & 31)):
            return True
        if time < self.full or time < self.sync[w, v]:
            return True
        two = 1 << (record & 31) | 1 << (me & 31)
        if v == w and any(when > time and held & two == two for held, when in self.parts[w].items()):
            return True
        return bool(self.fenced[v] > time and 0 < self.first[v] <= self.acquired[w])

    def access(
        self, shadow: Shadow, words: np.ndarray, count: int, me: np.ndarray, *, write: bool, note: Noted
    ) -> np.ndarray:
        """Lanes touch `count` words each, from `words` on (shape (n,)); `me` are their records, lowest lane first.

        Notes hazards, remembers the accesses, and gives for each lane whether another one wrote to the same word.
        """
        collide = np.zeros(words.size, np.bool_)
        if words.size > 1 and not write and bool((words == words[0]).all()):
            words, me = words[:1], me[:1] | _MANY
        low, span = np.uint64(self.block << BLOCK), np.uint64(self.full << TIME)
        for k in range(count):
            at = words + k
            w, r, q = shadow.writer[at], shadow.reader[at], shadow.other[at]
            w_fine, r_fine, q_fine = ((x == _ZERO) | (x - low < span) | ((x ^ me) & _ID == _ZERO) for x in (w, r, q))
            ok = w_fine & ((r_fine & q_fine) if write else (r_fine | self.simple))
            targets = ((shadow.writer, ok),) if write else (
                (shadow.reader, ok & r_fine), (shadow.other, ok & ~r_fine & q_fine)
            )  # fmt: skip
            bad = np.flatnonzero(~ok)
            for lane in bad:
                self._hazards(shadow, int(at[lane]), int(me[lane]), write=write, note=note)
            for records, chosen in targets:
                records[at[chosen][::-1]] = me[chosen][::-1]  # the lowest lane stays
            for lane in bad[::-1]:
                self._remember(shadow, int(at[lane]), int(me[lane]), write=write)
            for records, chosen in targets:
                again = (chosen | ~ok if write else chosen) & (records[at] != me)
                if again.any():
                    if not write:
                        records[at[again]] |= _MANY
                    collide |= again
        return collide

    def _hazards(self, shadow: Shadow, at: int, me: int, *, write: bool, note: Noted) -> None:
        """What one access to one word collides with, by the rules in full."""
        w, r, q = int(shadow.writer[at]), int(shadow.reader[at]), int(shadow.other[at])

        def collides(record: int, *, wrote: bool) -> bool:
            return not self.ordered(record, me, wrote=wrote) and not (record & me) >> STRONG & 1

        compares = self.compares
        readers = write and me >> CODE & LAST_TIME not in compares
        if (write or w >> CODE & LAST_TIME not in compares) and collides(w, wrote=True):
            note(WAW if write else RAW, me, w, at)
        elif readers and collides(r, wrote=False):
            note(WAR, me, r, at)
        elif readers and collides(q, wrote=False):
            note(WAR, me, q, at)

    def _remember(self, shadow: Shadow, at: int, me: int, *, write: bool) -> None:
        """One access to one word, by the rules in full."""
        r, q = int(shadow.reader[at]), int(shadow.other[at])
        if write:
            shadow.writer[at] = me
        elif self.ordered(r, me, wrote=False):
            shadow.reader[at] = me
        elif self.ordered(q, me, wrote=False):
            shadow.other[at] = me


__all__ = [
    "BLOCK", "CODE", "LANE", "LAST_TIME", "MANY", "RAW", "SAME", "STRONG", "TIME", "WAR", "WARP", "WAW", "Order",
    "Published", "Shadow", "another", "granule",
]  # fmt: skip
