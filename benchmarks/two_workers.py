"""What a second worker gains in the kernels of the yardstick: `python -m benchmarks.two_workers [NAME ...]`.

Launches with one worker, with two, and with as many of two as the machine chooses take turns, for the kernel's own grid
and for one with so many times as many blocks, on the same arrays, that one worker takes 20 ms. Columns, for each:

one       ms with one worker, the median of wall time
two       one worker's wall time over that of two workers, which begin together: the median over turns
chosen    the same of as many as the machine chooses, by what it has found out in the launches before
had       the part of those launches in which a second worker ran blocks
share     the part of the blocks that the second of two ran
work      processor time of two over that of one: above 1 where two cores are in each other's way

`<` marks a choice that takes more than 1.1 times as long as the better one of one and two.
"""

from __future__ import annotations

import os

os.environ.setdefault("PTXLAB_CACHE", "off")

import argparse
import math
import statistics
import time
from typing import NamedTuple

import numpy as np

from benchmarks.kernels.__main__ import KERNELS, LONG
from benchmarks.kernels.yardstick import OnMachine
from ptxlab.emulate.jit.building.worker_contention import Contention

TURNS, LEARNING = 15, 6
"""Turns that are compared, and those before them, in which the choice learns."""


class Both(Contention):
    """A choice that has two workers begin together in each launch."""

    def __init__(self) -> None:
        super().__init__(False, np.zeros(0))
        self.pace = 1.0

    def workers(self, wanted: int, blocks: int) -> int:
        return wanted

    def ran(self, blocks: int, seconds: float, workers: int) -> None:
        pass


class Took(NamedTuple):
    """A launch: wall and processor seconds, and the part of its blocks that a second worker ran."""

    wall: float
    processor: float
    second: float


def launched(kernel: OnMachine, workers: int, times: int, contention: Contention | None = None) -> Took:
    """Runs the kernel, with this choice or with its own."""
    built = kernel.builds["[]"]
    own = built.contention
    built.contention = contention or own
    run = kernel.ready(workers, times)
    processor, wall = time.process_time(), time.perf_counter()
    run.wait()
    wall, processor = time.perf_counter() - wall, time.process_time() - processor
    built.contention = own
    finished = [each.context.finished for each in run.workers]
    return Took(wall, processor, sum(finished[1:]) / sum(finished))


def compared(kernel: OnMachine, times: int) -> str:
    """The columns of a kernel for one size of its grid."""
    both = Both()
    turns: list[tuple[Took, Took, Took]] = []
    for _ in range(LEARNING + TURNS):
        turns.append((launched(kernel, 1, times), launched(kernel, 2, times, both), launched(kernel, 2, times)))
    del turns[:LEARNING]
    middle = statistics.median
    two = middle(one.wall / two.wall for one, two, _ in turns)
    chosen = middle(one.wall / chosen.wall for one, _, chosen in turns)
    had = sum(chosen.second > 0 for *_, chosen in turns) / len(turns)
    share = middle(two.second for _, two, _ in turns)
    work = middle(two.processor / one.processor for one, two, _ in turns)
    mark = "<" if 1.1 * chosen < max(two, 1) else " "
    one = middle(one.wall for one, *_ in turns) * 1e3
    return f"{one:9.2f}{two:7.2f}{chosen:8.2f}{mark}{had:5.2f}{share:7.2f}{work:6.2f}"


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.two_workers", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="kernels to run; all without")
    names = parser.parse_args().names
    unknown = set(names) - {k.name for k in KERNELS}
    if unknown:
        parser.error(f"no kernel {', '.join(sorted(unknown))}")
    head = f"{'one':>9}{'two':>7}{'chosen':>8} {'had':>5}{'share':>7}{'work':>6}"
    print(f"{'kernel':20}{head} |{head}", flush=True)
    for kernel in KERNELS:
        if names and kernel.name not in names:
            continue
        machine = OnMachine(kernel, kernel.arguments(np.random.default_rng(1)))
        machine.build()
        short = compared(machine, 1)
        times = math.ceil(LONG / statistics.median(launched(machine, 1, 1).wall for _ in range(5)))
        print(f"{kernel.name:20}{short} |{compared(machine, times)}", flush=True)


if __name__ == "__main__":
    main()
