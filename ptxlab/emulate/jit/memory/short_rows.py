"""Rows of 8 lanes or 4, each somewhere else: what CTAs access that are so many threads wide.

    y[(row + threadIdx.y) * n + column + threadIdx.x]

With all lanes active each row is loaded or stored as a vector, in the order of the lanes. And one row for all lanes, in
any order, as of `x[t / 2]`, out of which they load.
"""

from __future__ import annotations

from ptxlab.emulate.jit.affine.forms import Form
from ptxlab.emulate.jit.emitter.access_groups import Rows, Seen
from ptxlab.emulate.jit.emitter.part import Part
from ptxlab.emulate.jit.llvm.ir_text import Text, W
from ptxlab.emulate.jit.llvm.values import LLVM
from ptxlab.emulate.jit.llvm.vector_elements import interleave, joined

LENGTHS = (16, 8, 4)
"""How many lanes a row may have."""
TIMES = (1, 2, 3, 4)
"""How many elements its lanes may be apart."""


def short_rows(form: Form, size: int) -> Rows | None:
    """The rows of an access whose lanes take `size` bytes each; None if they form no such rows."""
    times = form.times or (0,) * W
    lanes = list(zip(form.apart, times, strict=True))
    for length in LENGTHS:
        starts = tuple(lanes[::length])
        for apart in TIMES:
            if lanes == [(a + apart * size * k, n) for a, n in starts for k in range(length)]:
                return Rows(starts, apart)
    return None


def masked(rows: Rows, wide: bool) -> bool:
    """Whether some lanes of such rows are accessed as rows, too, under masks."""
    return wide and rows.apart == 1


def in_one_row(form: Form, size: int) -> bool:
    """Whether all lanes are in one row of 32 elements."""
    return not form.times and max(form.apart) - min(form.apart) < W * size


