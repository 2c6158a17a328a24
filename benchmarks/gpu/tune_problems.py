"""The problems of `tune`: what there is to choose for them, and their inputs and results on the GPU."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np

import ptxlab as pl
from ptxlab import kernels, reference, targets
from ptxlab.errors import TargetError
from ptxlab.kernels.decode_spec import DecodeConfig

CHECKED = 16
"""Rows at the beginning and at the end of a head that are held against float64."""


@dataclass(frozen=True)
class Tiles:
    """A choice of `pipelined` or `hopper`, whose warps follow from its tile."""

    tile_q: int
    tile_kv: int
    warps: int
    stages: int


@dataclass(frozen=True)
class Prefill:
    """Self-attention over `seq` positions; all problems have as many tokens and as wide a model."""

    dim: int
    causal: bool
    seq: int
    tokens: int = 16384
    width: int = 2048
    kernel: str = "pipelined"

    @property
    def shape(self) -> tuple[int, int, int, int]:
        """[B, H, S, D] of q, k, v and o."""
        return self.tokens // self.seq, self.width // self.dim, self.seq, self.dim

    @property
    def operations(self) -> float:
        """Floating-point operations of both products; a causal mask leaves half of them."""
        return 4.0 * self.tokens * self.seq * self.width / (2 if self.causal else 1)


@dataclass(frozen=True)
class Decode:
    """One step: B sequences of `keys` keys each."""

    batch: int
    keys: int
    heads: tuple[int, int] = (32, 8)
    dim: int = 128

    @property
    def cache(self) -> tuple[int, int, int, int]:
        """The shape of the cache of keys, and of that of values."""
        return self.batch, self.heads[1], self.keys, self.dim

    @property
    def bytes(self) -> int:
        """Bytes of keys and values."""
        return 4 * self.batch * self.heads[1] * self.keys * self.dim


# -- what there is to choose -------------------------------------------------------------------------------------------


def tiles_of(dim: int, causal: bool, arch: str, kernel: str = "pipelined") -> list[Tiles]:
    """Every legal combination, large tiles first."""
    spec = kernels.get(kernel, "prefill")
    names = [name for name in ("tile_q", "tile_kv", "warps", "stages") if name in spec.parameters]
    found = []
    for values in itertools.product(*(spec.parameters[name].choices for name in names)):
        try:
            c = spec.configure(
                head_dim=dim, causal=causal, dtype="bf16", arch=arch, **dict(zip(names, values, strict=True))
            )
        except TargetError:
            continue
        found.append(Tiles(c.tile_q, c.tile_kv, c.warps, c.stages))
    return sorted(found, key=lambda t: -t.tile_q * t.tile_kv)


def default_tiles(dim: int, causal: bool, seq: int, arch: str, kernel: str = "pipelined") -> Tiles:
    """What `Config.auto` chooses."""
    c = kernels.Config.auto(dim, seq, seq, causal, "bf16", arch, kernel=kernel)
    return Tiles(c.tile_q, c.tile_kv, c.warps, c.stages)


def rings_of(arch: str, dim: int) -> list[tuple[int, int]]:
    """Every legal (warps, stages) of `decode_gqa`."""
    spec = kernels.get("decode_gqa", "decode")
    found = []
    stages = spec.parameters["stages"]
    for warps, n in itertools.product(spec.parameters["warps"].choices, range(stages.minimum, stages.maximum + 1)):
        try:
            spec.fit(DecodeConfig(dim, "bf16", arch, warps=warps, stages=n))
        except TargetError:
            continue
        found.append((warps, n))
    return found


def splits_of(default: int, keys: int) -> list[int]:
    """Splits around the default, each for at least 64 keys."""
    most = max(1, keys // 64)
    tried = {1, default // 2, default * 3 // 4, default, default * 3 // 2, default * 2, default * 4}
    return sorted(n for n in tried if 1 <= n <= most)


# -- on the GPU --------------------------------------------------------------------------------------------------------


def poison(buffer: Any) -> None:
    """Overwrites a result with NaN."""
    dtype = np.dtype(ml_dtypes.bfloat16) if buffer.dtype.itemsize == 2 else np.dtype(np.float32)
    buffer.copy_from_host(np.full(buffer.shape, np.nan, dtype))


def usage(assembly: Any, threads: int, shared: int, arch: str) -> dict[str, Any]:
    """What a kernel takes of a multiprocessor."""
    resident = targets.occupancy(arch, threads, assembly.registers, shared)
    return {"registers": assembly.registers, "spills": assembly.spill_bytes, "shared": shared,
            "blocks": resident.blocks, "limiter": resident.limiter}  # fmt: skip


class Inputs:
    """q, k and v of every prefill problem of the same size, and room for the results."""

    def __init__(self, problem: Prefill) -> None:
        size = problem.tokens * problem.width
        noise = np.random.default_rng(0).standard_normal((3, min(size, 1 << 22)), np.float32)
        self.host = [np.resize(x.astype(ml_dtypes.bfloat16), size) for x in noise]
        self.on = [pl.to_device(x, device="gpu") for x in self.host]
        self.o = pl.empty(size, ml_dtypes.bfloat16, device="gpu")
        self.lse = pl.empty(size // 16, np.float32, device="gpu")

    def arguments(self, problem: Prefill) -> list[Any]:
        """The buffers in the shapes of a problem."""
        for x in (*self.on, self.o):
            x.shape = problem.shape
        self.lse = pl.empty(problem.shape[:3], np.float32, device="gpu")
        return [*self.on, self.o, self.lse]

    def error(self, problem: Prefill, tile: int) -> reference.Error:
        """The worst error of some rows of the first and of the last head."""
        batch, heads, seq, _ = problem.shape
        o, lse = self.o.copy_to_host(), self.lse.copy_to_host()
        q, k, v = (x.reshape(problem.shape) for x in self.host)
        found = []
        for b, h in {(0, 0), (batch - 1, heads - 1)}:
            for first in {0, max(0, seq - CHECKED)}:
                last = min(first + CHECKED, seq)
                part = (slice(b, b + 1), slice(h, h + 1), slice(first, last))
                keys = (part[0], part[1], slice(0, last if problem.causal else seq))
                found.append(
                    reference.measure(o[part], lse[part], q[part], k[keys], v[keys], causal=problem.causal, tile=tile)
                )
        return max(found, key=lambda e: (not e.ok, e.max / max(e.tolerance, 1e-30)))


class Caches:
    """A decode problem on the GPU: as many caches as keep L2 cold, the query and the results."""

    def __init__(self, problem: Decode, copies: int) -> None:
        rng = np.random.default_rng(0)
        size = int(np.prod(problem.cache))
        noise = rng.standard_normal((2, min(size, 1 << 20)), np.float32).astype(ml_dtypes.bfloat16)
        self.problem = problem
        self.host = [np.resize(x, size).reshape(problem.cache) for x in noise]
        self.on = [[pl.to_device(x, device="gpu") for x in self.host] for _ in range(copies)]
        row = problem.batch, problem.heads[0], problem.dim
        self.q = rng.standard_normal(row).astype(ml_dtypes.bfloat16)
        self.given = {"q": pl.to_device(self.q, device="gpu"), "scale": problem.dim**-0.5}
        self.given["lengths"] = pl.to_device(np.full(problem.batch, problem.keys, np.int32), device="gpu")
        self.into = {
            "o": pl.empty(row, ml_dtypes.bfloat16, device="gpu"),
            "lse": pl.empty(row[:2], np.float32, device="gpu"),
        }

    def error(self) -> reference.Error:
        """The error of the last sequence."""
        o, lse = (self.into[name].copy_to_host()[-1:, :, None] for name in ("o", "lse"))
        k, v = (x[-1:] for x in self.host)
        return reference.measure(o, lse, self.q[-1:, :, None], k, v)

    def free(self) -> None:
        """Gives the memory back."""
        for x in (*itertools.chain(*self.on), self.given["q"], self.given["lengths"], *self.into.values()):
            x.free()
