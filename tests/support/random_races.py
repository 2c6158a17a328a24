"""Random programs that race: rows, halves of warps and single words are read and written in some order; in every second
one also atomically, asynchronously, in other sizes and in two allocations at once; in every fourth one out of range. In
every fifth one an array is changed in place: checkerboards, blocks of any width, structures of each thread, elements in
no order, most of them rightly.

    python tests/support/random_races.py COUNT [FIRST SEED]

runs so many programs on both engines and prints those of which the checks do not find the same: the same lines, lanes
and words, as often. Values matter only where an array is changed in place and nothing is found. No program polls, since
the engines let warps that do take turns at different times.
"""

from __future__ import annotations

import random
import sys

import numpy as np
from emulate_programs import ALL_CHECKS, WAYS, kernel, said
from seeded_programs import compare, differing

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
            (f"atom.{space}.add.u32 %r8, [{address}], %r1;", f"red.{space}.max.u32 [{address}], 1;",
             f"red.{space}.or.b32 [{address}], 1;", f"atom.{space}.cas.b32 %r8, [{address}], 0, %r1;")
        ),
        "strong": _moved(f"{order}.{scope}.{space}.u32", "%r6", address, write),
        "narrow": _moved(f"{space}.{'u16' if write else 'u8'}", "%h1", place, write),
        "vector": _moved(f"{space}.v2.u32", "{%r6, %r7}", address, write),
        "copy": f"cp.async.ca.shared.global [%r12], [{address}], 4;",
        "two": _moved("global.u32", "%r4" if write else "%r6", address, write),
    }  # fmt: skip
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


# -- changes in place --------------------------------------------------------------------------------------------------

SIZES = {1: ("u8", "%h"), 2: ("u16", "%h"), 4: ("u32", "%r"), 8: ("u64", "%rd")}
MARGIN = 64
"""Elements before those of the first thread."""


def _element(rnd: random.Random) -> tuple[str, list[int]]:
    """Which element is a thread's, in %r10, and its number in some pattern, in %r14; how far neighbours are."""
    kind = rnd.random()
    if kind < 0.5:
        width = rnd.choice((2, 4, 8, 16, 32, 3, 5))
        pitch = width + rnd.choice((0, 0, 1, 3, 8, 20))
        code = f"mov.u32 %r11, {width}; rem.u32 %r12, %r4, %r11; div.u32 %r13, %r4, %r11;"
        return f"{code} mad.lo.u32 %r10, %r13, {pitch}, %r12; add.u32 %r14, %r12, %r13;", [0, -1, 1, pitch, -pitch]
    if kind < 0.8:
        apart = rnd.choice((1, 2, 3, 4, 6, 8, 16, 17, 33))
        return f"mul.lo.u32 %r10, %r4, {apart}; mov.u32 %r14, %r4;", list(range(apart))[:6]
    code = f"mul.lo.u32 %r10, %r4, {rnd.choice((5, 37, 101))}; and.b32 %r10, %r10, 511; shl.b32 %r10, %r10, 1;"
    return f"{code} mov.u32 %r14, %r4;", [0, 1]


