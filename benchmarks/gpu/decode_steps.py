"""Decode problems, their caches, and recordings of decode steps for `benchmarks.gpu.decode`.

Keys and values are made on the device by `scatter`, and `numbers` makes the same ones on the host, so that caches of
gigabytes never travel.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from ml_dtypes import bfloat16

import ptxlab as pl
from benchmarks.gpu import rivals_torch
from benchmarks.gpu.contest import Place
from benchmarks.gpu.memory import NUMPY, THREADS, Part, parts, words
from benchmarks.gpu.timing import Answers, Ours
from ptxlab import kernels, reference
from ptxlab.attention.heuristics import SPLITTING, split_count
from ptxlab.builder import Builder, Ptr, b32, kernel, u32, u64
from ptxlab.launch.replay import Step

PAGE = 16
COLD = 256 * 10**6
"""Bytes that the copies of a cache hold together: several times an L2 cache."""
BYTES, STEPS = 6 * 10**9, 128
"""A graph holds steps that read about so many bytes together, 2 ms of an H100's memory, but at most so many steps."""
MIX = (0x9E3779B1, 0x85EBCA77, 0xC2B2AE3D)
"""Odd constants that mix the bits of an index."""


@kernel
def scatter(k: Builder, to: Ptr[b32], pairs: u64, salt: u32) -> None:
    """Pairs of bf16 from the ranges 1/2 to 1 and -1 to -1/2, as `numbers` makes them."""
    stride = k.cvt(u64, k.nctaid.x * THREADS)
    with k.loop(pairs, start=k.cvt(u64, k.thread_index()), step=stride) as i:
        mixed = k.cvt(u32, i) * MIX[0] + salt
        mixed = (mixed ^ (mixed >> 15)) * MIX[1]
        mixed = (mixed ^ (mixed >> 13)) * MIX[2]
        mixed = mixed ^ (mixed >> 16)
        to[i] = k.bitcast(b32, (mixed & 0x807F807F) | 0x3F003F00)


def numbers(pairs: Any, salt: int) -> Any:
    """The bf16 that `scatter` stores as pairs with these indices: an array with a last dimension twice as long."""
    mixed = pairs.astype(np.uint32) * np.uint32(MIX[0]) + np.uint32(salt)
    mixed = (mixed ^ (mixed >> np.uint32(15))) * np.uint32(MIX[1])
    mixed = (mixed ^ (mixed >> np.uint32(13))) * np.uint32(MIX[2])
    mixed = mixed ^ (mixed >> np.uint32(16))
    return ((mixed & np.uint32(0x807F807F)) | np.uint32(0x3F003F00)).view(bfloat16)


