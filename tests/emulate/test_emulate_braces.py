"""Registers that are declared within braces are others than those of the same name elsewhere, in vectors too."""

from __future__ import annotations

import cuda_programs
import pytest
from emulate_programs import DEVICES, kernel, run

TIMES = 300


def test_vectors_of_registers_of_many_braces(engine: str) -> None:
    """As nvcc writes the halves of an f64: each pair of braces has registers of its own."""
    once = """
    {
        .reg .b32 %lo, %hi;
        mov.b64 {%lo, %hi}, %rd10;
        add.u32 %hi, %hi, %lo;
        {
            .reg .b32 %lo;
            mov.b64 {%lo, %r5}, %rd10;
            add.u32 %r6, %r6, %lo;
        }
        mov.b64 %rd10, {%lo, %hi};
    }
"""
    body = f"mov.u64 %rd10, 1; mov.u32 %r6, 0;{once * TIMES} mov.b64 {{%r7, %r8}}, %rd10; add.u32 %r8, %r8, %r6;"
    out, _ = run(engine, kernel(f"{body} st.global.u32 [%rd3], %r8;"), threads=32)
    assert out.tolist() == [2 * TIMES] * 32


@pytest.mark.rest
@pytest.mark.parametrize("mode", ["O3", "G"])
def test_functions_of_f64(mode: str) -> None:
    """Hundreds of braces, in functions that are called and in the kernel."""
    outcome = cuda_programs.run("math64", cuda_programs.ptx_of("math64", mode, "sm_80"), DEVICES[-1])
    assert outcome.verdict == "ok", outcome
