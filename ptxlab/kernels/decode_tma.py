"""The rings of `decode_gqa` filled by TMA (`copy="tma"`): one lane asks for a tile, an mbarrier says that it is here.

With `cp.async` each lane computes addresses and starts copies of 16 bytes: at head_dim 128, 16 instructions of a warp
for 16 keys and their values, and more for the addresses. With tensor maps one lane starts four copies: it gives the
coordinates of a box of 16 keys and 64 elements, which comes swizzled, and zeros for what lies outside of the cache.
What is paid for it:

- a box has a fixed size, so the last tile of a warp has rows that are no keys. They may hold anything, NaN too, and a
  weight of 0 does not help against NaN: the values of these rows are overwritten with zeros, in shared memory;
- a box lies in one page, so pages have 8 keys or a multiple of 16, and the splits of a paged cache begin at multiples
  of 16 keys;
- a map describes one tensor: there is none for caches of their own (`cache="pointers"`).

Why not `cp.async.bulk`, which needs no map and copies a row of any length? Its operands are uniform registers: where
each lane has a row of its own, the assembler makes a loop over the lanes, eight instructions for each of 32 rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from ptxlab import targets
from ptxlab.builder import Builder, Ptr, TensorMap, Var, b32, b64, u32
from ptxlab.errors import TargetError
from ptxlab.kernels.decode_spec import DecodeConfig
from ptxlab.kernels.tiles import CHUNK
from ptxlab.kernels.warpgroup import PANEL, Panels

KEYS = 16
"""Keys of a tile: the depth of the MMA that multiplies weights and values."""
LINE = 2 * PANEL
"""Bytes of a row in a panel."""
LEAST_PAGE = 8
"""Keys of a page, at least: eight rows are one pattern of the swizzle."""


class TensorRing:
    """A warp's ring: K and V in each stage, and for each stage an mbarrier that says when all bytes are there.

    Nothing says that a stage is empty: the lanes that read it are of the warp that fills it, and meet at
    `bar.warp.sync`. The tiles are those from key `ahead` on, `step` keys apart, before key `last`.
    """

    def __init__(
        self,
        k: Builder,
        config: DecodeConfig,
        ring: Ptr[Any],
        tensors: tuple[TensorMap, TensorMap],
        lane: u32,
        warp: u32,
        ahead: Var[u32],
        step: int,
        last: u32,
    ) -> None:
        self.k, self.stages, self.tensors, self.lane = k, config.stages, tensors, lane
        self.ahead, self.step, self.last = ahead, step, last
        self.panels = Panels(ring, KEYS, config.head_dim)
        for tensor in tensors:
            tensor.box(*((1, box_rows(config), 1) if config.cache == "paged" else (1, 1, KEYS)), PANEL, swizzle=LINE)
        full = k.shared(b64, config.warps * config.stages, align=8)
        self.full = full + warp * config.stages
        with k.guard(lane == 0):  # the lane that starts the copies; the others come here after a barrier
            for n in range(config.stages):
                k.op("mbarrier.init.shared::cta.b64", self.full + n, 1)
            k.op("fence.mbarrier_init.release.cluster")
        filled, awaited, phase = k.var(u32, 0), k.var(u32, 0), k.var(u32, 0)
        self.filled: Var[u32] = filled
        self.awaited: Var[u32] = awaited
        self.phase: Var[u32] = phase

    def fetcher(self, places: Places) -> Callable[[Any], None]:
        """The function that starts the copies of the next tile into a stage, which begins so many bytes into the ring.
        `places`: where the tile's boxes are."""
        k, panels = self.k, self.panels

        def fetch(stage: Any) -> None:
            with k.if_((self.ahead < self.last) & (self.lane == 0)):
                full = self.full + self.filled
                k.op("mbarrier.arrive.expect_tx.shared::cta.b64", full, 2 * panels.bytes)
                to = panels.tile + (stage >> 2)
                for down, place in places.boxes():
                    for n, tensor in enumerate(self.tensors):  # the values' tile lies after the keys'
                        for panel in range(panels.head_dim // PANEL):
                            at = to.moved(n * panels.bytes + panel * panels.panel_bytes + down * LINE)
                            tensor.load(at, full, *place, panel * PANEL)
            self.ahead.set(self.ahead + self.step)
            places.look_up()
            self.filled += 1
            self.filled.set(k.select(self.filled == self.stages, 0, self.filled))

        places.look_up()
        return fetch

    def wait(self) -> None:
        """Until the oldest tile is here."""
        k = self.k
        k.wait_for_phase(self.full + self.awaited, self.phase)
        self.awaited += 1
        with k.if_(self.awaited == self.stages):
            self.awaited.set(0)
            self.phase.set(self.phase ^ 1)

    def clear(self, values: Ptr[Any], left: u32) -> None:
        """The values from row `left` on become zeros; two lanes per row."""
        k, row = self.k, self.lane >> 1
        mine = values + (row * (LINE // 4) + (self.lane & 1) * (LINE // 8))
        zeros = k.vars(b32, 4, 0)
        with k.guard(row >= left):
            for panel in range(self.panels.head_dim // PANEL):
                for chunk in range(0, LINE // 2, CHUNK):
                    k.op("st.shared.v4.b32", mine.moved(panel * self.panels.panel_bytes + chunk), zeros)
        k.op("bar.warp.sync", -1)


@dataclass(eq=False)
class Places:
    """Where the 16 keys from `ahead` on lie in the cache; a page after the last one is that one again. The pages are
    looked up one tile in advance, as `decode_gqa.fetcher` does."""

    k: Builder
    config: DecodeConfig
    page_of: Callable[[Any], Any] | None
    batch: u32
    kv_head: u32
    ahead: Var[u32]
    last: u32
    pages: list[Var[u32]] = field(default_factory=list)

    def look_up(self) -> None:
        """Asks the block table for the pages of the next tile."""
        k = self.k
        if self.page_of is None:
            return
        rows = range(0, KEYS, box_rows(self.config))
        if not self.pages:
            pages = k.vars(u32, len(rows), 0)
            self.pages += pages
        with k.if_(self.ahead < self.last):
            for page, down in zip(self.pages, rows, strict=True):
                j = k.min(self.ahead + down if down else self.ahead, self.last - 1)
                page.set(self.page_of(j))

    def boxes(self) -> list[tuple[int, tuple[Any, ...]]]:
        """Of each box of the tile: how many rows down it begins, and its place, but for the column."""
        if self.page_of is None:
            return [(0, (self.batch, self.kv_head, self.ahead))]
        size, rows = self.config.page_size, box_rows(self.config)
        inside = 0 if size <= KEYS else self.ahead & (size - 1) if size & (size - 1) == 0 else self.ahead % size
        return [(n * rows, (page, inside, self.kv_head)) for n, page in enumerate(self.pages)]


def box_rows(config: DecodeConfig) -> int:
    """Keys of a box in a paged cache."""
    return min(KEYS, config.page_size)


def check(config: DecodeConfig) -> None:
    """`TargetError` for what tensor maps cannot copy."""
    size, instead = config.page_size, "; write copy='cp.async'"
    if targets.get(config.arch).number < 90:
        raise TargetError(f"decode_gqa: copy='tma' needs sm_90 or later; {config.arch} has no tensor maps{instead}")
    if config.head_dim % PANEL:
        raise TargetError(
            f"decode_gqa: copy='tma' copies {PANEL} elements of a row at a time; head_dim={config.head_dim} is not "
            f"a multiple of that{instead}"
        )
    if config.cache == "pointers":
        raise TargetError(f"decode_gqa: a tensor map describes one tensor, not one cache per sequence{instead}")
    if config.cache == "paged" and (size % KEYS and size != LEAST_PAGE):
        raise TargetError(f"decode_gqa: copy='tma' needs pages of 8 keys or of a multiple of 16, got {size}{instead}")
