"""Bulk copies on the emulator: bytes, values, reductions and tiles, against numpy; late, so that waits count."""

from __future__ import annotations

import re

import ml_dtypes
import numpy as np
import pytest
from emulate_programs import ALL_CHECKS, fault_of, kernel, run

from ptxlab.emulate.rules.bulk_copies import OPERATIONS, TYPES, reduce_bytes

SHARED = """
    .shared .align 1024 .b8 tile[16384];
    .shared .align 8 .b64 bar;
    mov.u32 %r5, tile; mov.u32 %r6, bar;
    setp.ne.u32 %p1, %r1, 0;
    @!%p1 mbarrier.init.shared.b64 [bar], 1;
    bar.sync 0;
"""
WAIT = """
WAIT:
    mbarrier.try_wait.parity.shared.b64 %p2, [bar], 0;
    @!%p2 bra WAIT;
"""
LOAD = "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes"
STORE = "cp.async.bulk.global.shared::cta.bulk_group"
DONE = "cp.async.bulk.commit_group;\n    cp.async.bulk.wait_group 0;\n"


def program(body: str) -> str:
    """A kernel `k(out, x)` with a tile and an mbarrier in shared memory; %p1 is true but for the first thread."""
    return kernel(SHARED + body).replace("sm_80", "sm_90")


def test_there_and_back(engine: str) -> None:
    body = f"""
    @!%p1 mbarrier.arrive.expect_tx.shared.b64 %rd10, [bar], 256;
    @!%p1 {LOAD} [%r5], [%rd2], 256, [%r6];
    {WAIT}
    shl.b32 %r7, %r1, 2; add.u32 %r7, %r7, %r5; ld.shared.u32 %r8, [%r7];
    mul.lo.u32 %r8, %r8, 3; st.shared.u32 [%r7], %r8;
    fence.proxy.async.shared::cta;
    bar.sync 0;
    @%p1 bra DONE;
    {STORE} [%rd1], [%r5], 256;
    {DONE}
DONE:
    """
    x = np.random.default_rng(1).integers(0, 1 << 30, 64, dtype=np.uint32)
    out, _ = run(engine, program(body), threads=64, x=x)
    assert out.tolist() == (3 * x).tolist()


def test_a_read_before_the_wait_sees_the_old_bytes(engine: str) -> None:
    body = f"""
    @!%p1 st.shared.u32 [%r5], 77;
    bar.sync 0;
    @!%p1 mbarrier.arrive.expect_tx.shared.b64 %rd10, [bar], 16;
    @!%p1 {LOAD} [%r5], [%rd2], 16, [%r6]; @!%p1 {LOAD} [%r5+16], [%rd2], 0, [%r6];
    bar.sync 0;
    ld.shared.u32 %r8, [%r5];
    {WAIT}
    ld.shared.u32 %r9, [%r5]; mad.lo.u32 %r9, %r9, 1000, %r8; st.global.u32 [%rd3], %r9;
    """
    out, _ = run(engine, program(body), threads=32, x=np.full(64, 5, np.uint32))
    assert out.tolist() == [5077] * 32


def test_a_source_that_is_overwritten_too_early(engine: str) -> None:
    """Without a wait the copy takes what was written after it was issued."""
    body = f"""
    @%p1 bra DONE;
    st.shared.v4.u32 [%r5], {{%r1, %r1, %r1, %r1}};
    fence.proxy.async;
    {STORE} [%rd1], [%r5], 16;
    cp.async.bulk.commit_group;
    WAIT_READ
    st.shared.u32 [%r5], 9;
    cp.async.bulk.wait_group 0;
DONE:
    """
    early, _ = run(engine, program(body.replace("WAIT_READ", "")), threads=32)
    right, _ = run(engine, program(body.replace("WAIT_READ", "cp.async.bulk.wait_group.read 0;")), threads=32)
    assert (early[0], right[0]) == (9, 0)


