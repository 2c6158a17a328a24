"""`pl.plot_tile(map)`: where the bytes of a tile lie in shared memory, as a bulk copy with a tensor map puts them.

    pl.plot_tile(pl.TensorMap(k, box=(64, 64), swizzle=128))

A line of the picture is 128 bytes: the 32 banks once. A coloured cell is 16 bytes, the least that a swizzle moves. In
it stands `row.chunk`; cells of one column of the tile have one colour, and would share banks without a swizzle.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ptxlab.emulate.language import Pointer
from ptxlab.emulate.rules import tensor_maps as maps
from ptxlab.errors import LaunchError
from ptxlab.figures import new_figure
from ptxlab.launch.tensor_maps import TensorMap
from ptxlab.options import complete

LINE, BANK = 128, 4
"""Bytes of a line, the 32 banks once; and of a bank."""
MOST = 32
"""Lines that are drawn."""
TONES = 8
"""Columns of a tile, 16 bytes each, whose colours differ."""


def places(map: TensorMap) -> np.ndarray:
    """For each 16 bytes of the tile in shared memory, from its start on: (row of the tile, chunk of the row)."""
    words = Pointer[int](np.frombuffer(map.encoded(LINE), np.uint64))
    length, found = int(maps.row_bytes(words)), np.full((int(maps.tile_bytes(words)) // maps.CHUNK, 2), -1)
    for row in range(int(maps.rows(words))):
        for chunk in range(length // maps.CHUNK):
            at = maps.swizzled(words, row * length + chunk * maps.CHUNK)
            found[at // maps.CHUNK] = row, chunk
    return found


@complete("pl.plot_tile(pl.TensorMap(array, box=(64, 64)))")
def plot_tile(map: TensorMap, *, figure: Any = None) -> Any:
    """The tile of a `pl.TensorMap` as it lies in shared memory.

    Parameters
    ----------
    map
        The `pl.TensorMap`.
    figure
        A matplotlib Figure to draw into; by default a new one, which is returned.
    """
    import matplotlib

    if not isinstance(map, TensorMap):
        raise LaunchError(f"map: expected a pl.TensorMap, got {type(map).__name__}")
    found = places(map)
    across = LINE // maps.CHUNK
    lines = -(-len(found) // across)
    shown = min(lines, MOST)
    kept = found[: shown * across]
    padded = np.full((shown * across, 2), -1)
    padded[: len(kept)] = kept
    cells = padded.reshape(shown, across, 2)
    figure = new_figure(figure, (7.6, 0.9 + 0.27 * shown))
    axis = figure.subplots()
    colours = matplotlib.colormaps["tab10"].resampled(TONES)
    tones = np.ma.masked_less(cells[..., 1], 0) % TONES
    axis.imshow(tones, cmap=colours, vmin=0, vmax=TONES - 1, aspect="auto", alpha=0.6, extent=(0, LINE, shown, 0))
    axis.set_xticks(range(0, LINE, BANK), minor=True)
    axis.set_yticks(range(shown), minor=True)
    axis.grid(which="minor", linewidth=0.3, color="white")
    for line, row in enumerate(cells):
        for k, (tile_row, chunk) in enumerate(row.tolist()):
            if tile_row >= 0:
                axis.text(
                    (k + 0.5) * maps.CHUNK, line + 0.5, f"{tile_row}.{chunk}", ha="center", va="center", fontsize=7
                )
    axis.set_xticks(range(0, LINE + 1, maps.CHUNK))
    axis.set_xlabel(f"byte of a line of {LINE}; a thin column is a bank of {BANK} bytes")
    every = -(-shown // 8)
    axis.set_yticks([k + 0.5 for k in range(0, shown, every)], [str(k * LINE) for k in range(0, shown, every)])
    axis.set_ylabel("first byte of the line")
    swizzle = f"{map.swizzle}-byte swizzle" if map.swizzle else "no swizzle"
    cut = f", the first {shown} of {lines} lines" if shown < lines else ""
    axis.set_title(
        f"tile of {'×'.join(str(n) for n in map.box)}, {swizzle}{cut}: row.chunk of 16 bytes", fontsize="medium"
    )
    return figure
