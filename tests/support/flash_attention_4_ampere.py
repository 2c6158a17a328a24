"""Launches of FlashAttention-4's own forward kernel for sm_80, whose PTX `flash_attention_4.written` makes.

What its parameters are was read from `flash_fwd.py` of version 4.0.0b36: tensors as address, sizes and strides.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from dataclasses import dataclass

import ml_dtypes
import numpy as np
from flash_attention_4 import divided, written

import ptxlab as pl
from ptxlab import reference

ROWS, KEYS, THREADS = 128, 64, 128
"""Query rows and keys of a tile, and the threads of a block."""


@dataclass(frozen=True)
class AmpereProblem:
    """Random inputs: `[batch, heads, rows or keys, dim]`; `group` query heads share a key/value head."""

    dim: int
    causal: bool = False
    dtype: str = "float16"
    group: int = 1
    packed: bool = False
    batch: int = 1
    kv_heads: int = 1
    rows: int = 200
    keys: int = 300

    @property
    def ptx(self) -> str:
        """The kernel for it."""
        return written(
            self.dim, self.causal, self.dtype, arch="sm_80", group=self.group, packed=self.packed and self.group > 1
        )

    def run(self, ptx: str, checks: Sequence[str]) -> tuple[pl.Run, reference.Error]:
        """A launch, and how far o and lse are from float64."""
        b, m, n, d, h = self.batch, self.rows, self.keys, self.dim, self.kv_heads * self.group
        numbers = np.dtype(ml_dtypes.bfloat16 if self.dtype == "bfloat16" else self.dtype)
        rng = np.random.default_rng(m + n)
        shapes = ((b, h, m, d), (b, self.kv_heads, n, d), (b, self.kv_heads, n, d))
        q, k, v = (rng.standard_normal(shape).astype(numbers) for shape in shapes)
        buffers = [pl.to_device(a, device="cpu") for a in (q, k, v)]
        buffers += [pl.empty((b, h, m, d), numbers, device="cpu"), pl.empty((b, h, m), np.float32, device="cpu")]
        scale = reference.default_scale(d)
        # `packed`: the row of a tile stands for (head of the group, row), and so do the sizes and strides.
        packed = self.packed and self.group > 1
        tiles, heads = -(-m * (self.group if packed else 1) // ROWS), self.kv_heads if packed else h
        queries = ((m, d, heads, b), (*([m * d] if packed else []), d, h // heads * m * d, h * m * d))
        keys = ((n, d, self.kv_heads, b), (d, n * d, self.kv_heads * n * d))
        sums = ((m, heads, b), (*([m] if packed else []), h // heads * m, h * m))
        tensors = [
            _tensor(buffer.address, *layout)
            for buffer, layout in zip(buffers, (queries, keys, keys, queries, sums), strict=True)
        ]
        arguments = [*tensors, scale * math.log2(math.e), tiles, heads, b, *divided(1)]
        shared = (ROWS + 2 * KEYS) * d * 2
        run = pl.launch(ptx, (tiles, heads, b), THREADS, *arguments, shared=shared, device="cpu", checks=checks)
        o, lse = (buffer.copy_to_host() for buffer in buffers[3:])
        error = reference.measure(o, lse, q, k, v, causal=self.causal, scale=scale, tile=KEYS)
        return run, error


def _tensor(address: int, sizes: Sequence[int], strides: Sequence[int]) -> bytes:
    """A tensor as the kernels take it; the stride 1 is known to them."""
    return struct.pack(f"<Q{len(sizes)}i{'4x' * (len(sizes) % 2)}{len(strides)}q", address, *sizes, *strides)
