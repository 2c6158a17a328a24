"""Random kernels with a few accesses of all sizes at addresses of every pattern: rows, strides, rows of less than a
warp, pairs, another order, anywhere; by all lanes or some; in global, shared and local memory, of the first two at both
ends and one element behind.

    python tests/support/random_accesses.py COUNT [FIRST SEED]

runs so many programs in all ways and prints those on which they differ. In every fourth program counters are on, in
every fifth all checks. A program that ends with a fault is compared by that alone.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Callable

import numpy as np
from emulate_programs import ALL_CHECKS, WAYS, Ended, ended, kernel
from seeded_programs import compare, differing

WORDS = 2048
"""Of `x` and of the tile in shared memory."""
LOCAL = 256
"""Bytes of a thread's local memory, but for what neighbours of the last element take."""
BLOCKS = ((32,), (64,), (96,), (48,), (100,), (16, 4), (16, 5), (8, 8), (4, 16), (5, 5), (32, 3), (8, 4, 2), (24, 2))
Index = Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]
"""Elements by %r1 (the thread's number in its block), %r5 (`%tid.x`) and %r6 (the thread's row along y and z)."""
ELEMENTS = {
    "u8": (1, "%r20", "ld.{space}.u8 %r20, {at};", "st.{space}.u8 {at}, %r21;"),
    "s16": (2, "%r20", "ld.{space}.s16 %r20, {at};", "st.{space}.s16 {at}, %r21;"),
    "u32": (4, "%r20", "ld.{space}.u32 %r20, {at};", "st.{space}.u32 {at}, %r21;"),
    "f32": (4, "%r20", "ld.{space}.f32 %f1, {at}; mov.b32 %r20, %f1;", "mov.b32 %f2, %r21; st.{space}.f32 {at}, %f2;"),
    "u64": (8, "%r20", "ld.{space}.u64 %rd10, {at}; cvt.u32.u64 %r20, %rd10;",
            "mov.b64 %rd11, {{%r21, %r1}}; st.{space}.u64 {at}, %rd11;"),
    "v2": (8, "%r20", "ld.{space}.v2.u32 {{%r20, %r22}}, {at}; xor.b32 %r20, %r20, %r22;",
           "st.{space}.v2.u32 {at}, {{%r21, %r1}};"),
    "v4": (16, "%r20", "ld.{space}.v4.u32 {{%r20, %r22, %r23, %r24}}, {at}; mad.lo.u32 %r20, %r22, %r23, %r24;",
           "st.{space}.v4.u32 {at}, {{%r21, %r1, %r21, %r2}};"),
    "bytes": (4, "%r20", "ld.{space}.v4.u8 {{%h1, %h2, %h3, %h4}}, {at}; mov.b32 %r20, {{%h2, %h3}};",
              "cvt.u16.u32 %h1, %r21; st.{space}.v4.u8 {at}, {{%h1, %h1, %h2, %h3}};"),
}  # fmt: skip
"""By name: bytes, where a load leaves its value, a load and a store of %r21."""


