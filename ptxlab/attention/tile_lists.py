"""Which tiles of keys each tile of rows visits under a mask_mod: bounds over the graph first, then the elements of the
tiles that these leave open. No array of all rows by all keys is ever made.

    lists = tile_lists(applied, real, (B, Hq, Sq, Sk), built.config.listed)
    lists.starts, lists.entries         # see `kernels.mods`
    lists.kinds                         # SKIPPED, PART or WHOLE of each tile
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ptxlab.builder.lowered import bounds, evaluate
from ptxlab.kernels.mods import Applied

Array = NDArray[Any]
SKIPPED, PART, WHOLE = 0, 1, 2
"""No row of a tile sees a key of it; some do; all see all, and no key is past the end."""
TOGETHER = 8
"""Tiles on the side of a square that is bounded as one."""
AT_ONCE = 1 << 20
"""The most squares that are bounded, and elements that are computed, in one array."""


@dataclass(frozen=True, eq=False)
class TileLists:
    """`kinds` is u8 `[B or 1, Hq or 1, tiles of rows, tiles of keys]`, one where the mask does not depend on it."""

    kinds: NDArray[np.uint8]

    @functools.cached_property
    def starts(self) -> NDArray[np.uint32]:
        """Where the list of each tile of rows begins in `entries`, and where the last one ends."""
        counts = np.count_nonzero(self.kinds, axis=3).reshape(-1)
        return np.concatenate([[0], np.cumsum(counts)]).astype(np.uint32)

    @functools.cached_property
    def entries(self) -> NDArray[np.uint32]:
        """2 * tile + (1 where it is seen in part), in order of keys."""
        tile = np.nonzero(self.kinds)[3]
        entries: NDArray[np.uint32] = (2 * tile + (self.kinds[self.kinds > 0] == PART)).astype(np.uint32)
        return entries

    def __str__(self) -> str:
        visited, part = np.count_nonzero(self.kinds), np.count_nonzero(self.kinds == PART)
        return f"{visited:,} of {self.kinds.size:,} visited, {part:,} of them seen in part"

    def visited(self, batch: int, head: int, tile: int) -> NDArray[np.bool_]:
        """Which tiles of keys a tile of rows visits."""
        b, h = (at if count > 1 else 0 for at, count in zip((batch, head), self.kinds.shape, strict=False))
        found: NDArray[np.bool_] = self.kinds[b, h, tile] != SKIPPED
        return found


Sizes = tuple[int, int, int, int]
"""B, Hq, Sq and Sk."""


@functools.lru_cache(maxsize=64)
def tile_lists(applied: Applied, real: Any, sizes: Sizes, tile: tuple[int, int]) -> TileLists:
    """The lists of a mask for a problem, and tiles of so many rows and keys; `real` is the kernel's type."""
    mask = applied.mods.graph.mask
    assert mask is not None
    (batch, heads, rows, keys), (tall, wide) = sizes, tile
    shape = batch if "b" in mask.depends else 1, heads if "h" in mask.depends else 1, -(-rows // tall), -(-keys // wide)
    kinds = np.zeros(shape, np.uint8)
    for b, h in np.ndindex(*shape[:2]):
        _fill(kinds[b, h], applied, real, sizes, tile, {"b": b, "h": h})
    if keys % wide:  # the last keys of the last tile are past the end
        kinds[..., -1][kinds[..., -1] == WHOLE] = PART
    return TileLists(kinds)


def key_ranges(applied: Applied, real: Any, lengths: Array, heads: int) -> NDArray[np.uint32]:
    """Of decode, u32 `[B, 2]`: the first key that any head of a sequence sees, and the one after the last; 0 and 0
    where none sees any. The sequences' rows are at length - 1."""
    mask, found = applied.mods.graph.mask, np.zeros((len(lengths), 2), np.uint32)
    assert mask is not None
    for b, length in enumerate(int(n) for n in lengths):
        places = {"b": b, "h": np.arange(heads)[:, None], "q_idx": length - 1, "kv_idx": np.arange(length)}
        if "h" not in mask.depends:
            places["h"] = 0
        seen = np.broadcast_to(evaluate(applied.mods.graph, mask, places, applied.numbers, real), (heads, length))
        keys = np.flatnonzero(seen.any(axis=0))
        found[b] = (keys[0], keys[-1] + 1) if len(keys) else (0, 0)
    return found


def _fill(
    kinds: Array, applied: Applied, real: Any, sizes: Sizes, tile: tuple[int, int], head: Mapping[str, int]
) -> None:
    """The kinds of all tiles of one head, which are SKIPPED so far: of squares of tiles together, of those that this
    leaves open one by one, and of the tiles that are still open by their elements."""
    (_, _, rows, keys), (tall, wide), graph = sizes, tile, applied.mods.graph
    assert graph.mask is not None
    left = np.argwhere(np.ones([-(-n // TOGETHER) for n in kinds.shape], bool))
    for side in (TOGETHER, 1):
        still = []
        for some in np.array_split(left, max(1, -(-len(left) // AT_ONCE))):
            low = some * np.array((tall, wide)) * side
            high = np.minimum(low + np.array((tall, wide)) * side, (rows, keys)) - 1
            leaves: dict[str, tuple[Any, Any]] = {name: (at, at) for name, at in head.items()}
            leaves["q_idx"] = low[:, 0] + keys - rows, high[:, 0] + keys - rows
            leaves["kv_idx"] = low[:, 1], high[:, 1]
            never, always = bounds(graph, leaves, applied.numbers)[graph.mask]
            whole, open_ = (np.broadcast_to(x, len(some)) for x in (never > 0, (never < 1) & (always > 0)))
            kinds[tuple(_tiles(some[whole], side, kinds.shape).T)] = WHOLE
            still.append(_tiles(some[open_], side, kinds.shape))
        left = np.concatenate(still)
    for some in np.array_split(left, max(1, -(-len(left) * tall * wide // AT_ONCE))):
        row = np.minimum(some[:, :1] * tall + np.arange(tall), rows - 1)[:, :, None]
        key = np.minimum(some[:, 1:] * wide + np.arange(wide), keys - 1)[:, None]
        places = {**head, "q_idx": row + keys - rows, "kv_idx": key}
        seen = np.broadcast_to(evaluate(graph, graph.mask, places, applied.numbers, real), (len(some), tall, wide))
        kinds[tuple(some.T)] = np.where(seen.all(axis=(1, 2)), WHOLE, np.where(seen.any(axis=(1, 2)), PART, SKIPPED))


def _tiles(squares: Array, side: int, most: tuple[int, ...]) -> Array:
    """The tiles of squares of `side` by `side` tiles, those that there are."""
    inside = np.argwhere(np.ones((side, side), bool))
    found = (squares[:, None] * side + inside).reshape(-1, 2)
    return found[(found < most).all(axis=1)]
