"""Kernel parameters that are arrays, read at fixed places, at computed ones, and through generic addresses."""

from __future__ import annotations

import numpy as np
import pytest

import ptxlab as pl
from ptxlab.errors import DeviceFault

TEXT = """.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 out, .param .align 8 .b8 table[128])
{{
    .reg .b64 %rd<8>; .reg .b32 %r<8>;
    ld.param.u64 %rd1, [out];
    mov.u32 %r1, %tid.x; mad.wide.u32 %rd1, %r1, 4, %rd1;
    mov.b64 %rd2, table;
    {body}
    st.global.u32 [%rd1], %r3;
    ret;
}}
"""
OWN = """mad.wide.u32 %rd3, %r1, 4, %rd2;
    ld.param.u32 %r3, [%rd3];"""
SAME = """mov.u32 %r2, 20;
    cvt.u64.u32 %rd3, %r2; add.u64 %rd3, %rd3, %rd2;
    ld.param.u32 %r3, [%rd3];"""
GENERIC = """cvta.param.u64 %rd3, %rd2;
    mad.wide.u32 %rd3, %r1, 4, %rd3;
    ld.u32 %r3, [%rd3];"""


def run(body: str, engine: str, threads: int = 32) -> np.ndarray:
    """What the threads read."""
    out = np.zeros(threads, np.uint32)
    table = (np.arange(32, dtype=np.uint32) * 3 + 1).tobytes()
    pl.launch(TEXT.format(body=body), 1, threads, out, table, device={"jit": "cpu"}.get(engine, engine))
    return out


def test_every_way_to_read_a_parameter(engine: str) -> None:
    every = np.arange(32) * 3 + 1
    assert (run("ld.param.u32 %r3, [table+8];", engine) == 7).all()
    assert (run(OWN, engine) == every).all()
    assert (run(SAME, engine) == 16).all()
    assert (run(GENERIC, engine) == every).all()


@pytest.mark.parametrize("body", [OWN, GENERIC])
def test_past_the_parameters(engine: str, body: str) -> None:
    with pytest.raises(DeviceFault, match="memcheck: load of 4 bytes") as caught:
        run(body, engine, 64)
    assert caught.value.thread == (32, 0, 0)
    assert "the kernel's parameters take 136 bytes" in str(caught.value)


def test_a_kernel_cannot_write_its_parameters(engine: str) -> None:
    with pytest.raises(DeviceFault, match="store of 4 bytes at 0x10: the kernel's parameters are read-only") as caught:
        run("mov.u64 %rd3, 16;\n    st.param.u32 [%rd3], %r1;", engine)
    assert caught.value.thread == (0, 0, 0)
