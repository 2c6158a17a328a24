"""Random programs that read memory which nobody has written: local memory that not all lanes have written, arguments
and results of calls, frames on the stack; or, of every second number, shared memory, also between two arrays. Elements
of 1 to 16 bytes, in some lanes or all, at one address or at addresses of their own that other lanes use too.

    python tests/support/random_local.py COUNT [FIRST SEED]

runs so many programs on both engines and prints those of which initcheck does not find the same: the same lines, lanes
and addresses, as often. Values do not matter here.
"""

from __future__ import annotations

import random
import sys

import numpy as np
from emulate_programs import WAYS, kernel, said
from seeded_programs import compare, differing

ELEMENTS = {
    1: ("cvt.u16.u32 %h1, %r20; st.{space}.u8 [{at}], %h1;", "ld.{space}.u8 %r21, [{at}];"),
    2: ("cvt.u16.u32 %h1, %r20; st.{space}.u16 [{at}], %h1;", "ld.{space}.s16 %r21, [{at}];"),
    4: ("st.{space}.u32 [{at}], %r20;", "ld.{space}.u32 %r21, [{at}];"),
    8: (
        "mov.b64 %rd20, {{%r20, %r1}}; st.{space}.u64 [{at}], %rd20;",
        "ld.{space}.v2.u32 {{%r21, %r22}}, [{at}]; add.u32 %r21, %r21, %r22;",
    ),
    16: (
        "st.{space}.v4.u32 [{at}], {{%r20, %r1, %r1, %r20}};",
        "ld.{space}.v2.u64 {{%rd20, %rd21}}, [{at}]; add.u64 %rd20, %rd20, %rd21; cvt.u32.u64 %r21, %rd20;",
    ),
}
"""By size: a store of %r20 and a load of %r21, which is used below."""
STRUCT = """
.func (.param .align 8 .b8 r[{size}]) passed(.param .align 8 .b8 a[{size}], .param .align 4 .b8 h[6], .param .b8 c)
{{
    .reg .b32 %n<9>; .reg .pred %p<3>; .reg .b16 %k<4>;
    ld.param.u32 %n0, [a+{at}]; ld.param.u16 %n1, [h+{half}]; ld.param.u8 %n2, [c];
    add.u32 %n0, %n0, %n1; add.u32 %n0, %n0, %n2; mov.u32 %n3, %tid.x; and.b32 %n4, %n3, {some};
    setp.eq.u32 %p1, %n4, 0; {guard}st.param.b32 [r+{to}], %n0; {guard}st.param.b8 [r+{last}], %k1; ret;
}}
"""
DEEP = """
.func (.param .b32 r) deep(.param .b32 n, .param .b32 m)
{{
    .reg .b32 %n<9>; .reg .b16 %k<4>; .reg .pred %p<3>; .local .align 8 .b8 frame[24];
    ld.param.u32 %n0, [n]; ld.param.u32 %n5, [m];
    and.b32 %n1, %n0, {some}; setp.eq.u32 %p1, %n1, 0; setp.eq.u32 %p2, %n0, 0; add.u32 %n2, %n5, 5;
    {guard}st.local.u32 [frame+{to}], %n0; @%p2 bra END; sub.u32 %n3, %n0, 1;
    {{ .param .b32 a; .param .b32 b; .param .b32 c; st.param.b32 [a], %n3; {twice}st.param.b32 [c], %n2;
    call (b), deep, (a, c); ld.param.b32 %n2, [b]; }}
    END: ld.local.u16 %k1, [frame+{at}]; cvt.u32.u16 %n4, %k1; add.u32 %n2, %n2, %n4; {back}st.param.b32 [r], %n2; ret;
}}
"""
WIDE = """
.func (.param .b32 r) wide(.param .b32 n)
{{
    .reg .b32 %n<9>; .reg .pred %p<3>; .local .align 8 .b8 mine[96];
    ld.param.u32 %n0, [n]; setp.eq.u32 %p2, %n0, 0; mov.u32 %n2, 5; st.local.u32 [mine+{to}], %n0; @%p2 bra END;
    sub.u32 %n3, %n0, 1;
    {{ .param .b32 a; .param .b32 b; st.param.b32 [a], %n3; call (b), wide, (a); ld.param.b32 %n2, [b]; }}
    END: ld.local.u32 %n4, [mine+{at}]; add.u32 %n2, %n2, %n4; ld.local.u32 %n4, [mine+{two}]; add.u32 %n2, %n2, %n4;
    st.param.b32 [r], %n2; ret;
}}
"""
"""Its variable lies where calls of the other function have saved registers."""
DECLARED = ".func (.param .b32 r) deep(.param .b32 n, .param .b32 m);"


