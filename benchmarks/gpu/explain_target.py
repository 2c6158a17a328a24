"""Launches one problem of `hopper`, `pipelined` or `decode_gqa` once on the GPU: what ncu is to watch.

python -m benchmarks.gpu.explain_target pipelined --dim 128 --seq 4096 --causal
python -m benchmarks.gpu.explain_target decode_gqa --batch 16 --keys 4096
"""

from __future__ import annotations

import argparse

import ml_dtypes
import numpy as np

import ptxlab as pl
from ptxlab import kernels, reference
from ptxlab.attention.heuristics import split_count, target_of


def noise(*shape: int) -> pl.DeviceBuffer:
    """Normal numbers in bf16."""
    size = int(np.prod(shape))
    some = np.random.default_rng(0).standard_normal(min(size, 1 << 20), np.float32).astype(ml_dtypes.bfloat16)
    return pl.to_device(np.resize(some, size).reshape(shape), device="gpu")


def prefill(kernel: str, dim: int, seq: int, causal: bool, tokens: int, width: int) -> None:
    """Self-attention over `seq` positions, with the tiles that `Config.auto` chooses."""
    arch = target_of(kernels.get(kernel, "prefill"), "gpu")
    built = kernels.Config.auto(dim, seq, seq, causal, "bf16", arch, kernel=kernel).build()
    shape = tokens // seq, width // dim, seq, dim
    q, k, v, o = (noise(*shape) for _ in range(4))
    lse = pl.empty(shape[:3], np.float32, device="gpu")
    grid, block, shared = built.launch_shape(shape[0], shape[1], shape[1], seq, seq)
    args = built.arguments(q, k, v, o, lse, reference.default_scale(dim))
    pl.launch(built, grid, block, *args, shared=shared, device="gpu")


def decode(batch: int, keys: int) -> None:
    """A decode step of 32 query heads over 8 of keys and values, head_dim 128, with the splits of `split_count`."""
    gpu = pl.gpu.describe()
    splits = split_count(batch * 8, gpu.multiprocessors, keys)
    build = {"head_dim": 128, "dtype": "bf16", "arch": gpu.arch}
    built = kernels.get("decode_gqa", "decode").build(**build, partial=splits > 1)
    k, v = (noise(batch, 8, keys, 128) for _ in range(2))
    given = {"q": noise(batch, 32, 128), "key": k, "value": v, "scale": reference.default_scale(128)}
    given["lengths"] = pl.to_device(np.full(batch, keys, np.int32), device="gpu")
    if splits > 1:
        given["partial"] = pl.empty((batch, 32, splits, 130), np.float32, device="gpu")
    else:
        given |= {"o": noise(batch, 32, 128), "lse": pl.empty((batch, 32), np.float32, device="gpu"), "splits": 1}
    pl.launch(
        built,
        *built.launch_shape(batch, 32, 8, splits)[:2],
        *built.arguments(**given),
        shared=built.launch_shape(batch, 32, 8, splits)[2],
        device="gpu",
    )


def main() -> None:
    """The problem of the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kernel", choices=("hopper", "pipelined", "decode_gqa"))
    for name, default in (
        ("dim", 128),
        ("seq", 4096),
        ("batch", 16),
        ("keys", 4096),
        ("tokens", 16384),
        ("width", 2048),
    ):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--causal", action="store_true")
    o = parser.parse_args()
    if o.kernel == "decode_gqa":
        decode(o.batch, o.keys)
    else:
        prefill(o.kernel, o.dim, o.seq, o.causal, o.tokens, o.width)


if __name__ == "__main__":
    main()
