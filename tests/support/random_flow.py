"""Random kernels with irregular control flow, whose results tell which lanes were converged, and in which order.

A kernel holds several programs, one for each block of the grid: that many are compiled in one go. A program is a row of
labelled blocks. Behind each, lanes go anywhere: forward into or out of what loops there are, back while they have fuel
(so every program ends), by `brx.idx`, through functions, out of the kernel. Blocks mix `activemask` into a hash of each
lane, take tickets from a counter in memory, write and read one place that all lanes share: so a lane's result changes
with whoever ran before it and beside it.

    python tests/support/random_flow.py COUNT [FIRST SEED]

runs so many programs in all ways, 8 in a kernel, prints each kernel on which they differ, a line for each 800 programs,
and a tally. Every fourth kernel is run with counters, every fifth also in optimized code, which takes LLVM longer than
all else.
"""

from __future__ import annotations

import random
import sys

import numpy as np
from emulate_programs import WAYS, Ended, ended, kernel
from seeded_programs import compare

THREADS = (32, 32, 32, 43, 64)

MANY = 1 << 16
"""Threads that never arrive at a barrier: lanes that do wait for the rest of their warp, and for nobody else."""
HASH, FUEL, TICKET = "%r20", "%r21", "%r22"

LOCK = """
LOCK{n}:
    atom.global.cas.b32 {ticket}, [%rd6+8], 0, 1;
    setp.ne.u32 %p1, {ticket}, 0;
    @%p1 bra LOCK{n};
    ld.volatile.global.u32 {ticket}, [%rd6+12];
    mad.lo.u32 {hash}, {hash}, 31, {ticket};
    add.u32 {ticket}, {ticket}, 1;
    st.volatile.global.u32 [%rd6+12], {ticket};
    membar.gl;
    atom.global.exch.b32 {ticket}, [%rd6+8], 0;
"""
"""A lock that one lane holds at a time: the others spin in front of it, at a smaller program counter."""

FUNCTION = """
.func (.param .b32 out) {name}(.param .b32 a)
{{
    .reg .b32 %r<9>; .reg .pred %p<5>;
    ld.param.b32 %r1, [a];
{body}
END{name}:
    st.param.b32 [out], %r1;
    ret;
}}
"""


