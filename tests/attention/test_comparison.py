"""`compare`: several kernels on the same inputs, as a table."""

from __future__ import annotations

import numpy as np
import pytest

import ptxlab as pl
from ptxlab import kernels, reference
from ptxlab.attention import comparison


@pytest.mark.rest
@pytest.mark.long
def test_compare_shows_what_the_swizzle_is_for():
    q, k, v = reference.random_inputs(1, 1, 1, 64, 64, 64, dtype=np.float16)
    found = pl.compare(q, k, v, kernels=["mma", kernels.get("swizzle").build()], device="cpu")
    mma, swizzle = found.entries
    assert (mma.kernel, swizzle.kernel) == ("mma_f16_d64", "swizzle_f16_d64")
    assert mma.ok
    assert swizzle.ok
    assert mma.conflicts > 0 == swizzle.conflicts
    assert mma.sectors == swizzle.sectors > 0
    assert mma.registers > 0
    assert 0 < mma.occupancy <= 1
    lines = str(found).splitlines()
    assert lines[0] == "on cpu"
    assert lines[1].split() == " ".join(comparison.COLUMNS).split()
    assert lines[2].startswith("mma_f16_d64 ")
    assert (mma.tiles, swizzle.tiles) == ("64 x 64", "64 x 64")
    shown = found._repr_mimebundle_()["text/html"]
    assert shown.count("<tr>") == 3
    assert shown.count('width: 100%"></div>') >= 7  # the largest of each column; sectors and registers are alike
    assert shown.count('width: 0%"></div>') == 1  # the conflicts of swizzle


@pytest.mark.long
def test_compare_takes_every_kernel_of_the_type():
    q, k, v = reference.random_inputs(1, 1, 1, 9, 9, 24)
    names = [e.kernel for e in pl.compare(q, k, v, device="cpu", causal=True).entries]
    assert names == ["scalar_f32_d24_causal", "tiled_f32_d24_causal"]


def decode_inputs(dtype, dim=64):
    q, k, v = reference.random_inputs(2, 8, 2, 1, 200, dim, dtype=dtype)
    return q[:, :, 0], k, v


@pytest.mark.rest
@pytest.mark.long
def test_compare_decode_shows_what_reading_keys_once_is_worth():
    found = pl.compare_decode(*decode_inputs(np.float16), [200, 77], splits=2, device="cpu")
    names = [e.kernel for e in found.entries]
    assert names == [
        "decode_f16_d64_indirect",
        "decode_multiwarp_f16_d64_indirect",
        "decode_split_f16_d64 + decode_reduce_f16_d64",
        "decode_gqa_f16_d64_partial + decode_reduce_f16_d64",
    ]
    assert all(e.ok and e.registers > 0 and 0 < e.occupancy <= 1 and e.seconds > 0 for e in found.entries)
    one, several, _, grouped = found.entries
    assert several.instructions < one.instructions
    assert grouped.sectors < 0.35 * several.sectors
    assert str(found).splitlines()[0] == "on cpu"


@pytest.mark.long
def test_compare_decode_takes_what_the_cache_allows():
    q, k, v = decode_inputs(np.float32, 40)
    assert [e.kernel.split("_f32")[0] for e in pl.compare_decode(q, k, v, 9, device="cpu").entries] == [
        "decode",
        "decode_multiwarp",
        "decode_split",
    ]
    pool = np.ascontiguousarray(k[:, :, :64].reshape(-1, 16, 2, 40))
    table = np.array([[3, 1], [0, 2]], np.int32)
    found = pl.compare_decode(q, pool, pool, [30, 5], table, device="cpu")
    assert [e.kernel.split("_f32")[0] for e in found.entries] == ["decode_paged", "decode_split"]
    assert all(e.ok for e in found.entries)
    built = kernels.get("decode").build(head_dim=40, length="value")
    assert pl.compare_decode(q, k, v, 9, kernels=[built], device="cpu").entries[0].kernel == "decode_f32_d40"


@pytest.mark.long
def test_one_kernel_may_be_named_alone_and_is_counted_where_there_is_no_gpu():
    q, k, v = reference.random_inputs(1, 1, 1, 9, 9, 16)
    found = pl.compare(q, k, v, kernels="tiled", device="step")
    assert [e.kernel for e in found.entries] == ["tiled_f32_d16"]
    assert found.entries[0].instructions > 0
    built = kernels.get("tiled").build(head_dim=16, tile_kv=4)
    assert pl.compare(q, k, v, kernels=built, device="cpu").entries[0].tiles == "128 x 4"
    decoding = kernels.get("decode").build(head_dim=16)
    found = pl.compare_decode(q[:, :, 0], k, v, 9, kernels=decoding, device="cpu")
    assert [e.kernel for e in found.entries] == ["decode_f32_d16_indirect"]


def test_where_no_kernel_fits():
    q = np.zeros((1, 1, 1, 20), np.float16)
    with pytest.raises(pl.TargetError) as none:
        pl.compare(q, q, q, device="cpu")
    assert str(none.value) == "no prefill kernel takes f16 with head_dim=20"
    whole = np.zeros((1, 1, 64), int)
    with pytest.raises(pl.LaunchError, match="q, k_cache and v_cache should all have one type of float32, float16, bf"):
        pl.compare_decode(whole, whole[None], whole[None], 1, device="cpu")
    with pytest.raises(pl.LaunchError, match="q: expected a numpy array, got list"):
        pl.compare([1.0], q, q, device="cpu")
    with pytest.raises(pl.LaunchError) as caught:
        pl.compare_decode(q[0], q, q, 1, kernels=[3], device="cpu")
    assert str(caught.value) == "kernel: expected a name or a built decode kernel, got int"


@pytest.mark.long
def test_the_plot_has_a_picture_for_each_number():
    q, k, v = reference.random_inputs(1, 1, 1, 16, 16, 16, dtype=np.float16)
    found = pl.compare(q, k, v, kernels=["mma", "swizzle"], device="cpu")
    figure = pl.plot_comparison(found)
    shown = [axis for axis in figure.axes if axis.get_visible()]
    assert [axis.get_title() for axis in shown] == [
        "max error",
        "warp instr.",
        "sectors",
        "conflicts",
        "registers",
        "occupancy",
        "time on cpu",
    ]
    bars = [patch.get_width() for patch in shown[3].patches]
    assert bars == [e.conflicts for e in found.entries]
    with pytest.raises(pl.LaunchError) as caught:
        pl.plot_comparison(comparison.Comparison((), "cpu"))
    assert str(caught.value) == "this comparison has no kernels"


@pytest.mark.long
def test_an_error_that_is_no_number_has_no_bar():
    q, k, v = reference.random_inputs(1, 1, 1, 5, 9, 16)
    k[0, 0, 2] = np.nan
    found = pl.compare(q, k, v, kernels=["scalar", "tiled"], device="cpu")
    assert [row[2:4] for row in found.cells()] == [("nan", "not judged")] * 2  # every row sees it
    assert "nan%" not in found._repr_mimebundle_()["text/html"]
    assert pl.plot_comparison(found).axes[0].get_title() == "warp instr."


@pytest.mark.rest
def test_each_decode_kernel_has_a_colour_of_its_own():
    q, k, v = reference.random_inputs(1, 2, 1, 1, 9, 16, dtype=np.float16)
    figure = pl.plot_comparison(pl.compare_decode(q[:, :, 0], k, v, 9, splits=2, device="cpu"))
    assert len({patch.get_facecolor() for patch in figure.axes[0].patches}) == 4
