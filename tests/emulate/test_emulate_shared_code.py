"""What QUICK code has once for all instructions that are alike: functions that check addresses, compare, multiply."""

from __future__ import annotations

import numpy as np
import pytest

import ptxlab as pl

pytest.importorskip("llvmlite")


HEAD = """\
.version 8.0
.target {target}
.address_size 64
.visible .entry k(.param .u64 x, .param .u64 y)
{{
    .reg .b32 %t, %n, %s, %v<9>;
    .reg .b64 %a<9>, %b, %o;
    .reg .pred %p;
    .shared .align 16 .b8 room[4096];
    ld.param.u64 %b, [y];
    mov.u32 %t, %tid.x;
    mul.wide.u32 %o, %t, 4;
    add.s64 %b, %b, %o;
"""


def kernel(*lines: str, target: str = "sm_80") -> str:
    """A kernel that stores %n for each thread after these lines."""
    return "\n".join([HEAD.format(target=target) + "    mov.u32 %n, 0;", *(f"    {each}" for each in lines)]) + (
        "\n    st.global.u32 [%b], %n;\n    ret;\n}\n"
    )


def loads(*offsets: int) -> str:
    """Loads from different registers, so many bytes from where each thread's element is."""
    lines = ["ld.param.u64 %a0, [x];", "add.s64 %a0, %a0, %o;"]
    for k, offset in enumerate(offsets, 1):
        lines += [f"add.s64 %a{k}, %a0, {offset};", f"ld.global.u32 %v{k}, [%a{k}];", f"add.u32 %n, %n, %v{k};"]
    return kernel(*lines)


def launched(ptx: str, device: str) -> np.ndarray:
    """What 64 threads store."""
    x, y = np.arange(96, dtype=np.uint32), np.zeros(64, np.uint32)
    pl.launch(ptx, 1, 64, pl.const(x), pl.out(y), device=device)
    return y


def fault(ptx: str, device: str) -> str:
    """How a launch is stopped."""
    with pytest.raises(pl.DeviceFault) as caught:
        launched(ptx, device)
    return str(caught.value)


@pytest.mark.parametrize("offset", [4096, 2], ids=["outside", "misaligned"])
def test_a_fault_names_the_access_that_it_is_of(offset: int) -> None:
    ptx = loads(0, 4, offset, 8)
    told = fault(ptx, "cpu")
    assert told == fault(ptx, "step")
    assert "ld.global.u32 %v3" in told


@pytest.mark.parametrize("base", ["%v1", "%t"], ids=["lanes", "affine"])
def test_a_fault_of_rows_names_the_instruction_and_the_row(base: str) -> None:
    """Addresses of which each thread has its own, and those that are constants apart."""
    put = "mul.lo.u32 %v1, %t, %t;" if base == "%v1" else "nop;"
    lines = [
        f"{put}" if put != "nop;" else "mov.u32 %v1, 0;",
        "and.b32 %v1, %v1, 15;",
        "mov.u32 %s, room;",
        f"mad.lo.u32 %v2, {base}, 16, %s;",
        f"mad.lo.u32 %v3, {base}, 8, %s;",
        "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%v4}, [%v2];",
        "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%v5}, [%v3+16];",
    ]
    told = fault(kernel(*lines), "cpu")
    assert told == fault(kernel(*lines), "step")
    assert "[%v3+16]" in told


def stores(count: int) -> str:
    """A kernel with so many stores from one base, of which each thread knows its own only."""
    lines = ["ld.param.u64 %a0, [x];", "mul.lo.u32 %s, %t, 5;", "and.b32 %s, %s, 63;", "mul.wide.u32 %a1, %s, 64;"]
    lines += ["add.s64 %a1, %a1, %a0;", *(f"st.global.u32 [%a1+{4 * k}], %t;" for k in range(count))]
    return kernel(*lines)


@pytest.mark.parametrize("tier", ["quick", "optimized"])
def test_many_stores_from_one_base(tier: str) -> None:
    """Each thread has a place of its own; the last store of each is outside for one of them."""
    seen = []
    for ptx, length in ((stores(8), 64 * 16), (stores(16), 64 * 16 - 1)):
        for device, given in (("cpu", {"tier": tier}), ("step", {})):
            x, y = np.full(length, 7, np.uint32), np.zeros(64, np.uint32)
            try:
                pl.launch(ptx, 1, 64, x, pl.out(y), device=device, **given)
            except pl.DeviceFault as fault:
                seen.append(str(fault))
            else:
                seen.append(x.tolist())
    assert seen[0] == seen[1]
    assert seen[2] == seen[3]
    assert "st.global.u32 [%a1+60], %t" in seen[2]
