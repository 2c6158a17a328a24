"""Attention in numpy float64: output, log-sum-exp and online-softmax state, which every kernel is held against.

Nothing here is fast or clever. `attention` is the definition, written with the whole score matrix of a block of rows at
hand; `online` is the one-pass algorithm of the kernels in plain numpy at a precision of choice, and says how much error
that algorithm makes by itself; `measure` compares a kernel with both.

Shapes: q and o `[B, Hq, Sq, D]`, k and v `[B, Hkv, Sk, D]`, lse `[B, Hq, Sq]` (natural log). Query head `h` reads
key/value head `h // (Hq // Hkv)`. Causal is aligned at the bottom right: key j is visible to row i iff
`j <= i + Sk - Sq`. A row that sees no key has o = 0 and lse = -inf.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypedDict, Unpack

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Row = tuple[int, int, int]
"""A query row: (batch, query head, row)."""

ROWS_AT_ONCE = 512


class Mods(TypedDict, total=False):
    """What may change attention. `score_mod(score, b, h, q_idx, kv_idx)` gets scaled scores, `mask_mod(b, h, q_idx,
    kv_idx)` says whether a row sees a key: functions of integer arrays that broadcast; q_idx is a position, row + Sk -
    Sq. `sinks` `[Hq]` are further scores, of no value. `rounded(score, b, h, q_idx, kv_idx)` is the score_mod with the
    rounding errors of a kernel, in the type of `score`: what the tolerance reckons with, by default `score_mod`."""

    score_mod: Callable[..., Any] | None
    mask_mod: Callable[..., Any] | None
    sinks: Array | None
    rounded: Callable[..., Any] | None


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

    Where NaN or an infinity in the input leaves no number in the reference, there is nothing to judge: such elements
    count in none of these. `unjudged` is how many rows have some, `first_unjudged` the first, `cause` the
    input's element. Where nothing is left, `max` and `mean` are NaN.
    """

    max: float
    mean: float
    ulp: float
    tolerance: float
    ok: bool
    lse: float = 0.0
    lse_tolerance: float = 0.0
    worst: tuple[int, ...] = ()
    unjudged: int = 0
    first_unjudged: tuple[int, ...] = ()
    cause: str = ""

    @property
    def verdict(self) -> str:
        """The answer in a word: pass, FAIL, or not judged."""
        return "FAIL" if not self.ok else "not judged" if math.isnan(self.max) else "pass"

    @property
    def note(self) -> str:
        """Which rows are not judged, in words; empty if all are."""
        if not self.unjudged:
            return ""
        rows = f"{self.unjudged} rows are not judged, the first is" if self.unjudged > 1 else "not judged: row"
        why = f": {self.cause}" if self.cause else ""
        return f"{rows} {self.first_unjudged}, which is not a number in float64 either{why}"


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


