"""CPUs that have less than this one: halves without F16C, converted by our own arithmetic, to the same bits;
accesses without 512-bit vectors."""

from __future__ import annotations

import platform

import numpy as np
import pytest
import random_accesses
from emulate_programs import ENGINES, kernel, run

pytestmark = pytest.mark.skipif(
    "jit" not in ENGINES or platform.machine().lower() not in ("x86_64", "amd64"),
    reason="needs llvmlite and an x86 CPU",
)
READ = """    add.u64 %rd6, %rd2, %rd4;
    ld.global.b32 %r5, [%rd6];
"""
TO_FLOAT = f"""{READ}    cvt.u16.u32 %h1, %r5;
    cvt.f32.f16 %f1, %h1;
    st.global.f32 [%rd3], %f1;"""
TO_HALF = f"""{READ}    mov.b32 %f1, %r5;
    cvt.rn.f16.f32 %h1, %f1; cvt.u32.u16 %r5, %h1;
    st.global.u32 [%rd3], %r5;"""


def inputs() -> np.ndarray:
    """Floats that become halves of every kind: any bits, those in a half's range, ties, NaN and the largest."""
    rng = np.random.default_rng(0)
    near = rng.integers(0x33000000 - 4096, 0x47800000 + 4096, 8192)
    ties = rng.integers(0x33000000 >> 12, 0x47800000 >> 12, 8192) << 12
    edges = [0, 0x80000000, 0x7F800000, 0xFF800000, 0x7F800001, 0x7FC00000, 0x477FEFFF, 0x477FF000, 0x38800000,
             0x387FFFFF]  # fmt: skip
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


@pytest.mark.long
@pytest.mark.sweep(5)
@pytest.mark.parametrize("first", [40, 42, 43, 45])
@pytest.mark.parametrize("cpu", ["haswell", "x86-64"])
def test_accesses_of_every_pattern(monkeypatch: pytest.MonkeyPatch, cpu: str, first: int) -> None:
    """Without gathers and masks of 512-bit vectors."""
    from ptxlab.emulate.jit.native import code as native

    older = native.Cpu(cpu, "")
    monkeypatch.setattr(native, "host", lambda: older)
    assert random_accesses.differences(first, 1) == []
