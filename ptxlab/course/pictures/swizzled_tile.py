"""Where a tensor copy puts the 16-byte chunks of a tile: a run of the emulator says so, byte by byte."""

from __future__ import annotations

import numpy as np

from ptxlab.builder import Builder, Ptr, TensorMap, b32, kernel
from ptxlab.course.pictures.drawing import Drawing, Picture
from ptxlab.launch.run import launch

ROWS = 8
_CELL, _HIGH = 46, 22


@kernel(arch="sm_90a")
def _brought(k: Builder, x: TensorMap, out: Ptr[b32], *, swizzle: int = 128) -> None:
    """out = a tile of 8 rows of `swizzle` bytes, in the order of its addresses in shared memory."""
    x.box(ROWS, swizzle // 2, swizzle=swizzle)
    words = ROWS * swizzle // 4
    tile = k.shared(b32, words, align=1024)
    arrived = k.pipeline(stages=1)
    k.barrier()
    turn = arrived.producer()
    with k.if_(k.tid.x == 0):
        turn.expect(ROWS * swizzle)
        x.load(tile, turn.full, 0, 0)
    arrived.consumer().wait()
    for first in range(0, words, 32):
        out[first + k.tid.x] = tile[first + k.tid.x]


def places(swizzle: int) -> np.ndarray:
    """[line of 128 bytes, chunk's place in it] -> the number of the chunk, counted along the rows, that lies there."""
    x = np.arange(ROWS * swizzle // 2).astype(np.uint16)
    out = np.zeros(x.size, np.uint16)
    launch(
        _brought(swizzle=swizzle),
        1,
        32,
        x.view(np.float16).reshape(ROWS, -1),
        out.view(np.uint32),
        device="step",
        checks=(),
    )
    found: np.ndarray = out.reshape(-1, 8, 8)[:, :, 0] // 8
    return found


def swizzled_tile(swizzle: int = 128) -> Picture:
    """Eight rows of `swizzle` bytes (32, 64 or 128) in shared memory: a line is 128 bytes, a colour is a chunk's place
    in its row, and each chunk says its row and its number there."""
    found = places(swizzle)
    lines, chunks = len(found), swizzle // 16
    left, top = 84, 56
    drawing = Drawing(left + 8 * _CELL + 20, top + lines * _HIGH + 36)
    drawing.text(14, 20, f"{ROWS} rows of {swizzle} bytes, swizzle of {swizzle} bytes", "bold")
    for place in range(8):
        middle = left + (place + 0.5) * _CELL
        drawing.text(middle, top - 8, f"{4 * place}-{4 * place + 3}", "small mid")
    drawing.text(left - 8, top - 8, "banks", "small end")
    for line in range(lines):
        y = top + line * _HIGH
        drawing.text(left - 8, y + 15, f"byte {128 * line}", "small end")
        for place in range(8):
            row, chunk = divmod(int(found[line, place]), chunks)
            drawing.rect(
                left + place * _CELL + 1,
                y + 1,
                _CELL - 2,
                _HIGH - 2,
                f"h{chunk}",
                title=f"byte {128 * line + 16 * place}: row {row}, columns {8 * chunk} to {8 * chunk + 7}",
            )
            drawing.text(left + (place + 0.5) * _CELL, y + 15, f"{row}:{chunk}", "small mid on")
    drawing.text(14, top + lines * _HIGH + 22, "row:chunk; a chunk is 16 bytes, 8 elements of 16 bits", "small")
    columns = [int(np.flatnonzero(found.reshape(-1) == chunks * row)[0]) % 8 for row in range(ROWS)]
    return drawing.picture(
        f"Eight rows of {swizzle} bytes in shared memory: {lines} lines of 128 bytes, eight chunks of 16 bytes each. "
        f"Chunk 0 of rows 0 to 7 lies in the places {', '.join(map(str, columns))} of its line."
    )
