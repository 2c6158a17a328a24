"""`pl.attention`: shapes it takes, what it gives back, and every message of what it refuses."""

from __future__ import annotations

import numpy as np
import pytest

import ptxlab as pl
from ptxlab import kernels, options, reference


def test_result_has_the_promised_fields():
    q, k, v = reference.random_inputs(1, 2, 1, 9, 20, 16)
    out = pl.attention(q, k, v, causal=True, device="cpu", state=True, counters=True)
    assert out.o.shape == q.shape
    assert out.lse.shape == q.shape[:3]
    assert out.state.shape == (2, 1, 3)
    assert out.seconds == out.run.seconds > 0
    assert out.counters.thread_instructions > 0
    assert out.kernel.name == "tiled2d_f32_d16_causal"
    e = out.error
    assert e.ok
    assert 0 < e.mean < e.max < e.tolerance
    assert e is out.error  # computed once


@pytest.mark.parametrize("lead", [(), (3,), (2, 3)])
def test_leading_dimensions_may_be_left_out(lead):
    rng = np.random.default_rng(1)
    q, k, v = (rng.standard_normal((*lead, n, 8)).astype(np.float32) for n in (5, 7, 7))
    out = pl.attention(q, k, v, device="cpu")
    full = tuple(x.reshape((1,) * (4 - x.ndim) + x.shape) for x in (q, k, v))
    expected = reference.attention(*full)
    assert out.o.shape == q.shape
    assert out.lse.shape == q.shape[:-1]
    np.testing.assert_allclose(out.o, expected.o.reshape(q.shape), atol=1e-5)
    np.testing.assert_allclose(out.lse, expected.lse.reshape(q.shape[:-1]), atol=1e-5)
    assert out.error.ok


def test_arrays_need_not_be_contiguous_and_stay_as_they_are():
    q, k, v = (x.transpose(0, 1, 3, 2).copy().transpose(0, 1, 3, 2) for x in reference.random_inputs(1, 2, 2, 6, 9, 8))
    before = q.copy(), k.copy(), v.copy()
    out = pl.attention(q, k, v, kernel="scalar", device="cpu")
    assert out.error.ok
    for now, then in zip((q, k, v), before, strict=True):
        np.testing.assert_array_equal(now, then)


def test_a_built_kernel_is_used_as_it_is():
    q, k, v = reference.random_inputs(1, 1, 1, 6, 9, 8)
    built = kernels.get("tiled").build(head_dim=8, tile_kv=4, arch="sm_90")
    out = pl.attention(q, k, v, kernel=built, device="cpu")
    assert out.kernel is built
    assert out.error.ok
    probed = pl.attention(q, k, v, kernel=built, device="cpu", state=True)
    assert probed.kernel.config.tile_kv == 4
    assert probed.state.shape == (1, 3, 3)


def test_a_result_shows_itself():
    q, k, v = reference.random_inputs(1, 1, 1, 6, 9, 8)
    out = pl.attention(q, k, v, kernel="scalar", device="cpu")
    shown = dict(line.split(maxsplit=1) for line in repr(out).replace(" error", "_error").splitlines())
    assert list(shown) == ["kernel", "device", "time", "max_error", "mean_error", "ULP", "tolerance", "result"]
    assert (shown["kernel"], shown["device"], shown["result"]) == ("scalar_f32_d8", "cpu", "pass")
    assert shown["max_error"] == f"{out.error.max:.2e}"
    bundle = out._repr_mimebundle_()
    assert bundle["text/plain"] == repr(out)
    assert "<th>max error</th>" in bundle["text/html"]


def refused(*args, **options):
    with pytest.raises(pl.LaunchError) as caught:
        pl.attention(*args, device="cpu", **options)
    return str(caught.value)


def arrays(*shapes, dtype=np.float32):
    return tuple(np.zeros(s, dtype) for s in shapes)


