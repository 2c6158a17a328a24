"""Random PTX kernels that end and have one right result: arithmetic, divergence, loops, calls, memory, barriers."""

from __future__ import annotations

import random

INTEGERS = [f"%r{n}" for n in range(10, 18)]
FLOATS = [f"%f{n}" for n in range(1, 7)]
WORDS = len(INTEGERS) + len(FLOATS)
"""u32 words that each thread stores at the end."""

_BINARY = (
    "add.u32", "sub.s32", "mul.lo.u32", "mul.hi.s32", "and.b32", "or.b32", "xor.b32", "min.s32", "max.u32", "div.u32",
    "rem.s32", "shl.b32", "shr.s32", "shr.u32",
)  # fmt: skip
_UNARY = ("popc.b32", "clz.b32", "brev.b32", "not.b32", "neg.s32", "abs.s32")
_TERNARY = ("mad.lo.s32", "mad.hi.u32", "prmt.b32", "shf.l.wrap.b32", "sad.u32")
_FIELD = ("bfe.u32", "bfe.s32")
_FLOAT2 = ("add.rn.f32", "sub.rn.f32", "mul.rn.f32", "mul.rz.f32", "min.f32", "max.f32", "add.ftz.f32", "div.rn.f32")
_COMPARE = ("setp.lt.s32", "setp.ge.u32", "setp.eq.s32", "setp.ne.u32", "setp.gt.s32")

HEAD = """.version 8.0
.target sm_80
.address_size 64

.shared .align 4 .b8 tile[512];

.func (.param .b32 result) mix(.param .b32 a, .param .b32 b)
{
    .reg .b32 %r<5>; .reg .pred %p<2>;
    ld.param.b32 %r1, [a]; ld.param.b32 %r2, [b];
    setp.gt.s32 %p1, %r1, %r2; @%p1 bra MORE;
    mad.lo.s32 %r3, %r1, 17, %r2; st.param.b32 [result], %r3;
    ret;
MORE:
    xor.b32 %r3, %r1, %r2; st.param.b32 [result], %r3;
    ret;
}

.visible .entry k(.param .u64 out, .param .u64 x)
{
    .reg .pred %p<40>; .reg .b32 %r<200>; .reg .b64 %rd<40>; .reg .f32 %f<10>;
    .local .align 4 .b8 own[64];
    ld.param.u64 %rd1, [out]; ld.param.u64 %rd2, [x];
    mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; mad.lo.u32 %r4, %r2, %r3, %r1;
    mov.u64 %rd5, own;
"""


