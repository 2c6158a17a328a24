"""CPUs that have less than this one: halves without F16C, converted by our own arithmetic, to the same bits; bytes
without 512-bit vectors."""

from __future__ import annotations

import platform

import numpy as np
import pytest
from emulate_programs import ENGINES, kernel, run

pytestmark = pytest.mark.skipif(
    "jit" not in ENGINES or platform.machine().lower() not in ("x86_64", "amd64"),
    reason="needs llvmlite and an x86 CPU",
)
READ = """    add.u64 %rd6, %rd2, %rd4;
    ld.global.b32 %r5, [%rd6];
"""
TO_FLOAT = (
    READ
    + """    cvt.u16.u32 %h1, %r5;
    cvt.f32.f16 %f1, %h1;
    st.global.f32 [%rd3], %f1;"""
)
TO_HALF = (
    READ
    + """    mov.b32 %f1, %r5;
    cvt.rn.f16.f32 %h1, %f1;
    cvt.u32.u16 %r5, %h1;
    st.global.u32 [%rd3], %r5;"""
)


def inputs() -> np.ndarray:
    """Floats that become halves of every kind: any bits, those in a half's range, ties, NaN and the largest."""
    rng = np.random.default_rng(0)
    near = rng.integers(0x33000000 - 4096, 0x47800000 + 4096, 8192)
    ties = rng.integers(0x33000000 >> 12, 0x47800000 >> 12, 8192) << 12
    edges = [
        0,
        0x80000000,
        0x7F800000,
        0xFF800000,
        0x7F800001,
        0x7FC00000,
        0x477FEFFF,
        0x477FF000,
        0x38800000,
        0x387FFFFF,
    ]
    return np.concatenate([rng.integers(0, 1 << 32, 8182), near, ties, edges]).astype(np.uint32)


def both(engine: str, body: str, x: np.ndarray) -> np.ndarray:
    return run(engine, kernel(body), threads=256, blocks=len(x) // 256, x=x, out=np.zeros_like(x))[0]


@pytest.mark.long
def test_the_bits_are_those_of_numpy(monkeypatch: pytest.MonkeyPatch) -> None:
    from ptxlab.emulate.jit.native import code as native

    older = native.Cpu("x86-64", "")
    monkeypatch.setattr(native, "host", lambda: older)
    halves = np.arange(1 << 16, dtype=np.uint32)
    step, jit = (both(engine, TO_FLOAT, halves) for engine in ENGINES)
    assert (step == jit).all()
    exact = halves.astype(np.uint16).view(np.float16).astype(np.float32)
    assert np.array_equal(jit.view(np.float32), exact, equal_nan=True)
    step, jit = (both(engine, TO_HALF, inputs()) for engine in ENGINES)
    assert (step == jit).all()


ROWS = """
.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 out, .param .u64 x)
{
    .reg .pred %p<2>;
    .reg .b16 %h<5>;
    .reg .b32 %r<7>;
    .reg .b64 %rd<12>;
    ld.param.u64 %rd1, [out];
    ld.param.u64 %rd2, [x];
    mov.u32 %r1, %tid.y;
    mad.lo.s32 %r1, %r4, %r5, %r1;
    mul.lo.s32 %r2, %r1, 25;
    add.s32 %r3, %r2, %r6;
    cvt.s64.s32 %rd3, %r3;
    mul.wide.s32 %rd4, %r3, 8;
    add.s64 %rd5, %rd2, %rd4;
    add.s64 %rd6, %rd2, %rd11;
    ld.global.u64 %rd7, [%rd6];
    ld.global.u64 %rd8, [%rd5];
    setp.lt.u64 %p1, %rd8, %rd7;
    @%p1 bra DONE;
    mul.lo.s64 %rd9, %rd3, 24;
    add.s64 %rd10, %rd1, %rd9;
    ld.global.v4.u8 {%h1, %h2, %h3, %h4}, [%rd10];
    xor.b16 %h3, %h3, 5;
    st.global.u8 [%rd10+4], %h3;
DONE:
    and.b32 %r2, %r2, 7;
    ret;
}
"""
"""Five threads each read and write bytes of one place, if their number is large. What nobody has written is 0."""


@pytest.mark.parametrize("cpu", ["haswell", "x86-64"])
def test_bytes_of_lanes_at_a_few_addresses(monkeypatch: pytest.MonkeyPatch, cpu: str) -> None:
    from ptxlab.emulate.jit.native import code as native

    older = native.Cpu(cpu, "")
    monkeypatch.setattr(native, "host", lambda: older)
    x = np.random.default_rng(2).integers(0, 40, 256).astype(np.uint64)
    before = np.arange(1024, dtype=np.uint32) * np.uint32(0x9E3779B1)
    out, _ = run("optimized", ROWS, threads=(5, 7, 1), x=x, out=before, checks=("memcheck",))
    expected = before.view(np.uint8).copy()
    for row in np.flatnonzero(x[:175:25] >= x[0]) * 600:
        expected[row + 4] = expected[row + 2] ^ 5
    assert (out.view(np.uint8) == expected).all()
