"""Attention in numpy float64: output, log-sum-exp and online-softmax state, which every kernel is held against.

Nothing here is fast or clever. `attention` is the definition, written with the whole score matrix of a block of rows at
hand; `online` is the one-pass algorithm of the kernels in plain numpy at a precision of choice, and says how much error
that algorithm makes by itself; `measure` compares a kernel with both.

Shapes: q and o `[B, Hq, Sq, D]`, k and v `[B, Hkv, Sk, D]`, lse `[B, Hq, Sq]` (natural log). Query head `h` reads
key/value head `h // (Hq // Hkv)`. Causal is aligned at the bottom right: key j is visible to row i iff
`j <= i + Sk - Sq`. A row that sees no key has o = 0 and lse = -inf.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Row = tuple[int, int, int]
"""A query row: (batch, query head, row)."""

ROWS_AT_ONCE = 512


@dataclass(frozen=True, eq=False)
class Reference:
    """What attention should give: `o` and `lse` in float64, `state` `[rows, tiles, 3]` or None (see `attention`)."""

    o: Array
    lse: Array
    state: Array | None = None


@dataclass(frozen=True)
class Error:
    """How far an output is from the reference.

    `max` and `mean` are absolute errors of o; `ulp` is the largest error in units in the last place of the largest
    value in its row; `tolerance` is the bound at the element that comes nearest to its bound (`worst`, its index);
    `lse` and `lse_tolerance` say the same of the log-sum-exp; `ok` is whether every element of both is within bounds.
    """

    max: float
    mean: float
    ulp: float
    tolerance: float
    ok: bool
    lse: float = 0.0
    lse_tolerance: float = 0.0
    worst: tuple[int, ...] = ()


# -- shapes ------------------------------------------------------------------------------------------------------------


def check_shapes(q: Array, k: Array, v: Array) -> tuple[int, int, int, int, int, int]:
    """(B, Hq, Hkv, Sq, Sk, D) of 4-D q, k and v; a ValueError says which shape does not fit and what it should be."""
    for name, array in (("q", q), ("k", k), ("v", v)):
        if array.ndim != 4:
            heads = "Hq, Sq" if name == "q" else "Hkv, Sk"
            raise ValueError(f"{name} has shape {array.shape}; it should be [B, {heads}, D]")
    batch, heads_q, rows, dim = q.shape
    heads_kv, keys = k.shape[1], k.shape[2]
    if k.shape != (batch, heads_kv, keys, dim):
        raise ValueError(f"k has shape {k.shape}; with q {q.shape} it should be [{batch}, Hkv, Sk, {dim}]")
    if v.shape != k.shape:
        raise ValueError(f"v has shape {v.shape}; it should be k's shape {k.shape}")
    if heads_kv == 0 or heads_q % heads_kv:
        raise ValueError(
            f"{heads_q} query heads cannot share {heads_kv} key/value heads; Hq should be a multiple of Hkv"
        )
    if dim == 0:
        raise ValueError("head_dim is 0; it should be at least 1")
    return batch, heads_q, heads_kv, rows, keys, dim


def _numpy_dtype(dtype: Any) -> np.dtype[Any]:
    """A dtype from its name, bfloat16 included: numpy learns of that from ml_dtypes."""
    if dtype == "bfloat16":
        from ml_dtypes import bfloat16

        dtype = bfloat16
    found: np.dtype[Any] = np.dtype(dtype)
    return found


def default_scale(head_dim: int) -> float:
    """1/sqrt(D), what scores are multiplied with unless told otherwise."""
    return 1.0 / math.sqrt(head_dim)


def visible_keys(row: int, rows: int, keys: int, causal: bool) -> int:
    """How many keys row `row` of `rows` sees: always the first ones."""
    return max(0, min(keys, row + keys - rows + 1)) if causal else keys


def random_inputs(
    batch: int,
    heads_q: int,
    heads_kv: int,
    rows: int,
    keys: int,
    head_dim: int,
    *,
    sigma: float = 1.0,
    dtype: Any = np.float32,
    seed: int = 0,
) -> tuple[Array, Array, Array]:
    """q, k, v ~ N(0, 1) with q multiplied by `sigma`, which is then the standard deviation of the logits.

    dtype: numpy's, or its name; "bfloat16" needs ml_dtypes.
    """
    dtype = _numpy_dtype(dtype)
    random = np.random.default_rng(seed)
    q = sigma * random.standard_normal((batch, heads_q, rows, head_dim))
    k = random.standard_normal((batch, heads_kv, keys, head_dim))
    v = random.standard_normal((batch, heads_kv, keys, head_dim))
    return q.astype(dtype), k.astype(dtype), v.astype(dtype)


# -- the definition ----------------------------------------------------------------------------------------------------


@np.errstate(invalid="ignore", over="ignore")  # inputs may hold NaN and infinities
def attention(
    q: Array,
    k: Array,
    v: Array,
    *,
    causal: bool = False,
    scale: float | None = None,
    tile: int | None = None,
    rows: Sequence[Row] | None = None,
) -> Reference:
    """softmax(q kT * scale) v in float64, with the log-sum-exp of each row.

    With `tile` also the online-softmax state `[rows, tiles, 3]`: m, l and rescale after each tile of that many keys, in
    natural-log units, NaN for tiles of which the row sees no key. `rows` are the (batch, head, row) it is given for;
    by default row 0 of every head.
    """
    batch, heads_q, heads_kv, count, keys, dim = check_shapes(q, k, v)
    scale = default_scale(dim) if scale is None else float(scale)
    q, k, v = (np.asarray(x, np.float64) for x in (q, k, v))
    o = np.zeros(q.shape)
    lse = np.full((batch, heads_q, count), -np.inf)
    group = heads_q // heads_kv
    for b in range(batch):
        for h in range(heads_q):
            for first in range(0, count, ROWS_AT_ONCE):
                block = slice(first, min(first + ROWS_AT_ONCE, count))
                scores = _scores(q[b, h, block], k[b, h // group], scale, causal, first, count)
                if keys == 0:
                    continue
                m = scores.max(axis=1)
                weights = np.exp(scores - np.where(np.isfinite(m), m, 0.0)[:, None])
                total = weights.sum(axis=1)
                seen = total != 0  # a NaN counts: what saw one is NaN
                o[b, h, block][seen] = (weights @ v[b, h // group])[seen] / total[seen, None]
                lse[b, h, block][seen] = m[seen] + np.log(total[seen])
    state = None
    if tile is not None:
        selected = list(rows) if rows is not None else first_rows(batch, heads_q, count)
        found = [
            _row_state(q[b, h, r], k[b, h // group], scale, visible_keys(r, count, keys, causal), tile)
            for b, h, r in selected
        ]
        state = np.array(found).reshape(len(selected), tiles(keys, tile), 3)
    return Reference(o, lse, state)


def tiles(keys: int, tile: int) -> int:
    """How many tiles of `tile` keys there are, the last one possibly short."""
    return -(-keys // tile)


def first_rows(batch: int, heads_q: int, rows: int) -> list[Row]:
    """Row 0 of every query head: what `state=True` records."""
    return [(b, h, 0) for b in range(batch) for h in range(heads_q)] if rows else []


def _scores(q: Array, k: Array, scale: float, causal: bool, first: int, rows: int) -> Array:
    """The scaled scores of q's rows, which are rows `first`, `first + 1`, ... of `rows`; -inf where not visible."""
    scores: Array = (q @ k.T) * scale
    if causal:
        row = np.arange(first, first + len(q))[:, None]
        scores[np.arange(len(k))[None, :] > row + len(k) - rows] = -np.inf
    return scores


