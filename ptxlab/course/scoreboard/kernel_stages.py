"""The stages of a student's own kernel: what each is given, how it is launched, and which of ours stand beside it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ptxlab import kernels, reference
from ptxlab.attention.decode import decode
from ptxlab.attention.paged import PagedCache
from ptxlab.attention.prefill import attention
from ptxlab.course.scoreboard import start
from ptxlab.launch.buffers import Out
from ptxlab.launch.run import ALL_CHECKS, Run, launch
from ptxlab.static import inspect

COLUMNS = ("error", "warp-instructions", "sectors", "bank conflicts", "registers")


@dataclass(frozen=True)
class Stage:
    """name; says: what changes in it; parameters that a kernel has; ours; begin: the kernel that it starts from.

    run: launches a kernel of the student with (threads, rows per block) and gives the run, o and what o should be.
    beside: launches one of ours and gives (its first run, its built kernel, o, what o should be).
    """

    name: str
    notebook: str
    says: str
    parameters: str
    ours: tuple[str, ...]
    begin: Any
    run: Callable[[Any, int, int], tuple[Run, np.ndarray, np.ndarray]]
    beside: Callable[[str], tuple[Run, Any, np.ndarray, np.ndarray]]


def measured(run: Run, kernel: Any, got: np.ndarray, want: np.ndarray) -> dict[str, float]:
    """The columns of the board."""
    assert run.counters is not None
    seen = inspect(kernel, entry=run.kernel)
    return {
        "error": float(np.abs(got.astype(np.float64) - want).max()),
        "warp-instructions": run.counters.warp_instructions,
        "sectors": run.counters.memory_sectors,
        "bank conflicts": sum(line.conflicts for line in run.counters.by_line.values()),
        "registers": max(seen.pressure.values(), default=0),
    }


def _prefill(rows: int, keys: int, dim: int, dtype: str) -> tuple[Any, Any]:
    """How a kernel of the student and one of ours are run on the same inputs."""
    q, k, v = reference.random_inputs(1, 1, 1, rows, keys, dim, sigma=4.0, dtype=dtype, seed=7)
    want = reference.attention(q, k, v).o[0, 0]

    def run(kernel: Any, threads: int, per_block: int) -> tuple[Run, np.ndarray, np.ndarray]:
        o = np.empty((rows, dim), np.float32)
        ran = launch(
            kernel,
            -(-rows // per_block),
            threads,
            q[0, 0].copy(),
            k[0, 0].copy(),
            v[0, 0].copy(),
            Out(o),
            rows,
            keys,
            dim**-0.5,
            checks=ALL_CHECKS,
            counters=True,
            device="cpu",
        )
        return ran, o, want

    def beside(name: str) -> tuple[Run, Any, np.ndarray, np.ndarray]:
        takes = kernels.get(name).parameters["dtype"].choices
        given = (q, k, v) if dtype == "float32" or "f16" in takes else (x.astype(np.float32) for x in (q, k, v))
        out = attention(*given, kernel=name, counters=True, device="cpu")
        return out.run, out.kernel, out.o[0, 0], want

    return run, beside


def _paged(heads: int, dim: int, page_size: int) -> tuple[Any, Any]:
    random = np.random.default_rng(7)
    lengths = (37, 64, 5)
    cache = PagedCache(40, page_size, 1, dim)
    for length in lengths:
        cache.append(cache.new(), *(random.standard_normal((length, 1, dim)).astype(np.float32) for _ in range(2)))
    q = random.standard_normal((len(lengths), heads, dim)).astype(np.float32)
    table = cache.block_table()

    def beside(name: str) -> tuple[Run, Any, np.ndarray, np.ndarray]:
        out = decode(q, cache.k, cache.v, cache.lengths(), table, kernel=name, counters=True, device="cpu")
        return out.run, out.kernel, out.o, out.expected()

    want = beside("decode_paged")[3]

    def run(kernel: Any, threads: int, per_block: int) -> tuple[Run, np.ndarray, np.ndarray]:
        o = np.empty(q.shape, np.float32)
        ran = launch(
            kernel,
            (heads, len(lengths)),
            threads,
            q.copy(),
            cache.k,
            cache.v,
            table.copy(),
            cache.lengths(),
            Out(o),
            table.shape[1],
            dim**-0.5,
            checks=ALL_CHECKS,
            counters=True,
            device="cpu",
        )
        return ran, o, want

    return run, beside


_PREFILL = "q, key, value, o, rows: u32, keys: u32, scale: f32; q, key, value and o are [rows or keys, D], D = 32"
_PAGES = "q, key, value, table, lengths, o, width: u32, scale: f32; grid (heads, sequences), D = 32, pages of 4 keys"


def _stage(name: str, notebook: str, says: str, ours: tuple[str, ...], begin: Any, made: tuple[Any, Any]) -> Stage:
    return Stage(name, notebook, says, _PAGES if name == "pages" else _PREFILL, ours, begin, *made)


def _rows() -> Stage:
    return _stage("rows", "01", "one pass over the keys", ("scalar",), start.by_rows, _prefill(70, 100, 32, "float32"))


def _tiles() -> Stage:
    ours = ("scalar", "tiled", "tiled2d")
    return _stage("tiles", "02", "keys that the block shares", ours, start.by_rows, _prefill(70, 100, 32, "float32"))


def _tensor_cores() -> Stage:
    says, ours = "inputs of 16 bits, products on tensor cores", ("wmma", "mma", "swizzle")
    return _stage("tensor cores", "05", says, ours, start.by_rows_of_halves, _prefill(70, 100, 32, "float16"))


def _pages() -> Stage:
    return _stage("pages", "10", "decode from a paged cache", ("decode_paged",), start.by_pages, _paged(2, 32, 4))


def _final() -> Stage:
    ours = ("scalar", "tiled", "tiled2d", "wmma", "mma", "swizzle", "pipelined")
    says = "larger, beside every prefill kernel of the library"
    return _stage("final", "14", says, ours, start.by_rows_of_halves, _prefill(200, 260, 32, "float16"))


STAGES: dict[str, Callable[[], Stage]] = {
    "rows": _rows,
    "tiles": _tiles,
    "tensor cores": _tensor_cores,
    "pages": _pages,
    "final": _final,
}
"""Name -> the stage; inputs are made when it is asked for."""
