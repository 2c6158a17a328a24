"""Every kernel of the yardstick beside C: `python -m benchmarks.kernels [NAME ...] [--quick] [--write] [--cpu CPU]`.

One worker on one core that it stays on, memcheck on, CPU time of this process. C and the machine take turns, and the
lower quartile of each one's times counts, so that other programs on the machine change little. A result that differs
from C's stops the run. What counters and checks cost is the median over turns, each with the cache as a launch with
memcheck alone leaves it.
`--quick` leaves out two workers and the checks; `--write` keeps the table in results/kernels-CPU.md, where CPU is what
LLVM calls it. `--cpu haswell` has the machine and the C compiler make code for an older CPU, which runs on this one.
"""

from __future__ import annotations

import os

os.environ.setdefault("PTXLAB_CACHE", "off")  # before ptxlab looks for it: the first result counts with nothing cached

import argparse
import contextlib
import math
import platform
import resource
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from unittest import mock

import llvmlite.binding as llvm
import numpy as np

from benchmarks.kernels import (
    attention,
    choosing,
    control,
    grids,
    images,
    in_place,
    languages,
    normalising,
    reductions,
    rows,
    scans,
)
from benchmarks.kernels.yardstick import InC, Kernel, OnMachine, agree, compile_c
from ptxlab.emulate.jit.native import code as native

FAMILIES = (rows, attention, reductions, scans, grids, images, in_place, normalising, choosing, control, languages)
KERNELS = [kernel for family in FAMILIES for kernel in family.KERNELS]
RESULTS = Path(__file__).parents[1] / "results"
PAIRS, SECONDS, MOST = 9, 0.2, 60
"""Turns of C and the machine: at least so many, on until so much time is spent, at most so many."""
LONG, FEW = 20e-3, 5
"""Seconds that one worker takes for a long launch, about, and how often it is made."""
CHECKED: dict[str, dict[str, Any]] = {
    "counters": {"counters": True},
    "initcheck": {"checks": ("memcheck", "initcheck")},
    "racecheck": {"checks": ("memcheck", "racecheck")},
    "all": {"checks": ("memcheck", "initcheck", "racecheck", "synccheck")},
}
OLDER = {
    "haswell": "+sse3,+ssse3,+sse4.1,+sse4.2,+popcnt,+avx,+avx2,+bmi,+bmi2,+fma,+f16c,+lzcnt,+movbe,+cx16",
    "x86-64": "",
}
"""CPUs that `--cpu` may name, with what they have beyond the first of their kind."""
ASKED = {"counters": 4, "initcheck": 3, "racecheck": 8, "all": 12}


def quick_quarter(times: list[float]) -> float:
    """The time that a quarter are shorter than: the clock of CPU time now and then gives one that is far too short."""
    return sorted(times)[len(times) // 4]


def taken_in_turns(first: Callable[[], float], second: Callable[[], float]) -> tuple[float, float]:
    """The times of two functions that are called in turn."""
    first(), second()  # warm
    pairs: list[tuple[float, float]] = []
    while len(pairs) < PAIRS or (len(pairs) < MOST and sum(map(sum, pairs)) < SECONDS):
        pairs.append((first(), second()))
    a, b = (quick_quarter(list(times)) for times in zip(*pairs, strict=True))
    return a, b


def cost_in_turns(plain: Callable[[], float], watched: Callable[[], float]) -> float:
    """How many times the time of a plain launch a watched one takes: the median over turns, in which a plain launch
    comes before each of the two.

    Both then find in the cache what that one leaves. Some arrays are in the cache in one launch and not in the next;
    a quartile of each kind of launch would compare the fast ones of one kind with slow ones of the other."""
    ratios: list[float] = []
    spent = 0.0
    watched()  # warm
    while len(ratios) < PAIRS or (len(ratios) < MOST and spent < SECONDS):
        times = plain(), plain(), plain(), watched()
        ratios.append(times[3] / times[1])
        spent += sum(times)
    return statistics.median(ratios)


@contextlib.contextmanager
def on_one_core() -> Iterator[None]:
    """Keeps this thread on one core: cores of one machine differ, and to move costs a thread its caches."""
    if sys.platform != "linux":
        yield
        return
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(allowed)})
    try:
        yield
    finally:
        for thread in os.listdir("/proc/self/task"):  # those begun meanwhile are on that core as well
            os.sched_setaffinity(int(thread), allowed)


