"""Whether the engines agree on random programs with irregular control flow: on results, memory and every count.

    python tests/support/flow_agreement.py COUNT [FIRST SEED]

runs so many programs of `random_flow` on both engines, 8 in a kernel, prints each kernel that they differ on, a line
for each 800 programs, and a tally. Every fourth kernel is run with counters. Every fifth also runs with the compiling
engine's code of full quality, which takes LLVM longer than all else.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from emulate_programs import WAYS, run
from random_flow import kernel_of
from seeded_programs import compare

from ptxlab.errors import DeviceFault

BUDGET = 4_000_000
KERNEL = 8
"""Programs in a kernel."""


def outcome(way: str, first: int, count: int) -> tuple[Any, ...]:
    """What programs leave: `out`, `x`, warp-instructions, thread-instructions, both by line, counters; or the fault."""
    text, threads = kernel_of(first, count)
    x = np.zeros(8 * count, np.uint32)
    counters = first // count % 4 == 0
    try:
        out, report = run(way, text, threads=threads, blocks=count, x=x, budget=BUDGET, counters=counters)
    except DeviceFault as fault:
        return ("fault", str(fault))
    counts = report.warp_instructions, report.thread_instructions, report.lines, report.counters
    return out.reshape(count, threads).tolist(), x.tolist(), *counts


def differences(first: int, count: int = KERNEL) -> list[str]:
    """What the other engines give otherwise than the first, in words."""
    ways = [way for way in WAYS if way != "optimized" or first // count % 5 == 0]
    expected = outcome(ways[0], first, count)
    found = []
    for way in ways[1:]:
        other = outcome(way, first, count)
        if other != expected:
            names = ("out", "x", "warp-instructions", "thread-instructions", "lines", "counters")
            parts = [n for n, a, b in zip(names, expected, other, strict=False) if a != b]
            found.append(f"programs {first} to {first + count - 1}: {ways[0]} and {way} differ in {', '.join(parts)}")
    return found


if __name__ == "__main__":
    sys.exit(compare(__doc__, differences, at_once=KERNEL))
