"""Tensor maps in memory: what `tensormap.replace` and `tensormap.cp_fenceproxy` change, and maps made by a kernel."""

from __future__ import annotations

import re

import numpy as np
import pytest
from emulate_programs import ALL_CHECKS

import ptxlab as pl
from ptxlab.errors import PtxError
from ptxlab.isa.tensor_map import BYTES, FIELDS, with_field

VALUES = {
    "global_address": 0x7F0123456780, "rank": 3, "elemtype": 10, "interleave_layout": 2, "swizzle_mode": 3,
    "fill_mode": 1, "global_stride": 0xABCDEF0120, "global_dim": 0x12345678, "element_stride": 7, "box_dim": 201,
}  # fmt: skip
NUMBERED = ("elemtype", "interleave_layout", "swizzle_mode", "fill_mode")


def changes(field: str, ordinal: int, place: str, value: int) -> str:
    """A kernel that changes one field of a map that its first parameter holds."""
    wide = field in ("global_address", "global_stride")
    register, type_ = ("%v", "b64") if wide else ("%w", "b32")
    operands = f"[{'s' if place else '%rd'}]"
    operands += f", {ordinal}" if len(FIELDS[field]) > 1 else ""
    operands += f", {value if field in NUMBERED else register}"
    space = ".shared::cta" if place else ".global"
    change = f"tensormap.replace.tile.{field}{space}.b1024.{type_} {operands};"
    there = "ld.global.b32 %x, [%at];\n    st.shared.b32 [%s], %x;\n    bar.sync 0;" if place else ""
    back = "bar.sync 0;\n    ld.shared.b32 %x, [%s];\n    st.global.b32 [%at], %x;" if place else ""
    return f"""
.version 8.6
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 map, .param .u64 value)
{{
    .reg .b64 %rd, %v, %at, %off; .reg .b32 %w, %t, %s, %x; .reg .pred %p;
    .shared .align 128 .b8 s[128];
    ld.param.u64 %rd, [map]; ld.param.u64 %v, [value];
    cvt.u32.u64 %w, %v;
    mov.u32 %t, %tid.x;
    mul.wide.u32 %off, %t, 4; add.u64 %at, %rd, %off;
    mov.u32 %s, s; mad.lo.u32 %s, %t, 4, %s;
    {there}
    setp.eq.u32 %p, %t, 5;
    @%p {change}
    {back}
    ret;
}}
"""


def field_value(map: int, field: str, ordinal: int) -> int:
    """The value of a field (of `elemtype` only that of its own bits)."""
    return sum(((map >> bits.at & (1 << bits.width) - 1) << bits.skip) + bits.less for bits in FIELDS[field][ordinal])


@pytest.mark.sweep(7)
@pytest.mark.parametrize("place", ["", "shared"])
@pytest.mark.parametrize("field", FIELDS)
def test_a_field_is_replaced(device: str, place: str, field: str) -> None:
    for ordinal in range(len(FIELDS[field])):
        before = np.random.default_rng(ordinal).integers(0, 256, BYTES, np.uint8)
        words = before.view(np.uint32).copy()
        pl.launch(changes(field, ordinal, place, VALUES[field]), 1, 32, words, VALUES[field], device=device)
        expected = with_field(int.from_bytes(before.tobytes(), "little"), field, VALUES[field], ordinal)
        assert words.tobytes() == expected.to_bytes(BYTES, "little")
        assert field_value(expected, field, ordinal) == VALUES[field] or field == "elemtype"


MAKES = """
.version 8.6
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 maps, .param .u64 x, .param .u64 out)
{
    .reg .b64 %rd<9>; .reg .b32 %r<9>; .reg .pred %p<3>;
    .shared .align 128 .b8 s[128];
    .shared .align 1024 .b8 tile[2048];
    .shared .align 8 .b64 bar;
    ld.param.u64 %rd1, [maps]; ld.param.u64 %rd2, [x]; ld.param.u64 %rd3, [out];
    mov.u32 %r1, %tid.x; mov.u32 %r2, s; mad.lo.u32 %r2, %r1, 4, %r2; st.shared.b32 [%r2], 0;
    setp.ne.u32 %p1, %r1, 0;
    bar.warp.sync 0xffffffff;
    @%p1 bra MADE;
    mbarrier.init.shared.b64 [bar], 1;
    fence.mbarrier_init.release.cluster;
    tensormap.replace.tile.global_address.shared::cta.b1024.b64 [s], %rd2;
    tensormap.replace.tile.rank.shared::cta.b1024.b32 [s], 1;
    tensormap.replace.tile.box_dim.shared::cta.b1024.b32 [s], 0, 32;
    tensormap.replace.tile.box_dim.shared::cta.b1024.b32 [s], 1, 16;
    tensormap.replace.tile.global_dim.shared::cta.b1024.b32 [s], 0, 64;
    tensormap.replace.tile.global_dim.shared::cta.b1024.b32 [s], 1, 40;
    tensormap.replace.tile.global_stride.shared::cta.b1024.b64 [s], 0, 256;
    tensormap.replace.tile.element_stride.shared::cta.b1024.b32 [s], 0, 1;
    tensormap.replace.tile.element_stride.shared::cta.b1024.b32 [s], 1, 1;
    tensormap.replace.tile.elemtype.shared::cta.b1024.b32 [s], 7;
    tensormap.replace.tile.interleave_layout.shared::cta.b1024.b32 [s], 0;
    tensormap.replace.tile.swizzle_mode.shared::cta.b1024.b32 [s], 3;
    tensormap.replace.tile.fill_mode.shared::cta.b1024.b32 [s], 1;
MADE:
    bar.warp.sync 0xffffffff;
    tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%rd1], [s], 128;
    fence.proxy.tensormap::generic.acquire.gpu [%rd1], 128;
    @%p1 bra WAIT;
    mbarrier.arrive.expect_tx.shared.b64 %rd5, [bar], 2048;
    mov.u32 %r3, 40; mov.u32 %r4, 30;
    cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [tile], [%rd1, {%r3, %r4}], [bar];
WAIT:
    mbarrier.try_wait.parity.shared.b64 %p2, [bar], 0;
    @!%p2 bra WAIT;
    shl.b32 %r5, %r1, 2;
    mov.u32 %r6, tile;
LOOP:
    add.u32 %r7, %r5, %r6; ld.shared.b32 %r8, [%r7];
    cvt.u64.u32 %rd6, %r5; add.u64 %rd7, %rd3, %rd6; st.global.b32 [%rd7], %r8;
    add.u32 %r5, %r5, 128; setp.lt.u32 %p2, %r5, 2048; @%p2 bra LOOP;
    ret;
}
"""


