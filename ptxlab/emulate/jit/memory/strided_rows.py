"""Every second element of a row, every third or every fourth, and rows backwards: lanes that are a small constant
apart. All of them are active, or they are in shared memory, which has room on both sides for those that are not.

    s[2 * t], a[4 * t + 1], rgb[3 * t], a[n - 1 - t]

With 512-bit vectors the row is loaded as a whole, and shuffles bring its elements together. A store puts them between
those that are there, in shared memory, where no other worker writes. That takes a quarter of the time of 32 loads or
stores.
"""

from __future__ import annotations

from ptxlab.emulate.jit.emitter.access_groups import Seen
from ptxlab.emulate.jit.emitter.part import Part
from ptxlab.emulate.jit.llvm.ir_text import W
from ptxlab.emulate.jit.llvm.values import BITS, LLVM
from ptxlab.emulate.jit.llvm.vector_elements import joined
from ptxlab.emulate.runtime.memory import MARGIN

TIMES = (2, 4)
"""How many elements lanes may be apart, for loads and stores; loads may be 3 apart."""


def of_some(apart: int, size: int) -> bool:
    """Whether some lanes, so many bytes apart, access `size` bytes each of shared memory as all would. The others reach
    no further than there is room."""
    return size in (4, 8) and abs(apart) * W <= MARGIN and apart in (size * TIMES[0], size * TIMES[1], -size)


class StridedRows(Part):
    """Loads and stores elements that are so many apart."""

    def moved(self, seen: Seen, first: str, stored: list[str]) -> list[str] | None:
        """What an access of all lanes loads, or nothing of one that stores; None where it is not made like this. first:
        a pointer to where the group has its first lane."""
        size, stride = seen.step, seen.group.stride
        if not stride.removeprefix("-").isdigit() or int(stride) % size:
            return None
        times = int(stride) // size
        if times == -1:
            return self._backwards(seen, first, stored)
        if not (self._thirds(seen, times) or self._parts(seen, times)):
            return None
        if times not in TIMES:
            bases = [self.t.offset(first, seen.offset + k * size) for k in range(seen.count)]
            return [self._load_thirds(seen.lane, base, times) for base in bases]
        loaded = []
        for k in range(seen.count):
            at = seen.offset + k * size
            before, starts = self._pieces(seen, times, at)
            base = self.t.offset(first, at - before * size)
            if seen.write:
                self.store(seen.lane, base, starts, before, stored[k], self._mask(seen))
            else:
                loaded.append(self.load(seen.lane, base, starts, before))
        return loaded

    def _pieces(self, seen: Seen, times: int, at: int) -> tuple[int, list[int]]:
        """The pieces of the row that the elements with this offset are in: how many elements the first piece begins
        before the first of them, and the first element of each. Accesses at one register have the same pieces, if these
        are in what has been checked: CPUs do not pass on what has been stored to a load of other bytes. Shared memory
        has room behind the last lane's element; elsewhere the last piece ends with it."""
        size = seen.step
        apart = times * size
        if seen.code.space == "shared" or (at // apart + 1) * apart <= seen.group.span:
            return at % apart // size, [W * k for k in range(times)]
        return 0, [min(W * k, (W - 1) * times + 1 - W) for k in range(times)]

    def _mask(self, seen: Seen) -> str:
        """The active lanes, where some may not be; "" where all are."""
        return self.active.vector if seen.group.some else ""

    @staticmethod
    def _thirds(seen: Seen, times: int) -> bool:
        """Whether every third element of a row is loaded."""
        return times == 3 and not seen.write and BITS[seen.lane] <= 32

    @staticmethod
    def _parts(seen: Seen, times: int) -> bool:
        """Whether every second or fourth element is loaded or stored."""
        there = not seen.write or (seen.code.space == "shared" and BITS[seen.lane] >= 32)
        return times in TIMES and there and BITS[seen.lane] <= 64

    def _backwards(self, seen: Seen, first: str, stored: list[str]) -> list[str]:
        """A row whose first element is the last lane's."""
        t, kind = self.t, f"<{W} x {LLVM[seen.lane]}>"
        place = t.offset(first, seen.offset - (W - 1) * seen.step)
        row = stored[0] if seen.write else t.load(kind, place, align=seen.step)
        turned, mask = t.shuffle(kind, row, range(W - 1, -1, -1)), self._mask(seen)
        if not seen.write:
            return [turned]
        if mask:
            there = t.shuffle(f"<{W} x i1>", mask, range(W - 1, -1, -1))
            old = t.load(f"volatile {kind}", place, align=seen.step)
            turned = t.select(there, kind, turned, old, of=f"<{W} x i1>")
        t.store(kind, turned, place, align=seen.step)
        return []

    def _load_thirds(self, lane: str, base: str, times: int) -> str:
        """Every third element, out of three pieces of the row, of which the last ends with the last lane's."""
        kind, last, elements = f"<{W} x {LLVM[lane]}>", (W - 1) * times + 1 - W, [n * times for n in range(W)]
        pieces = [self._row(lane, base, start) for start in (0, W, last)]
        two = [at if at < 2 * W else 0 for at in elements]  # lanes of the first two pieces, one behind the other
        three = [n if at < 2 * W else W + at - last for n, at in enumerate(elements)]
        for piece, order in zip(pieces[1:], (two, three), strict=True):
            pieces[0] = self.t.shuffle(kind, pieces[0], order, piece)
        return pieces[0]

    def load(self, lane: str, base: str, starts: list[int], before: int) -> str:
        """The elements of all lanes, in pieces that start there, `before` elements in front of the first one."""
        return self._of_lanes(lane, [self._row(lane, base, start) for start in starts], starts, before)

    def _of_lanes(self, lane: str, rows: list[str], starts: list[int], before: int) -> str:
        """The elements of all lanes out of pieces of the row."""
        t, ty, times = self.t, LLVM[lane], len(starts)
        share, parts = W // times, []
        for k, (row, start) in enumerate(zip(rows, starts, strict=True)):
            order = [n * times + before - start for n in range(share * k, share * (k + 1))]
            parts.append(t.shuffle(f"<{W} x {ty}>", row, order))
        return joined(t, ty, share, parts)

    def store(self, lane: str, base: str, starts: list[int], before: int, value: str, mask: str = "") -> None:
        """Stores the elements of all lanes, or of those of a mask: the others' stay as they are."""
        t, kind, times = self.t, f"<{W} x {LLVM[lane]}>", len(starts)
        # Volatile, or LLVM makes a store under a mask of it, which takes AMD's CPUs 12 cycles.
        rows = [self._row(lane, base, start, "volatile ") for start in starts]
        if mask:
            held = self._of_lanes(lane, rows, starts, before)
            value = t.select(mask, kind, value, held, of=f"<{W} x i1>")
        for start, old in zip(starts, rows, strict=True):
            order = [n // times if n % times == before else W + n - start for n in range(start, start + W)]
            t.store(kind, t.shuffle(kind, value, order, old), self._place(lane, base, start), align=BITS[lane] // 8)

    def _row(self, lane: str, base: str, start: int, how: str = "") -> str:
        """A piece of the row."""
        place = self._place(lane, base, start)
        return self.t.load(f"{how}<{W} x {LLVM[lane]}>", place, align=BITS[lane] // 8)

    def _place(self, lane: str, base: str, element: int) -> str:
        return self.t.offset(base, element * BITS[lane] // 8)
