"""How long kernels take to their first result with nothing cached: `python -m benchmarks.building [NAME ...]`.

Every kernel of the library (`rung-head_dim-dtype`) at 64 queries and keys, and every kernel of the yardstick
(`benchmarks/kernels`; the CUDA C++ compiler's time is left out). Milliseconds of processor time, those of the quickest
of some runs:

    PTX     the builder writes the kernel (library), or CUDA C++ was compiled before (yardstick)
    parse   text to instructions       lower   instructions to a program
    IR      the program to LLVM IR     LLVM    LLVM IR to machine code
    rules   rules to machine code: on a machine where another kernel has run, most are cached
    load    machine code into the process
    run     all else: the launch, in code that was built quickly
    all     their sum; / C: beside `gcc -O2` on 40 functions of C, which takes turns with the kernels
    wall    seconds of wall time, the least: threads generate code of the program while rules are translated and built

`--write` puts such a table into results/building.md.
"""

from __future__ import annotations

import os

os.environ["PTXLAB_CACHE"] = "off"  # before ptxlab looks for it

import argparse
import collections
import functools
import platform
import resource
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

import ptxlab as pl
from benchmarks.kernels.__main__ import KERNELS, cpu_name
from benchmarks.kernels.yardstick import OnMachine
from ptxlab import emulate, kernels, text
from ptxlab.emulate.jit.affine.block_rows import Rows
from ptxlab.emulate.jit.building import build, module_text, rule_objects
from ptxlab.emulate.jit.native import code, compile
from ptxlab.emulate.jit.translation import translator
from ptxlab.emulate.program import lowering_cache
from ptxlab.kernels import rung
from ptxlab.launch import plan

RESULTS = Path(__file__).parent / "results/building.md"
STAGES = ("PTX", "parse", "lower", "IR", "LLVM", "rules", "load", "run")
C_FUNCTION = """
float f{0}(float *a, const float *b, int n, int w) {{
  float s = {0}.0f;
  for (int i = 0; i < n; ++i) {{
    if (b[i] > s) s = s * 0.5f + b[i]; else a[i] = s;
    for (int j = i; j < n; j += w) s += a[j] * b[i];
  }}
  return s;
}}"""


