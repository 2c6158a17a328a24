"""Addresses: a generic one where a shared one is wanted, the commonest mistake with `cvta`; elements of arrays."""

from __future__ import annotations

import numpy as np
import pytest

import ptxlab as pl
from ptxlab.errors import DeviceFault

TEXT = """.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 out)
{{
    .shared .align 16 .b8 tile[2048];
    .reg .b64 %rd<8>; .reg .b32 %r<8>;
    ld.param.u64 %rd1, [out];
    mov.u32 %r1, %tid.x; mov.u64 %rd2, tile;
    cvta.shared.u64 %rd3, %rd2; mad.wide.u32 %rd4, %r1, 16, %rd3;
    mov.u32 %r2, 0;
    {body}
    ret;
}}
"""
MISTAKES = [
    "ld.shared.u32 %r3, [%rd3];",
    "ld.shared.v4.u32 {%r3, %r4, %r5, %r6}, [%rd4];",
    "st.shared.u32 [%rd4], %r1;",
    "atom.shared.add.u32 %r3, [%rd4], 1;",
    "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r3, %r4, %r5, %r6}, [%rd4];",
    "cp.async.ca.shared.global [%rd4], [%rd1], 16;",
]


@pytest.mark.parametrize("body", MISTAKES)
def test_a_generic_address_is_no_shared_one(body: str, engine: str) -> None:
    with pytest.raises(DeviceFault, match="memcheck: ") as caught:
        pl.launch(TEXT.format(body=body), 1, 32, np.zeros(512, np.uint32), device={"jit": "cpu"}.get(engine, engine))
    assert "at 0x7f7f0000" in str(caught.value)
    assert body in str(caught.value)


@pytest.mark.parametrize("body", MISTAKES)
def test_the_shared_address_is(body: str, engine: str) -> None:
    right = TEXT.format(body=body).replace("cvta.shared.u64 %rd3, %rd2", "mov.u64 %rd3, %rd2")
    pl.launch(right, 1, 32, np.zeros(512, np.uint32), device={"jit": "cpu"}.get(engine, engine))


ELEMENTS = """.version 8.0
.target sm_80
.address_size 64
.global .u32 table[4] = {1, 2, 30, 4};
.visible .entry k(.param .u64 out)
{
    .shared .u16 few[8];
    .reg .b64 %rd<8>; .reg .b32 %r<8>;
    ld.param.u64 %rd1, [out];
    mov.u32 %r1, 77; st.shared.u16 few[3], %r1;
    ld.global.u32 %r2, table[2];
    ld.shared.u16 %r3, [few+6];
    mov.u64 %rd2, table[3]; ld.global.u32 %r4, [%rd2];
    st.global.v4.u32 [%rd1], {%r1, %r2, %r3, %r4};
    ret;
}
"""


def test_an_element_of_an_array_is_an_address(engine: str) -> None:
    out = np.zeros(4, np.uint32)
    pl.launch(ELEMENTS, 1, 1, out, device={"jit": "cpu"}.get(engine, engine))
    assert out.tolist() == [77, 30, 77, 4]
