"""`st.bulk` on both engines: what it stores, what the checks and counters say of it, and the sizes that it refuses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from emulate_programs import ALL_CHECKS, DEVICES

import ptxlab as pl
from ptxlab.emulate.trace.recorder import Trace
from ptxlab.errors import PtxError

TEXT = """.version 8.6
.target sm_100
.address_size 64
.visible .entry fill(.param .u64 out, .param .u64 size)
{{
    .shared .align 16 .b8 tile[256];
    .reg .b64 %rd<9>;
    .reg .b32 %r<9>;
    .reg .pred %p<3>;
    ld.param.u64 %rd1, [out];
    ld.param.u64 %rd2, [size];
    mov.u32 %r1, %tid.x;
    mov.u32 %r2, tile;
    mad.lo.u32 %r3, %r1, 8, %r2;    // each thread's own word
    cvt.u64.u32 %rd3, %r2;
    cvta.shared.u64 %rd4, %rd3;
    setp.eq.u32 %p1, %r1, 0;
    {fill}
    {barrier}
    ld.shared.u64 %rd5, [%r3];
    mul.wide.u32 %rd6, %r1, 8;
    add.u64 %rd7, %rd1, %rd6;
    st.global.u64 [%rd7], %rd5;
    ret;
}}
"""
FIRST = "@%p1 st.bulk.weak.shared::cta [%r2], %rd2, 0;"
"""One thread does all of it, as the instruction is meant to be used."""


def run(
    device: str, fill: str = FIRST, size: int = 256, barrier: str = "bar.sync 0;", **options: Any
) -> tuple[list[int], pl.Run]:
    """What 32 threads read behind a fill, each its own word."""
    out = np.full(32, 7, np.uint64)
    done = pl.launch(TEXT.format(fill=fill, barrier=barrier), 1, 32, out, np.uint64(size), device=device, **options)
    return out.tolist(), done


@pytest.mark.parametrize("fill", [
    FIRST, "@%p1 st.bulk [%rd4], 256, 0;", "st.bulk.shared::cta [%r3], 8, 0;",
    "@%p1 st.bulk.shared::cta [%r2+128], 128, 0;\n    @!%p1 st.bulk.shared::cta [%rd3], 128, 0;",
])  # fmt: skip
def test_zeros(device: str, fill: str) -> None:
    got, done = run(device, fill, checks=("memcheck", "initcheck"))
    assert got == [0] * 32
    assert not done.findings


def test_each_lane_has_a_size_of_its_own(device: str) -> None:
    fill = "and.b32 %r4, %r1, 1;\n    mul.wide.u32 %rd8, %r4, 8;\n    st.bulk.shared::cta [%r3], %rd8, 0;"
    got, _ = run(device, f"st.shared.u64 [%r3], %rd2;\n    {fill}", size=5)
    assert got == [5, 0] * 16


def test_nothing_at_all(device: str) -> None:
    got, done = run(device, f"st.shared.u64 [%r3], %rd1;\n    bar.sync 0;\n    {FIRST}", size=0, counters=True)
    assert 0 not in got
    assert done.counters.opcodes["st.bulk.weak.shared::cta"] == (1, 32)


# -- what is wrong -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [12, 16_777_224, 1 << 63])
def test_a_size_that_is_not_allowed_stops_the_kernel(device: str, size: int) -> None:
    with pytest.raises(pl.DeviceFault) as caught:
        run(device, size=size)
    assert str(caught.value).splitlines() == [
        "trap: st.bulk.weak.shared::cta: the size is not a multiple of 8 up to 16777216",
        "  at:     block (0, 0, 0), thread (0, 0, 0)",
        f"  ptx:    fill, line 18: {FIRST}",
    ]


@pytest.mark.parametrize(
    ("operands", "says"),
    [
        ("12, 0", "st.bulk.shared::cta takes a multiple of 8 here, found 12"),
        ("64, 1", "st.bulk.shared::cta takes 0, since it stores zeros, here, found 1"),
    ],
)
def test_constants_that_are_not_allowed(operands: str, says: str) -> None:
    with pytest.raises(PtxError) as caught:
        run("step", f"st.bulk.shared::cta [%r2], {operands};")
    assert says in str(caught.value)


def test_memcheck(device: str) -> None:
    with pytest.raises(pl.DeviceFault) as caught:
        run(device, size=264)
    assert caught.value.kind == "memcheck"
    assert "0 bytes past the end of 'tile' (256 bytes at" in str(caught.value)
    with pytest.raises(pl.DeviceFault) as caught:
        run(device, "@%p1 st.bulk [%rd1], 64, 0;")  # global memory
    assert caught.value.kind == "memcheck"


def test_initcheck(device: str) -> None:
    _, done = run(device, size=248, checks=("memcheck", "initcheck"))
    (finding,) = done.findings
    assert finding.check == "initcheck"
    assert "thread (31, 0, 0)" in str(finding)


@pytest.mark.parametrize(("barrier", "found"), [("bar.sync 0;", 0), ("", 1)])
def test_racecheck(device: str, barrier: str, found: int) -> None:
    """Without the barrier a second warp reads what the first may still be filling."""
    fill = f"@%p1 st.bulk.shared::cta [%r2], %rd2, 0;\n    {barrier}\n    and.b32 %r1, %r1, 31;"
    text = TEXT.format(fill=fill, barrier="mad.lo.u32 %r3, %r1, 8, %r2;")
    out = np.zeros(32, np.uint64)
    done = pl.launch(text, 1, 64, out, np.uint64(256), device=device, checks=("memcheck", "racecheck"))
    races = [finding for finding in done.findings if "shared" in str(finding)]
    assert len(races) == found


# -- counters and traces -----------------------------------------------------------------------------------------------


def test_the_engines_agree() -> None:
    results = []
    for device in DEVICES:
        got, done = run(device, checks=ALL_CHECKS, counters=True)
        results.append((got, [str(f) for f in done.findings], done.counters))
    assert all(result == results[0] for result in results)
    counters = results[0][-1]
    assert counters.opcodes["st.bulk.weak.shared::cta"] == (1, 32)
    assert counters.by_line[18].opcode == "st.bulk.weak.shared::cta"
    assert counters.metrics["smsp__sass_data_bytes_mem_shared_op_st.sum"] == 256
    assert counters.metrics["smsp__inst_executed_op_shared_st.sum"] == 1


def test_a_trace_shows_every_store(device: str) -> None:
    _, done = run(device, size=32, trace=Trace())
    walk = done.trace.walk(0, 0)
    moments = [moment for _ in range(len(walk)) if (moment := walk.forward()) is not None]
    stores = [moment for moment in moments if moment.line == 18 and moment.accesses]
    assert [moment.opcode for moment in stores] == ["st.shared.b64"] * 4
    assert [int(moment.mask.sum()) for moment in stores] == [1] * 4
