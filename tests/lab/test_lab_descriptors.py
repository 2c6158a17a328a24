"""Descriptors under the mouse: which registers hold one, the fields of a tensor map, and what a trace knows of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from emulate_programs import DEVICES

import ptxlab as pl
from ptxlab.lab import descriptors, hover, language
from ptxlab.lab.descriptors import MAP, MATRIX, ROLES

TILE = """
.version 8.6
.target sm_90a
.address_size 64
.visible .entry tile(.param .align 64 .b8 x[128], .param .u64 out)
{
    .reg .b64 %rd<4>;
    .reg .b32 %r<4>;
    .reg .pred %p<4>;
    .shared .align 128 .b8 tile[512];
    .shared .align 8 .b64 full;
    mov.b64 %rd1, x;
    cvta.param.u64 %rd2, %rd1;
    mbarrier.init.shared.b64 [full], 1;
    fence.proxy.async.shared::cta;
    mov.u32 %r1, 4;
    mov.u32 %r2, 0;
    prefetch.tensormap [%rd2];
    mbarrier.arrive.expect_tx.shared.b64 %rd3, [full], 512;
    cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [tile], [%rd2, {%r1, %r2}], [full];
WAIT:
    mbarrier.try_wait.parity.shared.b64 %p1, [full], 0;
    @!%p1 bra WAIT;
    ret;
}
"""
PRODUCT = "    wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f0, %f1, %f2, %f3}, %da, %db1, %p, 1, 1, 0, 0;"


def test_which_registers_hold_what() -> None:
    types = {"%da": "b64", "%db": ".u64", "%p": "pred", "%rd": "b64"}
    assert descriptors.roles(PRODUCT, types) == {"%da": MATRIX, "%db1": MATRIX}
    assert descriptors.roles(TILE, types) == {"%rd2": MAP}
    assert descriptors.roles("tensormap.replace.tile.rank.global.b1024.b32 [%rd3], 1;", types) == {"%rd3": MAP}
    assert descriptors.roles("ld.global.f32 %f0, [%rd3];", types) == {}


@pytest.mark.parametrize("device", DEVICES)
def test_the_maps_that_a_trace_has_seen(device: str) -> None:
    """The address in the register, and the map's fields; the copy has its number and coordinates."""
    x = np.arange(20 * 32, dtype=np.float32).reshape(20, 32)
    map = pl.TensorMap(x, box=(8, 16), swizzle=64, fill="nan", steps=(2, 1))
    d = pl.debug(TILE, 1, 1, map, np.zeros(1), device=device)
    (copy,) = d.recording.copies
    assert (copy.map, copy.place, len(d.recording.maps)) == (0, [0, 4], 1)
    walker = d.recording.walk(0, 0)
    walker.seek(-1)
    (address,) = d.info["maps"]
    assert address == hex(int(walker.registers["%rd2"][0]))
    assert dict(zip([name for name, _ in ROLES[MAP]], d.info["maps"][address], strict=True)) == {
        "tensor": "20 × 32",
        "element type": "f32",
        "strides": "128",
        "box": "8 × 16",
        "element strides": "2 × 1",
        "swizzle": "64 bytes",
        "interleave": "none",
        "fill": "nan",
        "global address": d.info["maps"][address][-1],
    }
    assert d.info["roles"] == {"%rd2": MAP}
    assert d.info["fields"] == {MAP: ROLES[MAP]}


def test_an_image_map() -> None:
    x = np.zeros((2, 10, 12, 64), np.float16)
    map = pl.TensorMap(x, box=(32, 64), swizzle=128, lower=(-1, -1), upper=(-1, -1))
    found = dict(zip([name for name, _ in ROLES[MAP]], descriptors.described(map.encoded(4096)), strict=True))
    assert (found["tensor"], found["box"]) == ("2 × 10 × 12 × 64", "im2col: 32 pixels of 64 channels")
    assert found["global address"] == "0x1000"


def test_the_editor_explains_the_fields() -> None:
    found = language.explain("%rd2", TILE)
    assert found == {
        "word": "%rd2",
        "says": "A register of type .b64. It holds: address of a tensor map.",
        "terms": ROLES[MAP],
    }
    assert language.explain("%rd3", TILE) == {"word": "%rd3", "says": "A register of type .b64."}


def test_the_explorer_explains_them_too() -> None:
    built = pl.kernels.get("wgmma").build(head_dim=64)
    found = hover.of_module(built.module)
    assert set(found["roles"].values()) == set(found["fields"]) == {MATRIX}


@pytest.mark.browser
def test_under_the_mouse(parts: Any) -> None:
    """Values where they are known, else what the fields mean."""
    bits = str(1 << 62 | 2 << 49 | (1024 >> 4) << 32 | (8192 >> 4) << 16 | 0x4800 >> 4)
    shown = """([bits, fields, roles]) => {
      const says = (name, more) => explainDescriptor(name, { roles, fields, ...more })?.map((part) => part.textContent);
      const value = () => ({ bits: BigInt(bits), when: "after step 7" });
      const values = explainDescriptor("%da", { roles, fields, value })[1].querySelectorAll("b");
      return [says("%da", { value })[0], [...values].map((b) => b.textContent), says("%da", {}), says("%f0", { value }),
        says("%rd2", { value, maps: {} })[0]];
    }"""
    roles = {"%da": MATRIX, "%rd2": MAP}
    first, values, unknown, other, map = parts(shown, [bits, ROLES, roles])
    assert first == f"matrix descriptor: {int(bits):#x}, after step 7"
    assert values == ["0x4800", "8192", "1024", "2", "128-byte swizzle"]
    assert unknown[0] == "matrix descriptor; what it holds, a run in the debugger tells"
    assert unknown[1] == "".join(name + says for name, says in ROLES[MATRIX])
    assert other is None
    assert map == f"address of a tensor map: {int(bits):#x}, after step 7; no copy of this trace has used a map there"
