"""Grid, block, warp, lane: every thread of a small launch, and which of them have an element."""

from __future__ import annotations

import numpy as np

from ptxlab.builder import Builder, Ptr, kernel, u32
from ptxlab.course.pictures.drawing import Drawing, Picture
from ptxlab.launch.run import launch

_CELL = 6


@kernel
def _touch(k: Builder, x: Ptr[u32], n: u32) -> None:
    """x[i] = i, one thread per element."""
    i = k.thread_index()
    k.return_if(i >= n)
    x[i] = i


def _stored(blocks: int, threads: int, elements: int) -> np.ndarray:
    """bool [block, warp, lane]: who stores an element, as a run says."""
    x = np.zeros(elements, np.uint32)
    launch(_touch, blocks, threads, x, elements, device="step")
    found = np.zeros((blocks, threads // 32, 32), bool)
    found.flat[x] = True
    return found


def grid(blocks: int = 4, block: int = 128, elements: int = 500) -> Picture:
    """All threads of a launch: a square per lane, a row per warp, a frame per block; grey without an element."""
    busy = _stored(blocks, block, elements)
    warps = block // 32
    wide, high = 32 * _CELL, warps * (_CELL + 8)
    drawing = Drawing(30 + blocks * (wide + 14), high + 96)
    drawing.text(14, 20, f"grid: {blocks} blocks", "bold")
    for number in range(blocks):
        left, top = 14 + number * (wide + 14), 32
        drawing.rect(left - 5, top, wide + 10, high + 22, "frame")
        drawing.text(left, top + 15, f"block {number}: {block} threads", "small bold")
        for warp in range(warps):
            y = top + 24 + warp * (_CELL + 8)
            for lane in range(32):
                has = bool(busy[number, warp, lane])
                thread = number * block + 32 * warp + lane
                drawing.rect(
                    left + lane * _CELL,
                    y,
                    _CELL - 1,
                    _CELL + 2,
                    f"h{warp % 8}" if has else "empty",
                    title=f"thread {thread}: block {number}, warp {warp}, lane {lane}",
                )
    foot = high + 74
    drawing.path(f"M14 {foot - 10} v4 h{wide - 1} v-4", "line")
    drawing.text(14, foot + 10, "a warp: 32 lanes that execute one instruction at a time", "small")
    idle = int((~busy).sum())
    drawing.text(drawing.width - 14, foot + 10, f"grey: {idle} threads without an element", "small end")
    last = f"The last {idle} threads have no element and are grey." if idle else "Every thread has an element."
    return drawing.picture(
        f"A grid of {blocks} blocks. Each block has {block} threads in {warps} warps of 32 lanes, rows of 32 "
        f"squares: {busy.size} threads for {elements} elements. {last}"
    )