class Stages:
    """The clock: `wrap` makes a function note the processor time of its thread, less that of what it calls."""

    def __init__(self) -> None:
        self.spent: collections.Counter[str] = collections.Counter()
        self._thread = threading.local()

    def wrap(self, stage: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """The function, timed."""

        @functools.wraps(function)
        def timed(*args: Any, **options: Any) -> Any:
            begun, around = time.thread_time(), getattr(self._thread, "inner", 0.0)
            self._thread.inner = 0.0
            try:
                return function(*args, **options)
            finally:
                whole = time.thread_time() - begun
                self.spent[stage] += whole - self._thread.inner
                self._thread.inner = around + whole

        return timed


CLOCK = Stages()


def watch() -> None:
    """Has the stages timed, in the thread that each runs in."""
    for name in kernels.names():
        one = kernels.get(name)
        object.__setattr__(one, "make", CLOCK.wrap("PTX", one.make))
    text.parse = CLOCK.wrap("parse", text.parse)
    lowering_cache._lowered = CLOCK.wrap("lower", lowering_cache._lowered)
    module_text.module_text = CLOCK.wrap("IR", module_text.module_text)
    translator.module_of = CLOCK.wrap("rules", translator.module_of)
    compile.build = CLOCK.wrap("LLVM", compile.build)
    for room, called, stage in ((rule_objects, "build", "rules"), (code, "load", "load")):
        setattr(room, called, CLOCK.wrap(stage, getattr(room, called)))


def forget() -> None:
    """Drops what this process has built."""
    rung.build_once.cache_clear()
    build._recent.clear()
    rule_objects._built.clear()
    lowering_cache._recent.clear()
    plan._plans.clear()
    plan._parsed.cache_clear()


def prefill(name: str, dim: int, dtype: str) -> Callable[[], Any]:
    """The first result of a prefill kernel."""
    rng = np.random.default_rng(0)
    q, k, v = (rng.standard_normal((1, 1, 64, dim)).astype(kernels.DTYPES[dtype]) for _ in range(3))
    return lambda: pl.attention(q, k, v, kernel=name, device="cpu")


def decoding(name: str, dim: int, dtype: str) -> Callable[[], Any]:
    """The first result of a decode kernel; `decode_reduce` is part of that of those that split."""
    rng = np.random.default_rng(0)
    q = rng.standard_normal((1, 4, dim)).astype(kernels.DTYPES[dtype])
    shape = (4, 16, 2, dim) if name == "decode_paged" else (1, 2, 64, dim)
    k, v = (rng.standard_normal(shape).astype(kernels.DTYPES[dtype]) for _ in range(2))
    table = np.arange(4, dtype=np.int32)[None] if name == "decode_paged" else None
    splits = 2 if name in ("decode_split", "decode_gqa") else None
    return lambda: pl.decode(q, k, v, [64], table, kernel=name, splits=splits, device="cpu")


def library() -> dict[str, Callable[[], Any]]:
    """All that the library has, as far as a rung takes the type."""
    found = {}
    for name in kernels.names():
        spec = kernels.get(name)
        make = prefill if spec.phase == "prefill" else decoding
        for dim in (64, 128):
            for dtype in ("f32", "f16"):
                parameter = spec.parameters["dtype"]
                if name != "decode_reduce" and dtype in parameter.choices:
                    found[f"{name}-{dim}-{dtype}"] = make(name, dim, dtype)
    return found


def yardstick(kernel: Any) -> Callable[[], Any]:
    """The first result of a kernel of the yardstick."""
    machine = functools.cache(lambda: OnMachine(kernel, kernel.arguments(np.random.default_rng(1))))

    def first() -> None:
        on = machine()
        on.program = emulate.lower(text.parse("\n".join(on.program.lines)))
        launch = on._launch(1, {})
        built = build.prepare(on.program, None, rows=Rows.of(launch.block, launch.grid))[0]
        on.reset()
        from ptxlab.emulate.jit.running.run import Run

        Run(on.program, built, launch, on.memory).wait()

    machine()
    return first


def of_c(folder: Path) -> float:
    """Seconds of processor time that the C compiler takes."""
    source = folder / "some.c"
    if not source.exists():
        source.write_text("\n".join(C_FUNCTION.format(n) for n in range(40)))
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(["gcc", "-O2", "-c", "-o", folder / "some.o", source], check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def measured(first: Callable[[], Any], runs: int) -> dict[str, float]:
    """Milliseconds by stage, of the quickest run."""
    found = []
    for _ in range(runs):
        forget()
        CLOCK.spent.clear()
        cpu, wall = time.process_time(), time.perf_counter()
        first()
        cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
        row = {stage: 1e3 * CLOCK.spent[stage] for stage in STAGES}
        row |= {"run": 1e3 * cpu - sum(row.values()), "all": 1e3 * cpu, "wall": wall}
        found.append(row)
    return min(found, key=lambda row: row["all"]) | {"wall": min(row["wall"] for row in found)}


HEAD = f"{'kernel':24}" + "".join(f"{stage:>7}" for stage in (*STAGES, "all", "/ C", "wall"))


def line(name: str, row: dict[str, float], c: float) -> str:
    """A line of the table."""
    figures = "".join(f"{row[stage]:7.0f}" for stage in (*STAGES, "all"))
    return f"{name:24}{figures}{row['all'] / c / 1e3:7.2f}{row['wall']:7.2f}"


def main() -> None:
    """Runs what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help="kernels to build, or the beginnings of their names")
    parser.add_argument("--runs", type=int, default=5, help="builds of each kernel, of which the quickest counts")
    parser.add_argument("--write", action="store_true", help=f"keep the table in {RESULTS.name}")
    options = parser.parse_args()
    chosen = {n: f for n, f in library().items() if not options.names or n.startswith(tuple(options.names))}
    for kernel in KERNELS:
        if not options.names or kernel.name in options.names:
            chosen[kernel.name] = yardstick(kernel)
    watch()
    rows, c = {}, float("inf")
    with tempfile.TemporaryDirectory() as folder:
        of_c(Path(folder))
        prefill("scalar", 8, "f32")()  # imports
        print(HEAD, flush=True)
        for name, first in chosen.items():
            c = min(c, of_c(Path(folder)))
            rows[name] = measured(first, options.runs)
            print(line(name, rows[name], c), flush=True)
    lines = [HEAD, *(line(name, row, c) for name, row in rows.items()), ""]
    total = sum(row["all"] for row in rows.values())
    late = [name for name, row in rows.items() if row["wall"] > 0.5]
    lines.append(f"{len(rows)} kernels, {total / 1e3:.1f} s, {total / 1e3 / c:.1f} x C; C: {c * 1e3:.0f} ms")
    lines.append(f"more than 0.5 s of wall time: {', '.join(late) or 'none'}")
    print("\n".join(lines[-2:]))
    if options.write:
        where = f"{cpu_name()}, {platform.system()}, Python {platform.python_version()}, {datetime.now(UTC):%Y-%m-%d}"
        said = (__doc__ or "").split("\n\n", 1)[1].rsplit("\n\n", 1)[0]
        RESULTS.write_text(
            f"# The first result, by stage\n\n`python -m benchmarks.building --write`; {where}.\n\n"
            f"{said}\n\n```\n" + "\n".join(lines) + "\n```\n"
        )


if __name__ == "__main__":
    main()
