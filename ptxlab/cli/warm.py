"""`ptxlab warm`: builds ahead what the notebooks run first, so that their first results come from the cache.

That is the rules that nearly all launches link, and every kernel of the library as it is built if nothing is said: as
`pl.attention` and `pl.decode` run it, and with counters, as the explorer does. That takes a minute of a core at lowest
priority; once it has been done for this version of ptxlab and this CPU, nothing is left to do.
"""

from __future__ import annotations

import os
from collections.abc import Callable

import numpy as np

HEAD_DIMS = (64, 32)
"""Those of the notebooks; the first is the default."""


def warm(say: Callable[[str], None]) -> None:
    """Builds all that, and says what is built."""
    from ptxlab import kernels
    from ptxlab.emulate.jit.building.linked_rules import build_ahead
    from ptxlab.emulate.jit.native import code as native
    from ptxlab.emulate.runtime import disk_cache

    done = "warmed-" + native.key(",".join(kernels.names()), "", "", native.host(), str(HEAD_DIMS))
    if disk_cache.folder() is None or disk_cache.recall(done) is not None:
        return
    if hasattr(os, "nice"):
        os.nice(19)
    say("rules")
    build_ahead(native.host())
    for head_dim in HEAD_DIMS:
        for name in kernels.names():
            parameter = kernels.get(name).parameters["head_dim"]
            if name == "decode_reduce" or head_dim < parameter.minimum or head_dim % parameter.step:
                continue  # the first is part of those that split
            say(f"{name}, head_dim {head_dim}")
            (_prefill if name in kernels.names("prefill") else _decode)(name, head_dim)
    disk_cache.remember(done, {}, b"")


def _prefill(name: str, head_dim: int) -> None:
    """A prefill kernel."""
    from ptxlab import kernels
    from ptxlab.attention.prefill import attention

    dtype = kernels.DTYPES[kernels.get(name).parameters["dtype"].default]
    q = np.zeros((1, 1, 16, head_dim), dtype)
    for counters in (False, True):
        attention(q, q, q, kernel=name, device="cpu", counters=counters)


def _decode(name: str, head_dim: int) -> None:
    """A decode kernel."""
    from ptxlab import kernels
    from ptxlab.attention.decode import decode

    dtype = kernels.DTYPES[kernels.get(name).parameters["dtype"].default]
    paged = name == "decode_paged"
    q = np.zeros((1, 2, head_dim), dtype)
    cache = np.zeros((1, 16, 2, head_dim) if paged else (1, 2, 16, head_dim), dtype)
    table = np.zeros((1, 1), np.int32) if paged else None
    splits = 2 if name in ("decode_split", "decode_gqa") else None
    for counters in (False, True):
        decode(q, cache, cache, [16], table, kernel=name, splits=splits, device="cpu", counters=counters)
