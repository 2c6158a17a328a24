"""How fast traces are recorded: `python -m benchmarks.tracing`.

Each kernel runs at S = 64, D = 64 with every warp of its first block recorded (`trace=pl.Trace()`, as the debugger
does): by compiled code, as is usual, and by the stepping engine. Counted is the whole launch, pages of the trace
compressed and written. Both run in turns; given are steps (warp-instructions) a second of the quickest of five runs,
and how many times faster compiled code is. `--write` keeps the table in `results/tracing.md`.
"""

from __future__ import annotations

import argparse
import platform
import time
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np

import ptxlab as pl
from benchmarks.sweeping import processor
from ptxlab import kernels
from ptxlab.attention.prefill import attention

RESULTS = Path(__file__).parent / "results/tracing.md"
KERNELS = ("scalar", "tiled", "wmma", "mma", "pipelined", "hopper")
RUNS = 5


def seconds(kernel: Any, arrays: list[np.ndarray], device: str) -> tuple[float, int]:
    """The time of one recorded launch, and its steps."""
    began = time.perf_counter()
    trace = attention(*arrays, kernel=kernel, device=device, trace=pl.Trace()).run.trace
    assert trace is not None
    return time.perf_counter() - began, trace.steps


def row(name: str, length: int) -> str:
    """The figures of one kernel: a line of the table."""
    kernel = kernels.get(name).build(head_dim=64)
    number = np.float32 if name in ("scalar", "tiled") else np.float16
    rng = np.random.default_rng(0)
    arrays = [rng.standard_normal((1, 1, length, 64)).astype(number) for _ in range(3)]
    seconds(kernel, arrays, "cpu")  # builds it
    both = [(seconds(kernel, arrays, "cpu"), seconds(kernel, arrays, "step")) for _ in range(RUNS)]
    compiled, stepped = (min(pair[k][0] for pair in both) for k in (0, 1))
    steps = both[0][0][1]
    rates = f"{steps / compiled:,.0f} | {both[0][1][1] / stepped:,.0f} | {stepped / compiled:.1f}"
    return f"| `{name}` | {steps:,} | {rates} |"


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--length", type=int, default=64, help="queries and keys (default: 64)")
    parser.add_argument("--write", action="store_true", help=f"keep the table in {RESULTS.name}")
    given = parser.parse_args()
    lines = ["| kernel | steps | compiled, steps a second | `step`, steps a second | ratio |", "|---|--:|--:|--:|--:|"]
    lines += [row(name, given.length) for name in KERNELS]
    where = f"{processor()}, Python {platform.python_version()}, {date.today()}"
    text = f"Traces recorded at S = {given.length}, D = 64 ({where}):\n\n" + "\n".join(lines) + "\n"
    print(text)
    if given.write:
        RESULTS.write_text(f"# Recording traces\n\n`python -m benchmarks.tracing --write`\n\n{text}")


if __name__ == "__main__":
    main()