def _changed_in_place(rnd: random.Random, mistaken: bool) -> list[str]:
    """Threads change elements of their own; if `mistaken`, some touch others', after a barrier or not."""
    size, (code, near) = rnd.choice((1, 2, 4, 4, 4, 4, 8)), _element(rnd)
    type_, kind = SIZES[size]

    def moved(to: int, write: bool, base: str = "%rd20") -> str:
        register, place = f"{kind}{rnd.choice((6, 7))}", f"[{base}+{to * size}]"
        return f"st.global.{type_} {place}, {register};" if write else f"ld.global.{type_} {register}, {place};"

    odd = f"and.b32 %r15, %r14, 1; setp.eq.u32 %p1, %r15, {rnd.choice((0, 1))}; @%p1 bra DONE;"
    first = f"setp.lt.u32 %p1, %r1, {rnd.choice((1, 3, 16))}; @%p1 bra DONE;"
    third = "rem.u32 %r15, %r14, 3; setp.eq.u32 %p1, %r15, 1; @%p1 bra DONE;"
    idle = rnd.choice(("", odd, odd, first, third))
    lines = [code, f"add.u32 %r10, %r10, {MARGIN}; mul.wide.u32 %rd20, %r10, {size}; add.u64 %rd20, %rd2, %rd20;", idle]
    for number in range(rnd.randint(1, 2)):
        # a checkerboard's neighbours are only read; fields of one thread are written as well
        fields = [0] if -1 in near else near
        update = [moved(rnd.choice(near), False) for _ in range(rnd.randint(0, 4))]
        update += [moved(rnd.choice(fields), True) for _ in range(rnd.randint(0, 2))]
        if rnd.random() < 0.3:
            rnd.shuffle(update)
        if rnd.random() < 0.2:
            again = f"setp.lt.u32 %p2, %r16, {rnd.choice((2, 5))}; @%p2 bra LOOP{number};"
            update = ["mov.u32 %r16, 0;", f"LOOP{number}:", *update, "add.u32 %r16, %r16, 1;", again]
        lines += update
    if mistaken:
        guard, write = rnd.choice(("", "@%p3 ")), rnd.random() < 0.5
        far = (
            (rnd.choice((0, 70)), write, "%rd2") if rnd.random() < 0.3 else (rnd.choice((1, -1, 2, 32, 200, 7)), write)
        )
        lines.append("" if idle else rnd.choice(("", "bar.sync 0;")))  # threads that do nothing come to no barrier
        lines.append(f"setp.eq.u32 %p3, %r1, {rnd.choice((0, 9, 33))}; {guard}{moved(*far)}")
    return [*lines, "DONE:"]


class Program:
    """One program."""

    def __init__(self, seed: int) -> None:
        rnd = random.Random(seed)
        self.in_place = seed % 5 == 4
        self.words = 1 << 15 if self.in_place else 256
        """Of the array `x`."""
        self.threads, self.blocks = rnd.choice((32, 64, 64, 96)), rnd.choice((1, 2, 3))
        if self.in_place:
            self.threads = rnd.choice((self.threads, 40))
            lines = _changed_in_place(rnd, seed % 2 == 0)
        else:
            lines = self._races(rnd, seed)
        each = (line.strip() for text in lines for line in text.split(";"))
        self.text = kernel("\n".join(f"    {line}{';' * (line[-1] != ':')}" for line in each if line), TILE)

    def _races(self, rnd: random.Random, seed: int) -> list[str]:
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
        return lines

    @staticmethod
    def _stray(rnd: random.Random, lines: list[str]) -> None:
        """Some lanes of one access go astray: out of range, or to another place."""
        at = rnd.choice([k for k, line in enumerate(lines) if "[%rd20" in line or "[%r12" in line])
        register, type_ = ("%rd20", "u64") if "[%rd20" in lines[at] else ("%r12", "u32")
        lanes = f"setp.{rnd.choice(('eq', 'ge'))}.u32 %p5, %r20, {rnd.choice((0, 5, 16, 31))};"
        lines.insert(at, f"{lanes} @%p5 add.{type_} {register}, {register}, {rnd.choice((2, 900, 4096, 1 << 20))};")


def outcome(way: str, program: Program) -> tuple[list[str], bytes]:
    """What the checks say of a program, and the array that it has changed in place if that is nothing."""
    x = np.arange(program.words, dtype=np.uint32)
    says = said(way, program.text, threads=program.threads, blocks=program.blocks, checks=ALL_CHECKS, x=x)
    return says, x.tobytes() if program.in_place and not says else b""


def differences(first: int, count: int) -> list[str]:
    """The programs on which the engines differ, in words."""
    return differing(range(first, first + count), Program, lambda way, program, _: outcome(way, program), WAYS)


if __name__ == "__main__":
    sys.exit(compare(__doc__, differences))
