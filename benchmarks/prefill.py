"""Prefill kernels beside torch's attention on a GPU: `python benchmarks/prefill.py [--write] [--kernels NAME ...]`.

Each rung of the ladder, and `torch.nn.functional.scaled_dot_product_attention` with its flash back end (which is
FlashAttention-2) and its cuDNN back end forced in turn. Batch x sequence = 16384 tokens, heads x head_dim = 2048,
head_dim 64 and 128, sequences of 512 to 16384, full and causal (Sq = Sk, where torch aligns its mask as ptxlab does),
bf16 where a rung has it. TFLOP/s count 4 * Sq * Sk * D operations a head, half of them with the causal mask.

How: CUDA events around each launch, with the GPU kept busy until the launch is queued; the median of several launches,
each on the next of three sets of inputs, so that nothing is left in the cache; and in the same run, the error of rows
from the first and the last head against float64, within the tolerance of all tests.

To reach: `pipelined` at least 1.0x the flash back end. What is missing (GPU, torch, a back end) is said in one line
each. `--device cpu --quick` runs a small problem on the CPU machine: its times say nothing about a GPU.
"""

from __future__ import annotations

import argparse
import importlib.util
import itertools
import json
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from ml_dtypes import bfloat16

import ptxlab as pl
from ptxlab import kernels, reference

RESULTS = Path(__file__).parent / "results"
DTYPE = {"scalar": "f32", "tiled": "f32", "tiled2d": "f32", "wmma": "f16", "mma": "bf16", "swizzle": "bf16",
         "pipelined": "bf16"}  # fmt: skip
NUMPY = {"f32": np.dtype(np.float32), "f16": np.dtype(np.float16), "bf16": np.dtype(bfloat16)}
BACKENDS = {"torch flash": "FLASH_ATTENTION", "torch cuDNN": "CUDNN_ATTENTION"}
NO_TORCH = "the rungs are measured alone, with nothing to compare them with"
SETS = 3
"""Sets of inputs that take turns."""


@dataclass(frozen=True)
class Problem:
    """Self-attention over `seq` positions; all problems have as many tokens and as wide a model."""

    dim: int
    causal: bool
    seq: int
    tokens: int
    width: int

    @property
    def shape(self) -> tuple[int, int, int, int]:
        """[B, H, S, D] of q, k, v and o."""
        return self.tokens // self.seq, self.width // self.dim, self.seq, self.dim

    @property
    def operations(self) -> float:
        """Floating-point operations of both products; a causal mask leaves half of them."""
        return 4.0 * self.tokens * self.seq * self.width / (2 if self.causal else 1)


@dataclass(frozen=True)
class Row:
    """A line of the table. `flash`: how many times as fast as torch's flash back end; `before`: as the rung before."""

    kernel: str
    dtype: str
    dim: int
    causal: bool
    seq: int
    seconds: float
    tflops: float
    error: float
    tolerance: float
    ok: bool
    flash: float | None = None
    before: float | None = None


class Inputs:
    """q, k and v of every set, as flat device buffers in each type: the same numbers, exact in bf16."""

    def __init__(self, size: int, dtypes: set[str], device: str) -> None:
        draw = np.random.default_rng(0)
        self.host = [[draw.standard_normal(size, np.float32).astype(bfloat16) for _ in "qkv"] for _ in range(SETS)]
        self.on = {
            dtype: [[pl.to_device(x.astype(NUMPY[dtype]), device=device) for x in one] for one in self.host]
            for dtype in dtypes
        }

    def shaped(self, dtype: str, n: int, shape: tuple[int, ...]) -> list[pl.DeviceBuffer]:
        """q, k and v of set n, as arrays of this shape."""
        for buffer in self.on[dtype][n]:
            buffer.shape = shape
        return self.on[dtype][n]


def measured(launch: Callable[[int], float], seconds: float, times: int) -> float:
    """The median of launches 0, 1, 2, ..., after two that warm up: at most `times`, or what fits into `seconds`."""
    launch(0), launch(1)
    found: list[float] = []
    start = time.perf_counter()
    while len(found) < 3 or (len(found) < times and time.perf_counter() - start < seconds):
        found.append(launch(len(found)))
    return statistics.median(found)


