"""What watching costs on the CPU machine, as ratios to a plain run: `python benchmarks/checks.py [--json FILE]`.

Three kernels: attention with one thread a row, attention with K and V in shared memory (one head, N = 1024, D = 64),
and nvcc's tiled matrix multiplication. One worker, the best of several runs, builds apart.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from emulator import Prepared, attention, best, matmul

from ptxlab.emulate.jit import Run
from ptxlab.emulate.jit.build import prepare
from ptxlab.emulate.jit.instruments import instruments_of
from ptxlab.emulate.report import Launch
from ptxlab.emulate.trace import Trace


def seconds(prepared: Prepared, *, trace: Trace | None = None, **options: object) -> float:
    """CPU time of the best run with these options, without the preparations, and without the packing of a trace
    afterwards: while the kernel runs its steps are only written down."""
    launch = Launch(*prepared.size, prepared.params, shared=prepared.shared, workers=1, **options)  # type: ignore[arg-type]

    def once() -> float:
        this = launch
        if trace is not None:
            this = replace(launch, trace=trace.recorder(prepared.program, launch))
        made = Run(prepared.program, built, this, prepared.memory)
        begun = time.process_time()
        made.wait()
        return time.process_time() - begun

    built = prepare(prepared.program, None, instruments_of(launch))[0]
    once()
    built.improve()
    return best(once, 15)


KERNELS: dict[str, Callable[[], Prepared]] = {
    "scalar attention": lambda: attention("scalar"),
    "tiled attention": lambda: attention("tiled"),
    "nvcc tiled matmul": lambda: matmul("matmul_tiled", 16),
}
WATCHED: dict[str, tuple[dict[str, Any], str]] = {
    "counters": ({"counters": True}, "4 asked"),
    "initcheck": ({"checks": ("memcheck", "initcheck")}, "3 asked"),
    "racecheck": ({"checks": ("memcheck", "racecheck")}, "8 asked"),
    "synccheck": ({"checks": ("memcheck", "synccheck")}, ""),
    "all four checks": ({"checks": ("memcheck", "initcheck", "racecheck", "synccheck")}, "12 asked"),
    "trace of one warp": ({"trace": Trace(blocks=0, warps=0)}, "3 asked"),
}
"""What is measured: options of a launch, and the ratio that is asked for."""


def main() -> None:
    """Prints a table; `--json` writes the figures to a file."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path, metavar="FILE")
    options = parser.parse_args()
    rows = {}
    for name, make in KERNELS.items():
        prepared = make()
        plain = seconds(prepared)
        print(f"{name:<28}{'plain':<24}{plain * 1e3:>9.2f} ms", flush=True)
        for what, (given, goal) in WATCHED.items():
            ratio = seconds(prepared, **given) / plain
            rows[f"{name}, {what}"] = ratio
            print(f"{name:<28}{what:<24}{ratio:>9.2f} x plain   {goal}", flush=True)
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
