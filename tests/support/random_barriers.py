"""Random programs whose warps and lanes meet at barriers: with and without a count, arriving only, diverged, in loops,
after some have exited.

    python tests/support/random_barriers.py COUNT [FIRST SEED]

runs so many programs on both engines and prints those that end otherwise: with another result, deadlock or finding. In
one program a barrier always has the same count: what lanes of one warp do that disagree is told, and not defined.
"""

from __future__ import annotations

import random
import sys
from typing import Any

import numpy as np
from emulate_programs import ALL_CHECKS, WAYS, kernel, run
from seeded_programs import compare, differing

from ptxlab.errors import DeviceFault

TILE = ".shared .align 16 .b8 tile[64];"
START = "mov.u32 %r30, tile; and.b32 %r20, %r1, 31; shr.u32 %r21, %r1, 5; setp.lt.u32 %p2, %r1, 5;"
"""%r20: the lane; %r21: the warp; %p2: what is brought to `bar.red`."""
BARRIERS = (
    "bar.sync 0;", "bar.sync 0;", "barrier.sync 0;", "bar.sync 1, COUNT;", "bar.sync 1, COUNT;",
    "bar.arrive 1, COUNT;", "bar.red.popc.u32 %r9, 0, %p2;", "barrier.cta.arrive.aligned 2, 64;",
    "barrier.cta.sync 2, 64;", "bar.warp.sync -1;", "shfl.sync.bfly.b32 %r7, %r1, 1, 31, -1;",
    "vote.sync.ballot.b32 %r8, %p2, -1;", "redux.sync.add.s32 %r8, %r1, -1;",
)  # fmt: skip
MOST = 3
"""Rounds of a loop."""


class Program:
    """One program."""

    def __init__(self, seed: int) -> None:
        self.random, self.labels = random.Random(seed), 0
        self.threads, self.blocks = self.random.choice((32, 64, 64, 96)), self.random.choice((1, 2))
        self.count = self.random.choice((32, 64, 64, 96))
        lines = [START, *(line for _ in range(self.random.randint(2, 5)) for line in self._piece(0))]
        lines += ["activemask.b32 %r8;", "add.u32 %r8, %r8, %r9;", "st.global.u32 [%rd3], %r8;"]
        self.text = kernel("\n".join(f"    {line}" for line in lines), TILE)

    def _asked(self) -> str:
        """A condition, in %p1: of some lanes, some warps, or a block."""
        pick = self.random.choice
        return pick(
            (
                f"setp.lt.u32 %p1, %r20, {pick((1, 8, 16, 31))};",
                f"setp.eq.u32 %p1, %r21, {pick((0, 1))};",
                f"setp.lt.u32 %p1, %r1, {pick((16, 32, 40, 64))};",
                "setp.eq.u32 %p1, %r2, 0;",
            )
        )

    def _piece(self, depth: int) -> list[str]:
        kind, pick = self.random.random(), self.random.choice
        self.labels += 1
        mark = self.labels
        if kind < 0.4:
            return [pick(BARRIERS).replace("COUNT", str(self.count))]
        if kind < 0.55:
            at = 4 * self.random.randrange(4)
            return [pick((f"st.shared.u32 [%r30+{at}], %r1;", f"ld.shared.u32 %r6, [%r30+{at}];"))]
        if kind < 0.6 or depth == 2:
            return [self._asked(), "@%p1 ret;"]
        inner = [line for _ in range(self.random.randint(1, 2)) for line in self._piece(depth + 1)]
        if kind < 0.85:
            other = self._piece(depth + 1) if self.random.random() < 0.5 else []
            return [
                self._asked(),
                f"@!%p1 bra ELSE{mark};",
                *inner,
                f"bra END{mark};",
                f"ELSE{mark}:",
                *other,
                f"END{mark}:",
            ]
        count, last = f"%r{15 + depth}", pick(("2", "%r21", "%r20"))
        again = (
            f"add.u32 {count}, {count}, 1; setp.le.u32 %p4, {count}, {last}; setp.lt.and.u32 %p4, {count}, {MOST}, %p4;"
        )
        return [f"mov.u32 {count}, 0;", f"L{mark}:", *inner, again, f"@%p4 bra L{mark};"]


def outcome(way: str, program: Program, checks: tuple[str, ...]) -> tuple[Any, list[str]]:
    """The result or the fault, in words, and what the checks find. way: one of `WAYS`."""
    given = {"threads": program.threads, "blocks": program.blocks, "x": np.zeros(4, np.uint32), "checks": checks}
    try:
        out, report = run(way, program.text, **given)
    except DeviceFault as fault:
        return str(fault), [str(finding) for finding in fault.findings]
    return out.tolist(), [str(finding) for finding in report.findings]


def differences(first: int, count: int) -> list[str]:
    """The programs on which the engines differ, in words."""

    def ended(way: str, program: Program, seed: int) -> object:
        return outcome(way, program, ALL_CHECKS if seed % 3 else ("memcheck",))

    return differing(range(first, first + count), Program, ended, WAYS)


if __name__ == "__main__":
    sys.exit(compare(__doc__, differences))
