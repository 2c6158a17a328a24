"""What the tests of the decode kernels share: random caches, dense and in pages, and one call that checks a result."""

from __future__ import annotations

import ml_dtypes
import numpy as np

import ptxlab as pl
from ptxlab import kernels
from ptxlab.launch.run import ALL_CHECKS

DTYPES = {"f32": np.float32, "f16": np.float16, "bf16": ml_dtypes.bfloat16}


def inputs(heads, dim, dtype, lengths, *, spare=3, sigma=1.0, seed=0):
    """q, k and v for sequences of these lengths; the caches hold `spare` more keys than the longest, NaN past each."""
    random = np.random.default_rng(seed)
    batch, most = len(lengths), max(lengths) + spare
    q = sigma * random.standard_normal((batch, heads[0], dim))
    k, v = random.standard_normal((2, batch, heads[1], most, dim))
    for b, length in enumerate(lengths):
        k[b, :, length:] = v[b, :, length:] = np.nan
    return tuple(x.astype(DTYPES[dtype]) for x in (q, k, v))


def paged(k, v, lengths, size, *, seed=0):
    """The caches as pools of permuted pages, unused slots NaN, with the block table, -1 where there is no page."""
    random = np.random.default_rng(seed)
    batch, heads, most, dim = k.shape
    width = max(1, -(-most // size))
    pools = np.full((2, batch * width + 2, size, heads, dim), np.nan, k.dtype)
    order = iter(random.permutation(pools.shape[1]))
    table = np.full((batch, width), -1, np.int32)
    for b, length in enumerate(lengths):
        for n in range(-(-length // size)):
            table[b, n] = next(order)
            part = slice(n * size, min((n + 1) * size, length))
            for pool, cache in zip(pools, (k, v), strict=True):
                pool[table[b, n], : part.stop - part.start] = cache[b, :, part].swapaxes(0, 1)
    return pools[0], pools[1], table


def check(
    name, dtype, heads, dim, lengths, *, page=None, splits=None, device="cpu", sigma=1.0, state=False, copy="cp.async"
):
    """Runs a kernel with all checks on and holds every sequence against float64."""
    q, k, v = inputs(heads, dim, dtype, lengths, sigma=sigma)
    table = None
    if page is not None:
        k, v, table = paged(k, v, lengths, page)
    kernel = name
    if copy == "tma":
        how = {} if page is None else {"cache": "paged", "page_size": page}
        kernel = kernels.get(name, "decode").build(
            head_dim=dim, dtype=dtype, arch="sm_90", copy=copy, partial=(splits or 1) > 1, **how
        )
    checks = ALL_CHECKS if device != "gpu" else ("memcheck",)
    out = pl.decode(
        q,
        k,
        v,
        np.array(lengths, np.int32),
        table,
        kernel=kernel,
        splits=splits,
        device=device,
        checks=checks,
        state=state,
    )
    assert out.findings == []
    assert out.error.ok, out.error
    for b, length in enumerate(lengths):
        if length == 0:
            assert (out.o[b] == 0).all()
            assert np.isneginf(out.lse[b]).all()
    return out
