"""Random programs that race: rows, halves of warps and single words are read and written in some order; in every second
one also atomically, asynchronously, in other sizes and in two allocations at once; in every fourth one out of range.

    python tests/support/random_races.py COUNT [FIRST SEED]

runs so many programs on both engines and prints those of which the checks do not find the same: the same lines, lanes
and words, as often. Values do not matter here. No program has a loop, so that none polls: warps that do take turns
otherwise.
"""

from __future__ import annotations

import random
import sys

import numpy as np
from emulate_programs import ALL_CHECKS, WAYS, kernel, run
from seeded_programs import compare, differing

from ptxlab.errors import DeviceFault

TILE = ".shared .align 16 .b8 tile[2048];"
START = "mov.u32 %r30, tile; and.b32 %r20, %r1, 31; shr.u32 %r21, %r1, 5;"
"""%r20: the lane; %r21: the warp."""
BETWEEN = ("bar.sync 0;", "bar.sync 0;", "bar.warp.sync -1;", "membar.gl;", "shfl.sync.idx.b32 %r6, %r6, 0, 31, -1;")


def _index(rnd: random.Random) -> str:
    """Which word each lane accesses, in %r10."""
    first, factor = rnd.choice((0, 1, 4, 7)), rnd.choice((1, 2, 3, 5, 8, 16, 20))
    apart = rnd.choice((0, 1, 5, 8, 15, 16, 20, 32))
    return rnd.choice(
        (
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
        )
    )


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


def _moved(how: str, registers: str, address: str, write: bool) -> str:
    return f"st.{how} [{address}], {registers};" if write else f"ld.{how} {registers}, [{address}];"


def _rarer(rnd: random.Random, space: str, *, write: bool) -> list[str]:
    """An access of another kind: atomic, strong, asynchronous, narrow, of a vector, or in two allocations."""
    code, address = _place(rnd, space)
    asked, guard = _guard(rnd)
    scope, place = rnd.choice(("cta", "gpu")), f"{address}+{rnd.choice((0, 2))}"
    order = rnd.choice(("release", "relaxed") if write else ("acquire", "relaxed"))
    kinds = {
        "atomic": rnd.choice(
            (
                f"atom.{space}.add.u32 %r8, [{address}], %r1;",
                f"red.{space}.max.u32 [{address}], 1;",
                f"red.{space}.or.b32 [{address}], 1;",
                f"atom.{space}.cas.b32 %r8, [{address}], 0, %r1;",
            )
        ),
        "strong": _moved(f"{order}.{scope}.{space}.u32", "%r6", address, write),
        "narrow": _moved(f"{space}.{'u16' if write else 'u8'}", "%h1", place, write),
        "vector": _moved(f"{space}.v2.u32", "{%r6, %r7}", address, write),
        "copy": f"cp.async.ca.shared.global [%r12], [{address}], 4;",
        "two": _moved("global.u32", "%r4" if write else "%r6", address, write),
    }
    kind = rnd.choice([*kinds])
    before = after = ""
    if kind == "vector":
        wide, narrow = ("%rd20", "b64") if space == "global" else ("%r12", "b32")
        before = f"and.{narrow} {wide}, {wide}, -16;"
    elif kind == "copy":
        code, address = _place(rnd, "global")
        before = "and.b32 %r12, %r20, 7; shl.b32 %r12, %r12, 2; add.u32 %r12, %r12, %r30;"
        kinds["copy"] = f"cp.async.ca.shared.global [%r12], [{address}], 4;"
        after = rnd.choice(
            ("", "cp.async.commit_group;", "cp.async.commit_group; cp.async.wait_group 0;", "cp.async.wait_all;")
        )
    elif kind == "two":
        first = rnd.choice(("setp.lt.u32 %p3, %r20, 16;", "and.b32 %r11, %r20, 1; setp.eq.u32 %p3, %r11, 0;"))
        code = f"{_index(rnd)} and.b32 %r10, %r10, 15; {first} selp.b64 %rd22, %rd1, %rd2, %p3;"
        before = "mul.wide.u32 %rd20, %r10, 4; add.u64 %rd20, %rd22, %rd20;"
        kinds["two"] = kinds["two"].replace(address, "%rd20")
    return [
        code,
        before,
        asked,
        guard + kinds[kind],
        after,
        rnd.choice(("", "", "fence.acq_rel.gpu;", "fence.sc.cta;")),
    ]


class Program:
    """One program."""

    def __init__(self, seed: int) -> None:
        rnd = random.Random(seed)
        self.threads, self.blocks = rnd.choice((32, 64, 64, 96)), rnd.choice((1, 2, 3))
        lines, mostly_reads, rare = [START], rnd.random() < 0.3, 0.5 * (seed % 2)
        for _ in range(rnd.randint(2, 6)):
            kind = rnd.random()
            if kind < 0.85:
                write = kind > (0.8 if mostly_reads else 0.55)
                access = _rarer if rnd.random() < rare else _access
                lines += access(rnd, rnd.choice(("shared", "global")), write=write)
            else:
                lines.append(rnd.choice(BETWEEN))
        lines += _access(rnd, rnd.choice(("shared", "global")), write=True)
        if seed % 4 == 3:
            self._stray(rnd, lines)
        each = (line.strip() for text in lines for line in text.split(";"))
        self.text = kernel("\n".join(f"    {line};" for line in each if line), TILE)

    @staticmethod
    def _stray(rnd: random.Random, lines: list[str]) -> None:
        """Some lanes of one access go astray: out of range, or to another place."""
        at = rnd.choice([k for k, line in enumerate(lines) if "[%rd20" in line or "[%r12" in line])
        register, type_ = ("%rd20", "u64") if "[%rd20" in lines[at] else ("%r12", "u32")
        lanes = f"setp.{rnd.choice(('eq', 'ge'))}.u32 %p5, %r20, {rnd.choice((0, 5, 16, 31))};"
        lines.insert(at, f"{lanes} @%p5 add.{type_} {register}, {register}, {rnd.choice((2, 900, 4096, 1 << 20))};")


def found(way: str, text: str, threads: int, blocks: int) -> list[str]:
    """The fault, if there is one, and what the checks find, in words. way: one of `WAYS`."""
    x = np.arange(256, dtype=np.uint32)
    try:
        _, report = run(way, text, threads=threads, blocks=blocks, checks=ALL_CHECKS, x=x)
    except DeviceFault as fault:
        return [str(fault), *map(str, fault.findings)]
    return [str(finding) for finding in report.findings]


def differences(first: int, count: int) -> list[str]:
    """The programs on which the engines differ, in words."""

    def ended(way: str, program: Program, _: int) -> object:
        return found(way, program.text, program.threads, program.blocks)

    return differing(range(first, first + count), Program, ended, WAYS)


if __name__ == "__main__":
    sys.exit(compare(__doc__, differences))
