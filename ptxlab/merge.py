"""`merge_states(o1, lse1, o2, lse2)`: the attention over two sets of keys, from the attention over each."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ptxlab import caches
from ptxlab.buffers import const, out
from ptxlab.errors import LaunchError
from ptxlab.launch import launch

Array = NDArray[Any]


def merge_states(o1: Array, lse1: Array, o2: Array, lse2: Array, *, device: str = "auto") -> tuple[Array, Array]:
    """The attention over two sets of keys from the attention over each: (o, lse).

    o1 and o2 `[..., D]` of one type (float32, float64, float16 or bfloat16), lse1 and lse2 `[...]` natural logs,
    float64 beside float64 and otherwise float32. A side that saw no key (lse = -inf) counts for nothing. The same in
    numpy is `reference.merge_states`.
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