@pytest.mark.parametrize(
    ("shapes", "message"),
    [
        (((2, 3), (1, 2, 3), (1, 2, 3)), "q, k and v should all be [B, H, S, D], all [H, S, D] or all [S, D]; "
         "got q [2, 3], k [1, 2, 3], v [1, 2, 3]"),
        (((3,), (3,), (3,)),
         "q, k and v should all be [B, H, S, D], all [H, S, D] or all [S, D]; got q [3], k [3], v [3]"),
        (((3, 2, 4), (2, 2, 4), (2, 2, 4)),
         "3 query heads cannot share 2 key/value heads; Hq should be a multiple of Hkv"),
        (((2, 0), (2, 0), (2, 0)), "head_dim is 0; it should be at least 1"),
        (((2, 4), (3, 2), (3, 4)), "k has shape (1, 1, 3, 2); with q (1, 1, 2, 4) it should be [1, Hkv, Sk, 4]"),
        (((0, 4), (2, 4), (2, 4)), "q has shape (1, 1, 0, 4): there is no row to compute"),
    ],
)  # fmt: skip
def test_shapes_that_do_not_fit(shapes, message):
    assert refused(*arrays(*shapes)) == message


def test_types_that_do_not_fit():
    q, k, v = arrays((2, 4), (2, 4), (2, 4))
    assert refused(q, k, v.astype(np.float64)) == (
        "q, k and v should all have one type of float32, float64, float16, bfloat16; "
        "got q float32, k float32, v float64"
    )
    assert refused(*arrays((2, 4), (2, 4), (2, 4), dtype=np.int32)) == (
        "q, k and v should all have one type of float32, float64, float16, bfloat16; got q int32, k int32, v int32"
    )
    assert refused(q, k, [[1.0]]) == "v: expected a numpy array, got list"


def test_a_built_kernel_of_another_kind():
    q, k, v = arrays((2, 4), (2, 4), (2, 4))
    built = kernels.get("scalar").build(head_dim=4, causal=True)
    assert refused(q, k, v, kernel=built) == (
        "scalar_f32_d4_causal was built with causal=True, the call has causal=False"
    )
    built = kernels.get("scalar").build(head_dim=8)
    assert refused(q, k, v, kernel=built) == "scalar_f32_d8: q has head_dim 4; the kernel was built for 8"


def test_what_is_no_kernel():
    q, k, v = arrays((2, 16), (2, 16), (2, 16))
    auto = kernels.Config.auto(16, 2, 2, dtype="f32")
    for kernel, name in (
        (None, "NoneType"),
        (np.zeros(2), "ndarray"),
        (auto, "Config"),
        (kernels.get("scalar"), "scalar\n  write:  kernel='scalar'"),
        (kernels.get("decode").build(head_dim=16), "decode_f32_d16_indirect"),
    ):
        assert refused(q, k, v, kernel=kernel) == f"kernel: expected a name or a built prefill kernel, got {name}"
    assert pl.attention(q, k, v, kernel=auto.build(), device="cpu").error.ok


def test_a_scale_is_a_finite_number():
    q, k, v = arrays((2, 4), (2, 4), (2, 4))
    for scale in (np.nan, np.inf, "large", [1.0, 2.0], True, 10**400):
        assert refused(q, k, v, scale=scale) == f"scale: expected a finite number, got {options.shown(scale)}"
    assert refused(q, k, v, scale=1e300) == "tiled_f32_d4, argument 11 (scale: .f32): 1e+300 is too large for .f32"
    assert pl.attention(q, k, v, scale=np.float32(0.5), device="cpu").scale == 0.5


def test_rows_that_do_not_exist():
    q, k, v = arrays((2, 4), (2, 4), (2, 4))
    assert refused(q, k, v, causal="no") == "causal: expected True or False, got 'no'"
    assert refused(q, k, v, state=[(0, 0, 2)]) == (
        "state: there is no row (0, 0, 2); (batch, head, row) are below (1, 1, 2)"
    )
    assert refused(q, k, v, state=[(0, 0, 1), (0, 0, 1)]) == "state: row (0, 0, 1) is listed twice"
    for state, shown in (
        (7, "7"),
        ([(0, 0)], "(0, 0)"),
        ((0, 0, 1), "0"),
        (np.array(3), "array(3)"),
        ([(0, 0, 0.5)], "(0, 0, 0.5)"),
    ):
        wanted = "state: expected True or triples (batch, head, row)"
        assert refused(q, k, v, state=state) == f"{wanted}, got {shown}"


def test_head_dim_beyond_the_limit():
    with pytest.raises(pl.TargetError) as caught:
        pl.attention(*arrays((2, 300), (2, 300), (2, 300)))
    assert str(caught.value) == (
        "no kernel takes f32 with head_dim=300 on sm_80; not tiled2d: head_dim must be a whole number from 16 to 256 "
        "in steps of 16, not 300; not tiled nor scalar: head_dim must be a whole number from 1 to 256, not 300"
    )
