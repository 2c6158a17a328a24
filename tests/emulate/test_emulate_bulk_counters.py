"""What bulk copies and `wgmma` move, counted alike on both engines."""

from __future__ import annotations

import numpy as np
import pytest
from small_warpgroups import COMMIT, MULTIPLY, WAIT, program

import ptxlab as pl
from ptxlab.lab import run_pane
from ptxlab.performance.roofline import roof

HEAD = """
.version 8.6
.target sm_90a
.address_size 64
.visible .entry k(.param .align 64 .b8 map[128], .param .u64 x, .param .s32 column)
{
    .reg .b64 %rd<9>; .reg .b32 %r<9>; .reg .b16 %h; .reg .pred %p<3>;
    .shared .align 1024 .b8 tile[2048];
    .shared .align 8 .b64 bar;
    ld.param.u64 %rd1, [x];
    mov.b64 %rd2, map; cvta.param.u64 %rd2, %rd2;
    ld.param.s32 %r2, [column];
    mov.u32 %r3, 0; mov.b16 %h, 3; mov.u32 %r1, %cluster_ctarank;
    setp.ne.u32 %p1, %r1, 0;
    mbarrier.init.shared.b64 [bar], 1;
    fence.mbarrier_init.release.cluster;
    barrier.cluster.arrive;
    barrier.cluster.wait;
    mbarrier.arrive.expect_tx.shared.b64 %rd5, [bar], BYTES;
    LINE
WAIT:
    mbarrier.try_wait.parity.shared.b64 %p2, [bar], 0;
    @!%p2 bra WAIT;
    AFTER
    barrier.cluster.arrive;
    barrier.cluster.wait;
    ret;
}
"""
LOAD = "cp.async.bulk{}.shared::cluster.global{}.mbarrier::complete_tx::bytes{}"
GROUP = "cp.async.bulk.commit_group;\n    cp.async.bulk.wait_group 0;"
READ, ARRIVED = "read from global memory by bulk copies", "written to shared memory by bulk copies"
LOADED = "l1tex__m_xbar2l1tex_read_bytes_mem_global_op_tma_ld.sum"
CASES = {
    "bytes": (512, LOAD.format("", "", "") + " [tile], [%rd1], 512, [bar];", "", {READ: 1024, ARRIVED: 1024}, 1024),
    "a multicast": (
        512, "@!%p1 " + LOAD.format("", "", ".multicast::cluster") + " [tile], [%rd1], 512, [bar], %h;", "",
        {READ: 512, ARRIVED: 1024}, 1024,
    ),
    "a tile at the edge": (
        2048, LOAD.format(".tensor.2d", ".tile", "") + " [tile], [%rd2, {%r2, %r3}], [bar];", "",
        {READ: 2 * 16 * 24 * 4, ARRIVED: 4096}, 2 * 16 * 24 * 4,
    ),
    "a tile there and back": (
        2048, LOAD.format(".tensor.2d", ".tile", "") + " [tile], [%rd2, {%r3, %r3}], [bar];",
        f"cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%rd2, {{%r2, %r3}}], [tile];\n    {GROUP}",
        {READ: 4096, ARRIVED: 4096, "written to global memory by bulk copies": 2 * 16 * 24 * 4,
         "read from shared memory by bulk copies": 4096}, 4096,
    ),
    "a reduction": (
        512, LOAD.format("", "", "") + " [tile], [%rd1], 512, [bar];",
        f"@!%p1 cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%rd1], [tile], 256;\n    {GROUP}",
        {READ: 1024, ARRIVED: 1024, "reduced in global memory by bulk copies": 256,
         "read from shared memory by bulk copies": 256}, 1024,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_bytes(device: str, name: str) -> None:
    size, line, after, expected, arrived = CASES[name]
    text = HEAD.replace("BYTES", str(size)).replace("LINE", line).replace("AFTER", after)
    array = np.zeros((16, 64), np.float32)
    run = pl.launch(
        text, 2, 1, pl.TensorMap(array, (16, 32)), np.zeros(512, np.uint32), 40, device=device, cluster=2, counters=True
    )
    assert run.counters.moved == expected
    assert run.counters[LOADED] == arrived
    assert run.counters["l1tex__m_l1tex2xbar_write_bytes_mem_global_op_tma_st.sum"] == expected.get(
        "written to global memory by bulk copies", 0
    )
    copies = [c.bulk for c in run.counters.by_line.values() if c.bulk]
    assert sum(copies) == expected[ARRIVED] + expected.get("read from shared memory by bulk copies", 0)
    assert roof(run, arch="sm_90a").asked == sum(n for what, n in expected.items() if "global" in what)


def test_a_trace_has_the_copies(device: str) -> None:
    """By whom and when each was issued and performed: a load when its wait asks for it, a store when its group is."""
    _, line, after, *_ = CASES["a tile there and back"]
    text = HEAD.replace("BYTES", "2048").replace("LINE", line).replace("AFTER", after)
    array, x = np.zeros((16, 64), np.float32), np.zeros(512, np.uint32)
    run = pl.launch(text, 1, 1, pl.TensorMap(array, (16, 32)), x, 40, device=device, trace=pl.Trace())
    load, store = run.trace.copies
    lines = text.splitlines()
    walker = run.trace.walk(0, 0)
    order = [walker.moment(k).line for k in range(len(walker))]
    assert run.trace.turns == [(0, 0, len(order))]
    for copy, kind, done in ((load, "tile", "mbarrier.try_wait"), (store, "tile", "cp.async.bulk.wait_group")):
        assert (copy.block, copy.warp, copy.to, copy.kind, copy.bytes) == (0, 0, 0, kind, 2048)
        assert order[copy.begun] == copy.line
        assert done in lines[order[copy.ended] - 1]
    assert (load.reads, load.group, store.reads, store.group, store.barrier) == (False, 0, True, 1, -1)
    assert load.barrier == 0x400 + 2048


@pytest.mark.parametrize("sparse", [False, True])
def test_products(device: str, sparse: bool) -> None:
    """Each of the four warps reads its 16 rows of A, 32 bytes each, and its quarter of the 8 columns of B: 32 bytes
    each, or 64 where A is sparse and K twice as long."""
    product = MULTIPLY.replace(".sync", ".sp.sync", 1).replace("k16", "k32").replace("%db,", "%db, %r2, 0,")
    text = program((product if sparse else MULTIPLY) + COMMIT + WAIT).replace(".version 8.0", ".version 8.2")
    text = text.replace("b[128]", "b[256]")
    run = pl.launch(text, 1, 128, np.zeros(128, np.float32), device=device, counters=True)
    column = 64 if sparse else 32
    assert run.counters.moved == {"read from shared memory by wgmma": 4 * (16 * 32 + 8 * column // 4)}
    assert run.counters.flops["tensor"] == 2 * 64 * 8 * 16 * (2 if sparse else 1)
    assert run.counters.product_wavefronts == 64 * 32 // 128 + 8 * column // 128
    (warpgroup,) = run.counters.issue_slots.values()
    assert (warpgroup["tensor"], sum(warpgroup.values())) == (16, run.counters.warp_instructions)


ROLES = """
.version 8.6
.target sm_90a
.address_size 64
.visible .entry roles(.param .u64 x)
{
    .reg .b32 %r<3>; .reg .f32 %f; .reg .pred %p<3>;
    mov.u32 %r1, %tid.x;
    setp.lt.u32 %p1, %r1, 128; @%p1 bra FIRST;
    setp.ge.u32 %p2, %r1, 140; @%p2 exit;
    mov.f32 %f, 0f40000000; sin.approx.f32 %f, %f;
    bar.warp.sync 0xfff;
    ret;
FIRST:
    add.s32 %r2, %r1, 1;
    ret;
}
"""


def test_issue_slots_of_each_warpgroup(device: str) -> None:
    """Two blocks of six warps; warp 4 diverges, and each of its instructions takes a slot once."""
    run = pl.launch(ROLES, 2, 192, np.zeros(1, np.uint32), device=device, counters=True)
    assert run.counters.issue_slots == {0: {"alu": 24, "cbu": 16}, 1: {"alu": 14, "cbu": 12, "xu": 2}}
    assert run.counters.warp_instructions == 40 + 28
    rows = [(row["name"], row["value"], row["says"]) for row in run_pane.issue_slots(run.counters)]
    says = "Warp-instructions that warps {} of all blocks issue: {}."
    assert rows == [
        ("issue slots, warpgroup 0", 40, says.format("0 to 3", "alu 60 %, cbu 40 %")),
        ("issue slots, warpgroup 1", 28, says.format("4 to 7", "alu 50 %, cbu 43 %, xu 7 %")),
    ]
