"""`pl.merge_states` and its twin in numpy: two halves make the whole, in any order, and nothing changes nothing."""

from __future__ import annotations

import functools

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ptxlab as pl
from ptxlab import reference


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16, ml_dtypes.bfloat16], ids=lambda t: t.__name__)
def test_merge_states_of_two_halves_is_the_whole(dtype):
    q, k, v = reference.random_inputs(2, 3, 3, 1, 50, 40, sigma=3, dtype=np.float64)
    log = np.float64 if dtype == np.float64 else np.float32
    halves = []
    for part in (slice(0, 17), slice(17, 50)):
        r = reference.attention(q, k[:, :, part], v[:, :, part])
        halves += [r.o.astype(dtype), r.lse.astype(log)]
    o, lse = pl.merge_states(*halves, device="cpu")
    same, same_lse = reference.merge_states(*halves)
    eps = {"float64": 1e-15, "float32": 3e-7, "float16": 1e-3, "bfloat16": 8e-3}[np.dtype(dtype).name]
    np.testing.assert_allclose(o.astype(float), same.astype(float), atol=2 * eps)
    np.testing.assert_allclose(lse, same_lse, rtol=4e-7 if log is np.float32 else 1e-15)
    assert o.dtype == dtype
    assert lse.dtype == log


MERGES = {"kernel": functools.partial(pl.merge_states, device="cpu"), "numpy": reference.merge_states}
EPS = {"float64": 2**-52, "float32": 2**-23, "float16": 2**-10, "bfloat16": 2**-7}


@pytest.mark.long
@pytest.mark.parametrize("how", MERGES)
@given(data=st.data(), name=st.sampled_from(["float64", "float32", "float16", "bfloat16"]), dim=st.integers(1, 300))
@settings(max_examples=25)
def test_merging_is_associative_to_rounding(how, data, name, dim):
    """(a + b) + c = a + (b + c) = (c + a) + b, also where some or all of them saw no key and hold NaN."""
    dtype = np.dtype(ml_dtypes.bfloat16 if name == "bfloat16" else name)
    log = np.float64 if name == "float64" else np.float32
    random = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    scale = data.draw(st.sampled_from([0.1, 3.0, 40.0, 1e4]))
    states = []
    for _ in range(3):
        o = random.standard_normal((2, 3, dim)).astype(dtype)
        lse = (scale * random.standard_normal((2, 3))).astype(log)
        empty = random.random((2, 3)) < 0.3
        lse[empty] = -np.inf
        o[empty] = np.nan
        states.append((o, lse))
    a, b, c = states

    def merge(x, y):
        return MERGES[how](*x, *y)

    left, right, turned = merge(merge(a, b), c), merge(a, merge(b, c)), merge(merge(c, a), b)
    for other in (right, turned):
        np.testing.assert_allclose(other[0].astype(float), left[0].astype(float), atol=16 * EPS[name])
        np.testing.assert_allclose(other[1], left[1], rtol=8 * EPS[log.__name__], atol=8 * EPS[log.__name__])
    nothing = np.isneginf([lse for _, lse in states]).all(axis=0)
    assert (left[0][nothing] == 0).all()
    assert np.isneginf(left[1][nothing]).all()
    assert not np.isnan(left[0].astype(float)).any()


@pytest.mark.parametrize("how", MERGES)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_merging_with_nothing_changes_nothing(how, dtype):
    o = np.random.default_rng(0).standard_normal((3, 5, 8)).astype(dtype)
    lse = np.array([[0, 1e4, -1e4, 3e38, -3.3e38], [1e-30, 88, -88, 7, 0.5], [-1e30, 1e30, 1, 2, 3]], dtype)
    nothing = np.full_like(o, np.nan), np.full_like(lse, -np.inf)
    for states in ((o, lse, *nothing), (*nothing, o, lse)):
        merged = MERGES[how](*states)
        np.testing.assert_array_equal(merged[0], o)
        np.testing.assert_array_equal(merged[1], lse)
        assert merged[0].dtype == merged[1].dtype == dtype
    for merged, zero in zip(MERGES[how](*nothing, *nothing), (0, -np.inf), strict=True):
        assert (merged == zero).all()
    twice = MERGES[how](o, lse, o, lse)
    np.testing.assert_allclose(twice[0], o, rtol=1e-6 if dtype is np.float32 else 1e-15)
    np.testing.assert_allclose(twice[1], lse + np.log(dtype(2)), rtol=1e-6 if dtype is np.float32 else 1e-14)


def test_merge_states_of_what_does_not_fit():
    o, lse = np.zeros((3, 4), np.float32), np.zeros(3, np.float32)
    for args, message in (
        ((o, lse, o[:2], lse), "o2 should be float32 [3, 4] beside o1 [3, 4], it is float32 [2, 4]"),
        ((o, lse, o, lse[:2]), "lse2 should be float32 [3] beside o1 [3, 4], it is float32 [2]"),
        ((o, lse.astype(float), o, lse), "lse1 should be float32 [3] beside o1 [3, 4], it is float64 [3]"),
        ((o.astype(int), lse, o, lse), "o1 is int64; there are kernels for float32, float16, bfloat16, float64"),
        ((o, lse, o, [1]), "lse2: expected a numpy array, got list"),
    ):
        with pytest.raises(pl.LaunchError) as caught:
            pl.merge_states(*args, device="cpu")
        assert str(caught.value) == message


def test_a_single_row():
    """o `[D]` and lse `[]`, which numpy gives as a scalar when it is taken out of an array."""
    o, lse = np.array([[1, 2], [5, 6]], np.float32), np.zeros(2, np.float32)
    merged = pl.merge_states(o[0], lse[0], o[1], lse[1], device="cpu")
    np.testing.assert_allclose(merged[0], [3, 4])
    assert merged[1].shape == ()
    np.testing.assert_allclose(merged[1], np.log(2), rtol=1e-6)
