"""Random kernels whose threads load, compute and store an element or two: short, without barriers and loops. Indices
wrap around, rows begin and end within a block, and what is accessed ends at the end of an array or behind it.

    python tests/support/random_elementwise.py COUNT [FIRST SEED]

runs so many programs on both engines and prints those on which they differ.
"""

from __future__ import annotations

import random
import sys
from typing import Any

import numpy as np
from emulate_programs import WAYS, improve, kernel, run
from seeded_programs import compare, differing

from ptxlab.errors import DeviceFault

BLOCKS = ((96,), (128,), (160,), (100,), (64,), (32, 4), (32, 3), (16, 8), (8, 16), (64, 2), (32, 2, 2), (16, 5),
    (16, 4, 3), (8, 8, 2), (8, 4, 4), (16,), (8,), (24,), (31,), (45,), (77,), (4, 4), (5, 3),
    (1, 16), (3, 2, 2))  # fmt: skip
GRIDS = ((3,), (9,), (40,), (7, 2))
INDICES = (
    "mov.u32 {d}, %r1;",
    "mov.u32 {d}, %r4;",
    "mov.u32 {d}, %r4;",
    "mov.u32 {d}, %r4;",
    "mov.u32 %r5, %tid.y; mad.lo.u32 {d}, %r5, %r3, %r1;",
    "mov.u32 %r5, %tid.y; mov.u32 %r6, %ntid.y; mad.lo.u32 %r5, %r2, %r6, %r5; mad.lo.u32 {d}, %r5, {n}, %r1;",
    "mov.u32 %r5, %tid.y; mad.lo.u32 {d}, %r1, {n}, %r5;",
    "mov.u32 %r5, %tid.y; mov.u32 %r6, %tid.z; mad.lo.u32 %r5, %r6, {few}, %r5; mad.lo.u32 {d}, %r5, {n}, %r1;",
    "mov.u32 %r5, %tid.y; mov.u32 %r6, %tid.z; sub.u32 %r5, %r5, %r6; mad.lo.u32 {d}, %r5, {n}, %r1;",
    "mad.lo.u32 {d}, %r2, {n}, %r1;",
    "mad.lo.u32 {d}, %r2, {far}, %r1;",
    "sub.u32 {d}, {n}, %r4;",
    "mul.lo.u32 {d}, %r1, %r2;",
    "mul.lo.u32 {d}, %r4, {few};",
    "shl.b32 {d}, %r4, {few};",
    "add.u32 {d}, %r4, {far}; add.u32 {d}, {d}, {n};",
    "and.b32 {d}, %r4, 127;",
    "ld.global.u32 %r5, [%rd2+8]; mad.lo.u32 {d}, %r2, %r5, %r1;",
    "ld.global.u32 {d}, [%rd3];",
)
WIDER = (
    "mul.wide.s32 {d}, {r}, {size};",
    "mul.wide.s32 {d}, {r}, {size};",
    "mul.wide.u32 {d}, {r}, {size};",
    "cvt.s64.s32 {d}, {r}; mul.lo.s64 {d}, {d}, {size};",
    "cvt.u64.u32 {d}, {r}; mul.lo.u64 {d}, {d}, {size};",
    "mul.lo.u32 {r}, {r}, {size}; cvt.u64.u32 {d}, {r};",
)
WORDS = 1024
"""Of `x`, which programs load from."""