def checked(problem: Problem, host: list[Any], o: Any, lse: Any, dtype: str, tile: int) -> reference.Error:
    """The worst error of some rows of the first and of the last head, against float64."""
    batch, heads, seq, _ = problem.shape
    q, k, v = (x.reshape(problem.shape) for x in host)
    found = []
    for b, h in {(0, 0), (batch - 1, heads - 1)}:
        for first in {0, max(0, seq - 64)}:
            last = min(first + 64, seq)
            part = (slice(b, b + 1), slice(h, h + 1), slice(first, last))
            keys = (part[0], part[1], slice(0, last if problem.causal else seq))
            given = (q[part], k[keys], v[keys])
            found.append(reference.measure(
                o[part], None if lse is None else lse[part], *(np.asarray(x, NUMPY[dtype]) for x in given),
                causal=problem.causal, tile=tile,
            ))  # fmt: skip
    return max(found, key=lambda e: (not e.ok, e.max / max(e.tolerance, 1e-30)))


def ours(name: str, problem: Problem, inputs: Inputs, device: str, busy: Callable[[], None], quick: bool) -> Row:
    """A rung of the ladder, with the tiles that `Config.auto` chooses for it."""
    dtype = DTYPE[name]
    arch = "sm_80" if device == "cpu" else _gpu().arch
    chosen = kernels.Config.auto(problem.dim, problem.seq, problem.seq, problem.causal, dtype, arch, kernel=name)
    built = chosen.build()
    batch, heads, seq, dim = problem.shape
    grid, block, shared = built.launch_shape(batch, heads, heads, seq, seq)
    o = pl.empty(problem.shape, NUMPY[dtype], device=device)
    lse = pl.empty(problem.shape[:3], np.float32, device=device)

    def launch(n: int) -> float:
        q, k, v = inputs.shaped(dtype, n % SETS, problem.shape)
        busy()
        args = built.arguments(q, k, v, o, lse, reference.default_scale(dim))
        return pl.launch(built, grid, block, *args, shared=shared, device=device).seconds

    seconds = measured(launch, 0.2 if quick else 2.0, 3 if quick else 30)
    launch(0)
    error = checked(problem, inputs.host[0], o.copy_to_host(), lse.copy_to_host(), dtype, built.tile_kv)
    o.free(), lse.free()
    return _row(name, dtype, problem, seconds, error)


def theirs(name: str, problem: Problem, inputs: Inputs, torch: Any, busy: Callable[[], None], quick: bool) -> Row:
    """torch's attention, with one back end forced. RuntimeError where torch has it not for this GPU."""
    from torch.nn.attention import SDPBackend, sdpa_kernel

    sets = [[torch.from_numpy(x.view(np.int16)).cuda().view(torch.bfloat16).view(problem.shape) for x in one]
            for one in inputs.host]  # fmt: skip
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))

    def launch(n: int) -> float:
        busy()
        start.record()
        result[0] = torch.nn.functional.scaled_dot_product_attention(*sets[n % SETS], is_causal=problem.causal)
        end.record()
        end.synchronize()
        return float(start.elapsed_time(end)) / 1e3

    result: list[Any] = [None]
    with sdpa_kernel(getattr(SDPBackend, BACKENDS[name])):
        seconds = measured(launch, 0.2 if quick else 2.0, 3 if quick else 30)
        launch(0)
    o = result[0].contiguous().view(torch.int16).cpu().numpy().view(bfloat16)
    return _row(name, "bf16", problem, seconds, checked(problem, inputs.host[0], o, None, "bf16", 64))


def run(problems: list[Problem], names: list[str], device: str, quick: bool) -> Iterator[Row | str]:
    """The rows one after the other, and between them what is missing."""
    torch, busy = (None, lambda: None) if device == "cpu" else find_torch()
    if torch is None:
        yield f"no torch with CUDA: {NO_TORCH}"
    inputs = Inputs(problems[0].tokens * problems[0].width, {DTYPE[name] for name in names}, device)
    absent: set[str] = set()
    for problem in problems:
        flash = before = None
        for name in BACKENDS if torch is not None else ():
            if name in absent:
                continue
            try:
                row = theirs(name, problem, inputs, torch, busy, quick)
            except RuntimeError as error:
                absent.add(name)
                yield f"no {name}: {str(error).splitlines()[0]}"
                continue
            if name == "torch flash":
                flash = row.seconds
            yield Row(**asdict(row) | {"flash": flash and flash / row.seconds})
        for name in names:
            row = ours(name, problem, inputs, device, busy, quick)
            ratios = {"flash": flash and flash / row.seconds, "before": before and before / row.seconds}
            yield Row(**asdict(row) | ratios)
            before = row.seconds