def _row_state(q: Array, k: Array, scale: float, visible: int, tile: int) -> Array:
    """`[tiles, 3]` of one row: from the definition of m and l over the keys so far, not by running the algorithm."""
    state = np.full((tiles(len(k), tile), 3), np.nan)
    scores = (k[:visible] @ q) * scale
    before = -np.inf
    for t in range(tiles(visible, tile)):
        so_far = scores[: min((t + 1) * tile, visible)]
        m = so_far.max()
        state[t] = m, np.exp(so_far - m).sum(), np.exp(before - m)
        before = m
    return state


def merge_states(o1: Array, lse1: Array, o2: Array, lse2: Array) -> tuple[Array, Array]:
    """The attention over two sets of keys from the attention over each: o `[..., D]` and lse `[...]` (natural log).

    Computed in float64, returned in the types of o1 and lse1. A side that saw no key (lse = -inf) counts for nothing,
    whatever its o holds.
    """
    o1, o2, lse1, lse2 = map(np.asarray, (o1, o2, lse1, lse2))
    if o1.shape != o2.shape or lse1.shape != lse2.shape or o1.shape[:-1] != lse1.shape:
        raise ValueError(
            f"o1 {o1.shape}, lse1 {lse1.shape}, o2 {o2.shape}, lse2 {lse2.shape} do not fit; "
            "both o should be [..., D] and both lse [...]"
        )
    m = np.maximum(lse1, lse2).astype(np.float64)
    m = np.where(np.isneginf(m), 0.0, m)
    w1, w2 = np.exp(lse1 - m), np.exp(lse2 - m)
    total = w1 + w2
    safe = np.where(total > 0, total, 1.0)[..., None]
    w1, w2 = w1[..., None], w2[..., None]
    o = (w1 * np.where(w1 > 0, o1, 0) + w2 * np.where(w2 > 0, o2, 0)) / safe
    with np.errstate(divide="ignore"):
        lse = m + np.log(total)
    return o.astype(o1.dtype), lse.astype(lse1.dtype)


