"""Tiles of 16-bit elements in shared memory: where a row's 16-byte chunks lie, and how a block brings them there.

`ldmatrix` reads eight rows at once, 16 bytes of each. Shared memory has 32 banks of 4 bytes: eight chunks come in one
go if they lie in eight different groups of four banks.

    Plain: rows one after the other (here 128 bytes each).      Swizzled: chunk c of row r lies at c ^ (r & 7).

    bank group  0  1  2  3  4  5  6  7                          bank group  0  1  2  3  4  5  6  7
    row 0       0  1  2  3  4  5  6  7                          row 0       0  1  2  3  4  5  6  7
    row 1       0  1  2  3  4  5  6  7                          row 1       1  0  3  2  5  4  7  6
    row 2       0  1  2  3  4  5  6  7                          row 2       2  3  0  1  6  7  4  5
    ...         chunk 0 of every row: one group, 8 trips        ...         chunk 0: 0, 1, 2, ...: one trip

Both a row (written by eight neighbouring threads) and a column (read by ldmatrix) of the swizzled tile meet every bank
group once. For that its rows begin at multiples of 128 bytes: a row of 80 elements takes the room of 128.
"""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Any

from ptxlab.build import Builder, Ptr, Register, Shared, b32, u32

CHUNK = 16
"""Bytes that ldmatrix, a vector load and cp.async move at once."""
LANES_A_ROW = 8
"""Neighbouring threads that copy a row: 128 bytes of it."""
IN_FLIGHT = 8
"""Chunks that a thread loads before it stores the first: 32 registers."""


