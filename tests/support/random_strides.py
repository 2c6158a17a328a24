"""Random kernels with grid-stride loops, whose results tell in which order their warps have run: a word of `x` that all
threads read and write, without any order, is mixed into what each of them stores. In every third program threads leave
arrays, in every fourth counters are on, in every fifth all checks.

    python tests/support/random_strides.py COUNT [FIRST SEED]

runs so many programs on both engines and prints those on which they differ. None polls: warps that do take turns
otherwise.
"""

from __future__ import annotations

import random
import sys
from typing import Any

import numpy as np
from emulate_programs import ALL_CHECKS, WAYS, kernel, run
from seeded_programs import compare, differing

from ptxlab.errors import DeviceFault

WORDS = 1024
"""Of `x`."""
START = """
    mov.u32 %r20, %nctaid.x;
    mul.lo.u32 %r21, %r20, %r3;
    shr.u32 %r22, %r1, 5;
    mov.u32 %r23, %r1;
"""
"""%r21 is the size of the grid, %r22 the warp, and what is mixed is in %r23."""
LANES = ("and.b32 %r24, %r1, 3; setp.eq.u32 %p1, %r24, {few};", "setp.lt.u32 %p1, %r1, {many};")
WARPS = ("setp.eq.u32 %p1, %r22, 1;", "and.b32 %r24, %r22, 1; setp.eq.u32 %p1, %r24, 0;")


class Program:
    """One program; `text` is its PTX."""

    def __init__(self, seed: int) -> None:
        self.random = draw = random.Random(seed)
        self.seed, self.labels, self.counters = seed, 0, 25
        self.threads, self.blocks = draw.choice((32, 64, 96, 96, 128, 100, 77)), draw.choice((1, 2, 3))
        self.n = draw.choice((100, 192, 192, 200, 384, 500, 900))
        lines = [START]
        if draw.random() < 0.3:
            lines += self.some(0)
        for _ in range(draw.choice((1, 1, 2))):
            lines += self.loop(0)
            if draw.random() < 0.3:
                lines.append("bar.sync 0;" if draw.random() < 0.5 else "bar.warp.sync -1;")
        self.text = kernel("\n".join([*lines, "END:", "st.global.u32 [%rd3], %r23;"]))

    def label(self) -> str:
        self.labels += 1
        return f"L{self.labels}"

    def loop(self, depth: int) -> list[str]:
        """A loop; nearly always one with the stride of the grid."""
        draw, head, end = self.random, self.label(), self.label()
        counter = f"%r{self.counters}"
        self.counters += 1
        start, step = draw.choice((("%r4", "%r21"), ("%r4", "%r21"), ("%r2", "%r20"), ("%r22", "%r20"), ("%r1", "16")))
        limit = self.n if step == "%r21" else draw.choice((2, 5, 7))
        if step == "16":
            limit = 64
        body = [line for _ in range(draw.choice((1, 1, 2))) for line in self.statement(depth + 1, counter, end)]
        p = f"%p{3 + depth}"
        lines = [f"mov.u32 {counter}, {start};", f"setp.ge.s32 {p}, {counter}, {limit};", f"@{p} bra {end};"]
        onward = [f"add.s32 {counter}, {counter}, {step};", f"setp.lt.s32 {p}, {counter}, {limit};"]
        if draw.random() < 0.3:  # the test at the head
            return [f"mov.u32 {counter}, {start};", f"{head}:", *lines[1:], *body, onward[0], f"bra {head};", f"{end}:"]
        return [*lines, f"{head}:", *body, *onward, f"@{p} bra {head};", f"{end}:"]

    def statement(self, depth: int, counter: str, end: str) -> list[str]:
        """One statement of a loop."""
        draw = self.random
        kind = draw.random()
        if kind < 0.5 or depth > 2:
            return self.note() if draw.random() < 0.5 else self.access(counter)
        if kind < 0.8:
            skip = self.label()
            return [self.condition(), f"@%p1 bra {skip};", *self.statement(depth + 1, counter, end), f"{skip}:"]
        if kind < 0.9:
            return self.loop(depth)
        leave = draw.choice(("@%p1 exit;", f"@%p1 bra {end};", "@%p1 bra END;"))
        return [*self.note(), self.condition(), leave] if draw.random() < 0.5 else self.note()

    def some(self, depth: int) -> list[str]:
        """What some threads do, or leave out."""
        return [self.condition(), self.random.choice(("@%p1 exit;", "@%p1 bra END;", "@%p1 add.u32 %r23, %r23, 5;"))]

    def condition(self) -> str:
        draw = self.random
        given = {"few": draw.randrange(4), "many": draw.choice((5, 32, 40, 64))}
        return draw.choice((*LANES, *WARPS)).format(**given)

    def note(self) -> list[str]:
        """Mixes in what was there before, and leaves what tells who was here."""
        mixed = f"mad.lo.u32 %r24, %r24, 31, %r22; add.u32 %r24, %r24, {self.random.randrange(9)};"
        return ["ld.global.u32 %r24, [%rd2];", "mad.lo.u32 %r23, %r23, 17, %r24;", mixed, "st.global.u32 [%rd2], %r24;"]

    def access(self, counter: str) -> list[str]:
        """Loads and stores an element of `x`, which may lie behind its end."""
        draw = self.random
        far = draw.choice((1, 16)) if self.seed % 3 == 0 else 1
        index = draw.choice((counter, counter, "%r4"))
        lines = [f"mul.wide.u32 %rd10, {index}, {4 * far};", "add.u64 %rd10, %rd10, %rd2;"]
        return [
            *lines,
            "ld.global.u32 %r24, [%rd10+64];",
            "add.u32 %r24, %r24, %r22;",
            "add.u32 %r23, %r23, %r24;",
            "st.global.u32 [%rd10+64], %r24;",
        ]


def outcome(way: str, program: Program, seed: int) -> tuple[Any, ...]:
    """What a program leaves: `x`, and `out`, the executed lines, counters and findings, or its fault."""
    counters, checks = seed % 4 == 1, ALL_CHECKS if seed % 5 == 2 else ("memcheck",)
    x = np.arange(WORDS, dtype=np.uint32)
    given: dict[str, Any] = {"threads": program.threads, "blocks": program.blocks}
    try:
        out, report = run(way, program.text, x=x, counters=counters, checks=checks, **given)
    except DeviceFault as fault:
        return str(fault), x.tolist()
    counted = None if report.counters is None else str(report.counters)
    return out.tolist(), x.tolist(), report.warp_instructions, report.lines, counted, list(map(str, report.findings))


def differences(first: int, count: int) -> list[str]:
    """The programs on which the engines differ."""
    return differing(range(first, first + count), Program, outcome, WAYS)


if __name__ == "__main__":
    sys.exit(compare(__doc__, differences))