def test_a_kernel_makes_its_map(device: str) -> None:
    """As Triton's kernels do: from zeros, field by field, copied to global memory by the warp and acquired."""
    x = np.random.default_rng(1).standard_normal((40, 64)).astype(np.float32)
    held, out = np.zeros(32, np.uint32), np.zeros((16, 8, 4), np.float32)
    run = pl.launch(MAKES, 1, 32, held, x, out, device=device, checks=ALL_CHECKS)
    assert not run.findings
    described = pl.TensorMap(x, (16, 32), swizzle=128, fill="nan").encoded(int(held[:2].view(np.uint64)[0]))
    assert held.tobytes() == described
    tile = np.full((16, 32), np.nan, np.float32)
    tile[:10, :24] = x[30:, 40:]
    expected = tile.reshape(16, 8, 4)[np.arange(16)[:, None], np.arange(8) ^ np.arange(16)[:, None] % 8]
    np.testing.assert_array_equal(out, expected)


def test_an_interleaved_map(device: str) -> None:
    text = MAKES.replace("[s], 0;\n    tensormap.replace.tile.swizzle", "[s], 1;\n    tensormap.replace.tile.swizzle")
    x = np.zeros((40, 64), np.float32)
    with pytest.raises(pl.DeviceFault) as stopped:
        pl.launch(text, 1, 32, np.zeros(32, np.uint32), x, np.zeros((16, 8, 4), np.float32), device=device)
    says = re.sub(r"map at 0x\w+", "map at ADDRESS", str(stopped.value))
    assert (
        "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes: the tensor map at ADDRESS "
        "has an interleaved layout; how its strides are meant is not public, so the emulator copies without: write "
        "0 for .interleave_layout"
    ) in says


WRONG = {
    "tensormap.replace.tile.box_dim.global.b1024.b32 [%rd], 5, %w;":
        "tensormap.replace.tile.box_dim.global.b1024.b32 takes 0 to 4 here, found 5",
    "tensormap.replace.tile.global_stride.global.b1024.b64 [%rd], 4, %v;":
        "tensormap.replace.tile.global_stride.global.b1024.b64: .global_stride has the ordinals 0 to 3, found 4",
    "tensormap.replace.tile.fill_mode.global.b1024.b32 [%rd], 2;":
        "tensormap.replace.tile.fill_mode.global.b1024.b32 takes 0 to 1 here, found 2",
    "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%rd], [s], 64;":
        "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned takes 128, the bytes "
        "of a tensor map, here, found 64",
}  # fmt: skip


@pytest.mark.parametrize("line", WRONG)
def test_what_cannot_be(line: str) -> None:
    text = changes("rank", 0, "", 0).replace("tensormap.replace.tile.rank.global.b1024.b32 [%rd], %w;", line)
    with pytest.raises(PtxError) as refused:
        pl.launch(text, 1, 32, np.zeros(32, np.uint32), 0, device="cpu")
    assert WRONG[line] in str(refused.value)


COPIES = """
.version 8.3
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 map)
{
    .reg .pred %p<3>; .reg .b32 %r<4>; .reg .b64 %rd<3>;
    .shared .align 128 .b8 s[128];
    ld.param.u64 %rd1, [map];
    mov.u32 %r1, %tid.x; setp.lt.u32 %p1, %r1, 32; selp.b64 %rd1, %rd1, 0, %p1;
    mov.u32 %r2, s; mad.lo.u32 %r2, %r1, 4, %r2; @%p1 st.shared.b32 [%r2], %r1;
    @%p1 tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%rd1], [s], 128;
    ret;
}
"""


def test_a_guard_before_the_copy_of_a_map(device: str) -> None:
    """Of two warps one copies, as Triton writes it; the other has no address to copy to."""
    out = np.zeros(32, np.uint32)
    run = pl.launch(COPIES, 1, 64, out, device=device, checks=ALL_CHECKS)
    assert out.tolist() == list(range(32))
    assert not run.findings
