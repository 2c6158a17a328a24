"""Random programs of which most are stopped by memcheck: accesses that leave their arrays in some lanes or rounds, that
are not aligned, or that go to memory of no kind, after others which initcheck or racecheck have something to say about.

    python tests/support/random_faults.py COUNT [FIRST SEED]

runs so many programs on both engines and prints those that are not stopped at the same place for the same reason, or
that, where nothing stops them, do not store the same, or of which the checks do not find the same. What the checks had
found until a stop is not compared: compiled code checks accesses of a basic block with one base together, and stops
before the first of them. So memory is then as `step` leaves it if the program loads from all these addresses first. For
the same reason only one base in a block has something wrong. A block is one warp, because the engines let warps take
turns at different times.
"""

from __future__ import annotations

import random
import re
import sys

import numpy as np
from emulate_programs import ALL_CHECKS, WAYS, kernel, launch
from seeded_programs import compare, differing

from ptxlab.errors import DeviceFault

LOADS = {
    1: "ld.{space}.u8 %r21, [{at}];",
    2: "ld.{space}.s16 %r21, [{at}];",
    4: "ld.{space}.u32 %r21, [{at}];",
    8: "ld.{space}.v2.u32 {{%r21, %r22}}, [{at}];",
    16: "ld.{space}.v4.u32 {{%r21, %r22, %r24, %r25}}, [{at}];",
}
STORES = {
    1: "cvt.u16.u32 %h1, %r1; st.{space}.u8 [{at}], %h1;",
    2: "cvt.u16.u32 %h1, %r1; st.{space}.u16 [{at}], %h1;",
    4: "st.{space}.u32 [{at}], %r1;",
    8: "st.{space}.v2.u32 [{at}], {{%r1, %r2}};",
    16: "st.{space}.v4.u32 [{at}], {{%r1, %r2, %r1, %r2}};",
}
ATOMIC = ("atom.{space}.add.u32 %r21, [{at}], %r1;", "red.{space}.max.u32 [{at}], %r1;")
BASES = {"global": ("%rd1", "%rd2"), "shared": ("tile", "more"), "local": ("mine",)}
PROBE = "PROBE "
"""In front of a load from an address that the program accesses later in the basic block."""
SIZES = {"tile": 512, "more": 256, "mine": 64, "%rd1": 76, "%rd2": 256}
"""Bytes that there are at least."""
INDEX = (
    "mov.u32 %r30, %r1;", "shl.b32 %r30, %r1, 1;", "mul.lo.u32 %r30, %r1, 7; and.b32 %r30, %r30, 31;",
    "mov.u32 %r30, {n};", "shr.u32 %r30, %r1, 2;", "xor.b32 %r30, %r1, 5;", "sub.u32 %r30, 31, %r1;",
    "add.u32 %r30, %r1, %r31;", "mad.lo.u32 %r30, %r31, 8, %r1;", "and.b32 %r30, %r1, 3;",
    "mul.lo.u32 %r30, %r1, %r1; rem.u32 %r30, %r30, 37;",
)  # fmt: skip
"""Which element a lane accesses, in %r30; %r31 is the round of the loop."""


