"""Local memory that is filled when it is first reached.

A block begins with poison in its local memory. The frames of recursive functions have room for many activations, of
which most programs have few at a time: 16 KB for each thread. So of such local memory only the beginning is filled with
the block, and what lies behind it when an access first gets there.
"""

from __future__ import annotations

from ptxlab.emulate.language import *
from ptxlab.emulate.runtime.memory import POISON
from ptxlab.emulate.runtime.state import Warp

STEP = 512
"""Bytes of each thread that are filled at once."""


@rule(symbol="fill.local")
def fill_to(warp: Warp, addresses: Pointer[u64], mask: u32, size: u64, stride: u64) -> None:
    """Lanes are about to access `size` bytes each of their local memory: fills it so far. stride: how much of it each
    has. All lanes of a warp have words in turn (see `jit.memory.local_rows`), so that it is filled for all of them."""
    end = warp.filled
    for lane in lanes_of(mask):
        end = max(end, u64(addresses[lane] + size))
    if end != warp.filled:
        end = min(u64((end + (STEP - 1)) // STEP * STEP), stride)
        fill_bytes(warp.local + 32 * warp.filled, POISON, u64(32 * (end - warp.filled)))
        warp.filled = end
