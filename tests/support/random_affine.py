"""Random programs whose registers are scalars plus a constant for each lane, or nearly so, and addresses made of them.

    python tests/support/random_affine.py COUNT [FIRST SEED]

runs so many programs on both engines and prints those on which they differ.

A program has 32-bit and 64-bit registers made of `%tid`, `%laneid`, `%ctaid` and numbers, many near 2^31 and 2^32; it
adds, multiplies by constants and by strides that are known when it runs only, shifts, widens, narrows and compares
them, under guards and behind branches that lanes take apart and together, and in loops, some of which have the grid's
stride; and it loads and stores where they point to, if that is inside. What a thread has seen ends in `out`, unless it
has exited.
"""

from __future__ import annotations

import random
import sys

import numpy as np
from emulate_programs import ALL_CHECKS, WAYS, Ended, ended, kernel
from seeded_programs import compare, differing

BLOCKS = (
    (64,), (48,), (100,), (32, 3), (16, 4), (16, 5), (8, 8), (4, 16), (16, 3, 2), (8, 4, 3), (20, 4), (96, 1, 2),
    (24,), (16,), (6, 4), (4, 2), (2, 3, 3),
)  # fmt: skip
"""Of 32, 16 and 8 threads in a row, and others."""
NEAR = (0, 1, 5, 31, 32, 0x7FFFFFF0, 0x7FFFFFFF, 0x80000000, 0xFFFFFFE0, 0xFFFFFFF8, 0xFFFFFFFF)
NARROW, WIDE = range(10, 18), range(10, 18)
"""The numbers of the registers that a program computes with: %r10 to %r17, %rd10 to %rd17."""
STRIDES = (0, 1, 2, 4, 4, 8, 12, 16, 16, 20, -1, -4, -16, 0x08000000, 0x10000001, 0x7FFFFFFF, -0x80000000, 0x40000000)
"""Numbers that lanes are multiplied by, added to a multiple of x[0], which is 0, 1 or 2."""
WORDS = 512
"""Of `x`, which programs load from and store to."""
SHARED = ".shared .align 16 .b8 tile[1024];"


