"""Addresses of local variables in memory that other threads see: of use to their own thread, to no other."""

from __future__ import annotations

import numpy as np
import pytest
from emulate_programs import ALL_CHECKS, DEVICES, kernel

import ptxlab as pl
from ptxlab.emulate.program.local_marks import gives_local_addresses, owner
from ptxlab.emulate.program.lowering_cache import lower
from ptxlab.errors import DeviceFault
from ptxlab.text import parse

BEFORE = ".shared .align 16 .b8 tile[1024];\n.global .align 8 .b64 word;"
OWN = """
    .local .align 16 .b8 own[32];
    .reg .b64 %at, %mine, %got;
    add.u32 %r10, %r1, 100;
    st.local.u32 [own+4], %r10;
    mov.u64 %at, own;
    cvta.local.u64 %mine, %at;
    mul.lo.u32 %r20, %r1, 16;
    mov.u32 %r21, tile;
    add.u32 %r20, %r20, %r21;
"""
"""Each thread has its number plus 100 in its local memory, and 16 bytes of shared memory at %r20."""
USE = "ld.u32 %r11, [%got+4]; st.global.u32 [%rd3], %r11;"
BODIES = {
    "a word": "st.shared.u64 [%r20], %mine; ld.shared.u64 %got, [%r20];",
    "an address within": "add.u64 %rd6, %mine, 4; st.shared.u64 [%r20], %rd6; ld.shared.u64 %rd7, [%r20]; "
    "sub.u64 %got, %rd7, 4;",
    "a pair with a number": "st.shared.v2.u64 [%r20], {%rd2, %mine}; ld.shared.v2.u64 {%rd7, %got}, [%r20];",
    "two halves": "st.shared.u64 [%r20], %mine; ld.shared.v2.u32 {%r12, %r13}, [%r20]; mov.b64 %got, {%r12, %r13};",
    "by a generic store": "cvt.u64.u32 %rd6, %r20; cvta.shared.u64 %rd6, %rd6; st.u64 [%rd6], %mine; "
    "ld.u64 %got, [%rd6];",
    "to local memory by way of shared": "st.shared.u64 [%r20], %mine; st.u64 [%mine+8], %mine; "
    "ld.local.u64 %got, [own+8];",
    "an exchange": "st.shared.u64 [%r20], 0; atom.shared.exch.b64 %rd6, [%r20], %mine; "
    "atom.shared.cas.b64 %got, [%r20], %mine, %rd6;",
    "compared": "st.shared.u64 [%r20], %mine; ld.shared.u64 %rd6, [%r20]; setp.eq.u64 %p6, %rd6, %mine; "
    "selp.u64 %got, %mine, 0, %p6;",
    "no address": "st.shared.u64 [%r20], %mine; st.shared.u64 [%r20], 7; ld.shared.u64 %rd6, [%r20]; "
    "sub.u64 %rd6, %rd6, 7; add.u64 %got, %mine, %rd6;",
}  # fmt: skip


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("name", BODIES)
def test_a_thread_gets_back_its_own_address(name: str, device: str) -> None:
    text = kernel(OWN + BODIES[name] + USE, BEFORE)
    assert gives_local_addresses(lower(parse(text)))
    out = np.zeros((2, 32), np.int32)
    run = pl.launch(text, 2, 32, out, out.copy(), device=device, checks=ALL_CHECKS)
    assert run.findings == []
    assert out.tolist() == 2 * [[*range(100, 132)]]


@pytest.mark.parametrize("device", DEVICES)
def test_what_another_thread_does_with_it_is_a_fault(device: str) -> None:
    body = """
    st.shared.u64 [%r20], %mine;
    bar.sync 0;
    xor.b32 %r21, %r20, 48;
    ld.shared.u64 %got, [%r21];
    """
    with pytest.raises(DeviceFault) as caught:
        pl.launch(kernel(OWN + body + USE, BEFORE), 1, 32, *np.zeros((2, 32), np.int32), device=device)
    fault = caught.value
    assert "a local variable of thread (3, 0, 0), and each thread has local memory of its own" in str(fault)
    assert fault.thread == (0, 0, 0)
    assert owner(fault.address or 0) == 3


@pytest.mark.parametrize("device", DEVICES)
def test_another_block_has_the_same_threads(device: str) -> None:
    body = """
    setp.eq.u32 %p6, %r2, 0;
    @%p6 st.global.u64 [word], %mine;
    @%p6 bra END;
    AGAIN: ld.volatile.global.u64 %got, [word];
    setp.eq.u64 %p7, %got, 0;
    @%p7 bra AGAIN;
    """
    text = kernel(OWN + body + USE + "END:", BEFORE)
    with pytest.raises(DeviceFault, match=r"a local variable of thread \(0, 0, 0\)"):
        pl.launch(text, 2, 1, *np.zeros((2, 32), np.int32), device=device)


@pytest.mark.parametrize("body", [
    "mov.u64 %got, %mine;",
    "st.u64 [%mine+8], %mine; ld.local.u64 %got, [own+8];",
    "st.shared.u64 [%r20], %rd3; mov.u64 %got, %mine;",
    "cvt.u32.u64 %r12, %mine; st.shared.u32 [%r20], %r12; mov.u64 %got, %mine;",
])  # fmt: skip
def test_a_program_that_gives_no_address_away_is_left_as_it_is(body: str) -> None:
    program = lower(parse(kernel(OWN + body + USE, BEFORE)))
    assert not gives_local_addresses(program)
    assert all(code.instruction is not None for code in program.codes[:-1])