class Program:
    """One program."""

    def __init__(self, seed: int) -> None:
        rnd = self.rnd = random.Random(seed)
        self.threads, self.blocks = rnd.choice((32, 32, 32, 19)), rnd.choice((1, 1, 2))
        self.danger = rnd.choice((0.02, 0.1, 0.3))
        self.largest = rnd.choice((1, 4, 4, 16))
        lines = ["mov.u32 %r6, 0; mov.u32 %r31, 0; mov.u32 %r21, 0; mov.u32 %r22, 0; mov.u32 %r24, 0;"]
        if rnd.random() < 0.5:
            lines.append("st.local.u32 [mine+4], %r1; st.shared.u32 [tile+16], 7;")
        for k in range(rnd.randint(2, 5)):
            how, count = rnd.choice(("line", "line", "loop", "side", "barrier")), rnd.randint(1, 3)
            part = "".join(self._accesses(self.danger * (i == 0)) for i in range(count))
            if how == "loop":
                part = (
                    f"mov.u32 %r31, 0; LOOP{k}: {part} add.u32 %r31, %r31, 1; "
                    f"setp.lt.u32 %p2, %r31, {rnd.choice((2, 4, 9, 40))}; @%p2 bra LOOP{k};"
                )
            elif how == "side":
                part = (
                    f"setp.{rnd.choice(('lt', 'ge'))}.u32 %p3, %r1, {rnd.choice((1, 9, 32, 40))}; @%p3 bra SIDE{k};"
                    + (f"{part} SIDE{k}:")
                )
            elif how == "barrier":
                part = f"bar.sync 0; {part}"
            lines.append(part)
        lines.append("bar.sync 0; st.global.u32 [%rd3], %r6;")
        declared = f".shared .align 16 .b8 tile[{SIZES['tile']}];\n.shared .align 16 .b8 more[{SIZES['more']}];"
        body = ".local .align 16 .b8 mine[64];\n" + "\n".join(lines).replace(";", ";\n")
        self.text, self.probing = kernel(re.sub(f"{PROBE}[^;]*;", "", body), declared), kernel(probing(body), declared)

    def _accesses(self, danger: float) -> str:
        """Some accesses from one base, with constant offsets. danger: how likely something is wrong with them."""
        rnd = self.rnd
        space = rnd.choice(("global", "global", "shared", "shared", "local"))
        base = rnd.choice(BASES[space])
        size = rnd.choice([n for n in LOADS if n <= self.largest])
        room = SIZES[base] // size
        code = rnd.choice(INDEX).format(n=rnd.randrange(40))
        if rnd.random() >= danger:
            code += f"rem.u32 %r30, %r30, {max(room - 4, 1)};"
        if rnd.random() < danger:
            code += f"add.u32 %r30, %r30, {rnd.choice((room - 20, room, 1 << 20))};"
        generic, atomic = rnd.random() < 0.15, size == 4 and space != "local"
        if base.startswith("%"):
            code += f"mul.wide.u32 %rd20, %r30, {size}; add.u64 %rd20, {base}, %rd20;"
            at, there = "%rd20", "global"
        elif generic:
            code += f"mov.u64 %rd20, {base}; cvta.{space}.u64 %rd20, %rd20; mul.wide.u32 %rd21, %r30, {size};"
            code += "add.u64 %rd20, %rd20, %rd21;"
            at, there = "%rd20", ""
        else:
            code += f"mov.u32 %r29, {base}; mad.lo.u32 %r29, %r30, {size}, %r29;"
            at, there = "%r29", space
        odd, probes, accesses = rnd.random() < danger * 0.5, "", ""
        for _ in range(1 if odd else rnd.randint(1, 4)):
            offset = rnd.choice((0, size, size, 2 * size, 3 * size)) - size * (rnd.random() < danger)
            offset += odd * rnd.choice((1, 2, 4, 4096))
            table = rnd.choice((LOADS, LOADS, STORES))
            alone = atomic and rnd.random() < 0.1
            text = rnd.choice(ATOMIC) if alone else table[size]
            text, probe = (
                form.format(space=there, at=f"{at}+{offset}").replace("..", ".") for form in (text, PROBE + LOADS[size])
            )
            accesses += f"{text} add.u32 %r6, %r6, %r21;"
            probes += "" if alone else probe
        return f"{code} {probes} {accesses}"


def probing(body: str) -> str:
    """The body with the loads of its probes, into registers that nothing reads."""
    dead = {"%r21": "%r35", "%r22": "%r36", "%r24": "%r37", "%r25": "%r38"}
    return re.sub(f"{PROBE}([^;]*;)", lambda load: re.sub(r"%r2[1245]", lambda r: dead[r[0]], load[1]), body)


def found(way: str, program: Program) -> list[str]:
    """What stopped the program, or else what the checks say, in order; and what it has stored."""
    said, stored = _run(way, program, program.text)
    if way == "step" and isinstance(said, str):
        _, stored = _run(way, program, program.probing)
    return [*([said] if isinstance(said, str) else said), stored]


def _run(engine: str, program: Program, text: str) -> tuple[str | list[str], str]:
    """The fault or the findings, and the bytes of memory."""
    arrays = np.zeros(program.threads * program.blocks, np.uint32), np.arange(64, dtype=np.uint32)
    said: str | list[str]
    try:
        report = launch(
            engine, text, *arrays, grid=(program.blocks,), block=(program.threads,), checks=ALL_CHECKS, budget=2_000_000
        )
        said = [str(f) for f in report.findings]
    except DeviceFault as fault:
        said = str(fault).partition("\n  before:")[0]
    return said, " ".join(a.tobytes().hex() for a in arrays)


def differences(first: int, count: int) -> list[str]:
    """The programs on which the engines differ, in words."""
    return differing(range(first, first + count), Program, lambda way, program, _: found(way, program), WAYS)


if __name__ == "__main__":
    sys.exit(compare(__doc__, differences))