class Program:
    """One program; `text` is its PTX."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.block, self.blocks = self.random.choice(BLOCKS), 2
        self.lines: list[str] = []
        self.count = 0
        self.start()
        for _ in range(self.random.randint(6, 14)):
            self.piece(2)
        self.end()
        self.text = kernel("\n".join(self.lines), SHARED)

    @property
    def threads(self) -> int:
        """Of a block."""
        return int(np.prod(self.block))

    def emit(self, text: str, guard: str = "") -> None:
        self.lines.append(f"    {guard}{text}")

    def any(self, registers: range) -> str:
        return f"%{'r' if registers is NARROW else 'rd'}{self.random.choice(registers)}"

    @property
    def r(self) -> str:
        """A 32-bit register."""
        return f"%r{self.random.choice(NARROW)}"

    @property
    def d(self) -> str:
        """A 64-bit register."""
        return f"%rd{self.random.choice(WIDE)}"

    @property
    def stride(self) -> str:
        """A register that is the same in all lanes."""
        return self.random.choice(("%r35", "%r35", "%r36", "%r5"))

    def element(self, d: str) -> str:
        """The number of an element in a row or a column, whose rows are a stride apart."""
        row, column = self.random.choice(
            (("%tid.y", "%tid.x"), ("%laneid", "%r2"), ("%tid.x", "%tid.y"), ("%tid.x", "%r5"))
        )
        return f"mov.u32 %r28, {row}; mov.u32 %r29, {column}; mad.lo.u32 {d}, %r28, {self.stride}, %r29;"

    @property
    def scalar(self) -> str:
        """A number, or a register that is the same in all lanes."""
        return self.random.choice((str(self.random.choice(NEAR)), str(self.random.randint(0, 200)), "%r2", "%r5"))

    def start(self) -> None:
        """Every register gets a value; the thread's number in its block; what is seen is gathered in %r30."""
        self.emit("mov.u32 %r6, %tid.y; mov.u32 %r7, %tid.z; mov.u32 %r8, %ntid.y;")
        self.emit("mad.lo.u32 %r9, %r7, %r8, %r6; mad.lo.u32 %r1, %r9, %r3, %r1;")
        self.emit("mov.u32 %r8, %ntid.z; mul.lo.u32 %r9, %r3, %r8; mov.u32 %r8, %ntid.y; mul.lo.u32 %r9, %r9, %r8;")
        self.emit("mad.lo.u32 %r4, %r2, %r9, %r1; mul.wide.u32 %rd4, %r4, 4; add.u64 %rd3, %rd1, %rd4;")
        self.emit("ld.global.u32 %r5, [%rd2]; mov.u32 %r30, 0;")
        self.emit("shl.b32 %r31, %r2, 5; mul.lo.u32 %r32, %r5, 24; add.u32 %r32, %r32, 64;")
        combine, low = (
            self.random.choice(("or.b32", "xor.b32", "add.u32", "sub.u32")),
            self.random.choice((1, 4, 8, 16)),
        )
        self.emit(f"{combine} %r33, %r31, {low}; and.b32 %r34, %r33, -8;")
        for r, d, more in (("%r35", "%rd21", 4), ("%r36", "%rd22", 0)):
            by = self.random.choice((0, more, 1, 0x10000000))
            self.emit(f"mul.lo.u32 {r}, %r5, {by}; add.u32 {r}, {r}, {self.random.choice(STRIDES)};")
            self.emit(f"cvt.{self.random.choice(('u64.u32', 's64.s32'))} {d}, {r};")
            self.emit(f"shl.b64 {d}, {d}, {self.random.choice((0, 0, 2, 30))};")
        for n in NARROW:
            of = self.random.choice(("%tid.x", "%tid.x", "%tid.x", "%tid.y", "%tid.z", "%laneid", "%ctaid.x", "%r1"))
            self.emit(f"mov.u32 %r{n}, {of};")
            if self.random.random() < 0.5:
                self.emit(f"add.u32 %r{n}, %r{n}, {self.scalar};")
        for n in WIDE:
            self.widen(f"%rd{n}")
        self.emit("shl.b32 %r20, %r1, 2; and.b32 %r20, %r20, 1023; mov.u32 %r21, tile; add.u32 %r21, %r21, %r20;")
        self.emit("st.shared.u32 [%r21], %r1; bar.sync 0;")

    def widen(self, to: str, guard: str = "") -> None:
        kind, of, by = self.random.choice(("u32", "s32")), self.r, self.random.choice((1, 2, 4, 4, 4, 8, -4, 12))
        wide = kind[0] + "64"
        choice = self.random.random()
        if choice < 0.5:
            self.emit(f"mul.wide.{kind} {to}, {of}, {by if kind == 's32' else abs(by)};", guard)
        elif choice < 0.8:
            self.emit(f"cvt.{wide}.{kind} {to}, {of};", guard)
        else:
            self.emit(f"mad.wide.{kind} {to}, {of}, {abs(by)}, {self.d};", guard)

    def guard(self) -> str:
        """None, or a predicate that was made here."""
        if self.random.random() < 0.8:
            return ""
        self.compare("%p1")
        return self.random.choice(("@%p1 ", "@!%p1 "))

    def compare(self, p: str) -> None:
        how = self.random.choice(("lt", "le", "gt", "ge", "eq", "ne"))
        if self.random.random() < 0.15:
            self.emit(f"setp.{how}.u32 {p}, {self.random.choice(('%r2', '%r5'))}, {self.random.randint(0, 2)};")
        elif self.random.random() < 0.6:
            kind = self.random.choice(("u32", "s32"))
            a, b = self.r, self.random.choice((self.scalar, self.scalar, self.r))
            a, b = (a, b) if self.random.random() < 0.7 or b.isdigit() else (b, a)
            self.emit(f"setp.{how}.{kind} {p}, {a}, {b};")
        else:
            number = self.random.choice(NEAR) + self.random.randint(-70, 70)
            kind = "s64" if number < 0 else self.random.choice(("u64", "s64"))
            self.emit(f"setp.{how}.{kind} {p}, {self.d}, {number};")

    def compute(self) -> None:
        """An instruction or two that give a register a new value."""
        guard, choice = self.guard(), self.random.random()
        if choice < 0.35:
            self.narrow(guard)
        elif choice < 0.6:
            self.wide(guard)
        elif choice < 0.75:
            self.widen(self.d, guard)
        elif choice < 0.85:
            self.emit(f"cvt.u32.u64 {self.r}, {self.d};", guard)
        else:
            self.compare("%p2")
            kind = self.random.random() < 0.5
            names = (self.r, self.r, self.r) if kind else (self.d, self.d, self.d)
            self.emit(f"selp.b{32 if kind else 64} {', '.join(names)}, %p2;", guard)

    def narrow(self, guard: str) -> None:
        d, a, b, n = self.r, self.r, self.r, self.random.choice((1, 2, 3, 4, 8, 16, 31, 0x40000000, -1, -4))
        self.emit(
            self.random.choice((
                f"add.u32 {d}, {a}, {self.scalar};", f"add.u32 {d}, {a}, {b};", f"sub.u32 {d}, {a}, {b};",
                f"sub.u32 {d}, {self.scalar}, {a};", f"mul.lo.s32 {d}, {a}, {n};", f"mad.lo.s32 {d}, {a}, {n}, {b};",
                f"shl.b32 {d}, {a}, {self.random.choice((0, 1, 2, 5, 30, 31, 32))};",
                f"mov.u32 %r28, {self.random.choice(('%tid.x', '%tid.y', a))}; mad.lo.u32 {d}, %r2, %r3, %r28;",
                f"mul.lo.u32 {d}, {a}, {self.stride};",
                f"mov.u32 %r37, {n}; mul.lo.u32 {d}, {a}, %r37;", f"mad.lo.u32 {d}, {a}, {self.stride}, {b};",
                self.element(d), self.element(d), self.element(d),
                f"and.b32 {d}, {a}, {self.random.choice((31, 127, -32, 15, 0x80000000))};", f"or.b32 {d}, {a}, 64;",
                f"shr.u32 {d}, {a}, {self.random.choice((1, 3, 4, 5))};", f"mov.u32 {d}, {a};", f"neg.s32 {d}, {a};",
                f"min.u32 {d}, {a}, {b};", f"xor.b32 {d}, {a}, {b};", self.bits(d), self.bits(d), self.bits(d),
            )),
            guard,
        )  # fmt: skip

    def bits(self, d: str) -> str:
        """Bits of the thread's place in its row or warp, which may meet those of a scalar."""
        place = self.random.choice(("%tid.x", "%tid.x", "%tid.y", "%laneid"))
        times = self.random.choice((1, 1, 2, 3, 5))
        a, scalar = (
            self.random.choice(("%r28", "%r28", self.r)),
            self.random.choice(("%r31", "%r32", "%r33", "%r34", "%r2", "9")),
        )
        shift = self.random.choice((1, 2, 3, 4, 5, 31))
        return f"mov.u32 %r28, {place}; mul.lo.u32 %r28, %r28, {times}; " + self.random.choice(
            (
                f"and.b32 {d}, {a}, {self.random.choice((31, 15, 7, 127, -4, -32, 10))};",
                f"or.b32 {d}, {a}, {scalar};",
                f"and.b32 %r29, {a}, {self.random.choice((31, 15, 127))}; or.b32 {d}, %r29, {scalar};",
                f"shr.u32 {d}, {a}, {shift};",
                f"shr.s32 {d}, {a}, {shift};",
                f"xor.b32 {d}, {a}, {scalar};",
                f"add.u32 %r29, {a}, {scalar}; shr.s32 {d}, %r29, {shift};",
                f"or.b32 {d}, {scalar}, {a};",
                f"shl.b32 %r29, {a}, {shift}; or.b32 {d}, %r29, {scalar};",
                f"mov.u32 %r29, %tid.y; add.u32 %r29, %r29, {a}; shr.u32 {d}, %r29, {shift};",
                f"shl.b32 %r29, {a}, {shift}; add.u32 %r29, %r29, {scalar}; and.b32 {d}, %r29, -8;",
            )
        )

    def wide(self, guard: str) -> None:
        d, a, b = self.d, self.d, self.d
        self.emit(
            self.random.choice((
                f"add.s64 {d}, {a}, {self.random.choice(NEAR)};", f"add.s64 {d}, {a}, {b};", f"sub.s64 {d}, {a}, {b};",
                f"shl.b64 %rd20, {a}, {self.random.randint(0, 3)}; or.b64 {d}, %rd20, {self.random.choice((1, 5))};",
                f"sub.s64 {d}, {self.random.choice(NEAR)}, {a};", f"mov.u64 {d}, {a};",
                f"mul.lo.s64 {d}, {a}, {self.random.choice((2, 3, -1, 0x100000000))};",
                f"shl.b64 {d}, {a}, {self.random.choice((1, 2, 33))};",
                f"mul.lo.s64 {d}, {a}, {self.random.choice(('%rd21', '%rd22'))};",
                f"cvt.u64.u32 {d}, {self.random.choice(('%tid.x', '%tid.y', self.r))}; mul.lo.s64 {d}, {d}, %rd21;",
                self.wrapped(d), self.wrapped(d), self.in_row(d), self.in_row(d),
            )),
            guard,
        )  # fmt: skip

    def in_row(self, d: str) -> str:
        """The place of an element behind that of its row, both widened."""
        row, column = (self.random.choice((self.r, "%tid.x", "%tid.y", "%laneid")) for _ in range(2))
        op = self.random.choice(("add", "add", "sub"))
        return (
            f"mov.u32 %r28, {row}; mul.lo.u32 %r28, %r28, {self.stride}; mov.u32 %r29, {column}; "
            f"cvt.s64.s32 %rd20, %r28; cvt.s64.s32 {d}, %r29; {op}.s64 {d}, {d}, %rd20; "
            f"shl.b64 {d}, {d}, {self.random.choice((0, 0, 2))};"
        )

    def wrapped(self, d: str) -> str:
        """An index, or the same from the end where it is negative, as numba computes it."""
        of, kind = (
            self.random.choice(("%tid.x", "%tid.x", "%laneid", self.r)),
            self.random.choice(("s64.s32", "u64.u32")),
        )
        more = self.random.choice((0, 1, 16, 128, -1, -40, 0x7FFFFFFF, 0x80000000))
        sign = self.random.choice(("0x8000000000000000", "0x8000000000000000", "0xFFFFFFFF80000000", "0x100000000"))
        return (
            f"mov.u32 %r28, {of}; cvt.{kind} {d}, %r28; add.s64 %rd20, {d}, {more}; and.b64 %rd20, %rd20, {sign}; "
            f"shr.u64 %rd20, %rd20, {self.random.choice((55, 31, 24))}; add.s64 {d}, {d}, %rd20;"
        )

    def access(self) -> None:
        """A load or a store where a register points to, of the lanes for which that is inside."""
        size, vector = self.random.choice(((4, ""), (4, ""), (4, ""), (8, ".v2"), (2, ""), (16, ".v4")))
        values = {"": "%r22", ".v2": "{%r22, %r23}", ".v4": "{%r22, %r23, %r24, %r25}"}[vector]
        kind = "u16" if size == 2 else "u32"
        values = "%h1" if size == 2 else values
        shared = self.random.random() < 0.35
        if shared:
            self.emit(f"mov.u32 %r26, {self.r};")
            self.align("%r26", size, 32)
            self.emit(f"setp.lt.u32 %p3, %r26, {1024 - 16 + 1};")
            self.emit("mov.u32 %r27, tile; add.u32 %r26, %r26, %r27;")
        else:
            self.emit(f"mov.u64 %rd20, {self.d};")
            self.align("%rd20", size, 64)
            self.emit(f"setp.lt.u64 %p3, %rd20, {4 * WORDS - 16 + 1};")
            self.emit("add.s64 %rd20, %rd20, %rd2;")
        space, at = ("shared", "%r26") if shared else ("global", "%rd20")
        offset = self.random.choice(("", "", f"+{size}")) if size < 16 else ""
        guard, behind = "@%p3 ", ""
        if self.random.random() < 0.5:
            guard, behind = "", f"L{self.label()}"
            self.emit(f"@!%p3 bra {behind};")
        if self.random.random() < 0.7:
            self.emit(f"ld.{space}{vector}.{kind} {values}, [{at}{offset}];", guard)
            self.emit("cvt.u32.u16 %r22, %h1;" if size == 2 else "", guard if size == 2 else "")
            self.emit("mad.lo.u32 %r30, %r30, 33, %r22;", guard)
        else:
            self.emit("cvt.u16.u32 %h1, %r2;" if size == 2 else "mov.u32 %r22, %r1;")
            names = values.strip("{}").split(", ")[1:]
            for name in names:
                self.emit(f"mov.u32 {name}, %r2;")
            self.emit(f"st.{space}{vector}.{kind} [{at}{offset}], {values};", guard)
        if behind:
            self.lines.append(f"{behind}:")

    def align(self, register: str, size: int, bits: int) -> None:
        """Makes an address a multiple of the size: by a shift, which keeps a scalar with constants, or by cutting."""
        if self.random.random() < 0.8:
            self.emit(f"shl.b{bits} {register}, {register}, {size.bit_length() - 1};")
        else:
            self.emit(f"and.b{bits} {register}, {register}, {-size};")

    def label(self) -> int:
        self.count += 1
        return self.count

    def piece(self, depth: int) -> None:
        choice, n = self.random.random(), self.label()
        if choice < 0.45 or not depth:
            self.compute()
        elif choice < 0.75:
            self.access()
        elif choice < 0.9:
            self.compare("%p4")
            self.emit(f"@%p4 bra I{n};")
            for _ in range(self.random.randint(1, 3)):
                self.piece(depth - 1)
            self.lines.append(f"I{n}:")
        elif choice < 0.92:  # some lanes exit, where what they have seen is lost
            self.compare("%p6")
            self.emit(f"@%p6 {self.random.choice(('exit', 'bra END'))};")
        elif choice < 0.94 and depth == 2:  # a grid-stride loop
            self.emit("mov.u32 %r38, %r4;")
            self.lines.append(f"W{n}:")
            self.piece(depth - 1)
            self.emit(f"add.u32 %r38, %r38, {self.blocks * self.threads}; setp.lt.u32 %p5, %r38, 400;")
            self.emit(f"@%p5 bra W{n};")
        else:
            count = f"%r{31 + depth}"
            self.emit(f"mov.u32 {count}, {self.random.randint(1, 3)};")
            if self.random.random() < 0.4:
                self.emit(f"and.b32 {count}, {self.r}, 3;")
            self.lines.append(f"W{n}:")
            for _ in range(self.random.randint(1, 3)):
                self.piece(depth - 1)
            self.emit(f"sub.s32 {count}, {count}, 1;")
            self.emit(f"setp.gt.s32 %p5, {count}, 0;")
            self.emit(f"@%p5 bra W{n};")

    def end(self) -> None:
        self.lines.append("END:")
        for n in NARROW:
            self.emit(f"mad.lo.u32 %r30, %r30, 33, %r{n};")
        for n in WIDE:
            self.emit(f"mov.b64 {{%r22, %r23}}, %rd{n}; mad.lo.u32 %r30, %r30, 33, %r22; xor.b32 %r30, %r30, %r23;")
        self.emit("st.global.u32 [%rd3], %r30;")


def outcome(way: str, program: Program, seed: int) -> Ended:
    """How a program ends, in one of `WAYS`. Of findings only the kinds are compared."""
    x = np.arange(WORDS, dtype=np.uint32)
    x[0] = seed % 3
    given = {"counters": seed % 4 == 0, "checks": ALL_CHECKS if seed % 8 == 1 else ("memcheck",)}
    found = ended(way, program.text, threads=program.block, blocks=program.blocks, x=x, **given)
    return found._replace(findings=sorted({finding.partition(":")[0] for finding in found.findings}))


def differences(first: int, count: int) -> list[str]:
    """The programs on which the ways differ, in words."""
    return differing(range(first, first + count), Program, outcome, WAYS)


if __name__ == "__main__":
    sys.exit(compare(__doc__, differences))
