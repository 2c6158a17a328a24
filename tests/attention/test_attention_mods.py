"""`score_mod`, `mask_mod` and `sinks` in the public calls: what they compute, record, skip and refuse."""

from __future__ import annotations

import numpy as np
import pytest

import ptxlab as pl
from ptxlab import kernels, reference
from ptxlab.attention.tile_lists import PART, SKIPPED, WHOLE, key_ranges, tile_lists
from ptxlab.kernels import variants
from ptxlab.kernels.mods import applied

SLOPES = np.array([0.5, 0.25])
SINKS = np.array([0.5, -1.0])
WINDOW = variants.sliding_window(20)
DOCUMENTS = variants.document(np.repeat(np.arange(10), 31))


def penalty(score, b, h, q_idx, kv_idx, slopes):
    distance = kv_idx
    distance -= q_idx  # binds a new number, in the kernel and in the reference
    return score + slopes[h] * distance


def by_head(b, h, q_idx, kv_idx):
    return (kv_idx <= q_idx) & (q_idx - kv_idx < 9 * (h + 1) + b)


MASKS = {
    "causal": variants.causal(),
    "window": variants.sliding_window(10, 3),
    "prefix": variants.prefix_lm(33),
    "documents": variants.causal() & DOCUMENTS,
    "scattered": variants.document(np.arange(310) * 7 % 5),
    "later": ~variants.causal(),
    "by head and sequence": by_head,
    "one in three": lambda b, h, q_idx, kv_idx: kv_idx % 3 == q_idx % 3,
    "nothing": lambda b, h, q_idx, kv_idx: kv_idx < 0,
}


@pytest.mark.parametrize("name", MASKS)
@pytest.mark.parametrize("sizes", [(2, 2, 70, 130), (1, 2, 130, 70), (1, 1, 1, 300), (1, 2, 64, 64)])
def test_tiles_are_listed_as_their_elements_say(name, sizes):
    mods, (batch, heads, rows, keys) = applied(mask_mod=MASKS[name]), sizes
    at = np.arange(rows)[:, None] + keys - rows, np.arange(keys)[None]
    for tall, wide in ((16, 8), (64, 64), (128, 32)):
        found = tile_lists(mods, np.float32, sizes, (tall, wide))
        kinds, position = np.broadcast_to(found.kinds, (batch, heads, *found.kinds.shape[2:])), 0
        for b, h, i, j in np.ndindex(kinds.shape):
            seen = np.broadcast_to(mods.functions[1](b, h, *at), (rows, keys))
            tile = seen[i * tall : (i + 1) * tall, j * wide : (j + 1) * wide]
            whole = WHOLE if tile.all() and (j + 1) * wide <= keys else PART
            assert kinds[b, h, i, j] == (whole if tile.any() else SKIPPED)
        for n, row in enumerate(found.kinds.reshape(-1, found.kinds.shape[3])):
            wanted = [2 * j + (kind == PART) for j, kind in enumerate(row) if kind != SKIPPED]
            assert found.entries[found.starts[n] : found.starts[n + 1]].tolist() == wanted
            position += len(wanted)
        assert position == len(found.entries) == found.starts[-1]