class Writer:
    """Writes one program. `depth` 0 is where all warps of a block are converged."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.lines: list[str] = []
        self.count = 40

    def fresh(self) -> int:
        self.count += 1
        return self.count

    def emit(self, text: str) -> None:
        self.lines.append("    " + text)

    def integer(self) -> str:
        if self.random.random() < 0.2:
            return str(self.random.choice((0, 1, 2, 3, 7, 31, 33, -1, -2, 255, 0x7FFFFFFF, 0x12345678)))
        return self.random.choice(INTEGERS)

    def predicate(self) -> str:
        p = f"%p{self.random.randint(1, 30)}"
        self.emit(f"{self.random.choice(_COMPARE)} {p}, {self.random.choice(INTEGERS)}, {self.integer()};")
        return p

    def address(self, base: str, limit: int) -> str:
        r, rd = f"%r{self.fresh()}", f"%rd{self.random.randint(10, 39)}"
        self.emit(f"and.b32 {r}, {self.random.choice(INTEGERS)}, {limit - 1};")
        self.emit(f"mul.wide.u32 {rd}, {r}, 4;")
        self.emit(f"add.u64 {rd}, {base}, {rd};")
        return rd

    def plain(self) -> None:
        """One computation, perhaps guarded."""
        choose = self.random.choice
        d, f = choose(INTEGERS), choose(FLOATS)
        text = choose((
            f"{choose(_BINARY)} {d}, {choose(INTEGERS)}, {self.integer()};",
            f"{choose(_BINARY)} {d}, {choose(INTEGERS)}, {self.integer()};",
            f"{choose(_UNARY)} {d}, {choose(INTEGERS)};",
            f"{choose(_TERNARY)} {d}, {choose(INTEGERS)}, {self.integer()}, {choose(INTEGERS)};",
            f"{choose(_FIELD)} {d}, {choose(INTEGERS)}, {choose(INTEGERS)}, {self.random.randint(0, 255)};",
            f"{choose(_FLOAT2)} {f}, {choose(FLOATS)}, {choose(FLOATS)};",
            f"fma.rn.f32 {f}, {choose(FLOATS)}, {choose(FLOATS)}, {choose(FLOATS)};",
            f"cvt.rn.f32.s32 {f}, {choose(INTEGERS)};",
            f"cvt.rzi.s32.f32 {d}, {choose(FLOATS)};",
            f"lop3.b32 {d}, {choose(INTEGERS)}, {choose(INTEGERS)}, {self.integer()}, {self.random.randint(0, 255)};",
        ))  # fmt: skip
        if self.random.random() < 0.25:
            p = self.predicate()
            text = f"@{choose(('', '!'))}{p} {text}"
        self.emit(text)

    def block(self, depth: int, length: int) -> None:
        for _ in range(length):
            self.random.choice(self.choices(depth))(depth)

    def choices(self, depth: int) -> list:
        anywhere = [self._plain, self._plain, self._plain, self._load, self._local, self._count]
        nested = [self._if, self._loop, self._call] if depth < 3 else []
        together = [self._shuffle, self._vote, self._exchange] if depth == 0 else []
        return anywhere + nested + together

    def _plain(self, depth: int) -> None:
        self.plain()

    def _load(self, depth: int) -> None:
        self.emit(f"ld.global.u32 {self.random.choice(INTEGERS)}, [{self.address('%rd2', 64)}];")

    def _local(self, depth: int) -> None:
        self.emit(f"st.local.u32 [{self.address('%rd5', 16)}], {self.random.choice(INTEGERS)};")
        self.emit(f"ld.local.u32 {self.random.choice(INTEGERS)}, [{self.address('%rd5', 16)}];")

    def _count(self, depth: int) -> None:
        operation = self.random.choice(("add.u32", "xor.b32", "add.u32"))
        where = {"add.u32": 256, "xor.b32": 512}[operation]
        self.emit(f"red.global.{operation} [{self.address('%rd2', 64)}+{where}], {self.random.choice(INTEGERS)};")

    def _if(self, depth: int) -> None:
        n, p = self.fresh(), self.predicate()
        self.emit(f"@{p} bra ELSE{n};")
        self.block(depth + 1, self.random.randint(1, 4))
        self.emit(f"bra JOIN{n};")
        self.lines.append(f"ELSE{n}:")
        self.block(depth + 1, self.random.randint(0, 4))
        self.lines.append(f"JOIN{n}:")
        self.emit(f"add.u32 {INTEGERS[0]}, {INTEGERS[0]}, {n};")

    def _loop(self, depth: int) -> None:
        n = self.fresh()
        counter, p = f"%r{self.fresh()}", f"%p{31 + depth}"
        self.emit(f"and.b32 {counter}, {self.random.choice(INTEGERS)}, {self.random.choice((1, 3, 7))};")
        self.lines.append(f"LOOP{n}:")
        self.block(depth + 1, self.random.randint(1, 4))
        if self.random.random() < 0.3:
            self.emit(f"@{self.predicate()} bra LEAVE{n};")
        self.emit(f"sub.u32 {counter}, {counter}, 1;")
        self.emit(f"setp.ge.s32 {p}, {counter}, 0;")
        self.emit(f"@{p} bra LOOP{n};")
        self.lines.append(f"LEAVE{n}:")
        self.emit(f"xor.b32 {INTEGERS[1]}, {INTEGERS[1]}, {n};")

    def _call(self, depth: int) -> None:
        a, b, d = (self.random.choice(INTEGERS) for _ in range(3))
        self.emit("{ .param .b32 p0; .param .b32 p1; .param .b32 q;")
        self.emit(f"st.param.b32 [p0], {a};")
        self.emit(f"st.param.b32 [p1], {b};")
        self.emit("call (q), mix, (p0, p1);")
        self.emit(f"ld.param.b32 {d}, [q]; }}")

    def _shuffle(self, depth: int) -> None:
        mode, c = self.random.choice((("bfly", 31), ("down", 31), ("up", 0), ("idx", 31)))
        d, a = self.random.choice(INTEGERS), self.random.choice(INTEGERS)
        self.emit(f"shfl.sync.{mode}.b32 {d}|%p31, {a}, {self.integer()}, {c}, -1;")
        self.emit(f"selp.b32 {self.random.choice(INTEGERS)}, {d}, {self.random.choice(INTEGERS)}, %p31;")

    def _vote(self, depth: int) -> None:
        self.emit(f"vote.sync.ballot.b32 {self.random.choice(INTEGERS)}, {self.predicate()}, -1;")

    def _exchange(self, depth: int) -> None:
        r, other = f"%r{self.fresh()}", f"%r{self.fresh()}"
        self.emit(f"mov.u32 {r}, tile;")
        self.emit(f"mad.lo.u32 {other}, %r1, 4, {r};")
        self.emit(f"st.shared.u32 [{other}], {self.random.choice(INTEGERS)};")
        self.emit("bar.sync 0;")
        self.emit(f"xor.b32 {other}, %r1, {self.random.choice((1, 16, 31, 32, 64))};")
        self.emit(f"mad.lo.u32 {other}, {other}, 4, {r};")
        self.emit(f"ld.shared.u32 {self.random.choice(INTEGERS)}, [{other}];")
        self.emit("bar.sync 0;")


def program(seed: int, length: int = 14) -> str:
    """The text of a kernel `k(out, x)` for 128 threads a block; `out` takes `WORDS` u32 a thread, `x` has 192."""
    w = Writer(seed)
    for n, register in enumerate(INTEGERS):
        w.emit(f"mad.lo.u32 {register}, %r4, {2 * n + 1}, {w.random.getrandbits(5)};")
    for n, register in enumerate(FLOATS):
        w.emit(f"cvt.rn.f32.s32 {register}, {INTEGERS[n]};")
        w.emit(f"mul.rn.f32 {register}, {register}, 0f{w.random.choice((0x3F000000, 0x3DCCCCCD, 0xBF99999A)):08X};")
    for n in range(16):
        w.emit(f"st.local.u32 [own+{4 * n}], {w.random.choice(INTEGERS)};")
    w.block(0, length)
    w.emit(f"mul.wide.u32 %rd6, %r4, {4 * WORDS};")
    w.emit("add.u64 %rd6, %rd1, %rd6;")
    for n, register in enumerate(INTEGERS + FLOATS):
        w.emit(f"st.global.b32 [%rd6+{4 * n}], {register};")
    return HEAD + "\n".join(w.lines) + "\n    ret;\n}\n"
