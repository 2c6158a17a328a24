"""A cluster in the debugger: the shared memory of its blocks side by side, what passes between them, either stepped."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from emulate_programs import DEVICES

import ptxlab as pl
from ptxlab.emulate.rules.clusters import blocks_of, mates_of
from ptxlab.emulate.trace.mbarriers import mbarrier_events
from ptxlab.errors import TraceError

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


@pytest.mark.parametrize("device", DEVICES)
def test_what_a_trace_has_of_a_cluster(device: str) -> None:
    recording = opened(device).recording
    assert recording.cluster == (2, 1, 1)
    for block in (0, 1):
        walker = recording.walk(block, 0)
        moments = [walker.moment(step) for step in range(len(walker))]
        remote = [
            (access.kind, int(access.address[0])) for m in moments for access in m.accesses if access.space == "cluster"
        ]
        place = (2 - block) * 0x80000  # of the other block's shared memory
        assert remote == [("load", place + 0x400), ("store", place + 0x480)]


@pytest.mark.browser
def test_side_by_side(chromium: Any, tmp_path: Path) -> None:
    opened("step").save(tmp_path / "pair.html")
    page = chromium.new_page()
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto((tmp_path / "pair.html").as_uri())
    page.wait_for_selector('.ptxlab-debugger[data-ready="0:0"]')
    card = 'section[aria-label="Shared memory of the cluster"]'
    page.wait_for_selector(f"{card} figure >> nth=1")
    figures = f"{card} figure"
    said = "all => all.map((e) => e.getAttribute('aria-label'))"
    assert page.eval_on_selector_all(figures, said) == [
        "shared memory of block 0: 32 words written",
        "shared memory of block 1: 64 words written, 32 of them by other blocks",
    ]
    lines = PAIR.splitlines()
    load, store = (
        1 + next(k for k, line in enumerate(lines) if f"{op}.shared::cluster" in line) for op in ("ld", "st")
    )
    assert page.eval_on_selector_all(f"{card} .pl-remotes >> nth=0 >> li", "all => all.map((e) => e.textContent)") == [
        f"block 0, warp 0, line {load}: load of 32 × 4 bytes, shared memory of block 1, from 0x400 on",
        f"block 0, warp 0, line {store}: store of 32 × 4 bytes, shared memory of block 1, from 0x480 on",
    ]
    page.click(f"{card} button:has-text('step this one')")
    page.wait_for_selector('.ptxlab-debugger[data-ready="1:0"]')
    page.wait_for_selector(f"{card} b:has-text('block 1, rank 1')")
    page.click("button:has-text('▶|')")  # at the end of block 1 both have stored
    page.wait_for_function(
        "([figures]) => [...document.querySelectorAll(figures)].every((e) => /32 of them/.test(e.ariaLabel))",
        arg=[figures],
    )
    assert not errors
    page.close()


RELEASE = """
.version 8.6
.target sm_90a
.address_size 64
.visible .entry release()
.reqnctapercluster 1, 2, 1
{
    .reg .b32 %r<9>;
    .reg .pred %p<4>;
    .shared .align 8 .b64 seen;
    .shared .align 8 .b64 full;
    mov.u32 %r1, %cluster_ctarank;
    mov.u32 %r2, full;
    setp.ne.u32 %p1, %r1, 0;
    mbarrier.init.shared.b64 [full], 1;
    fence.mbarrier_init.release.cluster;
    barrier.cluster.arrive.release.aligned;
    barrier.cluster.wait.acquire.aligned;
    @!%p1 bra WAIT;
    mapa.shared::cluster.u32 %r3, %r2, 0;
    mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r3];
    bra END;
WAIT:
    mbarrier.try_wait.parity.shared.b64 %p2, [full], 0;
    @!%p2 bra WAIT;
END:
    barrier.cluster.arrive.release.aligned;
    barrier.cluster.wait.acquire.aligned;
    ret;
}
"""
"""One thread a block: of each cluster the second one arrives at the first one's mbarrier."""


@pytest.mark.parametrize("device", DEVICES)
def test_a_phase_that_another_block_ends(device: str) -> None:
    """Clusters lie across the grid: blocks 1 and 3, by rank, make up one."""
    found = pl.debug(RELEASE, (2, 2), 1, blocks=1, device=device).info["timeline"]
    arrival = 1 + next(k for k, line in enumerate(RELEASE.splitlines()) if "mbarrier.arrive" in line)
    ((_, number, says),) = found["phases"]["1:0x408"]
    assert (number, says) == (0, f"phase 0 ends with an arrival of block 3, warp 0, line {arrival}")
    assert [row["block"] for row in found["rows"]] == [1, 3]
    (wait,) = (span[4] for span in found["rows"][0]["spans"] if span[0] == "wait")
    assert wait.startswith(f"waits for phase 0 of mbarrier 0x408, line {arrival + 3}: ")
    alone = pl.debug(RELEASE, (2, 2), 1, blocks=[1], device=device)
    assert alone.info["timeline"]["phases"] == {}
    with pytest.raises(TraceError) as refused:
        mbarrier_events(alone.recording)
    assert str(refused.value) == (
        "trace holds block 1, but not all 2 blocks of its cluster, which may arrive at its mbarriers: record it with "
        "pl.Trace(blocks=1, whole_clusters=True)"
    )


def test_the_blocks_of_a_cluster() -> None:
    grid, cluster = (4, 6, 4), (2, 3, 2)
    for number in range(4 * 6 * 4 // 12):
        blocks = blocks_of(grid, cluster, number)
        assert all(mates_of(grid, cluster, block) == blocks for block in blocks)
