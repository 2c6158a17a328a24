"""Descriptors of `wgmma` against the tiles that tensor copies wrote: swizzles and strides that do not fit are found.
Of tiles that threads wrote nothing is said, and one test shows why nothing can be."""

from __future__ import annotations

import numpy as np
import pytest
from emulate_programs import ALL_CHECKS

import ptxlab as pl

LOAD = "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
CHECKS = ("memcheck", "synccheck")
SWIZZLES = {0: 0, 128: 1, 64: 2, 32: 3}


def program(descriptor: int, *, transposed: int = 0, bytes_: int, more: str = "") -> str:
    """A warpgroup multiplies a tile of A by itself, transposed; both are brought by one copy, and stand alone."""
    return f"""
.version 8.6
.target sm_90a
.address_size 64
.visible .entry k(.param .align 64 .b8 map[128], .param .u64 out)
{{
    .reg .b32 %r<9>; .reg .f32 %d<4>; .reg .b64 %rd<9>; .reg .pred %p<4>;
    .shared .align 1024 .b8 tile[8192];
    .shared .align 8 .b64 bar;
    ld.param.u64 %rd1, [out];
    mov.b64 %rd4, map; cvta.param.u64 %rd5, %rd4;
    mov.u32 %r1, %tid.x; mov.u32 %r2, 0; mov.u32 %r5, tile;
    setp.ne.u32 %p1, %r1, 0;
    @!%p1 mbarrier.init.shared::cta.b64 [bar], 1;
    bar.sync 0;
    @!%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], {bytes_};
    @!%p1 {LOAD} [%r5], [%rd5, {{%r2, %r2}}], [bar];
WAIT:
    mbarrier.try_wait.parity.shared::cta.b64 %p2, [bar], 0;
    @!%p2 bra WAIT;
    {more}
    shr.u32 %r6, %r5, 4; cvt.u64.u32 %rd6, %r6;
    or.b64 %rd7, %rd6, {descriptor};
    setp.ne.u32 %p3, 0, 0;
    mov.f32 %d0, 0f00000000; mov.f32 %d1, 0f00000000; mov.f32 %d2, 0f00000000; mov.f32 %d3, 0f00000000;
    wgmma.fence.sync.aligned;
    wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {{%d0, %d1, %d2, %d3}}, %rd7, %rd7, %p3, 1, 1, {transposed}, 0;
    wgmma.commit_group.sync.aligned;
    wgmma.wait_group.sync.aligned 0;
    mul.wide.u32 %rd8, %r1, 4; add.u64 %rd1, %rd1, %rd8; st.global.f32 [%rd1], %d0;
    ret;
}}
"""