def visible_pairs(rows: int, keys: int, causal: bool) -> int:
    """How many pairs of row and key the mask lets through: `visible_keys` of all rows."""
    seeing = min(rows, keys)  # rows that see a key at all
    return seeing * (2 * keys - seeing + 1) // 2 if causal else rows * keys


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
    visited: Sequence[Array] | None = None,
    **mods: Unpack[Mods],
) -> Reference:
    """softmax(q kT * scale) v in float64, with the log-sum-exp of each row. mods: see `Mods`.

    With `tile` also the online-softmax state `[rows, tiles, 3]`: m, l and rescale after each tile of that many keys, in
    natural-log units, NaN for tiles that are skipped. `rows` are the (batch, head, row) it is given for;
    by default row 0 of every head. `visited` says for each of them which tiles are not skipped, `[tiles]`; by default
    those of which the row sees a key. A tile without any leaves m and l as they were.
    """
    batch, heads_q, heads_kv, count, keys, dim = check_shapes(q, k, v)
    scale = default_scale(dim) if scale is None else float(scale)
    q, k, v = (np.asarray(x, np.float64) for x in (q, k, v))
    o = np.zeros(q.shape)
    sinks = _sinks(mods, heads_q, np.float64)
    lse = np.empty((batch, heads_q, count))
    lse[:] = sinks[:, None]
    group = heads_q // heads_kv
    for b in range(batch):
        for h in range(heads_q):
            for first in range(0, count, ROWS_AT_ONCE):
                block = slice(first, min(first + ROWS_AT_ONCE, count))
                if keys == 0:
                    continue
                at = np.arange(block.start, block.stop)
                scores, _ = scores_of(q[b, h, block], k[b, h // group], scale, causal, (b, h, at), count, mods)
                m = np.maximum(scores.max(axis=1), sinks[h])
                top = np.where(np.isfinite(m), m, 0.0)
                weights = np.exp(scores - top[:, None])
                total = weights.sum(axis=1) + np.exp(sinks[h] - top)
                seen = total != 0  # a NaN counts: what saw one is NaN
                o[b, h, block][seen] = (weights @ v[b, h // group])[seen] / total[seen, None]
                lse[b, h, block][seen] = m[seen] + np.log(total[seen])
    state = None
    if tile is not None:
        selected = list(rows) if rows is not None else first_rows(batch, heads_q, count)
        found = []
        for n, (b, h, r) in enumerate(selected):
            places = b, h, np.array([r])
            scores, seen = scores_of(q[b, h, r][None], k[b, h // group], scale, causal, places, count, mods)
            passed = np.logical_or.reduceat(seen[0], range(0, keys, tile)) if keys else seen[0]
            found.append(_row_state(scores[0], passed if visited is None else visited[n], tile, sinks[h]))
        state = np.array(found).reshape(len(selected), tiles(keys, tile), 3)
    return Reference(o, lse, state)


def tiles(keys: int, tile: int) -> int:
    """How many tiles of `tile` keys there are, the last one possibly short."""
    return -(-keys // tile)


def first_rows(batch: int, heads_q: int, rows: int) -> list[Row]:
    """Row 0 of every query head: what `state=True` records."""
    return [(b, h, 0) for b in range(batch) for h in range(heads_q)] if rows else []


def scores_of(
    q: Array, k: Array, scale: float, causal: bool, places: tuple[int, int, Array], rows: int, mods: Mods
) -> tuple[Array, Array]:
    """The scores of q's rows in float64, -inf where not visible, and what is visible. places: the sequence, the head,
    and the numbers of the rows, of `rows`."""
    b, h, row = places
    q, k = (np.asarray(x, np.float64) for x in (q, k))
    scores, seen = _changed(
        (q @ k.T) * scale, b, h, row[:, None] + len(k) - rows, np.arange(len(k))[None], causal, mods
    )
    scores[~seen] = -np.inf
    return scores, seen


def _changed(
    scores: Array, b: Any, h: Any, q_idx: Any, kv_idx: Any, causal: bool, mods: Mods, rounded: bool = False
) -> tuple[Array, Array]:
    """Scaled scores after the score_mod, in their type, and which keys are seen; arrays of places broadcast."""
    seen = kv_idx <= q_idx if causal else True
    if (mask := mods.get("mask_mod")) is not None:
        seen = seen & np.asarray(mask(b, h, q_idx, kv_idx), bool)
    if (change := (rounded and mods.get("rounded")) or mods.get("score_mod")) is not None:
        scores = np.array(np.broadcast_to(change(scores, b, h, q_idx, kv_idx), scores.shape), scores.dtype)
    return scores, np.broadcast_to(seen, scores.shape)


def _sinks(mods: Mods, heads: int, real: Any) -> Array:
    """The sink of each head, -inf where there are none."""
    sinks = mods.get("sinks")
    return np.full(heads, -np.inf, real) if sinks is None else np.asarray(sinks, real)


def _row_state(scores: Array, visited: Array, tile: int, sink: float) -> Array:
    """`[tiles, 3]` of one row: from the definition of m and l over the keys so far, not by running the algorithm."""
    state = np.full((tiles(len(scores), tile), 3), np.nan)
    before = sink
    for t in np.flatnonzero(visited):
        so_far = np.append(scores[: (t + 1) * tile], sink)
        m = so_far.max()
        top = 0.0 if np.isneginf(m) else m
        state[t] = m, np.exp(so_far - top).sum(), 1.0 if np.isneginf(m) else np.exp(before - m)
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
    q: Array,
    k: Array,
    v: Array,
    *,
    causal: bool = False,
    scale: float | None = None,
    dtype: Any = np.float32,
    **mods: Unpack[Mods],
) -> tuple[Array, Array]:
    """(o, lse) by the kernels' algorithm, one key at a time in powers of two, every operation rounded to `dtype`."""
    _, heads_q, heads_kv, count, keys, dim = check_shapes(q, k, v)
    scale = default_scale(dim) if scale is None else float(scale)
    q, k, v = (np.asarray(x, dtype) for x in (q, k, v))
    k, v = (np.repeat(x, heads_q // heads_kv, axis=1) for x in (k, v))
    log2e, modded = dtype(math.log2(math.e)), mods.get("score_mod") is not None
    factor = dtype(scale) if modded else dtype(dtype(scale) * log2e)

    o = np.zeros(q.shape, dtype)
    places = np.ix_(*map(np.arange, q.shape[:3]))
    sinks = _sinks(mods, heads_q, dtype)[:, None]
    row_max = np.broadcast_to(sinks * log2e, q.shape[:3]).copy()
    row_sum = np.broadcast_to(np.where(np.isneginf(sinks), dtype(0), dtype(1)), q.shape[:3]).copy()
    for j in range(keys):
        score = np.zeros(q.shape[:3], dtype)
        for d in range(dim):
            score += q[..., d] * k[:, :, None, j, d]
        b, h, row = places
        score, seen = _changed(score * factor, b, h, row + keys - count, np.array(j), causal, mods, rounded=True)
        score = np.where(seen, score * log2e if modded else score, dtype(-np.inf))
        new_max = np.maximum(row_max, score)
        top = np.where(np.isneginf(new_max), dtype(0), new_max)
        rescale, weight = np.exp2(row_max - top), np.exp2(score - top)
        row_sum = row_sum * rescale + weight
        o = o * rescale[..., None] + np.where(seen[..., None], weight[..., None] * v[:, :, None, j], dtype(0))
        row_max = new_max
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
    **mods: Unpack[Mods],
) -> tuple[Array, Array]:
    """(o, lse) by the algorithm of the tensor-core kernels, in float32, `tile` keys at a time.

    `half` is numpy's float16 or ml_dtypes' bfloat16. Rounded to it are only q, k and v, the weights P before they are
    multiplied with v, and (if `round_output`) o. The weights' sum takes them before they are rounded.
    """
    _, heads_q, heads_kv, count, keys, dim = check_shapes(q, k, v)
    scale, modded = default_scale(dim) if scale is None else float(scale), mods.get("score_mod") is not None
    log2e = np.float32(math.log2(math.e))
    factor = np.float32(scale if modded else scale * math.log2(math.e))
    q, k, v = (np.asarray(x).astype(half).astype(np.float32) for x in (q, k, v))
    k, v = (np.repeat(x, heads_q // heads_kv, axis=1) for x in (k, v))
    b, h, row = (x[..., None] for x in np.ix_(*map(np.arange, q.shape[:3])))

    o = np.zeros(q.shape, np.float32)
    sinks = _sinks(mods, heads_q, np.float32)[:, None]
    row_max = np.broadcast_to(sinks * log2e, q.shape[:3])
    row_sum = np.broadcast_to(np.where(np.isneginf(sinks), np.float32(0), np.float32(1)), q.shape[:3])
    for first in range(0, keys, tile):
        part = slice(first, min(first + tile, keys))
        score = (q @ np.swapaxes(k[:, :, part], 2, 3)) * factor
        at = np.arange(part.start, part.stop)
        score, seen = _changed(score, b, h, row + keys - count, at, causal, mods, rounded=True)
        score = np.where(seen, score * log2e if modded else score, np.float32(-np.inf))
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
    **mods: Unpack[Mods],
) -> tuple[Array, Array]:
    """The bounds on |o - expected.o| and |lse - expected.lse|, element by element, for o's dtype.

    float32: `max(1e-5 + 1e-5 |ref|, 2 x the largest error of the same algorithm in numpy float32)`, lse
    `1e-5 + 2e-6 |lse|`; float64: `1e-12 (1 + |ref|)` for both. The numpy float32 run is made only when the first
    bound is not met, since it is slow and can only widen the bound. float16 and bfloat16: twice the largest error of
    the same algorithm in numpy at that precision (`online_half` with this `tile`), but at most `CAPS`; lse
    `1e-4 + 1e-5 |lse|`. So too for float32 o of a kernel that multiplies in 16 bits: `precision` is their dtype. With a
    score_mod the bound on lse is at least twice that algorithm's largest error, too.
    """
    finite, modded = np.where(np.isfinite(expected.lse), expected.lse, 0.0), mods.get("score_mod") is not None
    if o.dtype == np.float64:
        return 1e-12 * (1 + np.abs(expected.o)), 1e-12 * (1 + np.abs(finite))
    half = np.dtype(precision if precision is not None else o.dtype)
    if half.name in CAPS:
        whole = o.dtype == half
        same, log = online_half(q, k, v, half, causal=causal, scale=scale, tile=tile, round_output=whole, **mods)
        largest = 2 * float(np.max(_judged_gap(same, expected.o), initial=0.0))
        cap = CAPS[half.name] * np.maximum(1.0, np.abs(expected.o))
        lse_bound = 1e-4 + 1e-5 * np.abs(finite)
        return np.minimum(largest, cap), _widened(lse_bound, log, expected.lse) if modded else lse_bound
    if o.dtype != np.float32:
        raise ValueError(f"there is no tolerance for {o.dtype}; o should be float32, float64, float16 or bfloat16")
    bound, lse_bound = 1e-5 + 1e-5 * np.abs(expected.o), 1e-5 + 2e-6 * np.abs(finite)
    if modded or not np.all(_judged_gap(o, expected.o) <= bound):
        same, log = online(q, k, v, causal=causal, scale=scale, **mods)
        bound = _widened(bound, same, expected.o)
        lse_bound = _widened(lse_bound, log, expected.lse) if modded else lse_bound
    return bound, lse_bound


def _widened(bound: Array, same: Array, exact: Array) -> Array:
    """The bound, but at least twice the largest error that the algorithm makes by itself."""
    widened: Array = np.maximum(bound, 2 * np.max(_judged_gap(same, exact), initial=0.0))
    return widened


def measure(o: Array, lse: Array | None, q: Array, k: Array, v: Array, **options: Any) -> Error:
    """The error alone of `judge`, which has the options."""
    return judge(o, lse, q, k, v, **options)[0]


@np.errstate(invalid="ignore", over="ignore")
def judge(
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
    **mods: Unpack[Mods],
) -> tuple[Error, Array, Array]:
    """The error of `o` (and `lse`, unless None) against float64, o there, and the bound on each of its elements.

    `expected` saves computing the reference again.
    `precision` is the dtype (float16, bfloat16) to which a kernel with float32 inputs rounds them before it multiplies:
    then the reference is computed from the rounded inputs. `tile`: see `tolerance`; mods: see `Mods`. Elements that are
    NaN in the reference are not judged. Where that has an infinity, the same one is right, and NaN not judged either.
    """
    if precision is not None:
        q, k, v = (np.asarray(x).astype(precision) for x in (q, k, v))
    expected = expected or attention(q, k, v, causal=causal, scale=scale, **mods)
    if o.size == 0:
        return Error(0.0, 0.0, 0.0, 0.0, True), expected.o, np.zeros(o.shape)
    judged = np.isfinite(expected.o) | (np.isinf(expected.o) & ~np.isnan(o.astype(np.float64)))
    lse_judged = ~np.isnan(expected.lse) & (expected.lse != np.inf)
    error = np.where(judged, _gap(o, expected.o), 0.0)
    rules: Any = {"causal": causal, "scale": scale, "tile": tile, "precision": precision}
    bounds, lse_bound = tolerance(o, q, k, v, expected, **rules, **mods)
    bound = np.where(judged, bounds, 1.0)
    share = np.where(np.isnan(error), np.inf, error) / np.maximum(bound, np.finfo(np.float64).tiny)
    worst = np.unravel_index(int(np.argmax(share)), error.shape)
    finite = np.isfinite(expected.o)
    largest = np.abs(np.where(finite, expected.o, 0.0)).max(axis=-1, keepdims=True).astype(o.dtype)
    ulp = float(np.max(np.where(finite, error / np.spacing(largest).astype(np.float64), 0.0)))
    ok = bool(np.all((error <= bound) & np.isfinite(error)))
    lse_max = lse_tolerance = 0.0
    if lse is not None:
        gap = np.where(lse_judged, _gap(lse, expected.lse), 0.0)
        at = np.unravel_index(int(np.argmax(np.where(np.isnan(gap), np.inf, gap) / lse_bound)), gap.shape)
        lse_max, lse_tolerance = float(np.max(gap)), float(lse_bound[at])
        ok = ok and bool(np.all(gap <= lse_bound))
    place = tuple(int(x) for x in worst)
    unjudged = np.argwhere(~(judged.all(axis=-1) & lse_judged))
    first = tuple(unjudged[0].tolist()) if len(unjudged) else ()
    found = Error(
        float(np.max(error)) if judged.any() else math.nan,
        float(np.sum(error) / judged.sum()) if judged.any() else math.nan,
        ulp,
        float(bound[worst]),
        ok,
        lse_max,
        lse_tolerance,
        place,
        len(unjudged),
        first,
        _cause(q, k, v, first) if first else "",
    )
    return found, expected.o, bounds


def together(errors: Sequence[Error]) -> Error:
    """The error of several sequences, one in each; the tolerance is that of the one with the largest error."""
    judged = [e for e in errors if e.verdict != "not judged"] or errors
    nearest = max(judged, key=lambda e: (not e.ok, e.max))
    return dataclasses.replace(
        nearest,
        max=max(e.max for e in judged),
        mean=float(np.mean([e.mean for e in judged])),
        ulp=max(e.ulp for e in judged),
        ok=all(e.ok for e in errors),
        lse=max(e.lse for e in errors),
        worst=(list(errors).index(nearest), *nearest.worst[1:]),
        unjudged=sum(e.unjudged for e in errors),
        first_unjudged=next(((b, *e.first_unjudged[1:2]) for b, e in enumerate(errors) if e.unjudged), ()),
        cause="",
    )


def _cause(q: Array, k: Array, v: Array, row: tuple[int, ...]) -> str:
    """The first element that is not finite of those that a row reads: `q[0, 1, 3, 0] is nan`."""
    batch, head, at = row
    shared = head // (q.shape[1] // k.shape[1])
    for name, whole, place in (("q", q, (batch, head, at)), ("k", k, (batch, shared)), ("v", v, (batch, shared))):
        values = np.asarray(whole[place], np.float64)
        found = np.argwhere(~np.isfinite(values))
        if len(found):
            index = (*place, *found[0].tolist())
            return f"{name}{list(index)} is {values[tuple(found[0])]:g}"
    return "its scores overflow"


def _judged_gap(a: Array, b: Array) -> Array:
    """|a - b| where the reference b is finite, else 0."""
    return np.where(np.isfinite(b), _gap(a, b), 0.0)


def _gap(a: Array, b: Array) -> Array:
    """|a - b| in float64; 0 where both are the same infinity."""
    a = a.astype(np.float64)
    return np.where(a == b, 0.0, np.abs(a - b))