def measured(kernel: Kernel, library: Any, *, quick: bool) -> dict[str, Any]:
    """What the table says of a kernel."""
    arguments = kernel.arguments(np.random.default_rng(1))
    ours, theirs = OnMachine(kernel, arguments), InC(kernel, arguments, library)
    first = ours.build()
    report = ours.run()[2]
    theirs.run()
    agree(kernel, ours.written(), theirs.written())
    with on_one_core():
        c, mine = taken_in_turns(theirs.run, lambda: ours.run()[0])
    row = {
        "kernel": kernel,
        "C": c,
        "ours": mine,
        "ratio": c / mine,
        "first": first,
        "rate": report.thread_instructions / mine,
        "memory": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }
    if quick:
        return row
    row["two"] = min(ours.run()[1] for _ in range(PAIRS)) / min(ours.run(2)[1] for _ in range(PAIRS))
    times = math.ceil(LONG / mine)
    row["long"] = min(ours.run(1, times)[1] for _ in range(FEW)) / min(ours.run(2, times)[1] for _ in range(FEW))
    for name, options in CHECKED.items():
        ours.build(**options)
        with on_one_core():
            row[name] = cost_in_turns(lambda: ours.run()[0], lambda o=options: ours.run(**o)[0])
    return row


def line(row: dict[str, Any]) -> str:
    """A row of the table."""
    kernel: Kernel = row["kernel"]
    text = f"{kernel.name:20}{row['C'] * 1e3:9.2f}{row['ours'] * 1e3:9.2f}{row['ratio']:8.2f}"
    text += f"{row['rate'] / 1e9:8.2f}{row['first']:8.2f}{row['memory']:8.0f}"
    if "two" in row:
        text += f"{row['two']:7.2f}{row['long']:7.2f}" + "".join(f"{row[name]:7.1f}" for name in CHECKED)
    return text


HEAD = f"{'kernel':20}{'C, ms':>9}{'ours':>9}{'ratio':>8}{'10^9/s':>8}{'first':>8}{'MiB':>8}"
HEAD_FULL = f"{'two':>7}{'long':>7}{'count':>7}{'init':>7}{'race':>7}{'all':>7}"


def table(rows: list[dict[str, Any]]) -> str:
    """The table and what it amounts to."""
    ratios = [row["ratio"] for row in rows]
    full = "two" in rows[0]
    lines = [HEAD + (HEAD_FULL if full else ""), *map(line, rows), ""]
    lines.append(
        f"{len(rows)} kernels, C over ours: median {statistics.median(ratios):.2f}, worst {min(ratios):.2f}, "
        f"{sum(r < 1 for r in ratios)} below 1"
    )
    if full:
        for column, what in (("two", "two workers over one"), ("long", "the same in long launches")):
            gains = [row[column] for row in rows]
            lines.append(f"{what}: median {statistics.median(gains):.2f}, worst {min(gains):.2f}")
        for name, asked in ASKED.items():
            costs = sorted((row[name], row["kernel"].name) for row in rows)
            middle = statistics.median(cost for cost, _ in costs)
            lines.append(
                f"{name}, a launch over one with memcheck alone: median {middle:.2f}, "
                f"worst {costs[-1][0]:.1f} ({costs[-1][1]}; {asked} asked)"
            )
    return "\n".join(lines)