class Flow:
    """Writes one program; its labels and functions end in `name`."""

    def __init__(self, seed: int, name: str) -> None:
        self.random, self.name = random.Random(seed), name
        self.lines: list[str] = []
        self.count = 0
        self.locks = self.random.random() < 0.1
        self.waits = self.random.choice(("", "", "vote", "warp", "warp guard", "block"))
        self.arrives = self.waits == "" and seed % 3 == 0
        self.functions = [f"f{k}_{name}" for k in range(self.random.choice((0, 0, 0, 1, 1, 2)))]
        self.recursive = bool(self.functions) and self.random.random() < 0.2
        self.atomic = self.random.random() < 0.5
        self.blocks = self.random.choice((3, 4, 4, 5, 5, 6, 7, 9))
        self.fuel = self.random.choice((1, 2, 3, 3, 5, 7, 7, 15, 31))

    def emit(self, text: str) -> None:
        self.lines.append("    " + text)

    def fresh(self) -> int:
        self.count += 1
        return self.count

    # -- blocks --------------------------------------------------------------------------------------------------------

    def predicate(self, p: str, of: str = HASH) -> None:
        """A predicate that differs from lane to lane and from round to round."""
        bits = self.random.choice((1, 2, 3, 5, 9, 31)) << self.random.choice((0, 5, 13, 19, 26))
        self.emit(f"and.b32 %r7, {of}, {bits};")
        self.emit(f"setp.{self.random.choice(('eq', 'ne', 'ne'))}.u32 {p}, %r7, 0;")

    def body(self, label: int) -> None:
        """What a block of the kernel does: it leaves a mark of who is here."""
        self.lines.append(f"B{label}_{self.name}:")
        self.emit("activemask.b32 %r8;")
        self.emit(f"mad.lo.u32 {HASH}, {HASH}, {self.random.choice((0x9E3779B1, 0x85EBCA6B, 33))}, %r8;")
        if self.atomic and self.random.random() < 0.3:
            self.emit(f"atom.global.add.u32 {TICKET}, [%rd6], 1;")
            self.emit(f"xor.b32 {HASH}, {HASH}, {TICKET};")
        if self.random.random() < 0.15:
            self.emit("st.volatile.global.u32 [%rd6+4], %r1;")
        if self.random.random() < 0.15:
            self.emit("ld.volatile.global.u32 %r9, [%rd6+4];")
            self.emit(f"mad.lo.u32 {HASH}, {HASH}, 7, %r9;")
        if self.random.random() < 0.2:
            self.predicate("%p2")
            self.emit(f"@{self.random.choice(('', '!'))}%p2 add.u32 {HASH}, {HASH}, {label};")
        if self.functions and self.random.random() < 0.3:
            self.call()
        if self.random.random() < 0.3:
            self.wait()
        if self.locks and self.random.random() < 0.3:
            self.lines += (
                LOCK.format(n=f"{self.fresh()}_{self.name}", ticket=TICKET, hash=HASH).strip("\n").splitlines()
            )

    def wait(self) -> None:
        """Lanes synchronize: those that are here, or all that are live."""
        guard = ""
        if self.waits in ("vote", "warp guard") and self.random.random() < 0.5:
            self.predicate("%p3")
            guard = self.random.choice(("@%p3 ", "@!%p3 "))
        if self.arrives and self.random.random() < 0.7:
            self.predicate("%p3")
            guard = self.random.choice(("@%p3 ", "@!%p3 ", ""))
            self.emit(f"{guard}barrier.arrive 1, {MANY};")
            self.emit("activemask.b32 %r8;")
            self.emit(f"mad.lo.u32 {HASH}, {HASH}, 7, %r8;")
        elif self.waits == "vote":
            self.emit("setp.lt.s32 %p4, %r8, 0;")
            self.emit(f"{guard}vote.sync.ballot.b32 %r9, %p4, -1;")
            self.emit(f"mad.lo.u32 {HASH}, {HASH}, 5, %r9;")
        elif self.waits.startswith("warp"):
            self.emit(f"{guard}bar.warp.sync -1;")
        elif self.waits == "block" and self.random.random() < 0.3:
            self.emit("bar.sync 0;")
        else:
            self.emit("activemask.b32 %r8;")
            self.emit(f"and.b32 %r9, {HASH}, 1;")
            self.emit("setp.eq.u32 %p4, %r9, 0;")
            self.emit("vote.sync.ballot.b32 %r9, %p4, %r8;")
            self.emit(f"mad.lo.u32 {HASH}, {HASH}, 3, %r9;")

    def call(self) -> None:
        name = self.random.choice(self.functions)
        guard = ""
        if self.random.random() < 0.3:
            self.predicate("%p3")
            guard = "@%p3 "
        self.emit("{ .param .b32 a; .param .b32 q;")
        self.emit(f"st.param.b32 [a], {HASH};")
        self.emit(f"st.param.b32 [q], {HASH};")
        self.emit(f"{guard}call (q), {name}, (a);")
        self.emit(f"ld.param.b32 {HASH}, [q]; }}")

    # -- where lanes go ------------------------------------------------------------------------------------------------

    def onward(self, at: int) -> None:
        """The end of a block of the kernel."""
        ahead = [f"B{k}_{self.name}" for k in range(at + 1, self.blocks)] + [f"END_{self.name}"]
        choice = self.random.random()
        if choice < 0.15:
            return
        if choice < 0.35:
            self.predicate("%p1")
            self.emit(f"@{self.random.choice(('', '!'))}%p1 bra {self.random.choice(ahead)};")
        elif choice < 0.65:
            self.back("%p1", f"B{self.random.randint(max(0, at - 3), at)}_{self.name}")
        elif choice < 0.72:
            self.emit(f"bra {self.random.choice(ahead[:4])};")
        elif choice < 0.86:
            self.scatter(at, ahead)
        elif choice < 0.94:
            self.predicate("%p1")
            self.emit(f"@%p1 {self.random.choice(('exit', 'ret', f'bra OUT_{self.name}'))};")
        else:
            self.predicate("%p1")
            self.emit(f"@%p1 bra {ahead[0]};")
            self.back("%p1", f"B{self.random.randint(0, at)}_{self.name}")

    def back(self, p: str, label: str) -> None:
        """A branch back, as long as there is fuel."""
        if self.random.random() < 0.7:
            self.predicate(p)
            self.emit(f"setp.gt.and.s32 {p}, {FUEL}, 0, {p};")
        else:
            self.emit(f"setp.gt.s32 {p}, {FUEL}, 0;")
        self.emit(f"sub.u32 {FUEL}, {FUEL}, 1;")
        self.emit(f"@{p} bra {label};")

    def scatter(self, at: int, ahead: list[str]) -> None:
        """`brx.idx`, perhaps with ways back."""
        n, ways = self.fresh(), self.random.choices(ahead, k=self.random.randint(1, 3))
        first = len(ways)
        ways += [
            f"B{self.random.randint(max(0, at - 3), at)}_{self.name}" for _ in range(self.random.choice((0, 0, 1, 2)))
        ]
        self.emit(f"shr.u32 %r7, {HASH}, 3;")
        self.emit(f"rem.u32 %r9, %r7, {len(ways)};")
        if len(ways) > first:
            self.emit(f"rem.u32 %r7, %r7, {first};")
            self.emit(f"setp.gt.s32 %p1, {FUEL}, 0;")
            self.emit("selp.u32 %r9, %r9, %r7, %p1;")
            self.emit(f"sub.u32 {FUEL}, {FUEL}, 1;")
        self.emit(f"TABLE{n}_{self.name}: .branchtargets {', '.join(ways)};")
        guard = "@%p2 " if self.random.random() < 0.15 else ""
        self.emit(f"{guard}brx.idx %r9, TABLE{n}_{self.name};")

    # -- the whole -----------------------------------------------------------------------------------------------------

    def function(self, name: str) -> str:
        """A function: a few blocks with branches forward, a loop, perhaps a call of itself with half the argument."""
        self.lines = []
        self.emit("shr.u32 %r4, %r1, 9;")
        self.predicate("%p1", "%r1")
        self.emit(f"@%p1 bra {self.random.choice(('MORE', 'END'))}{name};")
        self.emit("activemask.b32 %r2;")
        self.emit("mad.lo.u32 %r1, %r1, 17, %r2;")
        self.emit(f"and.b32 %r3, %r1, {self.random.choice((1, 3))};")
        self.lines.append(f"LOOP{name}:")
        self.emit("mad.lo.u32 %r1, %r1, 5, 1;")
        self.predicate("%p2", "%r1")
        self.emit(f"@%p2 bra {self.random.choice(('MORE', 'END', 'MORE'))}{name};")
        self.emit("sub.u32 %r3, %r3, 1;")
        self.emit("setp.ge.s32 %p3, %r3, 0;")
        self.emit(f"@%p3 bra LOOP{name};")
        if self.random.random() < 0.3:
            self.emit("@%p2 ret;")
        self.lines.append(f"MORE{name}:")
        self.emit("activemask.b32 %r2;")
        self.emit("xor.b32 %r1, %r1, %r2;")
        if self.recursive and name == self.functions[-1]:
            self.emit("setp.eq.u32 %p4, %r4, 0;")
            self.emit(f"@%p4 bra END{name};")
            self.emit("{ .param .b32 b; .param .b32 q;")
            self.emit("st.param.b32 [b], %r4;")
            self.emit(f"call (q), {name}, (b);")
            self.emit("ld.param.b32 %r4, [q]; }")
            self.emit("add.u32 %r1, %r1, %r4;")
        body, self.lines = "\n".join(self.lines), []
        return FUNCTION.format(name=name, body=body)

    def program(self) -> tuple[str, str]:
        """Its functions, and its part of the kernel."""
        before = "".join(self.function(name) for name in self.functions)
        self.lines.append(f"P{self.name}:")
        self.emit(f"mad.lo.u32 {HASH}, %r1, {self.random.choice((0x9E3779B1, 1, 77))}, {self.random.getrandbits(16)};")
        self.emit(
            f"and.b32 {FUEL}, %r1, {self.fuel};" if self.random.random() < 0.5 else f"mov.u32 {FUEL}, {self.fuel};"
        )
        self.predicate("%p2")
        for k in range(self.blocks):
            self.body(k)
            self.onward(k)
        self.lines.append(f"END_{self.name}:")
        self.emit("activemask.b32 %r8;")
        self.emit(f"mad.lo.u32 {HASH}, {HASH}, 33, %r8;")
        self.emit(f"st.global.u32 [%rd3], {HASH};")
        self.lines.append(f"OUT_{self.name}:")
        self.emit("ret;")
        return before, "\n".join(self.lines)