def load_one_row(t: Text, seen: Seen, first: str) -> list[str]:
    """Loads such a row: a shuffle gives each lane its element. All of it has been checked, so inactive lanes may load,
    too. first: a pointer to where the group has its first lane."""
    assert seen.group.lanes is not None
    apart, ty = seen.group.lanes.form.apart, LLVM[seen.lane]
    low = min(apart)
    kind = f"<{(max(apart) - low) // seen.step + seen.count} x {ty}>"
    row = t.load(kind, t.offset(first, seen.offset + low), align=seen.step)
    return [t.shuffle(kind, row, [(at - low) // seen.step + k for at in apart]) for k in range(seen.count)]


def fills_a_row(form: Form, size: int) -> bool:
    """Whether all lanes together take a row of 32 elements, in any order: they may store it."""
    return not form.times and sorted(form.apart) == list(range(min(form.apart), min(form.apart) + W * size, size))


def store_one_row(t: Text, seen: Seen, first: str, stored: list[str], mask: str) -> None:
    """Stores such a row: a shuffle brings the elements into its order. Under a mask (of lanes; "": all are active) the
    others' stay as they are, in shared memory, where nobody else writes. first: a pointer to where the group has its
    first lane."""
    assert seen.group.lanes is not None
    apart, ty, count = seen.group.lanes.form.apart, LLVM[seen.lane], seen.count
    low, kind = min(apart), f"<{W * count} x {ty}>"
    lanes = sorted(range(W), key=lambda lane: apart[lane])
    row = t.shuffle(kind, interleave(t, ty, stored), [lane * count + k for lane in lanes for k in range(count)])
    place = t.offset(first, seen.offset + low)
    if mask:
        there = t.shuffle(f"<{W} x i1>", mask, [lane for lane in lanes for _ in range(count)])
        # Volatile, or LLVM makes a store under a mask of it, which takes AMD's CPUs 12 cycles.
        old = t.load(f"volatile {kind}", place, align=seen.step)
        row = t.select(there, kind, row, old, of=f"<{W * count} x i1>")
    t.store(kind, row, place, align=seen.step)


def first_of_half(t: Text, seen: Seen, spot: str, half: int, first: int, stored: str) -> list[str]:
    """A row of the lanes of a half of the warp that are among its `first` lanes, without a mask: what is stored under
    one is not in the cache before a later load of it, which has to wait. spot: where the half begins; stored: the
    elements of all lanes, of a store. Returns what a load gives, nothing of a store."""
    ty, lanes = LLVM[seen.lane], min(max(first - half * W // 2, 0), W // 2)
    width, kind = W * seen.count // 2, f"<{lanes * seen.count} x {ty}>"
    if seen.write:
        if lanes:
            order = range(half * width, half * width + lanes * seen.count)
            t.store(kind, t.shuffle(f"<{W * seen.count} x {ty}>", stored, order), spot, align=seen.step)
        return []
    if not lanes:
        return ["zeroinitializer"]
    row = t.load(kind, spot, align=seen.step)
    return [t.shuffle(kind, row, [n % (lanes * seen.count) for n in range(width)])]


class ShortRows(Part):
    """Loads and stores them."""

    def load(self, seen: Seen, first: str) -> str:
        """The elements of all lanes, lane by lane in one vector. first: a pointer to where the group has its first
        lane."""
        parts = [self._load_row(seen, place, self._mask(seen, k)) for k, place in enumerate(self._places(seen, first))]
        return joined(self.t, LLVM[seen.lane], self._width(seen), parts)

    def _load_row(self, seen: Seen, place: str, mask: str) -> str:
        """The elements of a row, out of as many pieces as lanes are elements apart; the last one ends with the row."""
        t, width, elements = self.t, self._width(seen), self._elements(seen)
        kind, row, found = f"<{width} x {LLVM[seen.lane]}>", "", 0
        for piece in range(self._rows(seen).apart):
            start = min(piece * width, elements[-1] + 1 - width)
            end, p = start + width, t.offset(place, start * seen.step)
            if mask:
                loaded = t.load_masked(kind, seen.step, p, mask)
            else:
                loaded = t.load(kind, p, align=seen.step)
            if row:
                at = elements if piece == 1 else range(width)  # in the first piece elements are where they lie
                order = [n if e < found else width + e - start for n, e in zip(at, elements, strict=True)]
                order = [n if e < end else 0 for n, e in zip(order, elements, strict=True)]
                loaded = t.shuffle(kind, row, order, loaded)
            row, found = loaded, end
        return row

    def store(self, seen: Seen, first: str, stored: str) -> None:
        """Stores such a vector."""
        t, ty, width, elements = self.t, LLVM[seen.lane], self._width(seen), self._elements(seen)
        every = f"<{W * seen.count} x {ty}>"
        for k, place in enumerate(self._places(seen, first)):
            if elements[-1] == width - 1:
                cut = t.shuffle(every, stored, range(k * width, (k + 1) * width))
                if mask := self._mask(seen, k):
                    t.store_masked(f"<{width} x {ty}>", seen.step, cut, place, mask)
                else:
                    t.store(f"<{width} x {ty}>", cut, place, align=seen.step)
                continue
            for n, element in enumerate(elements):
                x = t.extract(every, stored, k * width + n)
                p = t.offset(place, element * seen.step)
                t.store(ty, x, p, align=seen.step)

    def _mask(self, seen: Seen, row: int) -> str:
        """Which elements of a row the active lanes access; "" where only full warps come here."""
        if not masked(self._rows(seen), self.e.wide):
            return ""
        width = self._width(seen)
        lanes = [(row * width + n) // seen.count for n in range(width)]
        return self.t.shuffle(f"<{W} x i1>", self.active.vector, lanes)

    def _rows(self, seen: Seen) -> Rows:
        assert seen.group.rows is not None
        return seen.group.rows

    def _width(self, seen: Seen) -> int:
        """The elements of a row."""
        return W * seen.count // len(self._rows(seen).starts)

    def _elements(self, seen: Seen) -> list[int]:
        """Where the elements of a row lie: how many would fit before each."""
        lanes = range(self._width(seen) // seen.count)
        return [k * self._rows(seen).apart * seen.count + e for k in lanes for e in range(seen.count)]

    def _places(self, seen: Seen, first: str) -> list[str]:
        """Where rows begin."""
        t, out = self.t, []
        for apart, times in self._rows(seen).starts:
            far = t.mul("i64", seen.group.stride, times) if times else "0"
            out.append(t.offset(first, t.add("i64", far, apart + seen.offset)))
        return out
