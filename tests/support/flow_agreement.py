"""Whether the engines agree on random programs with irregular control flow: on results, memory and every count.

    python tests/support/flow_agreement.py COUNT [FIRST SEED]

runs so many programs of `random_flow` on both engines, prints each that they differ on, a line for each thousand, and a
tally. Every fourth is run with counters.
"""

from __future__ import annotations

import argparse
import sys
from typing import Any

import numpy as np
from emulate_programs import ENGINES, run
from random_flow import program

from ptxlab.errors import DeviceFault

BUDGET = 400_000


def outcome(engine: str, seed: int) -> tuple[Any, ...]:
    """What a program leaves: `out`, `x`, warp-instructions, thread-instructions, both by line, counters; or its fault."""
    text, threads = program(seed)
    x = np.zeros(32, np.uint32)
    try:
        out, report = run(engine, text, threads=threads, x=x, budget=BUDGET, counters=seed % 4 == 0)
    except DeviceFault as fault:
        return ("fault", str(fault))
    counts = report.warp_instructions, report.thread_instructions, report.lines, report.counters
    return out.tolist(), x.tolist(), *counts


def differences(seed: int) -> list[str]:
    """What the other engines give otherwise than the first, in words."""
    first = outcome(ENGINES[0], seed)
    found = []
    for engine in ENGINES[1:]:
        other = outcome(engine, seed)
        if other != first:
            names = ("out", "x", "warp-instructions", "thread-instructions", "lines", "counters")
            parts = [n for n, a, b in zip(names, first, other, strict=False) if a != b]
            found.append(f"seed {seed}: {ENGINES[0]} and {engine} differ in {', '.join(parts)}")
    return found


def main() -> int:
    """The command line."""
    options = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    options.add_argument("count", type=int)
    options.add_argument("first", type=int, nargs="?", default=0)
    given = options.parse_args()
    wrong = 0
    for done, seed in enumerate(range(given.first, given.first + given.count), 1):
        found = differences(seed)
        print(*found, sep="\n", end="\n" if found else "", flush=True)
        wrong += bool(found)
        if done % 1000 == 0:
            print(f"{done} programs from seed {given.first}: {wrong} differ", flush=True)
    print(f"{given.count} programs from seed {given.first}: the engines differ on {wrong}")
    return wrong > 0


if __name__ == "__main__":
    sys.exit(main())