# -- the kernels' algorithm, and what error it makes -------------------------------------------------------------------


@np.errstate(invalid="ignore", over="ignore")
def online(
    q: Array, k: Array, v: Array, *, causal: bool = False, scale: float | None = None, dtype: Any = np.float32
) -> tuple[Array, Array]:
    """(o, lse) by the kernels' algorithm, one key at a time in powers of two, every operation rounded to `dtype`."""
    _, heads_q, heads_kv, count, keys, dim = check_shapes(q, k, v)
    scale = default_scale(dim) if scale is None else float(scale)
    q, k, v = (np.asarray(x, dtype) for x in (q, k, v))
    k, v = (np.repeat(x, heads_q // heads_kv, axis=1) for x in (k, v))
    scale_log2e = dtype(dtype(scale) * dtype(math.log2(math.e)))
    visible = np.array([visible_keys(r, count, keys, causal) for r in range(count)])

    o = np.zeros(q.shape, dtype)
    row_max = np.full(q.shape[:3], -np.inf, dtype)
    row_sum = np.zeros(q.shape[:3], dtype)
    for j in range(keys):
        see = np.flatnonzero(visible > j)  # the rows that see key j
        score = np.zeros((*q.shape[:2], len(see)), dtype)
        for d in range(dim):
            score += q[:, :, see, d] * k[:, :, None, j, d]
        score *= scale_log2e
        new_max = np.maximum(row_max[:, :, see], score)
        rescale = np.exp2(row_max[:, :, see] - new_max)
        weight = np.exp2(score - new_max)
        row_sum[:, :, see] = row_sum[:, :, see] * rescale + weight
        o[:, :, see] = o[:, :, see] * rescale[..., None] + weight[..., None] * v[:, :, None, j]
        row_max[:, :, see] = new_max
    safe = np.where(row_sum > 0, row_sum, dtype(1))
    return o / safe[..., None], (row_max + np.log2(safe)) * dtype(math.log(2))


@np.errstate(invalid="ignore", over="ignore")
def online_half(
    q: Array,
    k: Array,
    v: Array,
    half: Any,
    *,
    causal: bool = False,
    scale: float | None = None,
    tile: int = 64,
    round_output: bool = True,
) -> tuple[Array, Array]:
    """(o, lse) by the algorithm of the tensor-core kernels, in float32, `tile` keys at a time.

    `half` is numpy's float16 or ml_dtypes' bfloat16. Rounded to it are only q, k and v, the weights P before they are
    multiplied with v, and (if `round_output`) o. The weights' sum takes them before they are rounded.
    """
    _, heads_q, heads_kv, count, keys, dim = check_shapes(q, k, v)
    factor = np.float32((default_scale(dim) if scale is None else float(scale)) * math.log2(math.e))
    q, k, v = (np.asarray(x).astype(half).astype(np.float32) for x in (q, k, v))
    k, v = (np.repeat(x, heads_q // heads_kv, axis=1) for x in (k, v))
    visible = np.array([visible_keys(r, count, keys, causal) for r in range(count)])

    o = np.zeros(q.shape, np.float32)
    row_max = np.full(q.shape[:3], -np.inf, np.float32)
    row_sum = np.zeros(q.shape[:3], np.float32)
    for first in range(0, keys, tile):
        part = slice(first, min(first + tile, keys))
        score = (q @ np.swapaxes(k[:, :, part], 2, 3)) * factor
        score[:, :, np.arange(part.start, part.stop) >= visible[:, None]] = -np.inf
        new_max = np.maximum(row_max, score.max(axis=3))
        top = np.where(np.isneginf(new_max), np.float32(0), new_max)
        rescale = np.exp2(row_max - top)
        weight = np.exp2(score - top[..., None])
        row_sum = row_sum * rescale + weight.sum(axis=3)
        o = o * rescale[..., None] + weight.astype(half).astype(np.float32) @ v[:, :, part]
        row_max = new_max
    safe = np.where(row_sum > 0, row_sum, np.float32(1))
    divided: Array = o / safe[..., None]
    return divided.astype(half) if round_output else divided, (row_max + np.log2(safe)) * np.float32(math.log(2))


CAPS = {"float16": 2e-3, "bfloat16": 1.6e-2}
"""The most that a 16-bit result may be off, as a share of max(1, |ref|)."""


def tolerance(
    o: Array,
    q: Array,
    k: Array,
    v: Array,
    expected: Reference,
    *,
    causal: bool = False,
    scale: float | None = None,
    tile: int = 64,
    precision: Any = None,
) -> tuple[Array, Array]:
    """The bounds on |o - expected.o| and |lse - expected.lse|, element by element, for o's dtype.

    float32: `max(1e-5 + 1e-5 |ref|, 2 x the largest error of the same algorithm in numpy float32)`, lse
    `1e-5 + 2e-6 |lse|`; float64: `1e-12 (1 + |ref|)` for both. The numpy float32 run is made only when the first
    bound is not met, since it is slow and can only widen the bound. float16 and bfloat16: twice the largest error of
    the same algorithm in numpy at that precision (`online_half` with this `tile`), but at most `CAPS`; lse
    `1e-4 + 1e-5 |lse|`. So too for float32 o of a kernel that multiplies in 16 bits: `precision` is their dtype.
    """
    finite = np.where(np.isfinite(expected.lse), expected.lse, 0.0)
    if o.dtype == np.float64:
        return 1e-12 * (1 + np.abs(expected.o)), 1e-12 * (1 + np.abs(finite))
    half = np.dtype(precision if precision is not None else o.dtype)
    if half.name in CAPS:
        same, _ = online_half(q, k, v, half, causal=causal, scale=scale, tile=tile, round_output=o.dtype == half)
        largest = 2 * float(np.max(_gap(same, expected.o), initial=0.0))
        cap = CAPS[half.name] * np.maximum(1.0, np.abs(expected.o))
        return np.minimum(largest, cap), 1e-4 + 1e-5 * np.abs(finite)
    if o.dtype != np.float32:
        raise ValueError(f"there is no tolerance for {o.dtype}; o should be float32, float64, float16 or bfloat16")
    bound = 1e-5 + 1e-5 * np.abs(expected.o)
    if not np.all(_gap(o, expected.o) <= bound):
        same, _ = online(q, k, v, causal=causal, scale=scale)
        bound = np.maximum(bound, 2 * np.max(_gap(same, expected.o)))
    return bound, 1e-5 + 2e-6 * np.abs(finite)


@np.errstate(invalid="ignore", over="ignore")
def measure(
    o: Array,
    lse: Array | None,
    q: Array,
    k: Array,
    v: Array,
    *,
    causal: bool = False,
    scale: float | None = None,
    expected: Reference | None = None,
    tile: int = 64,
    precision: Any = None,
) -> Error:
    """The error of `o` (and `lse`, unless None) against float64; `expected` saves computing the reference again.

    `precision` is the dtype (float16, bfloat16) to which a kernel with float32 inputs rounds them before it multiplies:
    then the reference is computed from the rounded inputs. `tile`: see `tolerance`. An infinity is right where the
    reference has the same one; NaN is never right.
    """
    if precision is not None:
        q, k, v = (np.asarray(x).astype(precision) for x in (q, k, v))
    expected = expected or attention(q, k, v, causal=causal, scale=scale)
    if o.size == 0:
        return Error(0.0, 0.0, 0.0, 0.0, True)
    error = _gap(o, expected.o)
    bound, lse_bound = tolerance(o, q, k, v, expected, causal=causal, scale=scale, tile=tile, precision=precision)
    share = np.where(np.isnan(error), np.inf, error) / np.maximum(bound, np.finfo(np.float64).tiny)
    worst = np.unravel_index(int(np.argmax(share)), error.shape)
    largest = np.abs(expected.o).max(axis=-1, keepdims=True).astype(o.dtype)
    ulp = float(np.max(error / np.spacing(largest).astype(np.float64)))
    ok = bool(np.all((error <= bound) & np.isfinite(error)))
    lse_max = lse_tolerance = 0.0
    if lse is not None:
        gap = _gap(lse, expected.lse)
        at = np.unravel_index(int(np.argmax(np.where(np.isnan(gap), np.inf, gap) / lse_bound)), gap.shape)
        lse_max, lse_tolerance = float(np.max(gap)), float(lse_bound[at])
        ok = ok and bool(np.all(gap <= lse_bound))
    place = tuple(int(x) for x in worst)
    return Error(
        float(np.max(error)), float(np.mean(error)), ulp, float(bound[worst]), ok, lse_max, lse_tolerance, place
    )


def _gap(a: Array, b: Array) -> Array:
    """|a - b| in float64; 0 where both are the same infinity."""
    a = a.astype(np.float64)
    return np.where(a == b, 0.0, np.abs(a - b))
