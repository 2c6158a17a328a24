"""Random programs that store neighbouring elements, lane by lane, with loads between them that may meet them.

    python tests/support/random_merged_stores.py COUNT [FIRST SEED]

runs so many programs on both engines and prints those on which they differ.

Each thread has a place in `out`, so many elements from that of the next thread; some programs have rows of 16, 8 or 4
threads, or a distance that is only known when they run. It stores elements from there on, in any order, some of them
twice or not at all, and loads between them from `x`, from where it stores, and from where other threads do. Some
programs stop at an address outside. In every fourth counters are on, in every third all checks.
"""

from __future__ import annotations

import random
import sys
from typing import Any

import numpy as np
from emulate_programs import ALL_CHECKS, WAYS, improve, kernel, run
from seeded_programs import compare

from ptxlab.emulate import DeviceFault

BLOCKS = ((64,), (64,), (48,), (32, 2), (16, 4), (16, 4), (8, 8), (4, 16), (20, 3), (12,), (16,), (5, 4))
BYTES, MIDDLE = 1 << 16, 1 << 15
"""Of `out` and of `x`, and where the places of threads in them begin."""


class Program:
    """One program; `text` is its body (see `kernel`)."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        choose = self.random.choice
        self.block = choose(BLOCKS)
        self.size, self.count = choose((1, 1, 2, 4, 4, 4, 8)), choose((2, 2, 3, 3, 4, 5, 6, 8, 16, 18))
        self.lines: list[str] = []
        self.start()
        stores = list(range(self.count))
        if self.random.random() < 0.4:
            self.random.shuffle(stores)
        if self.random.random() < 0.2:
            stores.insert(self.random.randrange(self.count), choose(stores))
        if self.random.random() < 0.2:
            stores.pop(self.random.randrange(self.count))
        busy = choose((0, 0, 0.2, 0.6))
        for element in stores:
            for _ in range(self.random.choice((0, 1, 1, 2))):
                self.load(busy)
            self.compute()
            self.emit(
                f"st{'.volatile' if self.random.random() < busy / 50 else ''}.global.{self.kind} "
                f"[%rd10+{element * self.size}], {self.value};",
                "@%p1 " if self.random.random() < busy / 50 else "",
            )
        self.emit("mul.wide.u32 %rd4, %r4, 4; add.u64 %rd4, %rd2, %rd4; st.global.u32 [%rd4], %r30;")
        self.text = "\n".join(self.lines)

    def emit(self, text: str, guard: str = "") -> None:
        self.lines.append(f"    {guard}{text}")

    @property
    def kind(self) -> str:
        """The type of an element."""
        return f"u{8 * self.size}"

    @property
    def value(self) -> str:
        """What is stored."""
        return "%rd30" if self.size == 8 else "%r30"

    def start(self) -> None:
        """Pointers: %rd10 to where a thread stores, %rd11 to where it loads from `x`, %rd12 to near where it stores."""
        choose, count, size = self.random.choice, self.count, self.size
        far = choose((count, count, count, count, count + 1, 2 * count, 1, 0, -count, count - 1)) * size
        rows = choose((0, 0, 16 * count * size, 20 * count * size, 1024, 4 * size))
        self.emit("mov.u32 %r5, %tid.y; mov.u32 %r6, %ntid.x; mad.lo.u32 %r4, %r5, %r6, %r1; mov.u32 %r30, %r4;")
        self.emit("ld.global.u32 %r8, [%rd2+32768];")
        index = "%r1" if rows else "%r4"
        if self.random.random() < 0.3:
            self.emit(f"add.u32 %r7, %r8, {far}; mul.lo.u32 %r9, {index}, %r7;")
        else:
            self.emit(f"mul.lo.u32 %r9, {index}, {far};")
        if rows and self.random.random() < 0.5:
            self.emit(f"add.u32 %r7, %r8, {rows}; mad.lo.u32 %r9, %r5, %r7, %r9;")
        elif rows:
            self.emit(f"mad.lo.u32 %r9, %r5, {rows}, %r9;")
        self.emit(f"cvt.s64.s32 %rd5, %r9; add.u64 %rd10, %rd1, {MIDDLE}; add.u64 %rd11, %rd2, 36864;")
        self.emit("add.u64 %rd10, %rd10, %rd5;")
        at = choose((0, 0, size, -size, 4 * size, 31 * size, 64 * size))
        self.emit(f"mul.wide.u32 %rd5, %r2, {2048 if abs(far) < 40 else 0}; add.u64 %rd10, %rd10, %rd5;")
        self.emit(f"add.u64 %rd12, %rd10, {at}; mul.wide.u32 %rd6, %r4, {choose((1, 2, count)) * size};")
        self.emit("add.u64 %rd11, %rd11, %rd6; setp.lt.u32 %p1, %r1, 9; mov.u64 %rd30, 5;")
        outside = choose((0, 0, 0, 0, 0, 0, 0, 1 << 40))
        self.emit(f"selp.b64 %rd13, {outside}, 0, %p1; add.u64 %rd13, %rd13, %rd11;")
        if self.random.random() < 0.7:  # checked before the first store
            for p in ("%rd11", "%rd12"):
                self.emit(f"ld.global.{self.kind} {self.loaded}, [{p}];")

    @property
    def loaded(self) -> str:
        """What is loaded into."""
        return "%rd29" if self.size == 8 else "%r29"

    def load(self, busy: float) -> None:
        chosen = self.random.random()
        p = "%rd11" if chosen > busy else self.random.choice(("%rd10", "%rd10", "%rd12", "%rd12", "%rd13"))
        offset = self.random.randrange(self.count) * self.size
        if self.random.random() < 0.05:
            self.emit("mov.u32 %r28, tile; ld.shared.u32 %r29, [%r28]; st.shared.u32 [%r28], %r30;")
            return
        self.emit(f"ld.global.{self.kind} {self.loaded}, [{p}+{offset}];")

    def compute(self) -> None:
        if self.size == 8:
            self.emit("mad.lo.u64 %rd30, %rd30, 33, %rd29; cvt.u32.u64 %r30, %rd30;")
        else:
            self.emit("mad.lo.u32 %r30, %r30, 33, %r29;")
        self.emit("add.u32 %r30, %r30, %r4;")


NAMES = "out", "x", "faults", "counters", "findings"


def outcome(way: str, seed: int) -> tuple[Any, ...]:
    """What a program leaves: `out`, `x`, why it stopped, and of some the counters and what checks find. way: "step",
    "jit", or "good", which is that engine with the code of launches that take long."""
    program = Program(seed)
    text = kernel(program.text, ".shared .align 4 .b8 tile[16];").replace(".reg .b64 %rd<30>", ".reg .b64 %rd<40>")
    out, x = (np.random.default_rng(seed + k).integers(0, 256, BYTES).astype(np.uint8) for k in range(2))
    x[MIDDLE : MIDDLE + 4] = 0
    counters, checks = seed % 4 == 1, ALL_CHECKS if seed % 3 == 1 else ("memcheck",)
    if way == "good":
        improve(text, program.block, counters=counters, checks=checks)
    stopped, given = "", {"threads": program.block, "blocks": 4, "counters": counters, "checks": checks}
    counted, found = None, list[str]()
    try:
        out, report = run("step" if way == "step" else "jit", text, out=out, x=x, **given)
        counted, found = report.counters and str(report.counters), list(map(str, report.findings))
    except DeviceFault as fault:
        stopped = str(fault)
    return out.tolist(), x.tolist(), stopped, counted, found


def differences(first: int, count: int) -> list[str]:
    """The programs on which the engines differ, in words."""
    found = []
    for seed in range(first, first + count):
        expected, *others = (outcome(way, seed) for way in WAYS)
        for other in others:
            parts = [n for n, a, b in zip(NAMES, expected, other, strict=True) if a != b]
            if parts:
                found.append(f"program {seed}, blocks of {Program(seed).block}: differ in {', '.join(parts)}")
    return found


if __name__ == "__main__":
    sys.exit(compare(__doc__, differences))
