"""A cluster of two blocks that load from and store to each other's shared memory, in the debugger."""

from __future__ import annotations

from typing import Any

import numpy as np

import ptxlab as pl

PAIR = """
.version 8.6
.target sm_90a
.address_size 64
.visible .entry pair(.param .u64 out)
.reqnctapercluster 2, 1, 1
{
    .reg .b64 %rd<8>;
    .reg .b32 %r<12>;
    .shared .align 16 .b32 mine[32];
    .shared .align 16 .b32 sent[32];
    ld.param.u64 %rd1, [out];
    mov.u32 %r1, %tid.x;
    mov.u32 %r2, %ctaid.x;
    mov.u32 %r3, mine;
    mad.lo.u32 %r4, %r1, 4, %r3;
    mad.lo.u32 %r5, %r2, 100, %r1;
    st.shared.u32 [%r4], %r5;
    barrier.cluster.arrive.release.aligned;
    barrier.cluster.wait.acquire.aligned;
    xor.b32 %r6, %r2, 1;
    mapa.shared::cluster.u32 %r7, %r4, %r6;
    ld.shared::cluster.u32 %r8, [%r7];
    add.u32 %r9, %r8, %r5;
    mov.u32 %r10, sent;
    mad.lo.u32 %r10, %r1, 4, %r10;
    mapa.shared::cluster.u32 %r11, %r10, %r6;
    st.shared::cluster.u32 [%r11], %r9;
    barrier.cluster.arrive.release.aligned;
    barrier.cluster.wait.acquire.aligned;
    ld.shared.u32 %r9, [%r10];
    mad.lo.u32 %r5, %r2, 32, %r1;
    mad.wide.u32 %rd2, %r5, 4, %rd1;
    st.global.u32 [%rd2], %r9;
    ret;
}
"""
"""Each block adds its partner's numbers to its own, and stores the sums into its partner's shared memory."""


def opened(device: str) -> Any:
    """Both blocks, since a block is recorded with its cluster, at the store to the other one."""
    out = np.zeros(64, np.uint32)
    found = pl.debug(PAIR, 2, 32, out, device=device, at="st.shared::cluster")
    assert (out == np.tile(100 + 2 * np.arange(32), 2)).all()
    return found
