"""Exhibits of the softmax: one thread is one query row, and K and V are read from global memory.

One kernel, and what is written wrong in it most often: the rescale, the last tile, the diagonal, an index.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from ptxlab.builder import Builder, Kernel, Ptr, f32, f64, kernel, u32
from ptxlab.course.gallery import finders
from ptxlab.course.gallery.cases import Case, Trial
from ptxlab.course.gallery.exhibit import Exhibit

LOG2E = math.log2(math.e)
BLOCK, TILE = 32, 16
Real = TypeVar("Real", f32, f64)


def rows(bug: str, case: Case, *, probes: bool = False) -> Kernel:
    """Attention of one head, one thread per row, with the named bug in it; "" for none."""
    D, causal = case.dim, case.causal
    real: type[Any] = f64 if case.dtype == "f64" else f32
    kept = min(D, 128) if bug == "128 columns" else D

    @kernel(probes=probes, types={"Real": real})
    def attention(
        k: Builder, q: Ptr[Real], key: Ptr[Real], value: Ptr[Real], o: Ptr[Real], n: u32, keys: u32, scale: Real
    ) -> None:
        row = k.thread_index()
        k.return_if(row >= n)
        o_row = o + row * D
        scale_log2e = scale * LOG2E
        query = k.load(q + row * D, D)
        acc = k.vars(real, kept, 0.0)
        row_max = k.var(real, -math.inf)
        row_sum = k.var(real, 0.0)

        if bug == "whole tiles":
            tiles = keys // TILE
        else:
            tiles = (keys + (TILE - 1)) // TILE
        if causal:
            tiles = row // TILE + 1

        with k.loop(tiles) as tile:
            first = tile * TILE
            count = k.min(keys - first, TILE)
            if causal and bug != "diagonal":
                count = k.min(row + 1 - first, count)
            with k.loop(count) as i:
                j = first + i
                offset = j * D
                key_row, value_row = key + offset, value + offset
                score = k.var(real, 0.0)
                for d in range(D):
                    score.set(k.fma(query[d], key_row[d], score))
                score *= scale_log2e

                new_max = k.max(row_max, score)
                if bug == "alias":
                    row_max.set(new_max)
                rescale = k.exp2(row_max - new_max)
                weight = k.exp2(score - new_max)
                row_sum.set(k.fma(row_sum, rescale, weight))
                for d in range(kept):
                    if bug == "global":
                        o_row[d] = k.fma(weight, value_row[d], o_row[d] * rescale)
                        continue
                    if bug != "no rescale":
                        acc[d] *= rescale
                    column = D - 1 if bug == "column" else d
                    acc[d].set(k.fma(weight, value_row[column], acc[d]))
                if bug != "alias":
                    row_max.set(new_max)
                if probes:
                    k.probe(row, j, keys, row_max, row_sum, rescale)

        if bug == "empty":
            share = k.rcp(row_sum)
        else:
            share = k.rcp(k.select(row_sum > 0.0, row_sum, 1.0))
        for d in range(kept):
            o_row[d] = (o_row[d] if bug == "global" else acc[d]) * share

    return attention()


def attend(built: Any, **options: Any) -> finders.Attend:
    """Runs such a kernel on the q, k and v of a head."""

    def run(q: finders.Array, k: finders.Array, v: finders.Array) -> finders.Array:
        o = np.zeros_like(q)
        launch_rows(built, q, k, v, o, **options)
        return o

    return run


def launch_rows(
    built: Any, q: finders.Array, k: finders.Array, v: finders.Array, o: finders.Array, *more: Any, **options: Any
) -> Any:
    """Launches such a kernel, on a machine that can tell all that the gallery asks for."""
    n, dim = q.shape
    options = {"device": "step" if k.size * n < 1 << 13 else "auto", "budget": 1 << 24} | options
    return finders.launch(
        built, -(-n // BLOCK), BLOCK, q, k, v, o, n, len(k), q.dtype.type(dim**-0.5), *more, **options
    )


def _build(bug: str, probes: bool = False) -> Callable[[bool, Case], Kernel]:
    return lambda fixed, case: rows("" if fixed else bug, case, probes=probes)


def _steps(built: Any, case: Case) -> Trial:
    return finders.by_step(lambda *args, **options: launch_rows(built, *args, **options), built, case, BLOCK)


def _empty(built: Any, case: Case) -> Trial:
    return finders.first_nan(lambda *args, **options: launch_rows(built, *args, **options), built, case, BLOCK)


def _single_literal(fixed: bool, case: Case) -> str:
    """The kernel with log2(e) written as in an f32 kernel: 24 bits of it."""
    ptx = rows("", case).ptx
    double, single = np.float64(LOG2E).view(np.uint64), np.float32(LOG2E).view(np.uint32)
    return ptx if fixed else ptx.replace(f"0d{double:016X}", f"0f{single:08X}")


def _traffic(built: Any, case: Case) -> Trial:
    """Stores to global memory that run once per key."""
    q, k, v = finders.inputs(case)
    o = np.zeros_like(q)
    run = launch_rows(built, q, k, v, o, counters=True, device="auto")
    ok, result = finders.judged(o, finders.exact(q, k, v), case.tolerance)
    lines = {line: c for line, c in run.counters.by_line.items() if c.opcode.startswith("st.global")}
    warps = -(-case.rows // 32)
    often = {line: c for line, c in lines.items() if c.warps > warps}
    sectors = run.counters["memory_l2_theoretical_sectors_global"]
    result += f"; {sectors / case.keys:,.0f} sectors per key"
    if not often:
        return Trial(ok, result)
    line, worst = next(iter(often.items()))
    source = " ".join(built.ptx.splitlines()[line - 1].split("//")[0].split())
    found = (
        f"counter: PTX line {line}: {source} runs {worst.warps // warps} times per warp and moves {worst.sectors:,} "
        f"sectors, {worst.sectors / case.keys:g} per key; {len(often)} such lines"
    )
    return Trial(False, result, found, line)


SMALL, MEDIUM, LARGE = (
    Case(f"logits with sigma {sigma:g}", rows=4, keys=64, sigma=sigma, tolerance=2e-2) for sigma in (0.1, 2.0, 4.0)
)

EXHIBITS = (
    Exhibit(
        3, "The tail of the keys is dropped", "error by key",
        "The number of tiles is the number of keys divided by the tile, and an integer division rounds down. Every "
        "length that a quick test tries is a multiple of the tile; the keys after the last whole tile are never read. "
        "With fewer keys than one tile the loop does not run at all, and the output is zero.",
        _build("whole tiles"), lambda built, case: finders.by_key(attend(built), case),
        (Case("S = 20, tile 16", rows=4, keys=20, dim=10), Case("S = 5, tile 16", rows=4, keys=5, dim=10)),
        (Case("S = 32, a multiple of the tile", rows=4, dim=16),),
    ),
    Exhibit(
        4, "The diagonal tile is not masked", "error by key",
        "A causal kernel skips the tiles that lie wholly in a row's future, and that is most of the work. The tile on "
        "the diagonal is partly future, though, and needs a test for every key. Without it the rows see up to a tile "
        "ahead, and only the last row of a tile is right.",
        _build("diagonal"), lambda built, case: finders.by_key(attend(built), case),
        (Case("causal", dim=16, causal=True),), (Case("not causal", dim=16),),
    ),
    Exhibit(
        5, "The old maximum is the new one", "state plot",
        "The running maximum is overwritten before the rescale is computed from it, so the rescale is exp(m' - m') = "
        "1, always. With small logits a factor of about 1 is about right, and a lenient test is content. With logits "
        "as real models have them the sums under the old maximum are far too large.",
        _build("alias", probes=True), _steps, (MEDIUM, LARGE), (SMALL,),
    ),
    Exhibit(
        6, "The output is not rescaled", "state plot",
        "When the maximum grows, everything that was summed under the old one shrinks: the sum, and the output row as "
        "well. Here only the sum does. The log-sum-exp is right to the last digit, which is all that some tests look "
        "at.",
        _build("no rescale", probes=True), _steps, (MEDIUM, LARGE), (SMALL,),
    ),
    Exhibit(
        8, "V is read with K's last offset", "error by column",
        "The address of the last element of K's row is kept and used for V, so every column of the output is the last "
        "column of V. All weights are right, and so is one column in D.",
        _build("column"), lambda built, case: finders.by_column(attend(built), case),
        (Case("D = 8", dim=8),), (Case("D = 1", dim=1),),
    ),
    Exhibit(
        15, "An empty sequence divides by zero", "error plot",
        "A sequence without keys has the sum 0. Its reciprocal is infinite, and the output is 0 * inf = NaN. In a "
        "batch of decodes there is always a slot that is empty, and the NaN spreads through the next layer.",
        _build("empty"), _empty, (Case("n = 0", keys=0),), (Case("n = 1", keys=1),),
    ),
    Exhibit(
        19, "The output row lives in global memory", "counter",
        "The output row is read, rescaled and written back for every key, instead of staying in registers to the end. "
        "The result is right, so no test fails; the kernel moves the output through memory once per key.",
        _build("global"), _traffic, (Case("any"),),
    ),
    Exhibit(
        22, "A literal of 24 bits in an f64 kernel", "ULP plot",
        "log2(e) was copied from the f32 kernel as 0f3FB8AA3B. The f64 multiplication takes it without a word: an f32 "
        "literal is a number like any other. Half of the digits of every score are lost, and a test with a tolerance "
        "of 1e-6 sees nothing.",
        _single_literal, lambda built, case: finders.by_ulp(attend(built), case),
        (Case("f64", dtype="f64", tolerance=1e-12),), (Case("f32"),),
    ),
    Exhibit(
        24, "Columns after 128 are cut off", "error by column",
        "The kernel was written for head dimensions of up to 128 and keeps that many columns of the output, whatever "
        "it is asked for. Nothing refuses 256; the columns from 128 on stay what they were. A kernel must refuse what "
        "it cannot do.",
        _build("128 columns"), lambda built, case: finders.by_column(attend(built, device="step"), case),
        (Case("D = 256", dim=256, keys=4, rows=4),), (Case("D = 128", dim=128, keys=4, rows=4),),
    ),
)  # fmt: skip
