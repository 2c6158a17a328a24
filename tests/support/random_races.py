"""Random programs that race: rows, halves of warps and single words are read and written in some order.

    python tests/support/random_races.py COUNT [FIRST SEED]

runs so many programs on both engines and prints those of which they do not find the same races: the same lines, lanes
and words, as often. Values do not matter here, nor do programs that poll memory, whose warps take turns otherwise.
"""

from __future__ import annotations

import random
import sys

import numpy as np
from emulate_programs import WAYS, improve, kernel, run
from seeded_programs import compare

CHECKS = ("memcheck", "racecheck")
TILE = ".shared .align 16 .b8 tile[2048];"
START = "mov.u32 %r30, tile; and.b32 %r20, %r1, 31; shr.u32 %r21, %r1, 5;"
"""%r20: the lane; %r21: the warp."""
BETWEEN = ("bar.sync 0;", "bar.sync 0;", "bar.warp.sync -1;", "membar.gl;", "shfl.sync.idx.b32 %r6, %r6, 0, 31, -1;")


def _index(rnd: random.Random) -> str:
    """Which word each lane accesses, in %r10."""
    first, factor = rnd.choice((0, 1, 4, 7)), rnd.choice((1, 2, 3, 5, 8, 16, 20))
    apart = rnd.choice((0, 1, 5, 8, 15, 16, 20, 32))
    return rnd.choice((
        f"mov.u32 %r10, {first};",
        f"shr.u32 %r10, %r20, 4; mad.lo.u32 %r10, %r10, {factor}, {first};",
        f"and.b32 %r10, %r20, 15; shr.u32 %r11, %r20, 4; mad.lo.u32 %r10, %r11, {apart}, %r10;"
        f" add.u32 %r10, %r10, {first};",
        f"add.u32 %r10, %r20, {first};",
        f"mul.lo.u32 %r10, %r20, {factor}; and.b32 %r10, %r10, 31;",
        f"shr.u32 %r10, %r20, {rnd.choice((1, 2, 3))};",
        "mov.u32 %r11, 31; sub.u32 %r10, %r11, %r20;",
        f"and.b32 %r10, %r20, {rnd.choice((1, 3, 7))};",
        "mul.lo.u32 %r10, %r20, 2;",
    ))  # fmt: skip


def _place(rnd: random.Random, space: str) -> tuple[str, str]:
    """The code that makes an address of it, and the register that it is in."""
    if space == "shared":
        return f"{_index(rnd)} shl.b32 %r12, %r10, 2; add.u32 %r12, %r12, %r30;", "%r12"
    return f"{_index(rnd)} mul.wide.u32 %rd20, %r10, 4; add.u64 %rd20, %rd2, %rd20;", "%rd20"


def _guard(rnd: random.Random) -> tuple[str, str]:
    """Which lanes access it."""
    if rnd.random() < 0.6:
        return "", ""
    lanes = f"{rnd.choice(('lt', 'ge'))}.u32 %p1, %r20, {rnd.choice((1, 5, 16, 20, 31))}"
    return f"setp.{rnd.choice((lanes, 'eq.u32 %p1, %r2, 1', 'eq.u32 %p1, %r21, 1'))};", "@%p1 "


def _access(rnd: random.Random, space: str, *, write: bool) -> list[str]:
    code, address = _place(rnd, space)
    asked, guard = _guard(rnd)
    if write:
        value = rnd.choice(("%r1", "7", "%r4"))
        return [code, asked, f"{guard}st.{space}.u32 [{address}], {value};"]
    reads = [
        f"{guard}ld.{space}.u32 %r{rnd.choice((6, 7))}, [{address}+{rnd.choice((0, 0, 0, 4, 8, 16))}];"
        for _ in range(rnd.choice((1, 1, 2, 3)))
    ]
    return [code, asked, *reads]


class Program:
    """One program."""

    def __init__(self, seed: int) -> None:
        rnd = random.Random(seed)
        self.threads, self.blocks = rnd.choice((32, 64, 64, 96)), rnd.choice((1, 2, 3))
        lines, mostly_reads = [START], rnd.random() < 0.3
        for _ in range(rnd.randint(2, 6)):
            kind = rnd.random()
            if kind < 0.85:
                write = kind > (0.8 if mostly_reads else 0.55)
                lines += _access(rnd, rnd.choice(("shared", "global")), write=write)
            else:
                lines.append(rnd.choice(BETWEEN))
        lines += _access(rnd, rnd.choice(("shared", "global")), write=True)
        each = (line.strip() for text in lines for line in text.split(";"))
        self.text = kernel("\n".join(f"    {line};" for line in each if line), TILE)


def found(way: str, text: str, threads: int, blocks: int) -> list[str]:
    """What racecheck finds, in words. way: one of `WAYS`."""
    if way == "good":
        improve(text, (threads, 1, 1), False, CHECKS)
    x = np.arange(256, dtype=np.uint32)
    engine = "jit" if way == "good" else way
    _, report = run(engine, text, threads=threads, blocks=blocks, checks=CHECKS, x=x)
    return [str(finding) for finding in report.findings]


def differences(first: int, count: int) -> list[str]:
    """The programs on which the engines differ, in words."""
    said = []
    for seed in range(first, first + count):
        program = Program(seed)
        expected, *others = (found(way, program.text, program.threads, program.blocks) for way in WAYS)
        said += [
            f"program {seed}, {program.blocks} blocks of {program.threads}: {way} finds other races"
            for way, other in zip(WAYS[1:], others, strict=True)
            if other != expected
        ]
    return said


if __name__ == "__main__":
    sys.exit(compare(__doc__, differences))
