"""`discard`: bytes of global memory become undefined, as after a weak write of a value that nobody knows."""

from __future__ import annotations

from ptxlab.emulate.language import *
from ptxlab.emulate.rules.memcheck import resolve, stop
from ptxlab.emulate.runtime.memory import POISON
from ptxlab.emulate.runtime.state import GLOBAL, OUT_OF_MEMORY_RANGE, Context, Cta, Warp

BYTES, LOG_BYTES = 128, 7
"""What an instruction is about, the only size there is."""


@rule(inline=True)
def forget_bytes(at: Pointer[u8], written: Pointer[u8] | None) -> None:
    """One lane's bytes: poisoned, and for initcheck as if nobody had written them."""
    fill_bytes(at, POISON, BYTES)
    if written is not None:
        fill_bytes(written, 0, BYTES)


@rule
def discard(context: Context, cta: Cta, warp: Warp, mask: u32, addresses: Pointer[u64], code: u32) -> boolean:
    """The lanes of a mask. Returns whether the kernel must stop, with the fault noted; then nothing has changed."""
    for lane in lanes_of(mask):
        address = u64(addresses[lane])
        if resolve(context, cta, warp, lane, address, BYTES, LOG_BYTES, GLOBAL, 1, None) is None:
            stop(context, warp, OUT_OF_MEMORY_RANGE, code, lane, address)
            return True
    for lane in lanes_of(mask):
        at = resolve(context, cta, warp, lane, u64(addresses[lane]), BYTES, LOG_BYTES, GLOBAL, 1, None)
        if at is not None:
            forget_bytes(at, context.found.written)
    return False
