"""The rungs of a student's own kernel: the idea of each, its problem, our kernel and what that costs, and its stars."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ptxlab import kernels, reference
from ptxlab.attention.paged import PagedCache
from ptxlab.course.scoreboard import start
from ptxlab.errors import LaunchError
from ptxlab.kernels import Built, DecodeBuilt
from ptxlab.launch.run import ALL_CHECKS, Run, launch
from ptxlab.text import parse

METRICS = ("warp-instructions", "sectors", "bank conflicts", "error")
"""The columns that have stars."""
NOTHING = {2: np.uint16(0x7E5A), 4: np.uint32(0x7FC05A5A)}
"""By bytes of an element, the NaN that o holds before a launch: no instruction computes it."""
Stars = tuple[int, int, int, int]
Array = np.ndarray[Any, Any]


class Costs(NamedTuple):
    """What a kernel costs, in the order of `METRICS`."""

    instructions: int
    sectors: int
    conflicts: int
    error: float


class Problem(NamedTuple):
    """given: arrays and numbers by the names that a kernel's parameters may have; want: o `[rows, D]`, in float64.
    heads: of a decode step, None for prefill; sequences: blocks along y."""

    given: dict[str, Any]
    want: Array
    heads: int | None = None
    sequences: int = 1


def _prefill(rows: int, keys: int, dtype: str, head_dim: int = 32) -> Problem:
    q, k, v = reference.random_inputs(1, 1, 1, rows, keys, head_dim, sigma=4.0, dtype=dtype, seed=7)
    given = {"q": q, "key": k, "value": v, "rows": rows, "keys": keys, "Sq": rows, "Sk": keys, "n": rows}
    more = {"B": 1, "Hq": 1, "Hkv": 1, "scale": head_dim**-0.5}
    return Problem(given | more, reference.attention(q, k, v).o[0, 0])


def _decode(heads: int, kv_heads: int, keys: int) -> Problem:
    q, k, v = reference.random_inputs(1, heads, kv_heads, 1, keys, 32, dtype="float16", seed=7)
    given = {"q": q, "key": k, "value": v, "keys": keys, "max_seq": keys, "width": keys, "splits": 1, "Hq": heads}
    given |= {"Hkv": kv_heads, "lengths": np.array([keys], np.int32), "length": np.array([keys], np.int32)}
    return Problem(given | {"scale": 32**-0.5}, reference.attention(q, k, v).o[0, :, 0], heads)


def _paged() -> Problem:
    random, lengths = np.random.default_rng(7), (133, 256, 61)
    cache = PagedCache(128, 4, 1, 32)
    kept = [random.standard_normal((2, 1, 1, length, 32)).astype(np.float32) for length in lengths]
    for k, v in kept:
        cache.append(cache.new(), k[0].transpose(1, 0, 2), v[0].transpose(1, 0, 2))
    q, table = random.standard_normal((len(lengths), 2, 32)).astype(np.float32), cache.block_table()
    given = {"q": q, "key": cache.k, "value": cache.v, "table": table, "lengths": cache.lengths(), "Hq": 2, "Hkv": 1}
    want = [reference.attention(x[None, :, None], k, v).o[0, :, 0] for x, (k, v) in zip(q, kept, strict=True)]
    return Problem(given | {"width": table.shape[1], "scale": 32**-0.5}, np.concatenate(want), 2, len(lengths))


PROBLEMS: dict[str, Callable[[], Problem]] = {
    "f32": functools.partial(_prefill, 70, 100, "float32"), "f16": functools.partial(_prefill, 70, 100, "float16"),
    "larger": functools.partial(_prefill, 200, 260, "float16"), "query": functools.partial(_decode, 2, 2, 256),
    "pages": _paged, "group": functools.partial(_decode, 8, 1, 256),
    "roles": functools.partial(_prefill, 256, 256, "float16", 64),
}  # fmt: skip


@dataclass(frozen=True)
class Rung:
    """idea: a sentence; about: the opcodes of one's kernel that it is about; library: our kernel, with `costs`;
    parts: the exercises whose answers are its parts; begin: the kernel to begin with."""

    name: str
    notebook: str
    idea: str
    about: tuple[str, ...]
    library: str
    costs: Costs
    parts: str
    problem: str
    begin: Any

    @property
    def tolerance(self) -> float:
        """The largest error that counts as right: rounding of f32, or of weights in 16 bits."""
        return 2e-5 if self.problem in ("f32", "pages") else 4e-3

    @functools.cached_property
    def given(self) -> Problem:
        """Its problem, made when it is first asked for."""
        return problem(self.problem)

    def built(self) -> Built | DecodeBuilt:
        """Our kernel of this rung."""
        dtype = "f16" if self.given.given["q"].dtype == np.float16 else "f32"
        more = {"cache": "paged", "page_size": 4} if self.problem == "pages" else {}
        found: Built | DecodeBuilt = kernels.get(self.library).build(
            head_dim=self.given.want.shape[-1], dtype=dtype, **more
        )
        return found

    def run(
        self, kernel: Any, block: Any, per_block: int, shared: int = 0, key: Any = None, value: Any = None, **how: Any
    ) -> tuple[Run, Array]:
        """Launches a kernel with all checks; the run, and o as it was left. A parameter gets what has its name.

        key, value: the same numbers in buffers of one's own. how: options of `launch`.
        """
        given, want = self.given.given, self.given.want
        names = [p.name for p in parse(text(kernel)).kernels[0].params]
        o = np.empty(want.shape, given["q"].dtype if "lse" in names else np.float32)  # ours round to the inputs' type
        o.view(f"u{o.itemsize}")[:] = NOTHING[o.itemsize]
        placed = {} if key is None else {"key": key, "value": value}
        values = given | placed | {"o": o.reshape(given["q"].shape), "lse": np.zeros(len(want), np.float32)}
        if missing := [name for name in names if name not in values]:
            raise LaunchError(f"nothing is called {missing[0]!r} on this rung; choose from {', '.join(values)}")
        arguments = (x.copy() if isinstance(x, np.ndarray) and name not in ("o", "lse") else x
                     for name, x in ((name, values[name]) for name in names))  # fmt: skip
        grid: Any = -(-(self.given.heads or len(want)) // per_block), self.given.sequences
        if isinstance(kernel, Built | DecodeBuilt):
            sizes = (given["Sq"], given["Sk"]) if isinstance(kernel, Built) else ()
            grid, block, shared = kernel.launch_shape(self.given.sequences, given["Hq"], given["Hkv"], *sizes)
        more: dict[str, Any] = {"checks": ALL_CHECKS, "counters": True, "shared": shared, "device": "cpu"}
        return launch(kernel, grid, block, *arguments, **more | how), o

    def steps(self, metric: int, instructions: int) -> list[float]:
        """What one, two and three stars of a metric need of a kernel with so many instructions."""
        ours = self.costs[metric]
        if metric == 3:
            return [self.tolerance, self.tolerance / 2, 1.1 * ours]
        free = (0.1, 0.01, 0.0) if metric == 2 else (0.0, 0.0, 0.0)
        return [max(times * ours, share * instructions) for times, share in zip((1.4, 1.1, 1.0), free, strict=True)]

    def stars(self, costs: Costs) -> Stars:
        """0 to 3 for each metric."""
        a, b, c, d = (sum(x <= at for at in self.steps(i, costs.instructions)) for i, x in enumerate(costs))
        return a, b, c, d


START = Costs(120661, 33280, 0, 1.7e-6)
"""What the kernel costs that rung 1 starts from."""
_TABLE = (
    ("rows", "01", "One pass over the keys, and the address of a key once.", ("mul.lo", "mad", "add.s64"), "scalar",
     Costs(53345, 23689, 0, 1.68e-6), "01-rescale and 01-thrift", "f32", start.by_rows),
    ("tiles", "02b", "The threads of a block load the keys together.", ("ld.global",), "tiled",
     Costs(72591, 5321, 0, 1.68e-6), "02-smooth and 02-copy", "f32", start.by_rows),
    ("pieces", "03", "A thread takes 4 rows by 4 keys, so it uses each number that it loads four times.",
     ("ld.shared",), "tiled2d", Costs(70960, 2196, 0, 1.87e-6), "03-share and 03-piece", "f32", start.by_rows),
    ("tensor cores", "04", "Inputs have 16 bits, and one instruction multiplies two matrices.", ("fma",), "wmma",
     Costs(10720, 1089, 2752, 9.44e-4), "04-deep and 04-rows", "f16", start.by_rows_of_halves),
    ("registers", "05", "The weights never leave the registers.", ("ld.shared", "st.shared", "wmma"), "mma",
     Costs(7480, 1089, 3456, 9.44e-4), "05-rowmax and 05-chain", "f16", start.by_rows_of_halves),
    ("banks", "06", "Two addresses change, and no two lanes need one bank.", ("ldmatrix", "st.shared"), "swizzle",
     Costs(7720, 1089, 0, 9.44e-4), "06-xor", "f16", start.by_rows_of_halves),
    ("copies", "07", "The next tile is copied while this one is used.", ("ld.global", "st.shared"), "pipelined",
     Costs(7228, 689, 0, 9.44e-4), "07-tail and 07-pipeline", "f16", start.by_rows_of_halves),
    ("one query", "08", "One query per head: the lanes of a warp share a key.", ("shfl",), "decode",
     Costs(16496, 2060, 0, 5.28e-5), "08-maximum and 08-coalesce", "query", start.by_heads),
    ("pages", "10", "A table says where each page of keys lies.", ("ld.global", "shfl"), "decode_paged",
     Costs(21704, 8526, 0, 6.33e-8), "10-offset and 10-lookup", "pages", start.by_pages),
    ("group", "12", "The query heads that share keys are the rows of one matrix.", ("ld.global", "shfl"), "decode_gqa",
     Costs(4352, 1068, 0, 8.1e-5), "12-head and 12-once", "group", start.by_heads),
    ("final", "14", "200 rows and 260 keys: the best that you have.", ("ld.global", "ld.shared"), "pipelined",
     Costs(27432, 2905, 0, 9.1e-4), "all of them", "larger", start.by_rows_of_halves),
    ("roles", "16", "One warp fetches tiles by TMA, and the others multiply while the next tile is on its way.",
     ("ld.global",), "hopper", Costs(28426, 6176, 0, 9.27e-4), "16-bytes and 16-ring", "roles",
     start.by_rows_of_halves(D=64)),
)  # fmt: skip
RUNGS = {row[0]: Rung(*row) for row in _TABLE}
"""Name -> rung, in the order of the notebooks; the first seven have one problem, `roles` has stars of its own."""


@functools.cache
def problem(name: str) -> Problem:
    """A problem, made once."""
    return PROBLEMS[name]()


def text(kernel: Any) -> str:
    """A kernel's PTX."""
    return kernel if isinstance(kernel, str) else str(kernel.ptx)