PLACE = """
    shr.u32 %r5, %r1, 5;
    mad.lo.u32 %r5, %r2, 2, %r5; mad.wide.u32 %rd6, %r5, 16, %rd2;
    PROGRAMS: .branchtargets {programs};
    brx.idx %r2, PROGRAMS;
"""


def kernel_of(first: int, count: int) -> tuple[str, int]:
    """The text of a kernel `k(out, x)` of so many programs, for a grid of as many blocks, and the threads of a block;
    `x` has 8 u32 for each, zeros."""
    threads = random.Random(first).choice(THREADS)
    programs = [Flow(seed, str(seed)).program() for seed in range(first, first + count)]
    names = ", ".join(f"P{seed}" for seed in range(first, first + count))
    parts = [PLACE.format(programs=names), *(text for _, text in programs)]
    return kernel("\n".join(parts), "".join(functions for functions, _ in programs)), threads


KERNEL = 8
"""Programs in a kernel."""


def outcome(way: str, first: int, count: int) -> Ended:
    """How programs end."""
    text, threads = kernel_of(first, count)
    given = {"x": np.zeros(8 * count, np.uint32), "budget": 4_000_000, "counters": first // count % 4 == 0}
    return ended(way, text, threads=threads, blocks=count, **given)


def differences(first: int, count: int = KERNEL) -> list[str]:
    """What the other ways give otherwise than the first, in words."""
    ways = [way for way in WAYS if way != "optimized" or first // count % 5 == 0]
    expected, *others = (outcome(way, first, count) for way in ways)
    found = []
    for way, other in zip(ways[1:], others, strict=True):
        parts = [name for name, a, b in zip(Ended._fields, expected, other, strict=True) if a != b]
        if parts:
            found.append(f"programs {first} to {first + count - 1}: {ways[0]} and {way} differ in {', '.join(parts)}")
    return found


if __name__ == "__main__":
    sys.exit(compare(__doc__, differences, at_once=KERNEL))
