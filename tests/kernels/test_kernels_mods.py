"""score_mod, mask_mod and sinks in every kernel, against float64 computed from the functions themselves."""

from __future__ import annotations

import math
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from slow_cases import slow

import ptxlab as pl
from ptxlab import kernels
from ptxlab.builder.lowered import evaluate
from ptxlab.errors import LaunchError, TargetError
from ptxlab.kernels import variants
from ptxlab.kernels.mods import applied

NUMPY = {"f32": np.float32, "f64": np.float64, "f16": np.float16, "bf16": ml_dtypes.bfloat16}
CLOSE = {"f32": 3e-5, "f64": 1e-13, "f16": 4e-3, "bf16": 3e-2}
HEADS = 4, 2
LENGTHS = 1, 2, 7, 16, 31, 64, 65, 100, 129, 200, 255, 300
SHAPES = [(64, 64), *zip(LENGTHS, LENGTHS[5:] + LENGTHS[:5], strict=True)]
PREFILL, DECODE = kernels.names("prefill"), ("decode", "decode_multiwarp", "decode_paged", "decode_split", "decode_gqa")
SPLITTING = "decode_split", "decode_gqa"
SLOPES = 2.0 ** -np.arange(1, 5)
SINKS = np.array([0.3, 2.0, -1.0, -math.inf])
BIASES = np.random.default_rng(1).normal(size=(4, 21))
VARIANTS: dict[str, dict[str, Any]] = {
    "alibi": {"score_mod": variants.alibi(SLOPES)},
    "softcap": {"score_mod": variants.softcap(2.0)},
    "relative_bias": {"score_mod": variants.relative_bias(BIASES)},
    "causal": {"mask_mod": variants.causal()},
    "sliding_window": {"mask_mod": variants.sliding_window(5, 2)},
    "prefix_lm": {"mask_mod": variants.prefix_lm(9)},
    "document": {"mask_mod": variants.document(np.arange(400) // 13)},
    "sinks": {"sinks": SINKS},
    "nothing": {"mask_mod": variants.prefix_lm(3) & ~variants.causal() & ~variants.prefix_lm(3), "sinks": SINKS},
    "all": {
        "score_mod": variants.softcap(3.0).then(variants.alibi(SLOPES)),
        "mask_mod": variants.sliding_window(33) | variants.prefix_lm(4),
        "sinks": SINKS,
    },
    "low": {"score_mod": lambda score, b, h, q_idx, kv_idx: np.where(kv_idx > 7 + h, score, (-np.inf, -1e30, -1e9)[0])},
    "lowest": {"score_mod": lambda score, b, h, q_idx, kv_idx: np.where(kv_idx > 7 + h, score, -1e30)},
    "by_head": {"mask_mod": lambda b, h, q_idx, kv_idx: ((kv_idx + h) % 3 != 0) & (q_idx % 5 > b)},
    "table": {
        "mask_mod": lambda b, h, q_idx, kv_idx, shown: shown[b, kv_idx] | (kv_idx == q_idx),
        "shown": np.random.default_rng(2).random((4, 400)) > 0.5,
    },
}


def expected(q, k, v, scale, mods, q_idx, batch=0, causal=False):
    """o and lse of one sequence, `[H, S, D]`, for rows at positions q_idx; float64."""
    q, k, v = (np.asarray(x, np.float64) for x in (q, k, v))
    k, v = (np.repeat(x, HEADS[0] // len(x), 0) for x in (k, v))
    score_mod, mask_mod = mods.functions
    places = batch, np.arange(HEADS[0])[:, None, None], q_idx[:, None], np.arange(k.shape[1])
    s = np.einsum("hqd,hkd->hqk", q, k) * scale
    s = np.broadcast_to(score_mod(s, *places), s.shape) if score_mod else s
    s = np.where(mask_mod(*places) if mask_mod else True, s, -np.inf)
    s = np.where((places[3] <= places[2]) | (not causal), s, -np.inf)
    if mods.sinks is not None:
        s = np.append(s, np.broadcast_to(mods.sinks[:, None, None], (*s.shape[:2], 1)), 2)
        v = np.append(v, np.zeros_like(v, shape=(HEADS[0], 1, v.shape[2])), 1)
    most = np.max(s, -1, keepdims=True, initial=-1e300)
    weights = np.exp(s - most)
    total = weights.sum(-1, keepdims=True)
    with np.errstate(divide="ignore"):
        lse = np.where(total > 0, most + np.log(total), -np.inf)
    return weights @ v / np.where(total > 0, total, 1), lse[..., 0]


def lists(mods, config, batch, rows, keys):
    """The starts and the entries of the tiles, element by element."""
    if not mods.mods.masks:
        return ()
    height, width = config.listed
    depends = mods.mods.graph.mask.depends
    b, h = np.ix_(range(batch if "b" in depends else 1), range(HEADS[0] if "h" in depends else 1))
    leaves = {"b": b, "h": h, "q_idx": np.arange(keys - rows, keys)[:, None], "kv_idx": np.arange(keys)}
    leaves |= {name: leaves[name][..., None, None] for name in "bh"}
    shown = evaluate(mods.mods.graph, mods.mods.graph.mask, leaves, mods.numbers)
    starts, entries = [0], []
    for head in np.broadcast_to(shown, (b.size, h.size, rows, keys)).reshape(-1, rows, keys):
        for row in range(0, rows, height):
            for first in range(0, keys, width):
                part = head[row : row + height, first : first + width]
                if part.any():
                    entries.append(first // width * 2 + (not part.all() or first + width > keys))
            starts.append(len(entries))
    return starts, entries


def attention(
    name, given, shape, *, dtype=None, causal=False, scale=None, batch=2, shared_by=2, device="cpu", tier=None, **build
):
    """Runs a prefill kernel with all checks and holds it against float64. shared_by: query heads that have one of k."""
    spec, (rows, keys), heads = kernels.get(name), shape, (HEADS[0], HEADS[0] // shared_by)
    dtype, dim, scale = dtype or spec.dtypes[0], max(16, spec.step), scale or 0.3
    mods = applied(causal=causal, **given)
    built = spec.build(head_dim=dim, dtype=dtype, causal=causal, mods=mods.mods, **build)
    random = np.random.default_rng(0)
    q, k, v = (random.normal(size=(batch, h, n, dim)).astype(NUMPY[dtype])
               for h, n in ((heads[0], rows), (heads[1], keys), (heads[1], keys)))  # fmt: skip
    o, lse = np.empty_like(q), np.empty(q.shape[:3], np.float64 if dtype == "f64" else np.float32)
    mods.check(batch, HEADS[0], (keys - rows, keys - 1), keys)
    grid, block, shared = built.launch_shape(batch, *heads, rows, keys)
    extra = mods.arguments(dtype, lists(mods, built.config, batch, rows, keys))
    args = built.arguments(pl.const(q), pl.const(k), pl.const(v), pl.out(o), pl.out(lse), scale, mods=extra)
    run = pl.launch(built, grid, block, *args, shared=shared, device=device, tier=tier, checks="all")
    assert run.findings == []
    tolerance = CLOSE["f16" if built.precision else dtype]
    for b in range(batch):
        position = np.arange(keys - rows, keys)
        wanted, sums = expected(q[b], k[b], v[b], scale, mods, position, b, causal)
        np.testing.assert_allclose(o[b].astype(float), wanted, rtol=tolerance, atol=tolerance)
        np.testing.assert_allclose(lse[b], sums, rtol=tolerance, atol=tolerance)


def sampled(names, shapes, more):
    """A few cases of each kernel, which together meet every variant; and the others, slow."""
    every = [(name, each, shape) for name in names for each in VARIANTS for shape in shapes]
    few = [case for n, case in enumerate(every) if n % more == 0]
    return [*few, *slow([case for case in every if case not in few])]


@pytest.mark.sweep(4)
@pytest.mark.parametrize(("name", "each", "shape"), sampled(PREFILL, [(33, 70), (70, 33), (1, 1), (140, 300)], 19))
def test_prefill(name, each, shape):
    attention(name, VARIANTS[each], shape)


@pytest.mark.slow
@pytest.mark.parametrize("each", VARIANTS)
@pytest.mark.parametrize(("name", "dtype"), [(n, d) for n in PREFILL for d in kernels.get(n).dtypes])
def test_prefill_of_every_type_at_a_spread_of_lengths(name, dtype, each):
    for n, shape in enumerate(SHAPES, list(VARIANTS).index(each)):  # so that variants meet a shape in several ways
        more = {"causal": n % 2 == 1, "shared_by": (1, 2, 4)[n % 3]}
        attention(name, VARIANTS[each], shape, dtype=dtype, tier="quick", **more)  # most of the time goes to compiling


@pytest.mark.sweep(50)
@pytest.mark.parametrize("each", VARIANTS)
@pytest.mark.parametrize("name", [*PREFILL, *DECODE])
def test_every_kernel_on_the_interpreter(name, each):
    if name in DECODE:
        decode(name, VARIANTS[each], (5,), 2 if name in SPLITTING else 1, device="step")
    else:  # with small tiles, where a kernel has a choice
        small = {"hopper": {"tile_q": 64, "tile_kv": 16}, "tiled2d": {"tile_q": 16, "tile_kv": 16}}.get(name, {})
        attention(name, VARIANTS[each], (3, 5), batch=1, device="step", **small)


@pytest.mark.parametrize("name", ["scalar", "mma"])
def test_causal_stays_with_a_score_and_is_joined_with_a_mask_and_a_scale_may_be_negative(name):
    attention(name, VARIANTS["alibi"], (33, 70), causal=True)
    attention(name, VARIANTS["table"], (33, 70), causal=True, scale=-0.3)


def decode(name, given, lengths, splits=1, dtype=None, device="cpu", tier=None, **build):
    """Runs a decode kernel, and the one that merges, with all checks and holds them against float64."""
    mods, dtype, dim = applied(**given), dtype or kernels.get(name).parameters["dtype"].choices[0], 32
    batch, most, page = len(lengths), max(lengths), 16
    build |= {"partial": True} if splits > 1 and name == "decode_gqa" else {}
    built = kernels.get(name).build(head_dim=dim, dtype=dtype, mods=mods.mods, **build)
    random = np.random.default_rng(0)
    q = random.normal(size=(batch, HEADS[0], dim)).astype(NUMPY[dtype])
    k, v = random.normal(size=(2, batch, HEADS[1], page * -(-most // page), dim)).astype(NUMPY[dtype])
    arrays = {"q": q, "key": k, "value": v, "scale": 0.3}
    if built.config.cache == "paged":
        for x in ("key", "value"):
            arrays[x] = np.ascontiguousarray(np.swapaxes(arrays[x], 1, 2)).reshape(-1, page, HEADS[1], dim)
        arrays["table"] = np.arange(len(arrays["key"]), dtype=np.int32).reshape(batch, -1)
    names = [p.name for p in built.params]
    arrays["length" if "length" in names else "lengths"] = np.array(lengths, np.int32)
    o, lse = np.empty_like(q), np.empty(q.shape[:2], np.float32)
    partial = np.empty((batch, HEADS[0], splits, dim + 2), np.float32)
    arrays |= {"splits": splits} if "splits" in names else {}
    arrays |= {"partial": partial} if "partial" in names else {"o": o, "lse": lse}
    heads, ranges = np.arange(HEADS[0])[:, None], []
    for b, n in enumerate(lengths if mods.mods.masks else ()):
        seen = np.broadcast_to(mods.functions[1](b, heads, n - 1, np.arange(n)), (HEADS[0], n)).any(0).nonzero()[0]
        ranges.append((seen[0], seen[-1] + 1) if seen.size else (0, 0))
    extra = mods.arguments(dtype, [np.array(ranges)] if ranges else ())
    grid, block, shared = built.launch_shape(batch, *HEADS, splits)
    how = {"device": device, "tier": tier, "checks": "all"}
    findings = list(pl.launch(built, grid, block, *built.arguments(**arrays, **extra), shared=shared, **how).findings)
    if "partial" in names:
        merge = kernels.get("decode_reduce").build(head_dim=dim, dtype=dtype)
        grid, block, shared = merge.launch_shape(batch, *HEADS, splits)
        args = merge.arguments(partial=partial, o=o, lse=lse)
        findings += pl.launch(merge, grid, block, *args, shared=shared, **how).findings
    assert findings == []
    for b, n in enumerate(lengths):
        wanted, sums = expected(q[b][:, None], k[b, :, :n], v[b, :, :n], 0.3, mods, np.array([n - 1]), b)
        np.testing.assert_allclose(o[b].astype(float), wanted[:, 0], rtol=CLOSE[dtype], atol=CLOSE[dtype])
        np.testing.assert_allclose(lse[b], sums[:, 0], rtol=CLOSE[dtype], atol=CLOSE[dtype])


@pytest.mark.sweep(4)
@pytest.mark.parametrize(("name", "each", "lengths"), sampled(DECODE, [(37, 90, 0, 1), (300, 5)], 11))
def test_decode(name, each, lengths):
    decode(name, VARIANTS[each], lengths, 3 if name in SPLITTING else 1)


@pytest.mark.slow
@pytest.mark.parametrize("each", VARIANTS)
@pytest.mark.parametrize(
    ("name", "dtype"), [(n, d) for n in DECODE for d in kernels.get(n).parameters["dtype"].choices]
)
def test_decode_at_a_spread_of_lengths(name, dtype, each):
    for splits, more in [(1, {}), (4, {}), (2, {"cache": "paged"})][: 3 if name in SPLITTING else 1]:
        for lengths in (LENGTHS[::3], LENGTHS[2::3], (37, 90, 0, 1)):
            decode(name, VARIANTS[each], lengths, splits, dtype, tier="quick", **more)


def test_functions_of_the_same_text_share_a_build():
    spec = kernels.get("scalar")
    one = spec.build(score_mod=lambda score, b, h, q_idx, kv_idx, slopes: score + slopes[h] * kv_idx, slopes=SLOPES)
    same = spec.build(score_mod=lambda score, b, h, q_idx, kv_idx, slopes: score + slopes[h] * kv_idx, slopes=SINKS)
    assert one is same
    assert one is not spec.build(score_mod=lambda score, b, h, q_idx, kv_idx: score + kv_idx)
    assert spec.build(mask_mod=variants.sliding_window(3)) is spec.build(mask_mod=variants.sliding_window(300))


def test_two_masks_with_the_same_names_are_joined():
    both = variants.document(np.arange(40) // 7) & variants.document(np.arange(40) % 2)
    assert list(both.arrays) == ["ids", "ids2"]
    score = pl.variant(lambda score, b, h, q_idx, kv_idx, ids: score * ids[kv_idx], ids=np.linspace(0, 1, 40))
    attention("scalar", {"score_mod": score, "mask_mod": both}, (9, 40))


def length(b, h, q_idx, kv_idx, ids):
    return ids[q_idx] == ids[kv_idx]


def reserved(score, b, h, q_idx, kv_idx, scale):
    return score * scale


WRONG = [
    ({"score_mod": lambda score, h, q_idx, kv_idx: score}, "takes the score and 3 places; a score_mod takes 4"),
    ({"score_mod": lambda score, q_idx, kv_idx: score}, "takes 3 places; a mask_mod takes 4, a score_mod 5"),
    ({"score_mod": reserved, "scale": 2.0}, "`scale` is the name of a kernel parameter or an option"),
    (
        {"score_mod": variants.alibi(SLOPES), "slope": 1},
        "takes no slope= here; did you mean slopes?",
    ),
    ({"score_mod": variants.causal()}, "score_mod takes score, b, h, q_idx, kv_idx; causal is a mask_mod"),
    ({"mask_mod": length}, "length also takes ids\n  write:  ids=array"),
    ({"mask_mod": length, "ids": np.zeros(5, int)}, "index 0 goes from 0 to 8, and `ids` has 5 elements there"),
    ({"mask_mod": length, "ids": np.full(9, 2**40)}, "whole numbers are s32 in a kernel"),
    (
        {"mask_mod": length, "ids": [[1], [1, 2]]},
        "ids should be an array or a number, real or whole, not [[1], [1, 2]]",
    ),
    ({"mask_mod": np.tril(np.ones((4, 4)))}, "a mod is a function, got array"),
    ({"sinks": np.zeros(3)}, "sinks should have shape [4], one per head, not [3]"),
    ({"sinks": [0.0, math.nan, 1.0, 2.0]}, "sinks should be real numbers below infinity, not [0.0, nan, 1.0, 2.0]"),
    ({"mask_mod": length, "ids": np.zeros(0, int)}, "index 0 goes from 0 to 8, and `ids` has 0 elements there"),
    ({"mask_mod": lambda b, h, q_idx, kv_idx, n: kv_idx % n == 0, "n": 0}, "this divides by n, which is 0"),
    ({"mask_mod": lambda b, h, q_idx, kv_idx: q_idx % kv_idx == 0}, "this divides by kv_idx, which goes from 0 to 8"),
    ({"score_mod": variants.alibi}, "alibi makes a variant; it is not one\n  write:  variants.alibi(slopes)"),
    ({"mask_mod": lambda b, h, q_idx, kv_idx: kv_idx * 10**9 < 5}, "`kv_idx * 10**9` goes from 0 to 8000000000; whole"),
    (
        {"mask_mod": lambda b, h, q_idx, kv_idx, t, t_1: t[h, kv_idx] > t_1, "t": np.ones((4, 9)), "t_1": 2},
        "t_1 is the kernel's name for the size of a dimension of t",
    ),
    ({"mask_mod": lambda b, h, q_idx, kv_idx, WARP_SZ: kv_idx < WARP_SZ}, "mod: `WARP_SZ` is the name of a kernel"),
]


@pytest.mark.parametrize(("given", "says"), WRONG)
def test_wrong_mods(given, says):
    with pytest.raises(LaunchError) as found:
        applied(**given).check(1, HEADS[0], (0, 8), 9)
    assert says in str(found.value)


def test_what_does_not_fit_a_kernel():
    with pytest.raises(TargetError, match="decode_reduce has no scores to change or to mask"):
        kernels.get("decode_reduce").build(sinks=SINKS)
    built, x = kernels.get("scalar").build(head_dim=8, sinks=SINKS), np.zeros((1, 4, 3, 8), np.float32)
    with pytest.raises(LaunchError, match="its mods take sinks, got nothing"):
        built.arguments(x, x, x, x, x[..., 0], 1.0)
    with pytest.raises(LaunchError, match="only masks are joined"):
        variants.causal() & variants.softcap(3)
    with pytest.raises(LaunchError, match="`and`, `or` and `not` would drop one of the masks"):
        variants.causal() and variants.sliding_window(3)
