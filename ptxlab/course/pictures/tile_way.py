"""A tile's way from global memory over shared memory to a fragment: a small kernel runs and tells."""

from __future__ import annotations

import numpy as np

from ptxlab.builder import Builder, Ptr, b32, kernel, u32
from ptxlab.course.pictures.drawing import Drawing, Picture
from ptxlab.launch.run import launch

_PAIRS = 128
"""A tile of 16 x 16 elements of 16 bits is 128 pairs, each of which fills a register."""


@kernel
def _bring(k: Builder, matrix: Ptr[u32], copier: Ptr[u32], word: Ptr[u32], held: Ptr[b32]) -> None:
    """Each lane copies 16 bytes to shared memory; ldmatrix hands out the tile as an A fragment."""
    tile = k.shared(u32, _PAIRS)
    lane = k.tid.x
    pairs = k.load(matrix + lane * 4, 4, vector=4)
    k.store(tile + lane * 4, pairs, vector=4)
    for pair in pairs:
        copier[pair] = lane
    k.op("bar.warp.sync", 0xFFFFFFFF)
    for at in range(0, _PAIRS, 32):
        word[tile[at + lane]] = at + lane
    row, half = lane % 16, lane // 16
    got = k.op("ldmatrix.sync.aligned.m8n8.x4.shared.b16", tile + row * 8 + half * 4)
    for n in range(4):
        held[lane * 4 + n] = got[n]


def way() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """For each of the 128 pairs, as a run says: the lane that copies it, its word of shared memory, and (lane,
    register) in the fragment."""
    copier, word, held = np.zeros((3, _PAIRS), np.uint32)
    launch(_bring, 1, 32, np.arange(_PAIRS, dtype=np.uint32), copier, word, held, device="step")
    place = np.zeros((_PAIRS, 2), int)
    place[held] = np.stack(np.divmod(np.arange(_PAIRS), 4), axis=1)
    return copier.astype(int), word.astype(int), place


def way_of_a_tile(lane: int = 5) -> Picture:
    """The three places of a tile of 16 x 16 elements. Colours are rows; one lane's pairs are framed, and dots go their
    way."""
    copier, word, place = way()
    mine = [int(np.flatnonzero((place[:, 0] == lane) & (place[:, 1] == r))[0]) for r in range(4)]
    left, shared, cell = 20, 250, 15
    stops = []
    for pair in mine:
        begin = (left + pair % 8 * 24 + 11, 66 + pair // 8 * cell + 6)
        bank = (shared + word[pair] % 32 * cell + 6, 66 + word[pair] // 32 * 22 + 9)
        end = (shared + place[pair, 0] * cell + 6, 208 + place[pair, 1] * 22 + 9)
        stops.append((begin, bank, end))
    css = "".join(
        f"@keyframes way{n} {{ 0%, 12% {{ transform: translate({a[0]}px, {a[1]}px); }} "
        f"42%, 55% {{ transform: translate({b[0]}px, {b[1]}px); }} "
        f"85%, 100% {{ transform: translate({c[0]}px, {c[1]}px); }} }}\n"
        f".dot{n} {{ animation: way{n} 7s ease-in-out infinite; transform: translate({a[0]}px, {a[1]}px); }}\n"
        for n, (a, b, c) in enumerate(stops)
    )
    drawing = Drawing(shared + 32 * cell + 24, 336, css)
    drawing.text(left, 22, "global memory", "bold")
    drawing.text(left, 38, "16 rows of 8 pairs; in each cell", "small quiet")
    drawing.text(left, 51, "the lane that copies it", "small quiet")
    drawing.text(shared, 22, "shared memory: 32 banks", "bold")
    drawing.text(shared, 38, "each lane stores 16 bytes (st.shared.v4), that is 4 banks", "small quiet")
    drawing.text(shared, 182, "fragment: 4 registers of 32 lanes", "bold")
    drawing.text(shared, 198, "ldmatrix.x4 hands each lane one pair of each 8 x 8 matrix", "small quiet")
    for pair in range(_PAIRS):
        hue = f"h{pair // 8 % 8}"
        x, y = left + pair % 8 * 24, 66 + pair // 8 * cell
        drawing.rect(x, y, 23, cell - 1, hue, title=f"row {pair // 8}, columns {pair % 8 * 2} and {pair % 8 * 2 + 1}")
        drawing.text(x + 11.5, y + 10, copier[pair], "tiny mid on")
        x, y = shared + word[pair] % 32 * cell, 66 + word[pair] // 32 * 22
        drawing.rect(x, y, cell - 1, 18, hue, title=f"bank {word[pair] % 32}, row {pair // 8} of the tile")
        drawing.text(x + 7, y + 12, pair // 8, "tiny mid on")
        x, y = shared + place[pair, 0] * cell, 208 + place[pair, 1] * 22
        drawing.rect(x, y, cell - 1, 18, hue, title=f"lane {place[pair, 0]}, register {place[pair, 1]}")
        drawing.text(x + 7, y + 12, pair // 8, "tiny mid on")
    for column in range(0, 32, 4):
        drawing.text(shared + column * cell + 7, 164, column, "tiny mid quiet")
        drawing.text(shared + column * cell + 7, 306, column, "tiny mid quiet")
    drawing.rect(shared + lane * cell - 1.5, 205, cell + 2, 90, "mark")
    for n in range(4):
        drawing.parts.append(f'<circle r="4.5" class="dot dot{n}"/>')
    drawing.text(
        left, 326, f"numbers on the right: rows of the tile; framed: what lane {lane} holds in the end", "small quiet"
    )
    rows = sorted({pair // 8 for pair in mine})
    return drawing.picture(
        "The way of a tile of 16 by 16 elements of 16 bits. In global memory it is 16 rows of 8 pairs. 32 lanes copy "
        "16 bytes each to shared memory, where it fills all 32 banks four times. ldmatrix then gives every lane four "
        f"pairs: lane {lane} ends with pairs of rows {rows[0]} and {rows[-1]}, which other lanes have copied."
    )
