"""Clusters on the emulator: blocks that are resident together, their barrier, and each other's shared memory."""

from __future__ import annotations

import numpy as np
import pytest
from emulate_programs import ALL_CHECKS, DEVICES, ENGINES, fault_of, kernel, run

import ptxlab as pl
from ptxlab.errors import DeviceFault, LaunchError

SYNC = "barrier.cluster.arrive.release.aligned;\n    barrier.cluster.wait.acquire.aligned;"
OWN = """
    .shared .align 8 .b32 cell[64];
    mov.u32 %r5, %cluster_ctarank; mov.u32 %r6, %cluster_nctarank;
    add.u32 %r7, %r5, 1;
    rem.u32 %r7, %r7, %r6;              // the next rank
    mov.u32 %r8, cell;
    mad.lo.u32 %r8, %r1, 4, %r8;        // this thread's cell, here
    mad.lo.u32 %r9, %r5, 1000, %r1;
"""
"""Each thread has a cell in shared memory and something to put into it: 1000 * rank + thread."""
STORE = "st.shared.u32 [%r8], %r9;\n"


def program(body: str, directive: str = "") -> str:
    """A module for sm_90 whose kernel begins with `OWN`."""
    text = kernel(OWN + body).replace("sm_80", "sm_90")
    return text.replace("x)\n{", f"x)\n{directive}\n{{") if directive else text


def neighbours(blocks: int, threads: int, size: int) -> np.ndarray:
    """What the next block of each cluster has stored."""
    following = (np.arange(blocks) % size + 1) % size
    return (1000 * following[:, None] + np.arange(threads)).ravel()


READS = {
    "ld.shared::cluster": "mapa.shared::cluster.u32 %r10, %r8, %r7;\n ld.shared::cluster.u32 %r11, [%r10];",
    "a generic address": "cvt.u64.u32 %rd5, %r8;\n cvta.shared.u64 %rd5, %rd5;\n mapa.u64 %rd6, %rd5, %r7;\n"
    " ld.u32 %r11, [%rd6];",
    "cvta.shared::cluster": "mapa.shared::cluster.u32 %r10, %r8, %r7;\n cvt.u64.u32 %rd5, %r10;\n"
    " cvta.shared::cluster.u64 %rd6, %rd5;\n ld.u32 %r11, [%rd6];",
    "an atomic": "mapa.shared::cluster.u32 %r10, %r8, %r7;\n atom.shared::cluster.add.u32 %r11, [%r10], 5;",
    "a generic atomic": "cvt.u64.u32 %rd5, %r8;\n cvta.shared.u64 %rd5, %rd5;\n mapa.u64 %rd6, %rd5, %r7;\n"
    " atom.add.u32 %r11, [%rd6], 0;",
}


@pytest.mark.sweep(2)
@pytest.mark.parametrize("checks", [("memcheck",), ALL_CHECKS], ids=["plain", "checked"])
@pytest.mark.parametrize("how", READS)
def test_reads_the_neighbour(engine: str, how: str, checks: tuple[str, ...]) -> None:
    text = program(f"{STORE}{SYNC}\n{READS[how]}\n st.global.u32 [%rd3], %r11;\n{SYNC}")
    out, report = run(engine, text, threads=64, blocks=8, cluster=(4, 1, 1), checks=checks)
    assert out.tolist() == neighbours(8, 64, 4).tolist()
    assert not report.findings


@pytest.mark.parametrize("seed", [None, 1, 2])
def test_writes_to_the_neighbour(engine: str, seed: int | None) -> None:
    body = f"""
    mapa.shared::cluster.u32 %r10, %r8, %r7;
    {SYNC}
    st.shared::cluster.u32 [%r10], %r9;
    {SYNC}
    ld.shared.u32 %r11, [%r8]; st.global.u32 [%rd3], %r11;
    """
    out, report = run(engine, program(body), threads=64, blocks=6, cluster=(3, 1, 1), checks=ALL_CHECKS, seed=seed)
    before = (np.arange(6) % 3 + 2) % 3
    assert out.tolist() == (1000 * before[:, None] + np.arange(64)).ravel().tolist()
    assert not report.findings


