"""Merging attention over parts of the keys: `merge_states` as a kernel, `split_states` in numpy float64.

The state of a part is (m, l, sums): the largest score, the sum of exp(score - m), and the values summed with these
weights. States merge by m = max(m1, m2) and sums scaled by exp(m1 - m) and exp(m2 - m).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ptxlab.attention import caches
from ptxlab.errors import LaunchError
from ptxlab.launch.buffers import const, out
from ptxlab.launch.run import launch

Array = NDArray[Any]


def merge_states(o1: Array, lse1: Array, o2: Array, lse2: Array, *, device: str = "auto") -> tuple[Array, Array]:
    """The attention over two sets of keys from the attention over each. In numpy: `reference.merge_states`.

    Parameters
    ----------
    o1, o2
        `[..., D]` of one type: float32, float64, float16 or bfloat16.
    lse1, lse2
        `[...]` natural logs, float64 beside float64 and otherwise float32. -inf: no key was seen, and o counts for
        nothing.
    device
        As for `pl.launch`.

    Returns
    -------
    tuple
        (o, lse).
    """
    from ptxlab.kernels import decode_merge, decode_spec

    given = {"o1": o1, "lse1": lse1, "o2": o2, "lse2": lse2}
    arrays = {name: caches.array(name, x) for name, x in given.items()}
    o1, lse1 = arrays["o1"], arrays["lse1"]
    long = {numpy: short for short, numpy in {**decode_spec.NUMPY, "f64": "float64"}.items()}
    if o1.dtype.name not in long:
        raise LaunchError(f"o1 is {o1.dtype}; there are kernels for {', '.join(long)}")
    log = np.dtype(np.float64 if o1.dtype == np.float64 else np.float32)
    for name, array in arrays.items():
        shape = o1.shape if name[0] == "o" else o1.shape[:-1]
        dtype = o1.dtype if name[0] == "o" else log
        if o1.ndim == 0 or array.shape != shape or array.dtype != dtype:
            wanted, found = f"{dtype} {list(shape)}", f"{array.dtype} {list(array.shape)}"
            raise LaunchError(f"{name} should be {wanted} beside o1 {list(o1.shape)}, it is {found}")
    o, lse = np.empty(o1.shape, o1.dtype), np.empty(lse1.shape, log)
    if lse.size:
        built = decode_merge.build(long[o1.dtype.name])
        ins = [const(arrays[name]) for name in ("o1", "lse1", "o2", "lse2")]
        launch(built, lse.size, decode_merge.THREADS, *ins, out(o), out(lse), o1.shape[-1], device=device)
    return o, lse


def split_states(scores: Array, v: Array, parts: Sequence[Array], sink: float = -np.inf) -> tuple[Array, Array]:
    """What each part of the keys knows before a merge, in float64: state `[parts, 3]` and sums `[parts, D]`.

    scores `[keys]`, -inf where hidden, v `[keys, D]`; `parts` are lists of keys. The maximum of each begins with the
    sink, whose weight only the first one counts. The state is m, l and the factor exp(m - the largest m) of the merge;
    a part without keys has (-inf, 0, 0), and zeros for sums.
    """
    scores, v = np.asarray(scores, np.float64), np.asarray(v, np.float64)
    state, sums = np.zeros((len(parts), 3)), np.zeros((len(parts), v.shape[1]))
    for n, part in enumerate(parts):
        keys = part[scores[part] != -np.inf]
        m = scores[keys].max(initial=sink)
        top = 0.0 if np.isneginf(m) else m
        weights = np.exp(scores[keys] - top)
        state[n, :2], sums[n] = (m, weights.sum() + (np.exp(sink - top) if n == 0 else 0)), weights @ v[keys]
    top = state[:, 0].max(initial=-np.inf)
    if np.isfinite(top):
        state[:, 2] = np.exp(state[:, 0] - top)
    return state, sums