@dataclass(eq=False)
class Spot:
    """The address of one chunk in shared memory, from which others at constant distances are reached.

    Without a swizzle every distance is a constant in the address. With it, the chunk's number is combined with the row
    by xor, so a distance in chunks is one too: at most eight different registers, each made when first needed.
    """

    k: Builder
    at: Ptr[Any]
    stride: int
    swizzled: bool
    bases: dict[int, Ptr[Any]] = field(default_factory=dict)

    def moved(self, rows: int = 0, chunks: int = 0) -> Ptr[Any]:
        """`rows` further down and `chunks` to the right: multiples of 8, or of the numbers that the spot leaves free.

        A spot in rows 0 to n - 1 of a tile can be moved by multiples of n rows, n a power of two; so for chunks.
        """
        if not self.swizzled:
            return self.at.moved(rows * self.stride + chunks * CHUNK)
        flip = (rows ^ chunks) % LANES_A_ROW * CHUNK
        if flip not in self.bases:
            address = self.k.address(self.at)
            self.bases[flip] = self.k.pointer(b32, address ^ flip, "shared") if flip else self.at
        return self.bases[flip].moved(rows * self.stride + chunks // LANES_A_ROW * LANES_A_ROW * CHUNK)

    def shifted(self, size: Register[Any]) -> Spot:
        """The same spot of another tile, `size` bytes further on: a multiple of 128."""
        at: Ptr[Any] = self.k.pointer(b32, self.k.address(self.at) + size, "shared")
        return Spot(self.k, at, self.stride, self.swizzled)


@dataclass(frozen=True)
class Layout:
    """How rows of `head_dim` 16-bit elements lie in shared memory."""

    head_dim: int
    swizzled: bool

    @property
    def stride(self) -> int:
        """Bytes from row to row."""
        return -(-2 * self.head_dim // 128) * 128 if self.swizzled else 2 * self.head_dim

    def bytes(self, rows: int) -> int:
        """Bytes of a tile."""
        return rows * self.stride

    def spot(self, k: Builder, tile: Shared[b32], row: u32, chunk: u32) -> Spot:
        """Where a chunk of a row lies."""
        place = chunk ^ (row & 7) if self.swizzled else chunk
        at = tile + row * (self.stride // 4)
        return Spot(k, at + place * (CHUNK // 4), self.stride, self.swizzled)


@dataclass(frozen=True)
class Copy:
    """How the threads of a block copy a tile of `rows` rows: eight neighbours a row, 16 bytes each at a time.

    thread        0  1  2  3  4  5  6  7 | 8  9  ...        chunk `thread % 8` of row `thread // 8`, then the chunk 8
    copies row 0  c0 c1 c2 c3 c4 c5 c6 c7|row 1 c0 c1 ...   further right, and the rows `threads // 8` further down
    """

    layout: Layout
    rows: int
    threads: int

    def steps(self) -> list[tuple[int, int]]:
        """(rows down, chunks right) of each chunk that a thread copies."""
        chunks = self.layout.head_dim * 2 // CHUNK
        down = range(0, self.rows, self.threads // LANES_A_ROW)
        return [(row, chunk) for row in down for chunk in range(0, chunks, LANES_A_ROW)]

    def inside(self, k: Builder, row: u32, chunk: u32, step: tuple[int, int]) -> Any:
        """Whether a step of this thread lies inside the tile; None if the steps of all threads do."""
        down, right = step
        width = self.layout.head_dim * 2 // CHUNK - right
        inside = chunk < width if width < LANES_A_ROW else None
        if down + self.threads // LANES_A_ROW > self.rows:
            low = row < self.rows - down
            inside = low if inside is None else inside & low
        return inside

    def load(
        self, k: Builder, source: Ptr[Any], to: Spot, row: u32, chunk: u32, left: u32, flip: Any = None
    ) -> None:  # fmt: skip
        """From global to shared memory through registers; rows from `left` on become zeros.

        source: the first chunk of this thread, rows being head_dim apart; row, chunk: which that is. flip: bits to
        change in every 32.
        """
        steps = self.steps()
        for first in range(0, len(steps), IN_FLIGHT):
            loads = []
            for step in steps[first : first + IN_FLIGHT]:
                bits = k.vars(b32, 4, 0)
                inside = self.inside(k, row, chunk, step)
                exists = left > row + step[0] if step[0] else left > row
                with k.guard(exists if inside is None else exists & inside):
                    k.op("ld.global.v4.b32", source.moved(self._bytes(step)), into=bits)
                loads.append((step, inside, bits))
            for step, inside, bits in loads:
                if flip is not None:
                    for word in bits:
                        word ^= flip
                with k.guard(inside) if inside is not None else nullcontext():
                    k.op("st.shared.v4.b32", to.moved(*step), bits)

    def fetch(self, k: Builder, source: Ptr[Any], to: Spot, row: u32, chunk: u32, left: u32) -> None:
        """Like `load`, but by cp.async: past the registers, and without waiting.

        A copy of 16 bytes that is told that its source has 0 bytes reads nothing and writes zeros.
        """
        for step in self.steps():
            inside = self.inside(k, row, chunk, step)
            exists = left > row + step[0] if step[0] else left > row
            size = k.select(exists, CHUNK, 0, type=u32)
            with k.guard(inside) if inside is not None else nullcontext():
                k.op("cp.async.cg.shared.global", to.moved(*step), source.moved(self._bytes(step)), CHUNK, size)

    def store(self, k: Builder, to: Ptr[Any], source: Spot, row: u32, chunk: u32, left: u32) -> None:
        """From shared to global memory; only the first `left` rows. `to` is where the thread's first chunk goes."""
        for step in self.steps():
            inside = self.inside(k, row, chunk, step)
            exists = left > row + step[0] if step[0] else left > row
            with k.guard(exists if inside is None else exists & inside):
                bits = k.op("ld.shared.v4.b32", source.moved(*step))
                k.op("st.global.v4.b32", to.moved(self._bytes(step)), bits)

    def _bytes(self, step: tuple[int, int]) -> int:
        """How far a step is from the first chunk in global memory."""
        return step[0] * 2 * self.layout.head_dim + step[1] * CHUNK
