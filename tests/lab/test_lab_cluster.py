"""A cluster in the debugger: its blocks are recorded together, and a phase may be ended by another block."""

from __future__ import annotations

import pytest
from cluster_pair import opened
from emulate_programs import DEVICES

import ptxlab as pl
from ptxlab.emulate.trace.asynchronous import mbarrier_events
from ptxlab.errors import TraceError


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