def test_groups_are_waited_for_in_order(engine: str) -> None:
    """Of three groups, two may stay on their way: only the first is there."""
    body = f"""
    @%p1 bra DONE;
    mov.u32 %r20, 7; st.shared.v4.u32 [%r5], {{%r20, %r20, %r20, %r20}};
    fence.proxy.async;
    {STORE} [%rd1], [%r5], 16;
    cp.async.bulk.commit_group;
    {STORE} [%rd1+16], [%r5], 16;
    cp.async.bulk.commit_group;
    {STORE} [%rd1+32], [%r5], 16;
    cp.async.bulk.commit_group;
    cp.async.bulk.wait_group 2;
    ld.global.u32 %r10, [%rd1]; ld.global.u32 %r11, [%rd1+16];
    cp.async.bulk.wait_group 0;
    ld.global.u32 %r12, [%rd1+32];
    st.global.u32 [%rd1+64], %r10; st.global.u32 [%rd1+68], %r11; st.global.u32 [%rd1+72], %r12;
DONE:
    """
    out, _ = run(engine, program(body), threads=32)
    assert out[:12].tolist() == [7] * 12
    assert out[16:19].tolist() == [7, 0, 7]


def test_a_block_that_ends_leaves_nothing_behind(engine: str) -> None:
    body = f"""
    mov.u32 %r20, 3;
    @!%p1 st.shared.v4.u32 [%r5], {{%r20, %r20, %r20, %r20}};
    fence.proxy.async;
    @!%p1 {STORE} [%rd1], [%r5], 16;
    """
    out, _ = run(engine, program(body), threads=32)
    assert out[:5].tolist() == [3, 3, 3, 3, 0]


REDUCTIONS = {
    "add.u32": (np.uint32, np.add), "min.s32": (np.int32, np.minimum), "max.u64": (np.uint64, np.maximum),
    "and.b32": (np.uint32, np.bitwise_and), "xor.b64": (np.uint64, np.bitwise_xor), "add.f32": (np.float32, np.add),
    "add.f64": (np.float64, np.add), "add.noftz.f16": (np.float16, np.add), "max.f16": (np.float16, np.maximum),
    "min.s64": (np.int64, np.minimum), "inc.u32": (np.uint32, lambda a, b: np.where(a >= b, 0, a + 1)),
}  # fmt: skip


def reduced(engine: str, name: str, into: np.ndarray, by: np.ndarray) -> np.ndarray:
    """What a reduction of 128 bytes by others leaves of them."""
    body = f"""
    @%p1 bra DONE;
    mbarrier.arrive.expect_tx.shared.b64 %rd10, [bar], 128;
    {LOAD} [%r5], [%rd2], 128, [%r6];
    {WAIT}
    cp.reduce.async.bulk.global.shared::cta.bulk_group.{name} [%rd1], [%r5], 128;
    {DONE}
DONE:
    """
    return run(engine, program(body), threads=32, x=by.view(np.uint32), out=into.view(np.uint32))[0]


