"""Random programs that change an array in place: checkerboards, blocks of any width, rows and structures of each
thread, elements in no order; in every second one a thread touches what others do, too, a barrier
between or not.

    python tests/support/random_in_place.py COUNT [FIRST SEED]

runs so many programs on both engines and prints those of which racecheck does not find the same, or that leave other
values where it finds nothing.
"""

from __future__ import annotations

import random
import sys

import numpy as np
from emulate_programs import WAYS, kernel, run
from seeded_programs import compare, differing

CHECKS = ("memcheck", "racecheck")
WORDS = 1 << 15
MARGIN = 64
"""Elements before those of the first thread."""
SIZES = {1: ("u8", "%h"), 2: ("u16", "%h"), 4: ("u32", "%r"), 8: ("u64", "%rd")}


class Program:
    """One program."""

    def __init__(self, seed: int) -> None:
        rnd = self._rnd = random.Random(seed)
        self.threads, self.blocks = rnd.choice((32, 64, 64, 96, 40)), rnd.choice((1, 2, 4))
        self.size = rnd.choice((1, 2, 4, 4, 4, 4, 8))
        self.near = [0]
        """Elements from a thread's own to neighbours that lie in a pattern."""
        lines = [self._element(), f"add.u32 %r10, %r10, {MARGIN};", f"mul.wide.u32 %rd20, %r10, {self.size};"]
        asked = self._lanes()
        self.all = not asked  # then they may meet at a barrier
        lines += ["add.u64 %rd20, %rd2, %rd20;", asked]
        for _ in range(rnd.randint(1, 2)):
            lines += self._update()
        if seed % 2:
            lines += self._others()
        lines.append("DONE:")
        self.text = kernel("\n".join(f"    {line}" for text in lines for line in text.splitlines() if line))

    def _element(self) -> str:
        """Which element is a thread's, in %r10."""
        rnd, kind = self._rnd, self._rnd.random()
        if kind < 0.5:
            width = rnd.choice((2, 4, 8, 16, 32, 3, 5))
            pitch = width + rnd.choice((0, 0, 1, 3, 8, 20))
            self.near = [0, -1, 1, pitch, -pitch]
            return (
                f"mov.u32 %r11, {width};\nrem.u32 %r12, %r4, %r11;\ndiv.u32 %r13, %r4, %r11;\n"
                f"mad.lo.u32 %r10, %r13, {pitch}, %r12;\nadd.u32 %r14, %r12, %r13;"
            )
        if kind < 0.8:
            apart = rnd.choice((1, 2, 3, 4, 6, 8, 16, 17, 33))
            self.near = list(range(apart))[:6]
            return f"mul.lo.u32 %r10, %r4, {apart};\nmov.u32 %r14, %r4;"
        self.near = [0, 1]
        factor = rnd.choice((5, 37, 101))
        return f"mul.lo.u32 %r10, %r4, {factor};\nand.b32 %r10, %r10, 511;\nshl.b32 %r10, %r10, 1;\nmov.u32 %r14, %r4;"

    def _lanes(self) -> str:
        """Which threads do nothing."""
        rnd = self._rnd
        return rnd.choice(
            (
                "",
                f"and.b32 %r15, %r14, 1;\nsetp.eq.u32 %p1, %r15, {rnd.choice((0, 1))};\n@%p1 bra DONE;",
                f"and.b32 %r15, %r14, 1;\nsetp.eq.u32 %p1, %r15, {rnd.choice((0, 1))};\n@%p1 bra DONE;",
                f"setp.lt.u32 %p1, %r1, {rnd.choice((1, 3, 16))};\n@%p1 bra DONE;",
                "rem.u32 %r15, %r14, 3;\nsetp.eq.u32 %p1, %r15, 1;\n@%p1 bra DONE;",
            )
        )

    def _moved(self, to: int, *, write: bool, base: str = "%rd20", number: int = 6) -> str:
        type_, register = SIZES[self.size]
        place = f"[{base}+{to * self.size}]"
        register = f"{register}{number}"
        return f"st.global.{type_} {place}, {register};" if write else f"ld.global.{type_} {register}, {place};"

    def _update(self) -> list[str]:
        """Elements are read, and some written, in a loop or not."""
        rnd = self._rnd
        reads = [rnd.choice(self.near) for _ in range(rnd.randint(0, 4))]
        # a checkerboard's neighbours are only read; fields of one thread are written, too
        fields = [0] if -1 in self.near else self.near
        lines = [self._moved(at, write=False, number=rnd.choice((6, 7))) for at in reads]
        lines += [self._moved(rnd.choice(fields), write=True) for _ in range(rnd.randint(0, 2))]
        if rnd.random() < 0.3:
            rnd.shuffle(lines)
        if rnd.random() < 0.2:
            count, loop = rnd.choice((2, 5)), f"LOOP{rnd.randrange(1 << 30)}"
            lines = ["mov.u32 %r16, 0;", f"{loop}:", *lines, "add.u32 %r16, %r16, 1;"]
            lines += [f"setp.lt.u32 %p2, %r16, {count};", f"@%p2 bra {loop};"]
        return lines

    def _others(self) -> list[str]:
        """Some threads touch another one's elements, or all touch one."""
        rnd = self._rnd
        write, far = rnd.random() < 0.5, rnd.choice((1, -1, 2, 32, 200, 7))
        lines = [rnd.choice(("", "bar.sync 0;"))] if self.all else [""]
        lines += [rnd.choice(("", f"setp.eq.u32 %p3, %r1, {rnd.choice((0, 9, 33))};"))]
        guard = "@%p3 " if lines[-1] else ""
        if rnd.random() < 0.3:
            return [*lines, f"{guard}{self._moved(rnd.choice((0, 70)), write=write, base='%rd2')}"]
        return [*lines, f"{guard}{self._moved(far, write=write)}"]


def found(way: str, program: Program) -> tuple[list[str], bytes]:
    """What racecheck finds, in words, and the array afterwards if that is nothing."""
    x = np.random.default_rng(1).integers(0, 1 << 32, WORDS, np.uint32)
    report = run(way, program.text, threads=program.threads, blocks=program.blocks, checks=CHECKS, x=x)[1]
    said = [str(finding) for finding in report.findings]
    return said, b"" if said else x.tobytes()


def differences(first: int, count: int) -> list[str]:
    """The programs on which the engines differ, in words."""

    def ended(way: str, program: Program, _: int) -> object:
        return found(way, program)

    return differing(range(first, first + count), Program, ended, WAYS)


if __name__ == "__main__":
    sys.exit(compare(__doc__, differences))
