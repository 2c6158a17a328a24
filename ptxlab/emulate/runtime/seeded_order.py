"""The order in which blocks begin, shuffled by a seed; the engines draw the order of warps and their quanta.

A GPU promises no order of blocks, so any is legal. But kernels that wait for results of blocks before them (a scan in
one pass) rely on those having begun, and on a GPU they have. So where a program may wait for other threads, blocks are
shuffled only within as many as can be resident at once: when one waits for a block before it, that one has begun, or
there is room for it to begin.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

from ptxlab.emulate.program.program import Program
from ptxlab.emulate.runtime.report import Launch

RESIDENT = 32
"""Blocks that share the machine (in the compiling engine: a worker) when the first of them do not end by themselves."""
SHUFFLED = 1 << 22
"""The most blocks of a launch with a seed: their order is drawn before the first begins."""
MIXED = 4
"""Blocks that are resident at once in a shuffled launch, whether they wait for each other or not."""


def block_order(program: Program, launch: Launch) -> Sequence[int]:
    """The linear indices of a launch's clusters in the order in which they begin: of its blocks, where there are no
    clusters."""
    count = launch.blocks // launch.cluster_blocks
    if launch.seed is None:
        return range(count)
    order = list(range(count))
    draw = random.Random(f"blocks {launch.seed}")
    window = RESIDENT if program.may_wait and not launch.cooperative else max(1, count)
    for first in range(0, len(order), window):
        some = order[first : first + window]
        draw.shuffle(some)
        order[first : first + window] = some
    return order