def some_lanes(rnd: random.Random) -> str:
    """Sets %p1: some lanes."""
    lanes = rnd.choice(("lt", "ge", "eq", "ne")) + f".u32 %p1, %r23, {rnd.choice((0, 1, 5, 16, 31))}"
    return f"and.b32 %r23, %r1, {rnd.choice((1, 7, 31, 31, 63))}; setp.{lanes};"


def somewhere(rnd: random.Random, k: int, access: str, call: str) -> str:
    """An access in some lanes, or all; `call` is one that some lanes make before it."""
    how = rnd.choice(("all", "all", "guard", "side", "loop", "call"))
    if how == "guard":
        return " ".join(f"@%p1 {part};" for part in access.split(";") if part.strip())
    if how == "side":
        return f"@!%p1 bra OVER{k}; {access} OVER{k}:"
    if how == "loop":
        count = f"add.u32 %r35, %r35, 1; setp.le.u32 %p2, %r35, %r34; @%p2 bra AGAIN{k};"
        return f"mov.u32 %r35, 0; and.b32 %r34, %r1, 3; AGAIN{k}: {access} {count}"
    if how == "call":
        return f"@!%p1 bra OVER{k}; {call} {access} OVER{k}:"
    return access


class Local:
    """One program that reads local memory."""

    def __init__(self, seed: int) -> None:
        rnd = random.Random(seed)
        self.rnd, self.threads, self.blocks = rnd, rnd.choice((32, 45, 64)), rnd.choice((1, 2, 3))
        self.bytes, self.generic = rnd.choice((16, 32, 64, 256)), seed % 5 == 4
        self.size = rnd.choice((5, 8, 12, 23, 72))
        """Bytes of the structure that is passed."""
        lines = [f".local .align 16 .b8 own[{self.bytes}]; mov.u32 %r5, own; mov.u64 %rd9, own;"]
        lines.append("cvta.local.u64 %rd9, %rd9; mov.u32 %r6, 0;" if self.generic else "mov.u32 %r6, 0;")
        for k in range(rnd.randint(4, 14)):
            lines += self._call(k) if rnd.random() < 0.4 else self._access(k)
        lines.append("st.global.u32 [%rd3], %r6;")
        self.text = kernel("\n".join(lines).replace(";", ";\n"), self._functions())

    def _functions(self) -> str:
        rnd, size = self.rnd, self.size
        struct = STRUCT.format(
            size=size,
            at=4 * rnd.randrange(size // 4),
            half=rnd.choice((0, 2, 4)),
            some=rnd.choice((0, 1, 6)),
            to=4 * rnd.randrange(size // 4),
            last=size - 1,
            guard=rnd.choice(("", "@%p1 ", "@!%p1 ")),
        )
        deep = DEEP.format(
            some=rnd.choice((0, 1, 2)),
            to=4 * rnd.randrange(6),
            at=2 * rnd.randrange(12),
            guard=rnd.choice(("", "@%p1 ", "@!%p1 ")),
            twice=rnd.choice(("", "@%p1 ")),
            back=rnd.choice(("", "@%p1 ")),
        )
        return (
            DECLARED
            + struct
            + deep
            + WIDE.format(to=4 * rnd.randrange(24), at=4 * rnd.randrange(24), two=4 * rnd.randrange(24))
        )

    def _lanes(self) -> str:
        return some_lanes(self.rnd)

    def _access(self, k: int) -> list[str]:
        rnd = self.rnd
        size = rnd.choice([*ELEMENTS])
        count = self.bytes // size
        store, load = ELEMENTS[size]
        code, at = rnd.choice(
            (
                ("", f"own+{size * rnd.randrange(count)}"),
                ("", f"own+{size * rnd.randrange(count)}"),
                (f"mov.u32 %r30, {rnd.randrange(256)};", ""),
                (f"ld.global.u32 %r30, [%rd2]; add.u32 %r30, %r30, {rnd.randrange(256)};", ""),
                (f"mad.lo.u32 %r30, %r1, {rnd.choice((1, 3, 5, 64))}, {rnd.randrange(256)};", ""),
                (f"shr.u32 %r30, %r1, {rnd.choice((1, 3, 4))}; add.u32 %r30, %r30, {rnd.randrange(256)};", ""),
                (f"or.b32 %r30, %r1, 31; add.u32 %r30, %r30, {rnd.randrange(256)};", ""),
            )
        )
        space = "local"
        if not at:
            code += f"and.b32 %r30, %r30, {count - 1}; mad.lo.u32 %r32, %r30, {size}, %r5; cvt.u64.u32 %rd10, %r32;"
            at = rnd.choice(("%r32", "%rd10"))
            if self.generic and rnd.random() < 0.6:
                code += f"mul.wide.u32 %rd10, %r30, {size}; add.u64 %rd10, %rd9, %rd10;"
                space, at = "generic", "%rd10"
        access = rnd.choice((store, store, load, load, store + load)).format(space=space, at=at)
        access = access.replace(".generic", "")
        code = f"mov.u32 %r21, 0; mov.u32 %r20, {rnd.randrange(99)}; {code} {self._lanes()}"
        return [code, somewhere(rnd, k, access, self._deep(1)), "add.u32 %r6, %r6, %r21;"]

    def _deep(self, most: int) -> str:
        code = f"and.b32 %r24, %r1, {most}; {{ .param .b32 a; .param .b32 b; .param .b32 c; st.param.b32 [a], %r24;"
        code += self.rnd.choice(("", "@%p1 st.param.b32 [c], 3;", "st.param.b32 [c], %r24;"))
        return code + "call (b), deep, (a, c); ld.param.b32 %r25, [b]; } add.u32 %r6, %r6, %r25;"

    def _call(self, k: int) -> list[str]:
        rnd, size = self.rnd, self.size
        code = self._deep(rnd.choice((0, 1, 3)))
        if rnd.random() < 0.4:
            code = f"and.b32 %r24, %r1, {rnd.choice((0, 1, 3))}; {{ .param .b32 a; .param .b32 b;"
            code += "st.param.b32 [a], %r24; call (b), wide, (a); ld.param.b32 %r25, [b]; } add.u32 %r6, %r6, %r25;"
        if rnd.random() < 0.6:
            stores = [f"st.param.b32 [a+{at}], %r1;" for at in range(0, size - 3, 4)]
            stores += ["st.param.b16 [h], %h1;", "st.param.b16 [h+2], %h1;", "st.param.b8 [c], %h1;"]
            some = "".join(rnd.choice(("", "@%p1 ")) + line for line in rnd.sample(stores, rnd.randint(1, len(stores))))
            code = f"{{ .param .align 8 .b8 a[{size}]; .param .align 4 .b8 h[6]; .param .b8 c;"
            code += f".param .align 8 .b8 r[{size}]; cvt.u16.u32 %h1, %r1; {some} call.uni (r), passed, (a, h, c);"
            code += f"ld.param.b32 %r25, [r]; ld.param.u8 %r26, [r+{size - 1}]; }}"
            code += "add.u32 %r6, %r6, %r25; add.u32 %r6, %r6, %r26;"
        code = f"{self._lanes()} {code}"
        return [code if rnd.random() < 0.6 else f"{self._lanes()} @!%p1 bra PAST{k}; {code} PAST{k}:"]


# -- shared memory -----------------------------------------------------------------------------------------------------

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


class Shared:
    """One program that reads shared memory."""

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


def program(seed: int) -> Local | Shared:
    """The program of a number."""
    return Shared(seed) if seed % 2 else Local(seed)


def found(way: str, program: Local | Shared, _: int) -> list[str]:
    """The fault, if there is one, and what initcheck finds, in words. way: one of `WAYS`."""
    x = np.arange(64, dtype=np.uint32)
    return said(
        way, program.text, threads=program.threads, blocks=program.blocks, checks=("memcheck", "initcheck"), x=x
    )


def differences(first: int, count: int) -> list[str]:
    """The programs on which the engines differ, in words."""
    return differing(range(first, first + count), program, found, WAYS)


if __name__ == "__main__":
    sys.exit(compare(__doc__, differences))
