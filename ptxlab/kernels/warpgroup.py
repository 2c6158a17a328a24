"""Matrices for `wgmma`: tiles in shared memory, the descriptors that say where they lie, and products of a warpgroup.

A tile is cut into panels of 64 elements, 128 bytes per row, and a panel swizzled: chunk c of row r (16 bytes) lies at
c ^ (r & 7). So eight rows fill 1024 bytes, and that is what the hardware knows as the swizzle of 128 bytes.

    panel 0, columns 0 to 63        panel 1, columns 64 to 127      ...
    row 0  128 bytes                rows * 128 bytes further on
    row 1  128 bytes

A descriptor is 64 bits: the start address, the distance of eight rows (1024), the distance of panels, the swizzle; all
distances in units of 16 bytes. The same tile can be read in two ways. Of Q and K neighbours in memory lie along k, the
dimension that a product sums over: 16 elements further along k is 32 bytes further in the row. Of V they lie along n,
the columns of O, and k counts rows (`transposed`): 16 further along k is 16 rows further, 2048 bytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ptxlab.builder import Builder, Ptr, Var, b32, f32, s32, u32, u64
from ptxlab.kernels.tiles import CHUNK, IN_FLIGHT, Layout

PANEL = 64
"""Elements of a row in a panel: 128 bytes."""
EIGHT_ROWS = 1024
"""Bytes of eight rows of a panel."""
SWIZZLE_128 = 1 << 62
UNIT = 16
"""Bytes that addresses and distances in a descriptor are counted in."""
ROWS_A_PASS = 16
"""Rows that 128 threads copy at a time, eight threads per row."""
Scores = list[list[Var[f32]]]


@dataclass(frozen=True)
class Panels:
    """A tile of `rows` rows of `head_dim` 16-bit elements, at `tile` in shared memory."""

    tile: Ptr[Any]
    rows: int
    head_dim: int

    @property
    def layout(self) -> Layout:
        """How the rows of a panel lie."""
        return Layout(PANEL, swizzled=True)

    @property
    def panel_bytes(self) -> int:
        """Bytes of a panel."""
        return self.layout.bytes(self.rows)

    @property
    def bytes(self) -> int:
        """Bytes of the tile."""
        return self.head_dim // PANEL * self.panel_bytes

    def descriptor(self, k: Builder) -> Any:
        """The descriptor of the first k of the tile."""
        start = k.cvt(u64, k.address(self.tile)) >> 4
        what = SWIZZLE_128 | EIGHT_ROWS // UNIT << 32 | self.panel_bytes // UNIT << 16
        descriptor = k.op("or.b64", start, what)
        return descriptor

    def along_row(self, step: int) -> int:
        """What is added to the descriptor for the `step`th 16 elements of each row."""
        panel, within = divmod(16 * step, PANEL)
        return (panel * self.panel_bytes + 2 * within) // UNIT

    def down(self, step: int) -> int:
        """What is added to the descriptor for the `step`th 16 rows."""
        return 16 * step * 2 * PANEL // UNIT

    def chunk(self, spot: Any, rows: int, number: int) -> Any:
        """From a spot in the first panel so many rows further down, and so many chunks of 8 elements further on."""
        panel, chunk = divmod(number, PANEL // 8)
        return spot.moved(rows=rows, chunks=chunk).moved(panel * self.panel_bytes)

    def load(self, k: Builder, source: Ptr[Any], thread: u32, left: Any, flip: Any = None) -> None:
        """From global to shared memory, by 128 threads: eight neighbours copy 128 bytes of a row; rows from `left` on
        become zeros. source: the first element of the tile. flip: bits to change in every 32."""
        steps = [(down, panel) for panel in range(self.head_dim // PANEL) for down in range(0, self.rows, ROWS_A_PASS)]
        row, to = self._mine(thread)
        mine = source + (row * (self.head_dim // 2) + (thread & 7) * 4)
        remaining = k.bitcast(s32, k.min(left, self.rows) - row)
        for first in range(0, len(steps), IN_FLIGHT):
            loads = []
            for down, panel in steps[first : first + IN_FLIGHT]:
                bits = k.vars(b32, 4, 0)
                with k.guard(remaining > down):
                    k.op("ld.global.v4.b32", mine.moved(2 * (down * self.head_dim + panel * PANEL)), into=bits)
                loads.append((to.moved(panel * self.panel_bytes + down * 2 * PANEL), bits))
            for place, bits in loads:
                if flip is not None:
                    for word in bits:
                        word ^= flip
                k.op("st.shared.v4.b32", place, bits)

    def store(self, k: Builder, to: Ptr[Any], thread: u32, left: Any) -> None:
        """From shared to global memory; only the first `left` rows. to: where the first element of the tile goes."""
        row, place = self._mine(thread)
        mine = to + (row * (self.head_dim // 2) + (thread & 7) * 4)
        remaining = k.bitcast(s32, k.min(left, self.rows) - row)
        for panel in range(self.head_dim // PANEL):
            for down in range(0, self.rows, ROWS_A_PASS):
                with k.guard(remaining > down):
                    bits = k.op("ld.shared.v4.b32", place.moved(panel * self.panel_bytes + down * 2 * PANEL))
                    k.op("st.global.v4.b32", mine.moved(2 * (down * self.head_dim + panel * PANEL)), bits)

    def _mine(self, thread: u32) -> tuple[Any, Ptr[Any]]:
        """The first row of a thread, and where in shared memory its chunk of it lies."""
        row = thread >> 3
        return row, self.tile + (row * (2 * PANEL // 4) + ((thread & 7) ^ (row & 7)) * (CHUNK // 4))


def product(k: Builder, d: Scores, a: Any, b: Any, dtype: str, *, adds: Any, transposed: bool = False) -> None:
    """d += a * b, begun: one `wgmma`. a: a descriptor, or the four registers of an A fragment; b: a descriptor; adds: a
    predicate, whether d is added to; transposed: b's rows count k."""
    registers = [value for c in d for value in c]
    shape = f"m64n{8 * len(d)}k16"
    layouts = (int(transposed),) if isinstance(a, Sequence) else (0, int(transposed))
    k.op(f"wgmma.mma_async.sync.aligned.{shape}.f32.{dtype}.{dtype}", a, b, adds, 1, 1, *layouts, into=registers)


def finish(k: Builder) -> None:
    """Closes the group of the products that were begun, and waits for it."""
    k.op("wgmma.commit_group.sync.aligned")
    k.op("wgmma.wait_group.sync.aligned", 0)