def found(
    device: str, width: int, swizzle: int, mode: int, stride: int, leading: int = 16, more: str = ""
) -> list[str]:
    """The findings where a tile of 64 rows of so many bytes has one swizzle, and its descriptor says another."""
    x = np.zeros((64, width // 2), np.float16)
    descriptor = stride // 16 << 32 | leading // 16 << 16 | SWIZZLES[mode] << 62
    text = program(descriptor, bytes_=64 * width, more=more)
    given = pl.TensorMap(x, (64, width // 2), swizzle=swizzle)
    run = pl.launch(text, 1, 128, given, np.zeros(128, np.float32), device=device, checks=CHECKS)
    return [f"{f.kind}: {f.message}" for f in run.findings]


@pytest.mark.parametrize("width", [128, 64, 32])
def test_descriptors_that_fit(device: str, width: int) -> None:
    assert found(device, width, width, width, 8 * width) == []
    if width == 32:
        assert found(device, width, 0, 0, 8 * 16, 64 * 16, more="bar.sync 0;") != []  # rows of 32 bytes, no swizzle


SAYS = {0: "none", 32: "32 bytes", 64: "64 bytes", 128: "128 bytes"}


@pytest.mark.parametrize(("swizzle", "mode"), [(128, 64), (128, 0), (64, 128), (0, 128), (32, 64)])
def test_another_swizzle(device: str, swizzle: int, mode: int) -> None:
    width = swizzle or 128
    (message,) = found(device, width, swizzle, mode, 8 * (mode or 16))
    assert message == (
        f"wgmma descriptor: the descriptor of a wgmma names another swizzle ({SAYS[mode]}) than the tensor map of the "
        f"copy that wrote the tile ({SAYS[swizzle]}); bits 62 and 63 of the descriptor are 0 for none, 1 for 128, 2 "
        "for 64, 3 for 32"
    )


ROWS = (
    "wgmma descriptor: the descriptor of a wgmma does not follow the rows of the tile as the copy wrote them; look at "
    "its start address and base offset, and at its leading and stride byte offsets"
)


def test_another_stride(device: str) -> None:
    """Eight rows are 1,024 bytes apart; 16 elements further in a row begins 32 bytes further on. A stride that skips
    every second group of eight rows may be meant."""
    assert found(device, 64, 64, 64, 1024) == []
    assert found(device, 128, 128, 128, 512) == [ROWS]
    assert found(device, 128, 128, 128, 1024, more="add.u32 %r5, %r5, 32;") == []


STORE = "st.shared.v4.b32 [%r6+{at}], {{%r2, %r2, %r2, %r2}};"
COPY = "cp.async.cg.shared.global [%r6+{at}], [%rd1], 16;"


@pytest.mark.parametrize("one", [STORE, COPY])
def test_what_a_thread_has_written_over_is_not_judged(device: str, one: str) -> None:
    """It may have put the tile into another order. That it needs a fence is known all the same."""
    store = "bar.sync 0;\n mad.lo.u32 %r6, %r1, 64, %r5;\n" + "".join(one.format(at=16 * k) + "\n" for k in range(4))
    store += "cp.async.wait_all;\n"
    assert found(device, 128, 128, 0, 1024, 128, more=f"{store} fence.proxy.async;\n bar.sync 0;") == []
    stored, after = ("thread", "the stores") if one == STORE else ("cp.async", "the wait for it")
    assert {*found(device, 128, 128, 128, 1024, 128, more=f"{store} bar.sync 0;")} == {
        f"async proxy without a fence: a wgmma reads what a {stored} has stored, and no fence makes it seen by the "
        f"async proxy; write fence.proxy.async; after {after}, before the barrier"
    }


def by_threads(descriptor: int) -> str:
    """The same product of a tile that threads store, 64 bytes each, in the order in which they find it."""
    head, _, rest = program(descriptor, bytes_=0).partition("    setp.ne.u32 %p1")
    copy = "    mad.lo.u32 %r6, %r1, 64, %r5;\n    mul.wide.u32 %rd2, %r1, 64;\n    add.u64 %rd3, %rd3, %rd2;\n"
    for n in range(0, 64, 16):
        copy += f"    ld.global.v4.b32 {{%w0, %w1, %w2, %w3}}, [%rd3+{n}];\n"
        copy += f"    st.shared.v4.b32 [%r6+{n}], {{%w0, %w1, %w2, %w3}};\n"
    head = head.replace(".param .align 64 .b8 map[128]", ".param .u64 x").replace("{\n", "{\n    .reg .b32 %w<4>;\n", 1)
    head = head.replace("mov.b64 %rd4, map; cvta.param.u64 %rd5, %rd4;", "ld.param.u64 %rd3, [x];")
    return f"{head}{copy}    fence.proxy.async;\n    bar.sync 0;\n    shr.u32{rest.partition('    shr.u32')[2]}"


def test_tiles_of_threads_depend_on_the_array(device: str) -> None:
    """The same stores, and the same descriptor with a swizzle of 128 bytes: the product of a plain array is wrong, that
    of one whose rows the host has swizzled is right. No address differs, so no check can tell the two apart."""
    x = np.random.default_rng(1).integers(-4, 5, (64, 64)).astype(np.float16)
    pieces = np.arange(8) ^ np.arange(64)[:, None] % 8
    swizzled = np.take_along_axis(x.reshape(64, 8, 8), pieces[:, :, None], 1).reshape(64, 64)
    text = by_threads(1024 // 16 << 32 | 1 << 16 | SWIZZLES[128] << 62)
    products = []
    for given in (x, swizzled):
        out = np.zeros((4, 8, 4), np.float32)  # of each warp the first of each pair of columns, of rows 0 to 7 of 16
        run = pl.launch(text, 1, 128, given, out, device=device, checks=ALL_CHECKS)
        assert run.findings == []
        products.append(out.reshape(32, 4))
    wide = x[:, :16].astype(np.float32)
    expected = (wide @ wide[:8].T)[:, ::2].reshape(4, 2, 8, 4)[:, 0].reshape(32, 4)
    assert (products[1] == expected).all()
    assert (products[0] != expected).any()
