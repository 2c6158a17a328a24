"""FlashAttention-2's forward pass in Triton, as Triton's tutorial on fused attention teaches it; our own text.

A program takes BM query rows of a head and goes through the keys BN at a time with the online softmax, in powers of
two. With a causal mask it does so in two stages: first the tiles in front of the diagonal, which need no mask, then
those on it. The sequence is a multiple of BM, and BM of BN, so that no access needs a bound.

Triton compiles it (`pl.triton`, no GPU needed); what comes out is assembled, launched and recorded as ptxlab's own
kernels are. Several tile sizes are compiled, and the quickest is the one that counts.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import triton
import triton.language as tl

import ptxlab as pl
from benchmarks.gpu.contest import SETS, Inputs, Place, Problem, outputs
from benchmarks.gpu.memory import parts
from benchmarks.gpu.timing import Ours
from ptxlab import reference
from ptxlab.launch.replay import Step

ELEMENT = {"f16": "*fp16:16", "bf16": "*bf16:16"}


@triton.jit
def through_keys(
    acc,
    row_max,
    row_sum,
    query,
    key_at,
    value_at,
    rows,
    first,
    last,
    factor,
    D: tl.constexpr,
    BN: tl.constexpr,
    MASKED: tl.constexpr,
):
    """The online softmax over keys first to last. `factor`: the scale times log2(e)."""
    columns = tl.arange(0, BN)
    tile = columns[:, None] * D + tl.arange(0, D)[None, :]
    for start in range(first, last, BN):
        start = tl.multiple_of(start, BN)
        key = tl.load(key_at + start * D + tile)
        score = tl.dot(query, tl.trans(key))
        if MASKED:
            score = tl.where(rows[:, None] >= start + columns[None, :], score, -float("inf"))
        new_max = tl.maximum(row_max, tl.max(score, axis=1) * factor)
        p = tl.exp2(score * factor - new_max[:, None])
        rescale = tl.exp2(row_max - new_max)
        row_sum = row_sum * rescale + tl.sum(p, axis=1)
        value = tl.load(value_at + start * D + tile)
        acc = tl.dot(p.to(value.dtype), value, acc * rescale[:, None])
        row_max = new_max
    return acc, row_max, row_sum


@triton.jit
def flash_forward(
    q, k, v, o, lse, seq, scale, D: tl.constexpr, CAUSAL: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr
):
    """Rows program_id(0) * BM and on of head program_id(1), of [B * H, seq, D]."""
    first_row = tl.program_id(0) * BM
    head = tl.program_id(1)
    base = head.to(tl.int64) * seq * D
    rows = first_row + tl.arange(0, BM)
    tile = rows[:, None] * D + tl.arange(0, D)[None, :]
    query = tl.load(q + base + tile)
    factor = scale * 1.4426950408889634
    row_max = tl.full((BM,), -float("inf"), tl.float32)
    row_sum = tl.zeros((BM,), tl.float32)
    acc = tl.zeros((BM, D), tl.float32)
    unmasked = first_row if CAUSAL else seq
    acc, row_max, row_sum = through_keys(
        acc, row_max, row_sum, query, k + base, v + base, rows, 0, unmasked, factor, D, BN, False
    )
    if CAUSAL:
        acc, row_max, row_sum = through_keys(
            acc, row_max, row_sum, query, k + base, v + base, rows, first_row, first_row + BM, factor, D, BN, True
        )
    tl.store(lse + head * seq + rows, (row_max + tl.log2(row_sum)) * 0.6931471805599453)
    tl.store(o + base + tile, (acc / row_sum[:, None]).to(o.dtype.element_ty))


@dataclass(frozen=True)
class Tiles:
    """What a build may choose: query rows and keys of a tile, warps of a block, stages of the loads of K and V."""

    rows: int
    keys: int
    warps: int
    stages: int

    def __str__(self) -> str:
        return f"{self.rows} x {self.keys}, {self.warps} warps, {self.stages} stages"


TILES = {
    64: (Tiles(128, 64, 4, 3), Tiles(128, 128, 8, 3), Tiles(128, 64, 8, 4)),
    128: (Tiles(128, 64, 8, 3), Tiles(128, 128, 8, 3), Tiles(128, 128, 8, 2)),
    256: (Tiles(128, 64, 8, 2), Tiles(64, 64, 4, 2)),
}
"""By head_dim, the sizes that are tried; those which need more memory than the GPU has are left out."""


def tiles_for(dim: int, seq: int) -> list[Tiles]:
    """The sizes that are tried for a problem: those that divide its sequence."""
    return [tiles for tiles in TILES[dim] if seq % tiles.rows == 0]


@functools.cache
def compiled(dim: int, causal: bool, dtype: str, arch: str, tiles: Tiles) -> Any:
    """Triton's PTX as a kernel for `pl.launch`; `CompileError` with Triton's words."""
    signature = dict.fromkeys(("q", "k", "v", "o"), ELEMENT[dtype]) | {
        "lse": "*fp32:16",
        "seq": "i32:16",
        "scale": "fp32",
    }
    constants = {"D": dim, "CAUSAL": causal, "BM": tiles.rows, "BN": tiles.keys}
    return pl.triton(flash_forward, signature, constants, num_warps=tiles.warps, num_stages=tiles.stages, arch=arch)


def step(kernel: Any, tiles: Tiles, q: Any, k: Any, v: Any, o: Any, lse: Any) -> Step:
    """A launch, as `ptxlab.launch.replay.record` takes it."""
    batch, heads, seq, dim = q.shape
    grid = (seq // tiles.rows, batch * heads)
    return kernel, grid, kernel.block, kernel.shared, (q, k, v, o, lse, seq, reference.default_scale(dim))


def prepare(tiles: Tiles, problem: Problem, inputs: Inputs, place: Place) -> Ours:
    """The recording of a problem with these tiles."""
    kernel = compiled(problem.dim, problem.causal, problem.dtype, place.arch, tiles)
    o, lse = outputs(problem, place)
    steps = [
        step(kernel, tiles, *inputs.on_device(problem.dtype, n % SETS, problem.shape), o=one_o, lse=one_lse)
        for n, (one_o, one_lse) in enumerate(zip(parts(o), parts(lse), strict=True))
    ]
    return Ours(steps, o, lse, problem.dtype, place.blocks)