def test_lists_of_equal_masks_are_made_once():
    def lists(ids):
        return tile_lists(applied(mask_mod=variants.document(ids)), np.float32, (1, 2, 64, 64), (16, 16))

    ids = np.arange(64) // 20
    assert lists(ids) is lists(ids.copy())
    assert lists(ids) is not lists(ids // 2)


def test_which_keys_a_step_of_decoding_can_see():
    lengths = np.array([300, 5, 0])
    assert key_ranges(applied(mask_mod=WINDOW), np.float32, lengths, 2).tolist() == [[279, 300], [0, 5], [0, 0]]
    assert key_ranges(applied(mask_mod=by_head), np.float32, lengths, 2).tolist() == [[282, 300], [0, 5], [0, 0]]


@pytest.mark.sweep(8)
@pytest.mark.parametrize("device", ["cpu", "step"])
@pytest.mark.parametrize("kernel", ["scalar", "tiled", "mma"])
def test_a_result_is_held_against_the_functions_themselves(kernel, device):
    dtype = kernels.DTYPES[kernels.get(kernel).dtypes[0]]
    q, k, v = reference.random_inputs(1, 2, 1, 70, 300, 16, dtype=dtype)
    given = {"score_mod": penalty, "mask_mod": WINDOW, "sinks": SINKS, "slopes": SLOPES}
    rows = [(0, 0, 0), (0, 1, 69)]
    out = pl.attention(q, k, v, kernel=kernel, device=device, checks="all", state=rows, **given)
    assert out.error.ok
    assert out.findings == []
    for n in range(2):
        exact, _ = out.exact(n)
        assert np.isnan(exact).any()  # tiles that are skipped
        np.testing.assert_allclose(out.state[n], exact, rtol=2e-3, atol=2e-3)
    out.o[0, 1, 3, 5] += 0.01
    del out.error
    assert not out.error.ok


@pytest.mark.long
def test_positions_mean_the_same_in_every_call():
    """A chunk equals those rows of the whole, and a step of decoding its last row, sinks and look-ups included."""
    q, k, v = reference.random_inputs(2, 2, 1, 90, 90, 32, seed=1)
    mods = {"score_mod": variants.alibi(SLOPES), "mask_mod": variants.causal() & DOCUMENTS, "sinks": SINKS}
    whole = pl.attention(q, k, v, device="cpu", **mods)
    chunk = pl.attention(q[:, :, 60:], k, v, device="cpu", kernel="scalar", **mods)
    step = pl.decode(q[:, :, -1], k, v, 90, device="cpu", **mods)
    assert whole.error.ok
    assert chunk.error.ok
    assert step.error.ok
    for out, wanted in ((chunk, np.s_[:, :, 60:]), (step, np.s_[:, :, -1])):
        np.testing.assert_allclose(out.o, whole.o[wanted], rtol=1e-5, atol=1e-5)
        np.testing.assert_allclose(out.lse, whole.lse[wanted], rtol=1e-5, atol=1e-5)


@pytest.mark.long
@pytest.mark.parametrize(("kernel", "splits"), [("decode", None), ("decode_multiwarp", None), ("decode_split", 3)])
def test_decoding_records_what_its_parts_hold(kernel, splits):
    q, k, v = reference.random_inputs(3, 2, 1, 1, 70, 32)
    given = {"score_mod": penalty, "slopes": SLOPES, "mask_mod": WINDOW & DOCUMENTS, "sinks": SINKS}
    out = pl.decode(q[:, :, 0], k, v, [70, 33, 0], kernel=kernel, splits=splits, device="cpu", checks="all", state=True,
                    **given)  # fmt: skip
    assert out.error.ok
    assert out.findings == []
    np.testing.assert_allclose(out.lse[2], SINKS, rtol=1e-6)  # no key: the sink is all there is
    for row in range(4):
        state, sums = out.exact(row)
        np.testing.assert_allclose(out.state[row][: len(state)], state, rtol=1e-4, atol=1e-4)
        if sums is not None:
            np.testing.assert_allclose(out.sums[row], sums, rtol=1e-4, atol=1e-4)


def test_a_row_that_sees_nothing():
    q, k, v = reference.random_inputs(1, 2, 1, 5, 20, 16)
    nothing = MASKS["nothing"]
    out = pl.attention(q, k, v, device="cpu", mask_mod=nothing)
    assert out.error.ok
    assert not out.o.any()
    assert np.isneginf(out.lse).all()
    out = pl.attention(q, k, v, device="cpu", mask_mod=nothing, sinks=SINKS)
    assert not out.o.any()
    np.testing.assert_allclose(out.lse, np.broadcast_to(SINKS[:, None], (1, 2, 5)), rtol=1e-6)


@pytest.mark.long
def test_a_window_costs_what_its_tiles_cost():
    q, k, v = reference.random_inputs(1, 1, 1, 128, 1024, 16)
    mask = variants.sliding_window(64)
    every, few = (pl.compare(q, k, v, kernels="tiled", device="cpu", mask_mod=m) for m in (None, mask))
    assert few.entries[0].ok
    assert few.entries[0].instructions < 0.2 * every.entries[0].instructions
    assert few.entries[0].kernel == "tiled_f32_d16_window"


def test_causal_and_a_mask_are_both_kept():
    q, k, v = reference.random_inputs(1, 2, 1, 20, 20, 16)
    both = pl.attention(q, k, v, device="cpu", causal=True, mask_mod=variants.sliding_window(4, 4))
    one = pl.attention(q, k, v, device="cpu", mask_mod=variants.sliding_window(4))
    np.testing.assert_array_equal(both.o, one.o)
    assert both.error.ok
    assert both.table()["tiles"] == "1 of 1 visited, 1 of them seen in part"
    assert both.tiles.kinds.tolist() == [[[[PART]]]]


def test_rounding_of_a_large_score_is_no_error():
    """Of a score beside ten thousand fewer digits are left: the bounds on o and LSE know it."""
    q, k, v = reference.random_inputs(1, 2, 1, 40, 70, 16)
    out = pl.attention(q, k, v, device="cpu", kernel="scalar", score_mod=lambda s, b, h, i, j: (s + 1e4) - 1e4)
    assert out.error.lse > 1e-5 + 2e-6 * np.abs(out.lse).max()
    assert out.error.ok


def test_negative_positions_look_up_the_first_element_of_each_dimension():
    """And a wrong look-up would be no matter of rounding: the numbers are held against numpy's own."""
    q, k, v = reference.random_inputs(1, 2, 2, 7, 4, 16)
    table = np.array([[0.0, 0.0, 0.0, 50.0], [-3.0, 2.0, 1.0, 4.0]])
    out = pl.attention(
        q, k, v, kernel="scalar", device="cpu", checks="all", t=table,
        score_mod=lambda score, b, h, q_idx, kv_idx, t: score * t[h, q_idx] + t[h, kv_idx],
    )  # fmt: skip
    scores = np.einsum("hqd,hkd->hqk", q[0].astype(np.float64), k[0]) / 4
    scores = scores * table[:, [0, 0, 0, 0, 1, 2, 3], None] + table[:, None]
    np.testing.assert_allclose(out.lse[0], np.log(np.exp(scores).sum(2)), rtol=1e-5)
    assert out.error.ok
    assert out.error.tolerance < 1e-4
    assert not out.findings


def refused(error, **given):
    q, k, v = reference.random_inputs(1, 2, 1, 8, 8, 16)
    with pytest.raises(error) as caught:
        pl.attention(q, k, v, device="cpu", **given)
    return str(caught.value)


def test_mods_that_do_not_fit_the_call():
    built = kernels.get("scalar").build(head_dim=16, score_mod=penalty, slopes=SLOPES)
    assert refused(pl.LaunchError, kernel=built) == (
        f"{built.name} was built with penalty, the call has no mods; give both the same functions"
    )
    plain = kernels.get("scalar").build(head_dim=16)
    assert "was built with no mods, the call has penalty" in refused(
        pl.LaunchError, kernel=plain, score_mod=penalty, slopes=SLOPES
    )
    assert refused(pl.LaunchError, slopes=SLOPES).startswith("attention has no option slopes=; its options are ")
    assert refused(pl.LaunchError, score_mod=penalty).endswith("\n  write:  slopes=array")
    assert refused(pl.LaunchError, score_mod=penalty, slopes=SLOPES, chekcs="all").endswith("; did you mean checks?")
    assert refused(pl.LaunchError, sinks=np.zeros(2), chekcs="all").startswith(
        "the call takes no chekcs= here; did you"
    )
    assert "kernels.get('tiled').build(head_dim=16, dtype='f32', tile_kv=32)" in refused(
        pl.LaunchError, score_mod=penalty, slopes=SLOPES, tile_kv=32
    )
    assert "index 0 goes from 0 to 1, and `slopes` has 1" in refused(
        pl.LaunchError, score_mod=penalty, slopes=SLOPES[:1]
    )
    assert refused(pl.LaunchError, sinks=np.zeros(3)).endswith(", not [3]\n  write:  sinks=np.zeros(2)")
    q, k, v = reference.random_inputs(1, 2, 1, 8, 8, 16)
    again = pl.attention(q, k, v, kernel=built, device="cpu", score_mod=penalty, slopes=2 * SLOPES)
    assert again.kernel is built
    assert again.error.ok


def test_the_coarse_tanh_is_chosen_by_name_and_has_a_tolerance_of_its_own():
    q, k, v = reference.random_inputs(1, 1, 1, 12, 20, 16, sigma=2)
    fine, coarse = (
        pl.attention(q, k, v, kernel="scalar", device="cpu", counters=True, score_mod=variants.softcap(3, tanh))
        for tanh in (np.tanh, variants.tanh_approx)
    )
    assert coarse.error.ok
    assert coarse.error.tolerance > 3 * fine.error.tolerance, "it may be off by 2^-11 of the cap"
    assert ["tanh.approx.f32" in x.run.counters.opcodes for x in (fine, coarse)] == [False, True]
    with pytest.raises(pl.BuildError, match=r"tanh needs \.type here, one of \.f32"):
        kernels.get("scalar").build(head_dim=16, dtype="f64", score_mod=variants.softcap(3, variants.tanh_approx))