@pytest.mark.parametrize("name", REDUCTIONS)
def test_reductions(engine: str, name: str) -> None:
    dtype, operation = REDUCTIONS[name]
    rng = np.random.default_rng(2)
    a, b = (rng.standard_normal(128 // np.dtype(dtype).itemsize) * 10 for _ in range(2))
    if np.dtype(dtype).kind != "f":
        a, b = (rng.integers(0, 1 << 31, x.size) for x in (a, b))
    a, b = a.astype(dtype), b.astype(dtype)
    assert reduced(engine, name, a, b).view(dtype).tolist() == operation(a, b).astype(dtype).tolist()


def test_a_reduction_of_f32_flushes_subnormal_numbers(engine: str) -> None:
    """As its paragraph of the manual says: inputs and results, each to the zero of its sign."""
    cases = [
        (0x000116C2, 0x80000000, 0),
        (0x00800000, 0x80000001, 0x00800000),
        (0x80000001, 0x80000002, 0x80000000),
        (0x00800000, 0x80800001, 0x80000000),
    ]
    start, added, want = np.resize(np.array(cases, np.uint32), (32, 3)).T.copy()
    assert [f"{x:#x}" for x in reduced(engine, "add.f32", start, added).tolist()] == [f"{x:#x}" for x in want.tolist()]


def test_multicast_reaches_every_block_of_the_mask(engine: str) -> None:
    body = f"""
    mov.u32 %r20, %cluster_ctarank;
    @!%p1 mbarrier.arrive.expect_tx.shared.b64 %rd10, [bar], 128;
    barrier.cluster.arrive;
    barrier.cluster.wait;
    setp.ne.u32 %p3, %r20, 2; or.pred %p3, %p3, %p1;
    mov.u16 %h1, 13;                      // ranks 0, 2 and 3
    @!%p3 {LOAD}.multicast::cluster [%r5], [%rd2], 128, [%r6], %h1;
    setp.eq.u32 %p4, %r20, 1; @%p4 bra DONE;
    {WAIT}
    shl.b32 %r7, %r1, 2; add.u32 %r7, %r7, %r5; ld.shared.u32 %r8, [%r7];
    st.global.u32 [%rd3], %r8;
DONE:
    barrier.cluster.arrive;
    barrier.cluster.wait;
    """
    x = np.arange(100, 164, dtype=np.uint32)
    out, report = run(engine, program(body), threads=32, blocks=4, x=x, cluster=(4,), checks=ALL_CHECKS)
    assert not report.findings
    assert out.reshape(4, 32).tolist() == [x[:32].tolist(), [0] * 32, x[:32].tolist(), x[:32].tolist()]


@pytest.mark.parametrize("generic", [False, True])
def test_values_for_another_block(engine: str, generic: bool) -> None:
    """st.async and red.async write to the other block of a cluster and count there; so do arrivals. Without a space
    their addresses are generic ones."""
    body = f"""
    mov.u32 %r20, %cluster_ctarank; xor.b32 %r21, %r20, 1;
    @!%p1 mbarrier.inval.shared.b64 [bar];
    @!%p1 mbarrier.init.shared.b64 [bar], 2;
    mov.u32 %r22, 0; @!%p1 st.shared.u32 [%r5+16], %r22;
    @!%p1 mbarrier.arrive.expect_tx.shared.b64 %rd10, [bar], 28;
    barrier.cluster.arrive;
    barrier.cluster.wait;
    mapa.shared::cluster.u32 %r23, %r5, %r21;
    mapa.shared::cluster.u32 %r24, %r6, %r21;
    add.u32 %r25, %r20, 40;
    mov.u32 %r26, 5;
    @!%p1 st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.u32 [%r23], {{%r25, %r26, %r26, %r25}}, [%r24];
    setp.ge.u32 %p3, %r1, 3;
    @!%p3 red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [%r23+16], %r26, [%r24];
    @!%p1 mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r24];
    {WAIT}
    ld.shared.v4.u32 {{%r30, %r31, %r32, %r33}}, [%r5];
    ld.shared.u32 %r34, [%r5+16];
    mad.lo.u32 %r30, %r30, 100, %r34; mad.lo.u32 %r30, %r33, 10000, %r30;
    st.global.u32 [%rd3], %r30;
    barrier.cluster.arrive;
    barrier.cluster.wait;
    """
    if generic:
        body = re.sub(r"(async\S*)\.shared::cluster(.*)\[%r23(.*)\[%r24\]", r"\1\2[%rd23\3[%rd24]", body)
        body = re.sub(
            r"mapa.shared::cluster.u32 %r(\d+), (%r\d), %r21;",
            r"\g<0>\ncvt.u64.u32 %rd\1, \2; cvta.shared.u64 %rd\1, %rd\1; mapa.u64 %rd\1, %rd\1, %r21;",
            body,
        )
        assert body.count("mapa.u64") == body.count("[%rd24]") == 2
    out, report = run(engine, program(body), threads=32, blocks=2, cluster=(2,), checks=ALL_CHECKS)
    assert not report.findings
    wanted = [(41 * 10000 + 4100 + 15)] * 32 + [(40 * 10000 + 4000 + 15)] * 32
    assert out.tolist() == wanted


NEIGHBOUR = {
    "add.u32": np.add,
    "min.u32": np.minimum,
    "and.b32": np.bitwise_and,
    "inc.u32": lambda a, b: np.where(a >= b, 0, a + 1),
}


@pytest.mark.parametrize("name", NEIGHBOUR)
def test_copies_and_reductions_into_the_other_block(engine: str, name: str) -> None:
    """Bytes, reduced bytes, a value and a reduced value, each counted by the other block's mbarrier."""
    to = "shared::cluster.shared::cta.mbarrier::complete_tx::bytes"
    body = f"""
    mov.u32 %r20, %cluster_ctarank; xor.b32 %r21, %r20, 1;
    @!%p1 mbarrier.arrive.expect_tx.shared.b64 %rd10, [bar], 264;
    mad.lo.u32 %r22, %r20, 40, %r1;
    shl.b32 %r7, %r1, 2; add.u32 %r7, %r7, %r5; st.shared.u32 [%r7], %r22;
    st.shared.u32 [%r7+1024], %r22;
    mov.u32 %r23, 33; @!%p1 st.shared.u32 [%r5+2052], %r23;
    fence.proxy.async;
    barrier.cluster.arrive;
    barrier.cluster.wait;
    mapa.shared::cluster.u32 %r24, %r5, %r21;
    mapa.shared::cluster.u32 %r25, %r6, %r21;
    add.u32 %r26, %r24, 512;
    add.u32 %r27, %r24, 1024;
    @!%p1 cp.async.bulk.{to} [%r26], [%r5], 128, [%r25];
    @!%p1 cp.reduce.async.bulk.{to}.{name} [%r27], [%r5], 128, [%r25];
    @!%p1 st.async.shared::cluster.mbarrier::complete_tx::bytes.b32 [%r24+2048], %r23, [%r25];
    @!%p1 red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.{name} [%r24+2052], %r20, [%r25];
    {WAIT}
    ld.shared.u32 %r30, [%r7+512]; ld.shared.u32 %r31, [%r7+1024];
    st.global.u32 [%rd3], %r30; st.global.u32 [%rd3+256], %r31;
    ld.shared.u32 %r32, [%r5+2048]; ld.shared.u32 %r33, [%r5+2052];
    st.global.u32 [%rd3+512], %r32; st.global.u32 [%rd3+768], %r33;
    barrier.cluster.arrive;
    barrier.cluster.wait;
    """
    out = np.zeros(256, np.uint32)
    out, _ = run(engine, program(body), threads=32, blocks=2, out=out, cluster=(2,))
    own = np.array([[0], [40]], np.uint32) + np.arange(32, dtype=np.uint32)
    operation, there = NEIGHBOUR[name], own[::-1]
    rows = out.reshape(4, 2, 32)
    assert rows[0].tolist() == there.tolist()
    assert rows[1].tolist() == operation(own, there).tolist()
    assert (rows[2] == 33).all()
    ranks = np.array([[1], [0]], np.uint32)
    assert (rows[3] == operation(np.full((2, 32), 33, np.uint32), ranks)).all()


FAULTS = {
    "size": (
        f"mov.u32 %r9, 24; {LOAD} [%r5], [%rd2], %r9, [%r6];",
        f"{LOAD}: its size must be a multiple of 16 bytes, found 24",
    ),
    "source": (f"{LOAD} [%r5], [%rd2+8], 32, [%r6];", "misaligned, the address must be a multiple of 16"),
    "end": (f"{LOAD} [%r5], [%rd2], 512, [%r6];", "; the access ends 256 bytes past its end"),
    "mbarrier": (f"{LOAD} [%r5], [%rd2], 32, [%r5];", f"{LOAD}: the mbarrier has not been initialised"),
    "target": (f"{LOAD} [%r5+16384], [%rd2], 32, [%r6];", "the block's shared memory is 16392 bytes at 0x400"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_faults(engine: str, name: str) -> None:
    instruction, message = FAULTS[name]
    stopped = fault_of(engine, program(f"@%p1 bra DONE; {instruction} DONE:"), threads=32, x=np.zeros(64, np.uint32))
    assert stopped.message.endswith(message) or message in stopped.message


@pytest.mark.parametrize("type_", ["bf16", "f16"])
def test_sums_that_are_no_numbers(type_: str) -> None:
    """Infinity and its opposite, and what is beyond the largest number: without a warning of numpy."""
    given = np.array([np.inf, 65504, 3e38], np.float32)
    other = np.array([-np.inf, 65504, 3e38], np.float32)
    held = ml_dtypes.bfloat16 if type_ == "bf16" else np.float16
    with np.errstate(over="ignore"):
        a, b = given.astype(held), other.astype(held)
    reduce_bytes(a.view(np.uint8), b.view(np.uint8), OPERATIONS.index("add"), TYPES.index(type_))
    assert np.isnan(a[0])
    assert float(a[2]) == np.inf