class Program:
    """One program; `text` is its PTX."""

    def __init__(self, seed: int) -> None:
        self.random = draw = random.Random(seed)
        self.threads, self.blocks = draw.choice(BLOCKS), draw.choice(GRIDS)
        self.far = draw.choice((0x7FFFFFF0, 0x80000000, 0xFFFFFFC0, 0x40000000, -96, -4096))
        lines = [self.index("%r10"), *self.guard(), *self.access("%r10", loads=True)]
        if draw.random() < 0.4:
            lines += [self.index("%r11"), *self.access("%r11", loads=True)]
        if draw.random() < 0.2:  # too long for blocks of which not all is known
            lines += [line for _ in range(5) for line in self.access("%r10", loads=True)]
        lines += self.access("%r10", loads=False) if draw.random() < 0.4 else ["st.global.u32 [%rd3], %r20;"]
        self.text = kernel("\n".join(["mov.u32 %r20, %r1;", *lines, "END:"]))

    def index(self, register: str) -> str:
        draw = self.random
        given = {"n": draw.choice((0, 1, 32, 100, 256, 1000)), "few": draw.choice((1, 2, 3)), "far": self.far}
        return draw.choice(INDICES).format(d=register, **given)

    def guard(self) -> list[str]:
        """What leaves out the threads behind a number, or before it."""
        draw = self.random
        if draw.random() < 0.4:
            return []
        leave = draw.choice(("@%p1 bra END;", "@%p1 bra END;", "@%p1 exit;", "@!%p1 bra END;"))
        lines = [self.comparison("%p1")]
        if draw.random() < 0.4:
            lines += [self.comparison("%p2"), f"{draw.choice(('or', 'and', 'xor'))}.pred %p1, %p1, %p2;"]
        if draw.random() < 0.1:
            lines.append("not.pred %p1, %p1;")
        return [*lines, leave]

    def comparison(self, predicate: str) -> str:
        draw = self.random
        number = draw.choice((0, 1, 31, 32, 64, 100, 500, 777, 1024, 3000, 0x7FFFFFFF, 0x80000010))
        test = f"setp.{draw.choice(('lt', 'le', 'gt', 'ge', 'ge', 'ge', 'eq'))}.{draw.choice(('s32', 'u32'))}"
        return f"{test} {predicate}, {draw.choice(('%r10', '%r4', '%r1'))}, {number};"

    def access(self, register: str, *, loads: bool) -> list[str]:
        """A load from `x`, or a store there; in some programs only where it is inside."""
        draw = self.random
        size = draw.choice((1, 2, 4, 4, 4, 8))
        lines = [draw.choice(WIDER).format(d="%rd10", r=register, size=size), "add.s64 %rd10, %rd10, %rd2;"]
        at = draw.choice(("%rd10", "%rd10", f"%rd10+{size}", "%rd10+256"))
        guard = ""
        if draw.random() < 0.4:
            lines.append(f"setp.lt.u32 %p2, {register}, {draw.choice((64, 900))};")
            guard = "@%p2 "
        kind, value = {1: ("u8", "%h1"), 2: ("u16", "%h1"), 4: ("u32", "%r21"), 8: ("u64", "%rd11")}[size]
        if loads:
            lines.append(f"{guard}ld.global.{kind} {value}, [{at}];")
            narrow = {"%h1": "cvt.u32.u16 %r21, %h1;", "%rd11": "cvt.u32.u64 %r21, %rd11;"}.get(value, "")
            return [*lines, narrow, "mad.lo.u32 %r20, %r20, 33, %r21;"]
        wide = {"%h1": "cvt.u16.u32 %h1, %r20;", "%rd11": "cvt.u64.u32 %rd11, %r20;"}.get(value, "mov.u32 %r21, %r20;")
        if draw.random() < 0.3:
            return [*lines, "mov.u32 %r21, 3;", f"{guard}red.global.add.u32 [{at}], %r21;"]
        return [*lines, wide, f"{guard}st.global.{kind} [{at}], {value};"]


def outcome(way: str, program: Program, seed: int) -> tuple[Any, ...]:
    """What a program leaves: `x`, and `out` and the executed lines, or its fault."""
    if way == "good":
        improve(program.text, program.threads, False, ("memcheck",))
    x = np.arange(WORDS, dtype=np.uint32) * 3 + seed % 100
    x[2] = seed % 130
    given: dict[str, Any] = {"threads": program.threads, "blocks": program.blocks}
    try:
        out, report = run("step" if way == "step" else "jit", program.text, x=x, **given)
    except DeviceFault as fault:
        return str(fault), x.tolist()
    return out.tolist(), x.tolist(), report.lines


def differences(first: int, count: int) -> list[str]:
    """The programs on which the engines differ, in words."""
    return differing(range(first, first + count), Program, outcome, WAYS)


if __name__ == "__main__":
    sys.exit(compare(__doc__, differences))