def _row(name: str, dtype: str, problem: Problem, seconds: float, error: reference.Error) -> Row:
    tflops = problem.operations / seconds / 1e12
    return Row(name, dtype, problem.dim, problem.causal, problem.seq, seconds, tflops, error.max, error.tolerance,
               error.ok)  # fmt: skip


def find_torch() -> tuple[Any, Callable[[], None]]:
    """torch if it is there and sees the GPU, and what keeps the GPU busy while a launch is prepared."""
    try:
        import torch
    except ImportError:
        return None, lambda: None
    if not torch.cuda.is_available():
        return None, lambda: None
    room = torch.empty(2**29, dtype=torch.uint8, device="cuda")  # clearing it takes some 0.1 ms, and clears the cache

    def busy() -> None:
        room.zero_()

    return torch, busy


def _gpu() -> Any:
    from ptxlab.gpu import device

    return device.describe()


HEAD = ("kernel", "type", "D", "causal", "S", "time", "TFLOP/s", "x flash", "x rung before", "max error", "result")


def cells(row: Row) -> list[str]:
    """A row of the table."""
    ratios = ("-" if x is None else f"{x:.2f}" for x in (row.flash, row.before))
    return [
        row.kernel, row.dtype, str(row.dim), "yes" if row.causal else "no", str(row.seq), f"{row.seconds * 1e3:.3f} ms",
        f"{row.tflops:.1f}", *ratios, f"{row.error:.1e}", "pass" if row.ok else "FAIL",
    ]  # fmt: skip


def summary(rows: list[Row]) -> list[str]:
    """Whether the goal is reached, head_dim by head_dim."""
    out = []
    for dim in sorted({row.dim for row in rows}):
        found = [row.flash for row in rows if row.kernel == "pipelined" and row.dim == dim and row.flash]
        if found:
            verdict = "reached" if min(found) >= 1 else "not reached"
            times = f"{min(found):.2f} to {max(found):.2f} times as fast as torch's flash back end"
            out.append(f"D = {dim}: pipelined is {times}; 1.00 is asked for: {verdict}")
    return out


def main() -> int:
    """Measures and prints; the exit status is 1 if a result is wrong."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="gpu", choices=("gpu", "cpu"))
    parser.add_argument("--quick", action="store_true", help="one short sequence, few launches")
    parser.add_argument("--kernels", nargs="+", default=list(DTYPE), choices=list(DTYPE), metavar="NAME")
    parser.add_argument("--write", action="store_true", help=f"into {RESULTS.name}/prefill.json and prefill.md")
    parser.add_argument("--json", type=Path, help="a file for the figures")
    options = parser.parse_args()
    if options.device == "gpu" and not pl.gpu.available():
        print("no NVIDIA GPU, or no driver for it: nothing is measured (--device cpu --quick shows that it all runs)")
        if importlib.util.find_spec("torch") is None:
            print(f"no torch: {NO_TORCH}")
        return 0
    tokens, width, seqs = 16384, 2048, (512, 1024, 2048, 4096, 8192, 16384)
    if options.quick:
        tokens, width, seqs = (128, 128, (64,)) if options.device == "cpu" else (16384, 2048, (2048,))
    problems = [Problem(d, c, s, tokens, width) for d, c, s in itertools.product((64, 128), (False, True), seqs)]
    where = "the CPU machine" if options.device == "cpu" else str(_gpu())
    print(where)
    lines = ["| " + " | ".join(HEAD) + " |", "|" + " --- |" * len(HEAD)]
    print(*lines, sep="\n")
    rows: list[Row] = []
    notes: list[str] = []
    for found in run(problems, options.kernels, options.device, options.quick):
        if isinstance(found, str):
            notes.append(found)
        else:
            rows.append(found)
            lines.append("| " + " | ".join(cells(found)) + " |")
            print(lines[-1], flush=True)
    notes += summary(rows)
    print(*notes, sep="\n")
    figures = json.dumps({"device": where, "notes": notes, "rows": [asdict(row) for row in rows]}, indent=1) + "\n"
    for path in [options.json] * bool(options.json) + [RESULTS / "prefill.json"] * options.write:
        path.write_text(figures, encoding="utf-8")
    if options.write:
        title = f"# Prefill kernels beside torch\n\nMade by `python benchmarks/prefill.py --write` on {where}.\n"
        text = "\n".join([title, *lines, "", *(f"- {note}" for note in notes)]) + "\n"
        (RESULTS / "prefill.md").write_text(text, encoding="utf-8")
    return 0 if all(row.ok for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