@dataclass(frozen=True)
class Problem:
    """One decode step in bf16: B sequences of `keys` keys each, Hq query heads that share Hkv key/value heads.

    most, cold: the limits `STEPS` and `COLD`, smaller in a rehearsal.
    """

    batch: int
    keys: int
    heads: tuple[int, int]
    paged: bool
    dim: int = 128
    most: int = STEPS
    cold: int = COLD

    @property
    def cache(self) -> tuple[int, ...]:
        """The shape of the cache of keys, and of that of values."""
        if self.paged:
            return (self.batch * (self.keys // PAGE), PAGE, self.heads[1], self.dim)
        return (self.batch, self.heads[1], self.keys, self.dim)

    @property
    def bytes(self) -> int:
        """Bytes of keys and values, which a step reads."""
        return 2 * 2 * self.batch * self.heads[1] * self.keys * self.dim

    @property
    def copies(self) -> int:
        """Caches that take turns, so that keys come from memory and not from the L2 cache."""
        return max(1, min(64, -(-self.cold // self.bytes)))

    @property
    def launches(self) -> int:
        """Steps that are recorded together."""
        return max(min(self.copies, self.most), min(self.most, math.ceil(BYTES / self.bytes)))

    @property
    def key(self) -> dict[str, Any]:
        """The problem in a row of the record."""
        return {
            "batch": self.batch,
            "keys": self.keys,
            "heads_q": self.heads[0],
            "heads_kv": self.heads[1],
            "dim": self.dim,
            "cache": "pages" if self.paged else "dense",
        }

    @cached_property
    def table(self) -> Any:
        """The block table: pages in a random order."""
        pages = np.random.default_rng(0).permutation(self.batch * (self.keys // PAGE)).astype(np.int32)
        return pages.reshape(self.batch, -1)

    def pairs(self, batch: int, head: int) -> Any:
        """For each key of a head the indices of its pairs in the cache."""
        j = np.arange(self.keys, dtype=np.int64)
        if self.paged:
            slot = self.table[batch, j // PAGE].astype(np.int64) * PAGE + j % PAGE
            row = slot * self.heads[1] + head
        else:
            row = (batch * self.heads[1] + head) * self.keys + j
        return row[:, None] * (self.dim // 2) + np.arange(self.dim // 2)[None, :]

    def __str__(self) -> str:
        kind = "pages" if self.paged else "dense"
        return f"B {self.batch}, {self.keys} keys, {self.heads[0]}/{self.heads[1]} heads, D {self.dim}, {kind}"


class Prepared:
    """A problem on the device: its caches, its queries and their lengths."""

    def __init__(self, problem: Problem, place: Place) -> None:
        self.problem, self.place = problem, place
        self.caches: list[tuple[pl.DeviceBuffer, pl.DeviceBuffer]] = []
        for salt in range(problem.copies):
            pair = tuple(pl.empty(problem.cache, NUMPY["bf16"], device=place.device) for _ in range(2))
            for which, x in enumerate(pair):
                to, _ = words(x)
                pl.launch(scatter, place.blocks, THREADS, to, x.nbytes // 4, 2 * salt + which, device=place.device)
            self.caches.append(pair)
        self.query = np.random.default_rng(1).standard_normal((problem.batch, problem.heads[0], problem.dim))
        self.query = self.query.astype(bfloat16)
        self.given: dict[str, Any] = {
            "q": pl.to_device(self.query, device=place.device),
            "scale": reference.default_scale(problem.dim),
            "lengths": pl.to_device(np.full(problem.batch, problem.keys, np.int32), device=place.device),
        }
        if problem.paged:
            self.given["table"] = pl.to_device(problem.table, device=place.device)

    def free(self) -> None:
        """Gives all memory back."""
        for x in (*(buffer for pair in self.caches for buffer in pair), *self.given.values()):
            if isinstance(x, pl.DeviceBuffer):
                x.free()

    def answers(self) -> Answers:
        """What the first, a middle and the last query head should give, with the first, a middle and the last cache."""
        problem = self.problem
        batch, (heads, heads_kv) = problem.batch, problem.heads
        places = sorted({(0, 0), (batch // 2, (heads - 1) // 2), (batch - 1, heads - 1)})
        used = min(problem.copies, problem.launches)

        def inputs(which: int, place: tuple[Any, ...]) -> tuple[Any, Any, Any]:
            b, h = place
            pairs = problem.pairs(b, h // (heads // heads_kv))
            k, v = (numbers(pairs, 2 * which + n)[None, None] for n in range(2))
            return self.query[b, h][None, None, None], k, v

        return Answers(places, inputs, False, problem.copies, sorted({0, used // 2, used - 1}))

    def torch(self, torch: Any) -> rivals_torch.Torch:
        """torch's attention on copies of the dense caches."""
        q = rivals_torch.tensor(torch, self.given["q"], "bf16")[:, :, None]
        caches = [tuple(rivals_torch.tensor(torch, x, "bf16") for x in pair) for pair in self.caches]
        return rivals_torch.decode(torch, q, caches, self.problem.launches)

    def flashinfer(self, torch: Any) -> rivals_torch.Torch:
        """FlashInfer's decode on copies of the caches in pages."""
        q = rivals_torch.tensor(torch, self.given["q"], "bf16")
        caches = [tuple(rivals_torch.tensor(torch, x, "bf16") for x in pair) for pair in self.caches]
        problem = self.problem
        return rivals_torch.flashinfer(torch, q, caches, problem.table, problem.heads, problem.launches)


def takes(name: str, problem: Problem) -> bool:
    """Whether a kernel knows such a cache."""
    cache = kernels.get(name, "decode").parameters.get("cache")
    return ("paged" if problem.paged else "dense") in (cache.choices if cache else ("dense",))


def splits(name: str, problem: Problem, place: Place) -> int:
    """Into how many parts a kernel cuts the keys, as `pl.decode` does it."""
    if name not in SPLITTING:
        return 1
    heads_q, heads_kv = problem.heads
    blocks = problem.batch * (heads_kv * -(-(heads_q // heads_kv) // 16) if name == "decode_gqa" else heads_q)
    return split_count(blocks, place.processors, problem.keys)


def ours(name: str, prepared: Prepared) -> Ours:
    """The steps of a rung, with the cache of each in turn."""
    problem, place = prepared.problem, prepared.place
    batch, heads_q = problem.batch, problem.heads[0]
    spec = kernels.get(name, "decode")
    cut = splits(name, problem, place)
    partial = name == "decode_split" or cut > 1
    chosen = {"partial": partial, "cache": "paged" if problem.paged else "dense", "page_size": PAGE}
    some = {what: x for what, x in chosen.items() if what in spec.parameters}
    built = spec.build(head_dim=problem.dim, dtype="bf16", arch=place.arch, **some)
    given = dict(prepared.given)
    if not any(p.name == "lengths" for p in built.params):
        given["length"] = given.pop("lengths")
    row = (problem.launches, batch, heads_q)
    o = pl.empty((*row, problem.dim), NUMPY["bf16"], device=place.device)
    lse = pl.empty(row, np.float32, device=place.device)
    share = None
    if partial:
        share = pl.empty((batch, heads_q, cut, problem.dim + 2), np.float32, device=place.device)
    made: list[Step] = []
    for n, into in enumerate(zip(parts(o), parts(lse), strict=True)):
        made += step(built, prepared, n, given, into, share, cut)
    recording = Ours(made, o, lse, "bf16", place.blocks)
    recording.also += [share] if share is not None else []
    return recording


def step(
    built: Any, prepared: Prepared, n: int, given: dict[str, Any], into: Sequence[Part], share: Any, cut: int
) -> list[Step]:
    """The launches of step n: the kernel, and with partial results the one that merges them."""
    problem = prepared.problem
    batch, (heads_q, heads_kv) = problem.batch, problem.heads
    key, value = prepared.caches[n % len(prepared.caches)]
    results = dict(zip(("o", "lse"), into, strict=True))
    more = (
        {"partial": share}
        if share is not None
        else results | ({"splits": 1} if built.spec.name == "decode_gqa" else {})
    )
    shape = built.launch_shape(batch, heads_q, heads_kv, cut)
    made: list[Step] = [(built, *shape, built.arguments(key=key, value=value, **given, **more))]
    if share is not None:
        arch = prepared.place.arch
        reduce = kernels.get("decode_reduce", "decode").build(head_dim=problem.dim, dtype="bf16", arch=arch)
        made.append(
            (reduce, *reduce.launch_shape(batch, heads_q, heads_kv), reduce.arguments(partial=share, **results))
        )
    return made
