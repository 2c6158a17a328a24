"""Random programs that read shared memory which nobody has written yet, or between two arrays: rows, half-warps, single
addresses and others, elements of 1 to 16 bytes, in some lanes or all, and atomic operations.

    python tests/support/random_shared.py COUNT [FIRST SEED]

runs so many programs on both engines and prints those of which initcheck does not find the same: the same lines, lanes
and addresses, as often. Values do not matter here.
"""

from __future__ import annotations

import random
import sys

from emulate_programs import WAYS, kernel
from random_local import ELEMENTS, found, some_lanes, somewhere
from seeded_programs import compare, differing

PLACES = (
    "mov.u32 %r30, {n};", "mov.u32 %r30, %r1;", "add.u32 %r30, %r1, {few};",
    "and.b32 %r30, %r1, 15; shr.u32 %r31, %r1, 4; mad.lo.u32 %r30, %r31, {apart}, %r30;",
    "shr.u32 %r30, %r1, 4; mad.lo.u32 %r30, %r30, {few}, {n};", "mad.lo.u32 %r30, %r1, {few}, {n};",
    "ld.global.u32 %r30, [%rd2]; xor.b32 %r30, %r30, {n};", "xor.b32 %r30, %r1, 31;",
)  # fmt: skip
"""Which element a lane accesses, in %r30."""
ATOMICS = (
    "atom.shared.add.u32 %r21, [%r12], %r1;",
    "red.shared.max.u32 [%r12], 1;",
    "atom.shared.exch.b32 %r21, [%r12], 2;",
)


class Program:
    """One program."""

    def __init__(self, seed: int) -> None:
        rnd = self.rnd = random.Random(seed)
        self.threads, self.blocks = rnd.choice((32, 45, 64, 128)), rnd.choice((1, 2, 3))
        self.arrays = {name: rnd.choice((128, 256, 512, 1100)) for name in "abcdef"[: rnd.choice((1, 1, 2, 2, 3, 6))]}
        self.largest = rnd.choice((1, 4, 4, 16))
        lines = [f"mov.u32 %r{14 + k}, {name};" for k, name in enumerate(self.arrays)]
        lines += ["mov.u32 %r6, 0; mov.u32 %r20, 3;", *(self._store(k) for k in range(rnd.randint(0, 3)))]
        for k in range(3, rnd.randint(6, 16)):
            lines.append("bar.sync 0;" + self._access(k))
        lines.append("st.global.u32 [%rd3], %r6;")
        declared = "\n".join(f".shared .align 16 .b8 {name}[{size}];" for name, size in self.arrays.items())
        self.text = kernel("\n".join(lines).replace(";", ";\n"), declared)

    def _place(self, size: int) -> str:
        """The address of an element, in %r12: mostly in an array, sometimes between two of them."""
        rnd = self.rnd
        k = rnd.randrange(len(self.arrays))
        count = [*self.arrays.values()][k] // size - 1  # some access the next element, too
        code = rnd.choice(PLACES).format(n=rnd.randrange(64), few=rnd.randrange(5), apart=rnd.choice((0, 8, 16, 20)))
        code += f"rem.u32 %r30, %r30, {count + (rnd.random() < 0.2 and k + 1 < len(self.arrays)) * 9};"
        return code + f"mad.lo.u32 %r12, %r30, {size}, %r{14 + k};"

    def _store(self, k: int) -> str:
        """A row of an array, over and over again until it is full."""
        rnd, (name, bytes_) = self.rnd, self.rnd.choice([*self.arrays.items()])
        number, full = [*self.arrays].index(name), bytes_ - rnd.choice((0, 0, 4, 64))
        code = f"mad.lo.u32 %r12, %r1, 4, %r{14 + number}; add.u32 %r13, %r{14 + number}, {full};"
        code += f"FILL{k}: setp.ge.u32 %p4, %r12, %r13; @%p4 bra FULL{k}; st.shared.u32 [%r12], %r1;"
        return code + f"add.u32 %r12, %r12, {4 * self.threads}; bra FILL{k}; FULL{k}: bar.sync 0;"

    def _access(self, k: int) -> str:
        rnd = self.rnd
        size = rnd.choice([size for size in ELEMENTS if size <= self.largest or rnd.random() < 0.1])
        store, load = (text.format(space="shared", at="%r12") for text in ELEMENTS[size])
        if rnd.random() < 0.15:
            size, access = 4, rnd.choice(ATOMICS)
        else:
            access = rnd.choice((store, load, load, load + load.replace("%r12", f"%r12+{size}"), store + load))
        code = f"mov.u32 %r21, 0; mov.u32 %r20, {rnd.randrange(99)}; {self._place(size)} {some_lanes(rnd)}"
        return f"{code} {somewhere(rnd, k, access, '')} add.u32 %r6, %r6, %r21;"


def differences(first: int, count: int) -> list[str]:
    """The programs on which the engines differ, in words."""
    return differing(range(first, first + count), Program, lambda way, program, _: found(way, program), WAYS)


if __name__ == "__main__":
    sys.exit(compare(__doc__, differences))
