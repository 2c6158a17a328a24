"""Tiles of 16-bit elements in shared memory: where a row's 16-byte chunks lie, so that no two collide in a bank.

`ldmatrix` reads eight rows at once, 16 bytes of each. Shared memory has 32 banks of 4 bytes: eight chunks come in one
go if they lie in eight different groups of four banks.

    Plain: rows one after the other (here 128 bytes each).      Swizzled: chunk c of row r lies at c ^ (r & 7).

    bank group  0  1  2  3  4  5  6  7                          bank group  0  1  2  3  4  5  6  7
    row 0       0  1  2  3  4  5  6  7                          row 0       0  1  2  3  4  5  6  7
    row 1       0  1  2  3  4  5  6  7                          row 1       1  0  3  2  5  4  7  6
    row 2       0  1  2  3  4  5  6  7                          row 2       2  3  0  1  6  7  4  5
    ...         chunk 0 of every row: one group, 8 trips        ...         chunk 0: 0, 1, 2, ...: one trip

Both a column (read by ldmatrix) and a row (written by neighbouring threads) of the swizzled tile meet every bank group
once. That is for rows of 8, 16, 24 or 32 chunks, all of which begin in bank group 0. Rows of 10 chunks (head_dim 80)
begin in groups 0, 2, 4, 6, 0, ...: the rows themselves do half of the work, and only rows 4 to 7 must still step aside,
by one chunk. With g the largest power of two that divides the chunks of a row (2, 4 or 8), g rows of every eight begin
in the same group, and chunk c of row r lies at c ^ f(r), f(r) = r // (8 / g) % g.

    head_dim 80: g = 2, f(r) = r // 4 % 2                       head_dim 96: g = 4, f(r) = r // 2 % 4

    bank group  0  1  2  3  4  5  6  7                          bank group  0  1  2  3  4  5  6  7
    row 0       0  1  2  3  4  5  6  7                          row 0       0  1  2  3  4  5  6  7
                8  9                                                        8  9 10 11
    row 1             0  1  2  3  4  5                          row 1                   0  1  2  3
                6  7  8  9                                                  4  5  6  7  8  9 10 11
    row 4       1  0  3  2  5  4  7  6                          row 2       1  0  3  2  5  4  7  6
                9  8                                                        9  8 11 10

The xor never leaves a run of g chunks, so nothing is padded: a tile takes the room of its elements, whatever head_dim.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any

from ptxlab.builder import Builder, Ptr, Register, b32, s32, u32

CHUNK = 16
"""Bytes that ldmatrix, a vector load and cp.async move at once."""
BANK_GROUPS = 8
"""Groups of four banks: as many chunks can be read at once."""
LANES_A_ROW = 8
"""Neighbouring threads that copy a row: 128 bytes of it."""
IN_FLIGHT = 8
"""Chunks that a thread loads before it stores the first: 32 registers."""


@dataclass(frozen=True)
class Layout:
    """How rows of `head_dim` 16-bit elements lie in shared memory."""

    head_dim: int
    swizzled: bool

    @property
    def chunks(self) -> int:
        """Chunks in a row: an even number, since head_dim is a multiple of 16."""
        return 2 * self.head_dim // CHUNK

    @property
    def stride(self) -> int:
        """Bytes from row to row."""
        return 2 * self.head_dim

    @property
    def run(self) -> int:
        """Chunks within which the xor moves a chunk, and how many rows of eight begin in the same bank group: 2, 4, 8.

        Of a tile that is not swizzled, ldmatrix reads a column in as many trips.
        """
        return min(self.chunks & -self.chunks, BANK_GROUPS)

    def flip(self, rows: int) -> int:
        """What the xor combines a chunk's number with, `rows` rows down."""
        return rows * self.run // BANK_GROUPS % self.run if self.swizzled else 0

    def bytes(self, rows: int) -> int:
        """Bytes of a tile."""
        return rows * self.stride

    def spot(self, k: Builder, tile: Ptr[Any], row: u32, chunk: u32) -> Spot:
        """Where a chunk of a row lies."""
        place = chunk
        if self.swizzled:
            down = row if self.run == BANK_GROUPS else row >> (BANK_GROUPS // self.run).bit_length() - 1
            place = chunk ^ (down & self.run - 1)
        at = tile + row * (self.stride // 4)
        return Spot(k, self, at + place * (CHUNK // 4))


@dataclass(eq=False)
class Spot:
    """The address of one chunk in shared memory, from which others at constant distances are reached.

    Without a swizzle every distance is a constant in the address. With it, the chunk's number is combined with the row
    by xor, so a distance in chunks is one too: at most eight different registers, each made when first needed.
    """

    k: Builder
    layout: Layout
    at: Ptr[Any]
    bases: dict[int, Ptr[Any]] = field(default_factory=dict)

    def moved(self, rows: int = 0, chunks: int = 0) -> Ptr[Any]:
        """`rows` further down and `chunks` to the right: multiples of 8, or of the numbers that the spot leaves free.

        A spot in rows 0 to n - 1 of a tile can be moved by multiples of n rows, n a power of two; so for chunks.
        """
        layout = self.layout
        if not layout.swizzled:
            return self.at.moved(rows * layout.stride + chunks * CHUNK)
        run = layout.run
        flip = (layout.flip(rows) ^ chunks) % run * CHUNK
        if flip not in self.bases:
            address = self.k.address(self.at)
            self.bases[flip] = self.k.pointer(b32, address ^ flip, "shared") if flip else self.at
        return self.bases[flip].moved(rows * layout.stride + chunks // run * run * CHUNK)

    def here(self) -> Spot:
        """The same spot for another scope, where further registers are made anew."""
        return Spot(self.k, self.layout, self.at)

    def shifted(self, size: Register[Any]) -> Spot:
        """The same spot of another tile, `size` bytes further on: a multiple of 128."""
        at: Ptr[Any] = self.k.pointer(b32, self.k.address(self.at) + size, "shared")
        return Spot(self.k, self.layout, at)


@dataclass(eq=False)
class Share:
    """What one thread copies of a tile whose rows follow each other in global memory, 16 bytes at a time.

    Thread t of n takes the chunks t, t + n, t + 2n, ... of the tile, counted row by row (here head_dim 80):

        thread t   0  1  2  3  4  5  6  7  8  9 | 10 11 12 13 14 15 16 17 18 19 | 20 ...
        copies     row 0, chunks 0 to 9         | row 1, chunks 0 to 9          | row 2 ...

    So neighbours read neighbouring bytes, whole sectors of global memory for any head_dim; and as the xor moves chunks
    only within their run, eight neighbours still write to eight different bank groups.

    `places`: where in shared memory this thread's chunks lie, one each.
    """

    k: Builder
    layout: Layout
    rows: int
    threads: int
    thread: u32
    places: list[Ptr[Any]]

    @classmethod
    def of(cls, k: Builder, layout: Layout, tile: Ptr[Any], rows: int, thread: u32, threads: int) -> Share:
        """The share of `thread` in a tile of `rows` rows that `threads` threads copy."""
        made = cls(k, layout, rows, threads, thread, [])
        known: dict[int, tuple[int, Ptr[Any]]] = {}
        for start in made.starts:
            same = start % (BANK_GROUPS * layout.chunks)  # eight rows further down, the xor is the same
            if same not in known:
                index = thread + start if start else thread
                row = index // layout.chunks
                known[same] = start, layout.spot(k, tile, row, index - row * layout.chunks).at
            first, at = known[same]
            made.places.append(at.moved((start - first) * CHUNK))
        return made

    @property
    def starts(self) -> range:
        """The chunks of thread 0."""
        return range(0, self.rows * self.layout.chunks, self.threads)

    def shifted(self, size: Register[Any]) -> Share:
        """The same share of another tile, `size` bytes further on: a multiple of 128."""
        moved: dict[int, Any] = {}
        places: list[Ptr[Any]] = []
        for at in self.places:
            if id(at.base) not in moved:
                moved[id(at.base)] = at.base + size
            places.append(self.k.pointer(b32, moved[id(at.base)], "shared").moved(at.offset))
        return Share(self.k, self.layout, self.rows, self.threads, self.thread, places)

    def load(self, source: Ptr[Any], left: Any, flip: Any = None, offset: int = 0) -> None:
        """From global to shared memory through registers; rows from `left` on become zeros.

        source: this thread's first chunk. flip: bits to change in every 32. offset: bytes to another tile like this.
        """
        k, exist = self.k, self._exist(left)
        for first in range(0, len(self.starts), IN_FLIGHT):
            loads = []
            for n in range(first, min(first + IN_FLIGHT, len(self.starts))):
                bits = k.vars(b32, 4, 0)
                with k.guard(exist[n]):
                    k.op("ld.global.v4.b32", source.moved(self.starts[n] * CHUNK), into=bits)
                loads.append((n, bits))
            for n, bits in loads:
                if flip is not None:
                    for word in bits:
                        word ^= flip
                with self._inside(n):
                    k.op("st.shared.v4.b32", self.places[n].moved(offset), bits)

    def fetch(self, tiles: list[tuple[Ptr[Any], int]], left: Any = None) -> None:
        """Like `load`, but by cp.async: past the registers, and without waiting. tiles: (source, offset) of each.

        A copy of 16 bytes that is told that its source has 0 bytes reads nothing and writes zeros. Where all rows
        exist, `left` is None, and nothing needs to be compared.
        """
        k = self.k
        sizes = None if left is None else [k.select(exists, CHUNK, 0, type=u32) for exists in self._exist(left)]
        for source, offset in tiles:
            for n, start in enumerate(self.starts):
                to, what = self.places[n].moved(offset), source.moved(start * CHUNK)
                with self._inside(n):
                    k.op("cp.async.cg.shared.global", to, what, CHUNK, *(() if sizes is None else (sizes[n],)))

    def store(self, to: Ptr[Any], left: Any) -> None:
        """From shared to global memory; only the first `left` rows. `to` is where this thread's first chunk goes."""
        exist = self._exist(left)
        for n, start in enumerate(self.starts):
            with self.k.guard(exist[n]):
                bits = self.k.op("ld.shared.v4.b32", self.places[n])
                self.k.op("st.global.v4.b32", to.moved(start * CHUNK), bits)

    def _exist(self, left: Any) -> list[Any]:
        """Whether each chunk lies in one of the first `left` rows of the tile."""
        k = self.k
        remaining = k.bitcast(s32, k.min(left, self.rows) * self.layout.chunks - self.thread)
        return [remaining > start for start in self.starts]

    def _inside(self, n: int) -> AbstractContextManager[None]:
        """A guard that holds for the threads that have an n-th chunk; none where all have."""
        there = self.rows * self.layout.chunks - self.starts[n]
        return nullcontext() if there >= self.threads else self.k.guard(self.thread < there)


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

    def load(self, k: Builder, source: Ptr[Any], to: Spot, row: u32, chunk: u32, left: u32, flip: Any = None) -> None:
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

    def _bytes(self, step: tuple[int, int]) -> int:
        """How far a step is from the first chunk in global memory."""
        return step[0] * 2 * self.layout.head_dim + step[1] * CHUNK