def cpu_name() -> str:
    """The CPU as the system names it, and as LLVM does."""
    info = Path("/proc/cpuinfo")
    names = (
        [s.split(":")[1].strip() for s in info.read_text().splitlines() if s.startswith("model name")]
        if info.exists()
        else []
    )
    return f"{names[0] if names else platform.processor()} ({llvm.get_host_cpu_name()})"


def written(rows: list[dict[str, Any]], older: str | None) -> str:
    """The page for results/. older: the CPU that code was made for, if not this one."""
    compiler = subprocess.run(["gcc", "--version"], capture_output=True, text=True, check=True).stdout.splitlines()[0]
    below = [row for row in rows if row["ratio"] < 1]
    reasons = [
        f"- `{row['kernel'].name}` ({row['ratio']:.2f}; to draw level: {row['rate'] / row['ratio'] / 1e9:.0f} billion "
        f"thread-instructions a second): {row['kernel'].reason or 'not yet explained'}"
        for row in below
    ]
    command = "--write" + (f" --cpu {older}" if older else "")
    cpu = cpu_name() + (f"; code for {older}" if older else "")
    styles = [f"- `{row['kernel'].name}`: {row['kernel'].style}" for row in rows]
    return f"""# Kernels as people write them, beside serial C

`python -m benchmarks.kernels {command}` on {datetime.now(UTC):%Y-%m-%d}; no GPU is involved. CPU: {cpu};
{platform.system()}, Python {platform.python_version()}; C by {compiler} with `-O3 -march={older or "native"}`.
One core, memcheck on, CPU time, the lower quartile of {PAIRS} to {MOST} runs that took turns with C.
ratio: C's time over ours, above 1 where the machine is faster.
10^9/s: thread-instructions a second. first: seconds until the first result, nothing cached in the process.
MiB: the process at its largest so far. two: wall time of one worker over that of two; launches of less than 0.25 ms
have one, and so have those that two make slower. long: the same of a launch with so many times as many blocks, on the
same arrays, that one worker takes {LONG * 1e3:.0f} ms. The last four: a launch with counters or checks, over one with
memcheck alone.

```
{table(rows)}
```

## Where C is faster

{chr(10).join(reasons) if reasons else "Nowhere."}

## The kernels

{chr(10).join(styles)}
"""


def main() -> None:
    """Runs what the command line asks for."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.kernels", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="kernels to run; all without")
    parser.add_argument("--quick", action="store_true", help="neither two workers nor checks")
    parser.add_argument("--write", action="store_true", help="keep the table in results/kernels-CPU.md")
    parser.add_argument("--cpu", choices=OLDER, help="an older CPU that code is made for")
    options = parser.parse_args()
    unknown = set(options.names) - {k.name for k in KERNELS}
    if unknown:
        parser.error(f"no kernel {', '.join(sorted(unknown))}; there are {', '.join(k.name for k in KERNELS)}")
    if options.write and (options.names or options.quick):
        parser.error("--write is for the whole table: leave out the names and --quick")
    chosen = [k for k in KERNELS if k.name in options.names or not options.names]
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        if options.cpu:
            cpu = native.known(options.cpu, OLDER[options.cpu])
            stack.enter_context(mock.patch.object(native, "host", return_value=cpu))
        library = compile_c(chosen, Path(folder), options.cpu or "native")
        rows_ = []
        print(HEAD + ("" if options.quick else HEAD_FULL), flush=True)
        for kernel in chosen:
            rows_.append(measured(kernel, library, quick=options.quick))
            print(line(rows_[-1]), flush=True)
    print(table(rows_).split("\n\n")[1])
    if options.write:
        on = f"{options.cpu}-on-" if options.cpu else ""
        page = RESULTS / f"kernels-{on}{llvm.get_host_cpu_name()}.md"
        page.write_text(written(rows_, options.cpu))
        print(f"written: {RESULTS.name}/{page.name}", file=sys.stderr)


if __name__ == "__main__":
    main()