class Program:
    """One program."""

    def __init__(self, seed: int) -> None:
        self.draw = draw = random.Random(seed)
        self.block, self.blocks, self.stride = (
            draw.choice(BLOCKS),
            draw.choice((1, 2, 3)),
            draw.choice((1, 2, 5, 16, 20)),
        )
        self.threads = int(np.prod(self.block))
        x, y = (*self.block, 1)[:2]
        linear = np.arange(self.threads)
        place, index = self._index(x)
        size, _, load, store = ELEMENTS[draw.choice(list(ELEMENTS))]
        elements = index(linear, linear % x, linear // x)
        least, most = int(elements.min()), int(elements.max())
        count, near = 4 * WORDS // size, draw.choice((0, 0, 1, 3))
        first = draw.choice((-least, -least, count - 1 - near - most, count - 1 - near - most, 64 - least))
        first += draw.choice((0,) * 9 + (-1, 1, count))
        self.space = draw.choice(("global", "global", "shared", "local"))
        steps = [draw.choice((load, load, store, load + self._changed() + store)) for _ in range(draw.randint(1, 3))]
        at = "%rd6" if self.space == "global" else "%r12"
        parts = [step.format(space=self.space, at=f"[{at}+{size * draw.choice((0, near))}]") for step in steps]
        access = " ".join(f"{part} mad.lo.u32 %r25, %r25, 31, %r20;" for part in parts)
        inside = f"and.b32 %r10, %r10, {LOCAL // size - 1};" if self.space == "local" else ""
        body = [self._start(x, y), f"mov.u32 %r20, 7; mov.u32 %r21, %r4; mov.u32 %r25, %r1; {place}"]
        body += [f"add.s32 %r10, %r10, {first}; {inside}", self._address(size), self._some(access), self._end()]
        self.text = kernel("\n".join(body), f".shared .align 16 .b8 tile[{4 * WORDS}];\n.func nothing() {{ ret; }}")

    def _each_word(self, label: str, body: str) -> str:
        """Does something with all words of the tile, the threads in turn, or each with all of its local memory."""
        memory, words, step = ("own", LOCAL // 4, 1) if self.space == "local" else ("tile", WORDS, self.threads)
        return f"""
    mov.u32 %r8, {memory}; mov.u32 %r9, {"0" if self.space == "local" else "%r1"};
{label}:
    shl.b32 %r11, %r9, 2; add.u32 %r11, %r11, %r8; {body}
    add.u32 %r9, %r9, {step};
    setp.lt.u32 %p2, %r9, {words}; @%p2 bra {label};
    bar.sync 0;"""

    def _start(self, x: int, y: int) -> str:
        """The thread's place, and what memory holds before."""
        space = "local" if self.space == "local" else "shared"
        fill = self._each_word("FILL", f"mul.lo.u32 %r13, %r9, 2654435761; st.{space}.u32 [%r11], %r13;")
        return f"""
    .local .align 16 .b8 own[{LOCAL + 64}];
    mov.u32 %r5, %r1; mov.u32 %r6, %tid.y; mov.u32 %r7, %tid.z; mad.lo.u32 %r6, %r7, {y}, %r6;
    mad.lo.u32 %r1, %r6, {x}, %r5; mad.lo.u32 %r4, %r2, {self.threads}, %r1;
    mul.wide.u32 %rd4, %r4, 4; add.u64 %rd3, %rd1, %rd4;
    {fill}"""

    def _end(self) -> str:
        """Stores what a thread has loaded, and what memory holds then."""
        space = "local" if self.space == "local" else "shared"
        words = self._each_word("SUM", f"ld.{space}.u32 %r13, [%r11]; mad.lo.u32 %r25, %r25, 31, %r13;")
        return f"bar.sync 0; {words} st.global.u32 [%rd3], %r25;"

    def _index(self, x: int) -> tuple[str, Index]:
        """The element that a thread accesses, %r10, in PTX and in numpy."""
        draw, n = self.draw, self.draw.choice((0, 1, 1, 2, 3, 4, 5, -1, -2))
        pitch, bits, of = x * abs(n) + draw.choice((0, 0, 1, 3, 16)), draw.choice((1, 3, 5, 21, 31)), self.stride
        known = draw.random() < 0.5
        stride = f"mov.u32 %r14, {of};" if known else "ld.global.u32 %r14, [%rd2];"
        return draw.choice((
            (f"mul.lo.s32 %r10, %r1, {n};", lambda t, column, row: n * t),
            (f"mul.lo.s32 %r10, %r5, {n}; mad.lo.s32 %r10, %r6, {pitch}, %r10;",
             lambda t, column, row: n * column + pitch * row),
            (f"{stride} mad.lo.u32 %r10, %r6, %r14, %r5;", lambda t, column, row: of * row + column),
            (f"{stride} mul.lo.u32 %r10, %r1, %r14;", lambda t, column, row: of * t),
            (f"{stride} neg.s32 %r14, %r14; mad.lo.s32 %r10, %r1, %r14, %r2;", lambda t, column, row: -of * t),
            (f"xor.b32 %r10, %r1, {bits};", lambda t, column, row: t ^ bits),
            ("shr.u32 %r10, %r1, 1;", lambda t, column, row: t >> 1),
            ("and.b32 %r10, %r1, 3;", lambda t, column, row: t & 3),
            ("and.b32 %r10, %r1, 15; shr.u32 %r11, %r1, 4; mad.lo.u32 %r10, %r11, 40, %r10;",
             lambda t, column, row: t % 16 + 40 * (t >> 4)),
            ("mul.lo.u32 %r10, %r1, 7; xor.b32 %r10, %r10, 5; and.b32 %r10, %r10, 31; mul.lo.u32 %r10, %r10, %r10;"
             "shr.u32 %r10, %r10, 3;", lambda t, column, row: ((t * 7 ^ 5) & 31) ** 2 >> 3),
            ("mad.wide.u32 %rd12, %r1, 4, %rd2; ld.global.u32 %r10, [%rd12+64];"
             "and.b32 %r10, %r10, 63;", lambda t, column, row: (t + 16) & 63),
        ))  # fmt: skip

    def _address(self, size: int) -> str:
        """The element's address: %rd6 in `x`, %r12 in shared or local memory."""
        if self.space != "global":
            return f"mad.lo.s32 %r12, %r10, {size}, %r8;"
        return self.draw.choice((
            f"mul.wide.s32 %rd5, %r10, {size}; add.s64 %rd6, %rd2, %rd5;",
            f"cvt.s64.s32 %rd5, %r10; shl.b64 %rd5, %rd5, {size.bit_length() - 1}; add.s64 %rd6, %rd5, %rd2;",
            f"mad.wide.s32 %rd6, %r10, {size}, %rd2;",
        ))  # fmt: skip

    def _changed(self) -> str:
        return self.draw.choice(("add.u32 %r21, %r20, 1;", "mad.lo.u32 %r21, %r20, 5, %r1;", "mov.u32 %r21, %r20;"))

    def _some(self, access: str) -> str:
        """The access by all lanes, or by some."""
        draw = self.draw
        lanes = draw.choice((
            f"mov.u32 %r15, {draw.choice((0x80000000, 0x00810400, 0x40F0F001, 0x7FFFFFFE, 0x55555555, 0xFFFF))};"
            " and.b32 %r16, %r1, 31; shr.u32 %r15, %r15, %r16; and.b32 %r15, %r15, 1; setp.ne.u32 %p1, %r15, 0;",
            f"setp.{draw.choice(('lt', 'ge'))}.u32 %p1, %r1, {draw.choice((1, 16, 40))};",
            f"setp.{draw.choice(('lt', 'ge'))}.u32 %p1, %r5, {draw.choice((1, 4, 15))};",
        ))  # fmt: skip
        how = draw.random()
        if how < 0.5:
            return access
        if how < 0.6:  # the function for diverged warps has the call, and the access
            return f"{lanes} @!%p1 bra OVER; call.uni nothing; {access} OVER:"
        if how < 0.8:
            return lanes + " ".join(f"@%p1 {part.strip()};" for part in access.split(";") if part.strip())
        return f"{lanes} @!%p1 bra OVER; {access} OVER:"


def outcome(way: str, program: Program, seed: int) -> str | Ended:
    """How a program ends."""
    x = np.arange(WORDS, dtype=np.uint32)
    x[0] = program.stride
    checks = ALL_CHECKS if seed % 5 == 2 else ("memcheck",)
    given = {"threads": program.block, "blocks": program.blocks, "counters": seed % 4 == 1, "checks": checks}
    found = ended(way, program.text, x=x, **given)
    return found.fault or found


def differences(first: int, count: int) -> list[str]:
    """The programs on which the ways differ."""
    return differing(range(first, first + count), Program, outcome, WAYS)


if __name__ == "__main__":
    sys.exit(compare(__doc__, differences))
