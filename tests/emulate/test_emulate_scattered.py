"""Stores of some lanes at addresses of their own, few or many of them: the last active lane of an address wins."""

from __future__ import annotations

import platform
import sys

import numpy as np
import pytest
from emulate_programs import ENGINES, WAYS, kernel, run
from guard_pages import between_guard_pages

pytestmark = pytest.mark.skipif("jit" not in ENGINES, reason="needs llvmlite: there is one engine only")
SHARED = ".shared .align 16 .b8 tile[8192];"
STORES = {
    "u32": "st.{space}.u32 [{at}], %r20;",
    "f64": "cvt.rn.f64.u32 %fd1, %r20; st.{space}.f64 [{at}], %fd1;",
    "two": "st.{space}.v2.u32 [{at}], {{%r20, %r1}};",
    "u16": "cvt.u16.u32 %h1, %r20; st.{space}.u16 [{at}+2], %h1;",
}
GUARDED = "@%p1 {store}"
SIDE = "@!%p1 bra OVER; {store} OVER:"


def stored(way: str, store: str, space: str, how: str, bits: int) -> list[int]:
    """What a warp leaves that stores in these lanes, of which some pairs share an address; those of global memory lie
    in `x`."""
    at, back = ("%r22", "ld.shared.u32 %r23, [%r24];") if space == "shared" else ("%rd11", "mov.u32 %r23, 0;")
    body = f"""
        mov.u32 %r5, tile; mov.u32 %r6, 0; mad.lo.u32 %r24, %r1, 4, %r5;
        CLEAR: st.shared.u32 [%r24], 0; add.u32 %r24, %r24, 128; add.u32 %r6, %r6, 1;
        setp.lt.u32 %p2, %r6, 64; @%p2 bra CLEAR;
        bar.sync 0;
        mul.lo.u32 %r20, %r1, 7; xor.b32 %r20, %r20, 5; and.b32 %r21, %r20, 31; shr.u32 %r21, %r21, 1;
        mul.lo.u32 %r21, %r21, %r21; shl.b32 %r21, %r21, 3;
        add.u32 %r22, %r5, %r21; cvt.u64.u32 %rd10, %r21; add.u64 %rd11, %rd2, %rd10;
        mov.u32 %r10, {bits}; shr.u32 %r10, %r10, %r1; and.b32 %r10, %r10, 1; setp.ne.u32 %p1, %r10, 0;
        {how.format(store=STORES[store].format(space=space, at=at))}
        bar.sync 0;
        mov.u32 %r25, 0; mov.u32 %r6, 0; mad.lo.u32 %r24, %r1, 4, %r5;
        SUM: {back} mad.lo.u32 %r25, %r25, 31, %r23; add.u32 %r24, %r24, 128; add.u32 %r6, %r6, 1;
        setp.lt.u32 %p2, %r6, 64; @%p2 bra SUM;
        st.global.u32 [%rd3], %r25;"""
    text, x = kernel(body, SHARED), np.zeros(1024, np.uint32)
    out, _ = run(way, text, x=x)
    return [*out.tolist(), *x.tolist()]


@pytest.mark.long
@pytest.mark.sweep(26)
@pytest.mark.parametrize("bits", [0x80000000, 0x00810400, 0x40F0F001, 0x7FFFFFFE, 0xFFFFFFFF])
@pytest.mark.parametrize("space", ["shared", "global"])
@pytest.mark.parametrize("store", STORES)
def test_lanes_that_store_anywhere(store: str, space: str, bits: int) -> None:
    for how in (GUARDED, SIDE):
        expected = stored("step", store, space, how, bits)
        assert any(expected)
        assert [stored(way, store, space, how, bits) == expected for way in WAYS] == [True] * len(WAYS), how


FIRST = [-9, -1, 0, 40, 63]


@pytest.mark.sweep(4)
@pytest.mark.parametrize("first", FIRST)
@pytest.mark.parametrize("space", ["shared", "global"])
def test_a_row_that_would_reach_beyond_memory(space: str, first: int) -> None:
    """Of 32 lanes in a row those that lie in memory load and store; x and the tile have 64 elements."""
    tile, base = ".shared .align 4 .b8 tile[256];", "%rd2" if space == "global" else "%rd12"
    body = f"""
        mov.u64 %rd12, tile; mul.wide.u32 %rd13, %r1, 4; add.u64 %rd14, %rd12, %rd13;
        mad.lo.u32 %r5, %r1, 3, 1; st.shared.u32 [%rd14], %r5; st.shared.u32 [%rd14+128], %r5; bar.sync 0;
        add.s32 %r10, %r1, {first}; mul.wide.s32 %rd10, %r10, 4; add.s64 %rd11, {base}, %rd10;
        setp.lt.u32 %p1, %r10, 64; mov.u32 %r20, 5; @!%p1 bra OVER;
        ld.{space}.u32 %r20, [%rd11]; mul.lo.u32 %r21, %r20, 11; st.{space}.u32 [%rd11], %r21;
        OVER: bar.sync 0; ld.shared.u32 %r22, [%rd14]; ld.shared.u32 %r23, [%rd14+128];
        mad.lo.u32 %r20, %r20, 31, %r22; mad.lo.u32 %r20, %r20, 31, %r23; st.global.u32 [%rd3], %r20;"""
    text, left = kernel(body, tile), []
    for way in WAYS:
        x = np.arange(64, dtype=np.uint32) * 7
        out, _ = run(way, text, x=x, blocks=3)
        left.append((out.tolist(), x.tolist()))
    assert left == left[:1] * len(WAYS)


@pytest.mark.sweep(3)
@pytest.mark.skipif(sys.platform != "linux" or platform.machine() != "x86_64", reason="for Linux on x86")
@pytest.mark.parametrize("masks", [True, False], ids=["AVX-512", "AVX2"])
@pytest.mark.parametrize("first", FIRST)
def test_what_lies_around_shared_memory_is_not_touched(
    first: int, masks: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The pages before and behind the memory of a block allow no access: one would end this process. Code without masks
    loads whole rows, so there is a margin, which belongs to the memory."""
    from ptxlab.emulate.jit.native import code as native
    from ptxlab.emulate.jit.running import workers

    cpu = native.host()
    if not masks:
        cpu = native.Cpu("haswell", ",".join(f for f in cpu.features.split(",") if "avx512" not in f))
    if cpu.wide != masks:
        pytest.skip("this CPU has no AVX-512")
    monkeypatch.setattr(native, "host", lambda: cpu)
    for at_end in (True, False):
        monkeypatch.setattr(workers, "zeroed", lambda size, at_end=at_end: between_guard_pages(size, at_end=at_end))
        test_a_row_that_would_reach_beyond_memory("shared", first)
