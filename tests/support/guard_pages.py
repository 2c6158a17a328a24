"""Memory between two pages that allow no access: who reads or writes beside it ends the process."""

from __future__ import annotations

import ctypes
import mmap

import numpy as np


def between_guard_pages(size: int, *, at_end: bool) -> np.ndarray:
    """Zeroed bytes with a page that allows no access on either side; right behind them, or right before."""
    page = mmap.PAGESIZE
    inside = -(-size // page) * page
    held = np.frombuffer(mmap.mmap(-1, inside + 2 * page, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS), np.uint8)
    protect = ctypes.CDLL(None).mprotect
    protect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    for at in (0, page + inside):
        assert protect(held.ctypes.data + at, page, 0) == 0
    start = page + ((inside - size) // 128 * 128 if at_end else 0)
    return held[start : start + size]
