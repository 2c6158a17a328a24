"""The numpy reference against sums written out by hand, and the bounds that kernels are held to."""

from __future__ import annotations

import math

import numpy as np
import pytest

from ptxlab import reference


def by_hand(q, k, v, causal, scale):
    """(o, lse) of one head, one row and one key at a time."""
    rows, keys = len(q), len(k)
    o, lse = np.zeros(q.shape), np.full(rows, -np.inf)
    for i in range(rows):
        seen = [j for j in range(keys) if not causal or j <= i + keys - rows]
        scores = [scale * math.fsum(a * b for a, b in zip(q[i], k[j], strict=True)) for j in seen]
        if seen:
            top = max(scores)
            weights = [math.exp(s - top) for s in scores]
            lse[i] = top + math.log(math.fsum(weights))
            o[i] = [math.fsum(w * v[j][d] for w, j in zip(weights, seen, strict=True)) for d in range(q.shape[1])]
            o[i] /= math.fsum(weights)
    return o, lse


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize(("rows", "keys"), [(1, 1), (5, 5), (3, 9), (9, 3), (4, 0)])
def test_attention_equals_sums_by_hand(rows, keys, causal):
    q, k, v = reference.random_inputs(2, 4, 2, rows, keys, 6, sigma=4, dtype=np.float64)
    got = reference.attention(q, k, v, causal=causal, scale=0.3)
    for b in range(2):
        for h in range(4):
            o, lse = by_hand(q[b, h], k[b, h // 2], v[b, h // 2], causal, 0.3)
            np.testing.assert_allclose(got.o[b, h], o, rtol=0, atol=1e-13)
            np.testing.assert_allclose(got.lse[b, h], lse, rtol=0, atol=1e-13)


def test_rows_are_processed_in_blocks_without_a_seam(monkeypatch):
    q, k, v = reference.random_inputs(1, 2, 1, 23, 31, 4)
    whole = reference.attention(q, k, v, causal=True)
    monkeypatch.setattr(reference, "ROWS_AT_ONCE", 5)
    parts = reference.attention(q, k, v, causal=True)
    np.testing.assert_allclose(parts.o, whole.o, rtol=0, atol=1e-15)
    np.testing.assert_allclose(parts.lse, whole.lse, rtol=0, atol=1e-15)


@pytest.mark.parametrize(("rows", "keys"), [(9, 20), (20, 9), (7, 7), (5, 0)])
def test_pairs_are_the_keys_that_all_rows_see(rows, keys):
    for causal in (False, True):
        seen = sum(reference.visible_keys(r, rows, keys, causal) for r in range(rows))
        assert reference.visible_pairs(rows, keys, causal) == seen


@pytest.mark.parametrize("tile", [1, 3, 8, 64])
def test_state_ends_in_the_softmax_and_rescales_between(tile):
    q, k, v = reference.random_inputs(1, 2, 1, 9, 20, 4, sigma=3, dtype=np.float64)
    rows = [(0, 1, 4), (0, 0, 8)]
    got = reference.attention(q, k, v, causal=True, tile=tile, rows=rows)
    assert got.state.shape == (2, reference.tiles(20, tile), 3)
    for state, (b, h, row) in zip(got.state, rows, strict=True):
        visible = reference.visible_keys(row, 9, 20, True)
        seen = reference.tiles(visible, tile)
        m, l, rescale = state.T
        assert np.isnan(state[seen:]).all()
        assert not np.isnan(state[:seen]).any()
        assert math.isclose(m[seen - 1] + math.log(l[seen - 1]), got.lse[b, h, row], abs_tol=1e-12)
        assert rescale[0] == 0
        np.testing.assert_allclose(rescale[1:seen], np.exp(m[: seen - 1] - m[1:seen]))
        scores = k[b, 0, :visible] @ q[b, h, row] * reference.default_scale(4)
        for t in range(1, seen):  # what the online algorithm would do with the state before
            weights = np.exp(scores[t * tile : (t + 1) * tile] - m[t])
            assert math.isclose(l[t], l[t - 1] * rescale[t] + weights.sum(), rel_tol=1e-12)


def test_state_of_row_0_by_default():
    q, k, v = reference.random_inputs(2, 3, 3, 4, 5, 2)
    assert reference.attention(q, k, v, tile=2).state.shape == (6, 3, 3)
    assert reference.attention(q, k, v).state is None


@pytest.mark.parametrize("split", [0, 1, 7, 20])
def test_merge_states_of_two_halves_is_the_whole(split):
    q, k, v = reference.random_inputs(1, 2, 2, 6, 20, 4, sigma=4, dtype=np.float64)
    whole = reference.attention(q, k, v)
    a = reference.attention(q, k[:, :, :split], v[:, :, :split])
    b = reference.attention(q, k[:, :, split:], v[:, :, split:])
    o, lse = reference.merge_states(a.o, a.lse, b.o, b.lse)
    np.testing.assert_allclose(o, whole.o, rtol=0, atol=1e-14)
    np.testing.assert_allclose(lse, whole.lse, rtol=0, atol=1e-14)


def test_merge_states_refuses_shapes_that_do_not_fit():
    with pytest.raises(ValueError) as caught:
        reference.merge_states(np.zeros((2, 3)), np.zeros(2), np.zeros((2, 4)), np.zeros(2))
    assert str(caught.value) == (
        "o1 (2, 3), lse1 (2,), o2 (2, 4), lse2 (2,) do not fit; both o should be [..., D] and both lse [...]"
    )


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("sigma", [0.1, 1, 8])
def test_online_in_float64_agrees_with_the_definition(sigma, causal):
    q, k, v = reference.random_inputs(1, 4, 2, 17, 40, 16, sigma=sigma, dtype=np.float64)
    o, lse = reference.online(q, k, v, causal=causal, dtype=np.float64)
    assert reference.measure(o, lse, q, k, v, causal=causal).ok


def test_tolerance_is_the_stated_one():
    q, k, v = reference.random_inputs(1, 1, 1, 4, 4, 8)
    expected = reference.attention(q, k, v)
    near = expected.o.astype(np.float32)
    bound, lse_bound = reference.tolerance(near, q, k, v, expected)
    np.testing.assert_array_equal(bound, 1e-5 + 1e-5 * np.abs(expected.o))
    np.testing.assert_array_equal(lse_bound, 1e-5 + 2e-6 * np.abs(expected.lse))
    far, _ = reference.tolerance(near + np.float32(1), q, k, v, expected)
    same = reference.online(q, k, v)[0]
    np.testing.assert_array_equal(far, np.maximum(bound, 2 * np.abs(same - expected.o).max()))
    bound, lse_bound = reference.tolerance(expected.o, q, k, v, expected)
    np.testing.assert_array_equal(bound, 1e-12 * (1 + np.abs(expected.o)))
    np.testing.assert_array_equal(lse_bound, 1e-12 * (1 + np.abs(expected.lse)))
    with pytest.raises(ValueError) as caught:
        reference.tolerance(near.astype(np.int32), q, k, v, expected)
    assert str(caught.value) == "there is no tolerance for int32; o should be float32, float64, float16 or bfloat16"


def test_measure_finds_the_worst_element_and_says_no():
    q, k, v = reference.random_inputs(1, 2, 2, 4, 4, 8)
    expected = reference.attention(q, k, v)
    o, lse = expected.o.astype(np.float32), expected.lse.astype(np.float32)
    good = reference.measure(o, lse, q, k, v)
    assert good.ok
    assert good.ulp <= 0.5
    assert good.mean <= good.max < 1e-6
    o[0, 1, 2, 3] += 0.25
    bad = reference.measure(o, lse, q, k, v)
    assert not bad.ok
    assert bad.worst == (0, 1, 2, 3)
    assert math.isclose(bad.max, 0.25, rel_tol=1e-5)
    o[0, 1, 2, 3] = np.nan
    nan = reference.measure(o, lse, q, k, v)
    assert not nan.ok
    assert nan.worst == (0, 1, 2, 3)
    assert math.isnan(nan.max)


def test_measure_checks_the_log_sum_exp_too():
    q, k, v = reference.random_inputs(1, 1, 1, 4, 2, 8)
    expected = reference.attention(q, k, v, causal=True)  # the first two rows see no key
    o, lse = expected.o.astype(np.float32), expected.lse.astype(np.float32)
    assert np.isneginf(lse[0, 0, :2]).all()
    assert reference.measure(o, lse, q, k, v, causal=True).ok
    lse[0, 0, 0] = 0
    wrong = reference.measure(o, lse, q, k, v, causal=True)
    assert not wrong.ok
    assert wrong.lse == np.inf


@pytest.mark.parametrize(
    ("shapes", "message"),
    [
        (((2, 3), (1, 1, 2, 3), (1, 1, 2, 3)), "q has shape (2, 3); it should be [B, Hq, Sq, D]"),
        (((1, 1, 2, 3), (1, 1, 2, 4), (1, 1, 2, 4)),
         "k has shape (1, 1, 2, 4); with q (1, 1, 2, 3) it should be [1, Hkv, Sk, 3]"),
        (((1, 1, 2, 3), (1, 1, 2, 3), (1, 1, 5, 3)), "v has shape (1, 1, 5, 3); it should be k's shape (1, 1, 2, 3)"),
        (((1, 3, 2, 3), (1, 2, 2, 3), (1, 2, 2, 3)),
         "3 query heads cannot share 2 key/value heads; Hq should be a multiple of Hkv"),
    ],
)  # fmt: skip
def test_shapes_that_do_not_fit(shapes, message):
    with pytest.raises(ValueError) as caught:
        reference.attention(*(np.zeros(s) for s in shapes))
    assert str(caught.value) == message


def test_what_saw_a_nan_is_nan_and_nothing_else():
    q, k, v = reference.random_inputs(1, 1, 1, 4, 6, 8, dtype=np.float64)
    k[0, 0, 3, 0] = np.nan
    got = reference.attention(q, k, v, causal=True)  # rows 0 to 3 see the keys up to 2, 3, 4 and 5
    assert np.isnan(got.o[0, 0]).all(axis=1).tolist() == [False, True, True, True]
    assert np.isnan(got.lse[0, 0]).tolist() == [False, True, True, True]
    wrong = got.o.copy()
    for o in (got.o, wrong):
        error = reference.measure(o, got.lse, q, k, v, causal=True)
        assert (error.ok, error.unjudged) == (o is got.o, 3)
        assert error.note.startswith("3 rows are not judged, the first is (0, 0, 1),")
        assert error.note.endswith(": k[0, 0, 3, 0] is nan")
        wrong[0, 0, 0, 0] = np.nan  # where float64 has a number, NaN is never right


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16])
def test_an_infinity_is_right_where_the_reference_has_it(dtype):
    q, k, v = reference.random_inputs(1, 1, 1, 3, 6, 8, dtype=dtype)
    v[0, 0, 2, 5] = np.inf
    expected = reference.attention(q, k, v)
    o, lse = expected.o.astype(dtype), expected.lse
    assert reference.measure(o, lse, q, k, v).ok
    o[0, 0, 1, 5] = 7
    assert not reference.measure(o, lse, q, k, v).ok