def test_a_reduction_over_sixteen_blocks(engine: str) -> None:
    body = f"""
    setp.ne.u32 %p1, %r1, 0; @!%p1 st.shared.u32 [%r8], 0;
    {SYNC}
    mov.u32 %r10, 0; mov.u32 %r12, cell;
    mapa.shared::cluster.u32 %r11, %r12, %r10;
    red.shared::cluster.add.u32 [%r11], %r9;
    {SYNC}
    setp.ne.u32 %p2, %r5, 0;
    mov.u32 %r13, 0;
    @!%p2 ld.shared.u32 %r13, [%r12];
    st.global.u32 [%rd3], %r13;
    """
    out, _ = run(engine, program(body), threads=32, blocks=32, cluster=(16, 1, 1))
    total = sum(1000 * rank * 32 + sum(range(32)) for rank in range(16))
    assert out.reshape(2, 16, 32).tolist() == [[[total] * 32] + [[0] * 32] * 15] * 2


def test_special_registers_in_three_directions(engine: str) -> None:
    names = [
        f"%{name}.{axis}" for name in ("clusterid", "nclusterid", "cluster_ctaid", "cluster_nctaid") for axis in "xyz"
    ]
    names += ["%cluster_ctarank", "%cluster_nctarank"]
    body = "".join(
        f"    mov.u32 %r10, {name};\n    st.global.u32 [%rd5+{4 * k}], %r10;\n" for k, name in enumerate(names)
    )
    place = """
    mov.u32 %r20, %ctaid.y; mov.u32 %r21, %ctaid.z; mad.lo.u32 %r22, %r21, 6, %r20;
    mad.lo.u32 %r22, %r22, 4, %r2;      // the block's number in a grid of 4x6x2
    mul.wide.u32 %rd6, %r22, 64; add.u64 %rd5, %rd1, %rd6;
    mov.pred %p1, %is_explicit_cluster; selp.u32 %r23, 1, 0, %p1; st.global.u32 [%rd5+56], %r23;
    """
    text = program(place + body)
    out = np.zeros(4 * 6 * 2 * 16, np.uint32)
    out, _ = run(engine, text, threads=1, blocks=(4, 6, 2), out=out, cluster=(2, 3, 1))
    for z in range(2):
        for y in range(6):
            for x in range(4):
                row = out.reshape(2, 6, 4, 16)[z, y, x].tolist()
                assert row[:12] == [x // 2, y // 3, z, 2, 2, 2, x % 2, y % 3, 0, 2, 3, 1]
                assert row[12:15] == [x % 2 + 2 * (y % 3), 6, 1]


def test_addresses(engine: str) -> None:
    """getctarank and isspacep tell own memory from that of others."""
    body = """
    mapa.shared::cluster.u32 %r10, %r8, %r7;
    getctarank.shared::cluster.u32 %r11, %r10;      // the next rank
    getctarank.shared::cluster.u32 %r12, %r8;       // the own rank
    cvt.u64.u32 %rd5, %r8; cvta.shared.u64 %rd5, %rd5;
    mapa.u64 %rd6, %rd5, %r7; getctarank.u64 %r13, %rd6;
    isspacep.shared::cta %p1, %rd5;
    isspacep.shared::cta %p2, %rd6;
    isspacep.shared::cluster %p3, %rd6;
    isspacep.shared::cluster %p4, %rd1;
    isspacep.global %p5, %rd6;
    selp.u32 %r14, 1, 0, %p1; @%p2 add.u32 %r14, %r14, 10;
    @%p3 add.u32 %r14, %r14, 100;
    @%p4 add.u32 %r14, %r14, 1000;
    @%p5 add.u32 %r14, %r14, 10000;
    mad.lo.u32 %r15, %r11, 10, %r12; mad.lo.u32 %r15, %r15, 10, %r13;
    mad.lo.u32 %r15, %r15, 100000, %r14; st.global.u32 [%rd3], %r15;
    """
    out, _ = run(engine, program(body), threads=1, blocks=2, cluster=(2,))
    assert out.tolist() == [101 * 100000 + 101, 10 * 100000 + 101]


def test_lanes_arrive_and_wait_one_by_one(engine: str) -> None:
    """Half a warp does something between arriving and waiting; another warp ends early and is not waited for."""
    body = f"""
    setp.ge.u32 %p1, %r1, 32; @%p1 bra DONE;
    {STORE}
    barrier.cluster.arrive;
    setp.lt.u32 %p2, %r1, 16; @%p2 bra WAIT;
    mul.lo.u32 %r20, %r9, 3;
WAIT:
    barrier.cluster.wait;
    {READS["ld.shared::cluster"]}
    st.global.u32 [%rd3], %r11;
    barrier.cluster.arrive;
    barrier.cluster.wait;
DONE:
    """
    out, _ = run(engine, program(body), threads=64, blocks=4, cluster=(2,))
    wanted = neighbours(4, 64, 2).reshape(4, 64)
    wanted[:, 32:] = 0
    assert out.tolist() == wanted.ravel().tolist()


def test_each_block_finds_itself_at_one_generic_address(engine: str) -> None:
    """Blocks take turns at one instruction, with one address that means another place in each."""
    body = f"""
    cvt.u64.u32 %rd5, %r8; cvta.shared.u64 %rd5, %rd5; mov.u32 %r20, 0; mov.u32 %r12, 0;
LOOP:
    add.u32 %r9, %r9, 1; st.u32 [%rd5], %r9;
    {SYNC}
    ld.u32 %r11, [%rd5]; mad.lo.u32 %r12, %r12, 3, %r11;
    {SYNC}
    add.u32 %r20, %r20, 1; setp.lt.u32 %p2, %r20, 3; @%p2 bra LOOP;
    st.global.u32 [%rd3], %r12;"""
    out, _ = run(engine, program(body), threads=64, blocks=8, cluster=(4, 1, 1))
    first = (1000 * (np.arange(8) % 4)[:, None] + np.arange(64)).ravel() + 1
    assert out.tolist() == (13 * first + 5).tolist()  # 9 * first + 3 * (first + 1) + first + 2


def test_a_block_that_has_exited(engine: str) -> None:
    body = f"""
    {STORE}{SYNC}
    setp.eq.u32 %p1, %r5, 1; @%p1 bra DONE;
    mov.u32 %r20, 0;
LOOP:                                    // long enough for the other block to end
    ld.volatile.global.u32 %r21, [%rd3];
    add.u32 %r20, %r20, 1; setp.lt.u32 %p2, %r20, 20000; @%p2 bra LOOP;
    {READS["ld.shared::cluster"]}
    st.global.u32 [%rd3], %r11;
DONE:
    """
    text = program(body)
    stopped = fault_of(engine, text, threads=32, blocks=2, cluster=(2,))
    line = next(k for k, source in enumerate(text.splitlines(), 1) if "ld.shared::cluster" in source)
    assert str(stopped) == (
        "memcheck: load of 4 bytes at 0x100400: the block of rank 1 in the cluster has exited, and its shared memory "
        "was freed with it\n"
        "  at:     block (0, 0, 0), thread (0, 0, 0)\n"
        f"  ptx:    k, line {line}: ld.shared::cluster.u32 %r11, [%r10];"
    )


@pytest.mark.parametrize(
    ("rank", "offset", "why"),
    [
        (5, 0, "rank 5 of the cluster, which has 2 blocks"),
        (1, 256, "offset 0x500 in the block of rank 1, whose shared memory is 256 bytes at 0x400"),
    ],
)
def test_addresses_outside(engine: str, rank: int, offset: int, why: str) -> None:
    body = f"""
    mov.u32 %r10, cell;
    mapa.shared::cluster.u32 %r10, %r10, {rank};
    {SYNC}
    st.shared::cluster.u32 [%r10+{offset}], %r9;
    {SYNC}
    """
    stopped = fault_of(engine, program(body), threads=32, blocks=2, cluster=(2,))
    assert stopped.message == f"store of 4 bytes at {(rank + 1 << 19) + 0x400 + offset:#x}: {why}"


def test_own_addresses_only(engine: str) -> None:
    """`.shared` without `::cluster` means the block's own memory."""
    body = f"{STORE}{SYNC} mapa.shared::cluster.u32 %r10, %r8, %r7;\n ld.shared.u32 %r11, [%r10];"
    with pytest.raises(DeviceFault, match="the block's shared memory is 256 bytes at 0x400"):
        run(engine, program(body), threads=32, blocks=2, cluster=(2,))


def test_a_deadlock_names_the_barrier(engine: str) -> None:
    text = program(" setp.ne.u32 %p1, %r5, 1;\n @%p1 barrier.cluster.arrive;\n barrier.cluster.wait;")
    stopped = fault_of(engine, text, threads=32, blocks=2, cluster=(2,))
    assert stopped.message.splitlines()[0] == "no thread of the cluster can go on"
    assert "waits for the barrier of the cluster (barrier.cluster.wait, line" in stopped.message


ROUNDS = f"""
    mapa.shared::cluster.u32 %r10, %r8, %r7;
    mov.u32 %r12, 0;
ROUND:
    st.shared.u32 [%r8], %r9;
    {SYNC}
    ld.shared::cluster.u32 %r11, [%r10];
    bar.sync 0;
    add.u32 %r12, %r12, 1; setp.lt.u32 %p1, %r12, 3; @%p1 bra ROUND;
    st.global.u32 [%rd3], %r11;
    {SYNC}
"""
"""What another block still reads is overwritten in the next round."""


@pytest.mark.parametrize("body", [
    *(f"{STORE} bar.sync 0;\n{how}\n st.global.u32 [%rd3], %r11;\n{SYNC}" for how in READS.values()), ROUNDS,
], ids=[*READS, "in a loop"])  # fmt: skip
def test_races_between_blocks_of_a_cluster_end_alike(body: str) -> None:
    """A block's turn ends where all of its threads wait, with every engine: they read and find the same."""
    given = []
    for engine in ENGINES:
        out, report = run(engine, program(body), threads=64, blocks=4, cluster=(2,), checks=ALL_CHECKS)
        given.append((out.tolist(), [str(found) for found in report.findings]))
    assert given[0][1]
    assert given[1:] == given[:-1]


@pytest.mark.parametrize("target", [0, 1])
def test_what_another_block_writes_is_written_there(engine: str, target: int) -> None:
    """Rank 0 stores to a block's shared memory, and each thread of rank 1 loads its own."""
    text = program(f"""
    setp.eq.u32 %p1, %r5, 0;
    mov.u32 %r7, {target};
    mapa.shared::cluster.u32 %r10, %r8, %r7;
    {SYNC}
    @%p1 st.shared::cluster.u32 [%r10], %r9;
    {SYNC}
    @!%p1 ld.shared.u32 %r11, [%r8];
    @!%p1 st.global.u32 [%rd3], %r11;
    {SYNC}
    """)
    _, report = run(engine, text, threads=64, blocks=2, cluster=(2,), checks=ALL_CHECKS)
    assert [found.kind for found in report.findings] == ([] if target else ["uninitialised read"])


REFUSED = {
    "cluster: the grid (3, 1, 1) is not a multiple of the cluster (2, 1, 1)": ("", 3, 2),
    "cluster: a cluster has 1 to 16 blocks, not (32, 1, 1)": ("", 32, 32),
    "cluster: k requires exactly (2, 1, 1) (.reqnctapercluster), not (4, 1, 1)": (".reqnctapercluster 2, 1, 1", 4, 4),
    "cluster: k takes at most 2 blocks per cluster (.maxclusterrank), not 4": (".maxclusterrank 2", 4, 4),
    "cluster: k is to be launched with clusters (.explicitcluster), and none are given\n  write:  cluster=(2, 1, 1)": (
        ".explicitcluster",
        4,
        None,
    ),
}


@pytest.mark.parametrize("message", REFUSED)
def test_launches_that_do_not_fit(message: str) -> None:
    directive, blocks, cluster = REFUSED[message]
    text = program("", directive)
    with pytest.raises(LaunchError) as refused:
        pl.launch(
            text, blocks, 32, np.zeros(32, np.uint32), np.zeros(32, np.uint32), device=DEVICES[0], cluster=cluster
        )
    assert str(refused.value) == message


def test_the_kernel_itself_may_ask_for_clusters(device: str) -> None:
    text = program(f"{STORE}{SYNC}\n{READS['an atomic']}\n st.global.u32 [%rd3], %r11;\n{SYNC}", ".reqnctapercluster 2")
    out = np.zeros(4 * 32, np.uint32)
    pl.launch(text, 4, 32, out, np.zeros(32, np.uint32), device=device)
    assert out.tolist() == neighbours(4, 32, 2).tolist()
