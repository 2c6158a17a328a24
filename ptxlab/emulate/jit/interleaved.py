"""Every second element of a row, or every fourth: lanes that are a small constant apart, all of them active.

    s[2 * t], a[4 * t + 1]

With 512-bit vectors the row is loaded as a whole, and shuffles bring its elements together. A store puts them between
those that are there, in shared memory, where no other worker writes. That takes a quarter of the time of 32 loads or
stores.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ptxlab.emulate.jit.irtext import W
from ptxlab.emulate.jit.part import Part
from ptxlab.emulate.jit.values import BITS, LLVM

if TYPE_CHECKING:
    from ptxlab.emulate.jit.transfer import Seen

TIMES = (2, 4)
"""How many elements lanes may be apart."""


class Interleaved(Part):
    """Loads and stores elements that are so many apart."""

    def moved(self, seen: Seen, first: str, stored: list[str]) -> list[str] | None:
        """What an access of all lanes loads, or nothing of one that stores; None where it is not made like this. first:
        a pointer to where the group has its first lane."""
        size, stride = seen.step, seen.group.stride
        if not self.e.wide or BITS[seen.lane] not in (32, 64) or not stride.isdigit():
            return None
        times = int(stride) // size
        if int(stride) % size or times not in TIMES or (seen.write and seen.code.space != "shared"):
            return None
        bases = [self.t.let(f"getelementptr i8, ptr {first}, i64 {seen.offset + k * size}") for k in range(seen.count)]
        if not seen.write:
            return [self.load(seen.lane, base, times) for base in bases]
        for base, value in zip(bases, stored, strict=True):
            self.store(seen.lane, base, times, value)
        return []

    def load(self, lane: str, base: str, times: int) -> str:
        """The elements of all lanes."""
        t, ty, share = self.t, LLVM[lane], W // times
        parts = []
        for k in range(times):
            start = self._start(times, k)
            row = self._row(lane, base, start)
            order = ", ".join(f"i32 {n * times - start}" for n in range(share * k, share * (k + 1)))
            kind = f"<{W} x {ty}>"
            parts.append(t.let(f"shufflevector {kind} {row}, {kind} poison, <{share} x i32> <{order}>"))
        width = share
        while len(parts) > 1:
            both = ", ".join(f"i32 {n}" for n in range(2 * width))
            kind = f"<{width} x {ty}>"
            parts = [
                t.let(f"shufflevector {kind} {a}, {kind} {b}, <{2 * width} x i32> <{both}>")
                for a, b in zip(parts[::2], parts[1::2], strict=True)
            ]
            width *= 2
        return parts[0]

    def store(self, lane: str, base: str, times: int, value: str) -> None:
        """Stores the elements of all lanes."""
        t, kind = self.t, f"<{W} x {LLVM[lane]}>"
        for k in range(times):
            start = self._start(times, k)
            # Volatile, or LLVM makes a store under a mask of it, which takes AMD's CPUs 12 cycles.
            old = self._row(lane, base, start, "volatile ")
            order = [n // times if n % times == 0 else W + n - start for n in range(start, start + W)]
            listed = ", ".join(f"i32 {n}" for n in order)
            new = t.let(f"shufflevector {kind} {value}, {kind} {old}, <{W} x i32> <{listed}>")
            t.do(f"store {kind} {new}, ptr {self._place(lane, base, start)}, align {BITS[lane] // 8}")

    def _start(self, times: int, k: int) -> int:
        """The first element of the k-th piece of the row. Shared memory has room behind the last lane's, elsewhere the
        last piece ends with it."""
        return W * k if self.e.code.space == "shared" else min(W * k, (W - 1) * times + 1 - W)

    def _row(self, lane: str, base: str, start: int, how: str = "") -> str:
        """A piece of the row."""
        place = self._place(lane, base, start)
        return self.t.let(f"load {how}<{W} x {LLVM[lane]}>, ptr {place}, align {BITS[lane] // 8}")

    def _place(self, lane: str, base: str, element: int) -> str:
        return self.t.let(f"getelementptr i8, ptr {base}, i64 {element * BITS[lane] // 8}")
