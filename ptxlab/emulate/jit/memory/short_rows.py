"""Rows of 8 lanes or 4, each somewhere else: what CTAs access that are so many threads wide.

    y[(row + threadIdx.y) * n + column + threadIdx.x]

With all lanes active each row is loaded or stored as a vector, in the order of the lanes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ptxlab.emulate.jit.emitter.groups import Seen, Starts
from ptxlab.emulate.jit.emitter.part import Part
from ptxlab.emulate.jit.llvm.irtext import W
from ptxlab.emulate.jit.llvm.values import LLVM
from ptxlab.emulate.jit.llvm.vector_elements import joined

if TYPE_CHECKING:
    from ptxlab.emulate.jit.affine.forms import Form

LENGTHS = (8, 4)
"""How many lanes a row may have."""


def short_rows(form: Form, size: int) -> Starts:
    """The rows of an access whose lanes take `size` bytes each; none if they form no such rows."""
    times = form.times or (0,) * W
    for length in LENGTHS:
        row = [(size * k, 0) for k in range(length)]
        starts = tuple((form.apart[k], times[k]) for k in range(0, W, length))
        lanes = [(a + b, c + d) for a, c in starts for b, d in row]
        if lanes == list(zip(form.apart, times, strict=True)):
            return starts
    return ()


class ShortRows(Part):
    """Loads and stores them."""

    def load(self, seen: Seen, first: str) -> str:
        """The elements of all lanes, lane by lane in one vector. first: a pointer to where the group has its first
        lane."""
        t, ty, width = self.t, LLVM[seen.lane], self._width(seen)
        row = f"<{width} x {ty}>"
        parts = [t.let(f"load {row}, ptr {place}, align {seen.step}") for place in self._places(seen, first)]
        return joined(t, ty, parts, width)

    def store(self, seen: Seen, first: str, stored: str) -> None:
        """Stores such a vector."""
        t, ty, width = self.t, LLVM[seen.lane], self._width(seen)
        every = f"<{W * seen.count} x {ty}>"
        for k, place in enumerate(self._places(seen, first)):
            own = ", ".join(f"i32 {k * width + n}" for n in range(width))
            cut = t.let(f"shufflevector {every} {stored}, {every} poison, <{width} x i32> <{own}>")
            t.do(f"store <{width} x {ty}> {cut}, ptr {place}, align {seen.step}")

    def _width(self, seen: Seen) -> int:
        """The elements of a row."""
        return W * seen.count // len(seen.group.rows)

    def _places(self, seen: Seen, first: str) -> list[str]:
        """Where rows begin."""
        t, out = self.t, []
        for apart, times in seen.group.rows:
            far = t.let(f"mul i64 {seen.group.stride}, {times}") if times else "0"
            out.append(t.let(f"getelementptr i8, ptr {first}, i64 {t.let(f'add i64 {far}, {apart + seen.offset}')}"))
        return out
