"""KV caches: shapes, lengths and pages, checked before anything runs; and their rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ptxlab.errors import LaunchError
from ptxlab.foreign_arrays import as_numpy

Array = NDArray[Any]


def keys_of(cache: Array, sequence: int, length: int, table: Array | None = None) -> Array:
    """The first `length` rows of a sequence's cache, `[Hkv, length, D]`, gathered from its pages if it has a table."""
    if table is None:
        return cache[sequence, :, :length]
    size = cache.shape[1]
    used = np.asarray(table)[sequence, : -(-length // size)]
    rows: Array = cache[used].reshape(-1, *cache.shape[2:])[:length]
    return rows.transpose(1, 0, 2)


def in_pages(key: Array, value: Array, page_size: int, *, seed: int = 0) -> tuple[Array, Array, NDArray[np.int32]]:
    """Dense caches `[B, Hkv, S, D]` as pools of pages in a random order, with the block table; unused slots are NaN."""
    batch, heads, keys, dim = key.shape
    each = -(-keys // page_size)
    table = np.random.default_rng(seed).permutation(batch * each).astype(np.int32).reshape(batch, each)
    pools = []
    for dense in (key, value):
        whole = np.full((batch, each * page_size, heads, dim), np.nan, dense.dtype)
        whole[:, :keys] = dense.swapaxes(1, 2)
        pool = np.empty((batch * each, page_size, heads, dim), dense.dtype)
        pool[table] = whole.reshape(batch, each, page_size, heads, dim)
        pools.append(pool)
    return pools[0], pools[1], table


def used_pages(
    key: Array, value: Array, table: NDArray[np.int32], counts: NDArray[np.int32]
) -> tuple[Array, Array, NDArray[np.int32]]:
    """Copies of the pages that hold keys, with a block table of their own: what stays when a pool is written to again.

    The table has -1 where a sequence needs no page.
    """
    places = np.arange(table.shape[1])[None, :] * key.shape[1] < counts[:, None]
    used = np.unique(table[places])
    return key[used], value[used], np.where(places, np.searchsorted(used, table), -1).astype(np.int32)


def array(name: str, x: Any) -> Array:
    """The array, contiguous; `LaunchError` if it is none."""
    x = as_numpy(x, name, name)
    if not isinstance(x, np.ndarray | np.generic):
        raise LaunchError(f"{name}: expected a numpy array, got {type(x).__name__}")
    return np.asarray(x, order="C")


def block_table(table: Array) -> NDArray[np.int32]:
    """The table, contiguous; `LaunchError` if it is none."""
    table = as_numpy(table, "block_table", "block_table")
    if not isinstance(table, np.ndarray) or table.ndim != 2 or table.dtype != np.int32:
        found = f"{table.dtype} {list(table.shape)}" if isinstance(table, np.ndarray) else type(table).__name__
        raise LaunchError(f"block_table: expected an int32 array [B, max_pages], got {found}")
    return np.ascontiguousarray(table)


def check_shapes(q: Array, key: Array, value: Array, table: Array | None) -> int:
    """All shapes; returns Hkv."""
    if q.ndim != 3 or q.size == 0:
        raise LaunchError(f"q has shape {list(q.shape)}; it should be [B, Hq, D], and not empty")
    batch, heads_q, dim = q.shape
    wanted = f"[{batch}, Hkv, max_seq, {dim}]" if table is None else f"[num_pages, page_size, Hkv, {dim}]"
    if key.ndim != 4 or key.shape[3] != dim or (table is None and key.shape[0] != batch):
        raise LaunchError(f"k_cache has shape {list(key.shape)}; with q {list(q.shape)} it should be {wanted}")
    if value.shape != key.shape:
        raise LaunchError(f"v_cache has shape {list(value.shape)}; it should be k_cache's shape {list(key.shape)}")
    if table is not None and len(table) != batch:
        raise LaunchError(f"block_table has {len(table)} rows; q has {batch} sequences")
    if table is not None and not 1 <= key.shape[1] <= 256:
        raise LaunchError(f"k_cache has pages of {key.shape[1]} keys; page_size is from 1 to 256")
    sizes = {"k_cache: max_seq": key.shape[2]}
    if table is not None:
        sizes = {
            "k_cache: num_pages * page_size": key.shape[0] * key.shape[1],
            "block_table: max_pages * page_size": table.shape[1] * key.shape[1],
        }
    for name, size in sizes.items():
        if size >= 2**31:
            raise LaunchError(f"{name} is {size}; keys are counted in 32 bits, so it should be below 2**31")
    heads_kv = int(key.shape[1 if table is None else 2])
    if heads_kv == 0 or heads_q % heads_kv:
        raise LaunchError(f"q: Hq = {heads_q} should be a multiple of the cache's Hkv = {heads_kv}")
    return heads_kv


def lengths_of(lengths: Any, batch: int, key: Array, table: Array | None) -> NDArray[np.int32]:
    """i32 `[B]`, whatever was given, and within what the cache holds."""
    try:
        array = np.asarray(lengths)
    except ValueError:
        raise LaunchError(f"lengths: expected {batch} whole numbers, or one for all; got {lengths!r}") from None
    if array.dtype.kind not in "iu" or array.shape not in ((), (batch,)):
        raise LaunchError(
            f"lengths: expected {batch} whole numbers, or one for all; got {array.dtype} {list(array.shape)}"
        )
    counts = [int(n) for n in np.broadcast_to(array, (batch,))]
    check_lengths(counts, key, table)
    return np.array(counts, np.int32)


def check_lengths(counts: Sequence[int], key: Array, table: Array | None) -> None:
    """No length beyond what the cache or the table can hold, no page outside the pool."""
    for b, count in enumerate(counts):
        if count < 0:
            raise LaunchError(f"lengths[{b}] is negative")
        if table is None:
            if count > key.shape[2]:
                raise LaunchError(f"lengths[{b}] is {count}; the cache has max_seq = {key.shape[2]}")
            continue
        pages, size = key.shape[:2]
        if count > table.shape[1] * size:
            most = table.shape[1]
            raise LaunchError(f"lengths[{b}] is {count}; {most} pages of {size} keys in block_table hold {most * size}")
        used = table[b, : -(-int(count) // size)]
        wrong = np.flatnonzero((used < 0) | (used >= pages))
        if wrong.size:
            n = int(wrong[0])
            has = f"pages 0 to {pages - 1}" if pages else "no pages"
            raise LaunchError(f"block_table[{b}, {n}] is page {used[n]}; the pool has {has}")
