"""`discard` on both engines: what is left of the bytes, what checks, counters, faults and traces say of it."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from emulate_programs import ALL_CHECKS

import ptxlab as pl
from ptxlab.emulate.trace.recorder import Trace

TEXT = """.version 7.4
.target sm_80
.address_size 64
.visible .entry scratch(.param .u64 out, .param .u64 room)
{{
    .reg .b64 %rd<9>; .reg .b32 %r<9>; .reg .pred %p<3>;
    ld.param.u64 %rd1, [out]; ld.param.u64 %rd2, [room];
    mov.u32 %r1, %tid.x; setp.lt.u32 %p1, %r1, 8;
    and.b32 %r2, %r1, 31;
    mad.wide.u32 %rd3, %r2, 128, %rd2;  // each lane's own 128 bytes
    mad.wide.u32 %rd4, %r1, 4, %rd1;
    st.global.u32 [%rd3], %r1; st.global.u32 [%rd3+124], %r1;
    {discard}
    {after}
    ld.global.u32 %r3, [%rd3];
    ld.global.u32 %r4, [%rd3+124];
    add.u32 %r3, %r3, %r4; st.global.u32 [%rd4], %r3;
    ret;
}}
"""
SOME, ALL = "@%p1 discard.global.L2 [%rd3], 128;", "discard.L2 [%rd3], 128;"
AGAIN = "st.global.u32 [%rd3], %r1;\n    st.global.u32 [%rd3+124], %r1;"


def run(device: str, discard: str, after: str = "", threads: int = 32, **options: Any) -> tuple[list[int], pl.Run]:
    """What the threads read after it."""
    out, room = np.zeros(threads, np.uint32), pl.empty(32 * 32, np.uint32, device="cpu")
    done = pl.launch(TEXT.format(discard=discard, after=after), 1, threads, out, room, device=device, **options)
    return out.tolist(), done


def test_the_bytes_hold_what_nobody_wrote(device: str) -> None:
    poison = 2 * 0xFFFFFFFF % (1 << 32)
    assert run(device, SOME)[0] == [poison] * 8 + [2 * k for k in range(8, 32)]
    assert run(device, ALL)[0] == [poison] * 32


def test_initcheck(device: str) -> None:
    read, written = (run(device, SOME, after, checks=ALL_CHECKS)[1].findings for after in ("", AGAIN))
    assert not written
    assert [finding.check for finding in read] == ["initcheck"]
    assert "thread (0, 0, 0)" in str(read[0])


@pytest.mark.parametrize(("barrier", "races"), [("bar.sync 0;", False), ("", True)])
def test_racecheck(device: str, barrier: str, races: bool) -> None:
    """A second warp discards what the first has stored and reads."""
    discard = f"setp.ge.u32 %p1, %r1, 32;\n    {barrier}\n    {SOME}\n    ret;"
    text = TEXT.replace("st.global.u32 [%rd3", "@!%p2 st.global.u32 [%rd3").replace(
        "and.b32 %r2, %r1, 31;", "and.b32 %r2, %r1, 31;\n    setp.ge.u32 %p2, %r1, 32;"
    )
    out, room = np.zeros(64, np.uint32), np.zeros(32 * 32, np.uint32)
    done = pl.launch(text.format(discard=discard, after=""), 1, 64, out, room, device=device, checks=ALL_CHECKS)
    assert {finding.check for finding in done.findings} == ({"racecheck"} if races else set())


@pytest.mark.parametrize(("address", "says"), [
    ("add.u64 %rd3, %rd3, 64;", "misaligned"), ("add.u64 %rd3, %rd3, 4096;", "past the end"),
    ("mov.u64 %rd3, 0;", ""), ("cvta.local.u64 %rd3, 0;", ""),
])  # fmt: skip
def test_memcheck(device: str, address: str, says: str) -> None:
    with pytest.raises(pl.DeviceFault) as caught:
        run(device, f"{address}\n    {ALL}")
    assert caught.value.kind == "memcheck"
    assert says in str(caught.value)


def test_no_bytes_move(device: str) -> None:
    _, done = run(device, SOME, counters=True)
    (line,) = (of for of in done.counters.by_line.values() if of.opcode == "discard.global.L2")
    assert (line.warps, line.threads, line.on_threads, line.requests, line.bytes) == (1, 32, 8, 0, 0)


@pytest.mark.long
def test_what_both_engines_report() -> None:
    """Values, faults, counters, findings and traces, with guards, diverged, and of several warps."""
    apart = "@!%p1 bra REST;\n    discard.global.L2 [%rd3], 128;\n    REST:"
    beyond = "add.u64 %rd3, %rd3, 2048;\n    discard.L2 [%rd3], 128;"
    for discard in (SOME, ALL, apart, beyond, "discard.L2 [%rd2+128], 128;"):
        for threads in (32, 40, 64):
            assert _reported("step", discard, threads) == _reported("cpu", discard, threads), (discard, threads)


def _words(said: list[Any]) -> list[str]:
    """Faults and findings in words, but for addresses, which differ from launch to launch."""
    return [re.sub("0x[0-9a-f]+", "0x", str(each)) for each in said]


def _reported(device: str, discard: str, threads: int) -> Any:
    try:
        got, done = run(device, discard, threads=threads, checks=ALL_CHECKS, counters=True)
    except pl.DeviceFault as stopped:
        return _words([stopped]), _words(stopped.findings)
    _, traced = run(device, discard, threads=threads, trace=Trace())
    steps = []
    for warp in range(-(-threads // 32)):
        walk = traced.trace.walk(0, warp)
        moments = [moment for _ in range(len(walk)) if (moment := walk.forward()) is not None]
        steps += [
            (m.line, [(a.kind, a.space, a.size, (a.address[a.mask] % 4096).tolist()) for a in m.accesses])
            for m in moments
            if m.accesses
        ]
    return got, _words(done.findings), done.counters.by_line, done.counters.metrics, steps
