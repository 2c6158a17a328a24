"""Long texts, whose constants are in a table: the same results as from those that stand in the code."""

from __future__ import annotations

import numpy as np
import pytest

import ptxlab as pl
from ptxlab.emulate.jit.emitter import function, instruction_tables
from ptxlab.emulate.jit.llvm import constant_pool
from ptxlab.emulate.jit.llvm.ir_text import Text
from ptxlab.emulate.jit.llvm.values import constant

HEAD = """.version 8.0
.target sm_80
.address_size 64
.visible .entry long(.param .u64 out)
{
.reg .b32 %r<8>; .reg .f32 %f<4>; .reg .f64 %d<4>; .reg .b64 %rd<8>;
mov.u32 %r1, %tid.x;
ld.param.u64 %rd1, [out];
mad.wide.u32 %rd2, %r1, 24, %rd1;
mad.lo.u32 %r2, %r1, 0x9e3779b9, 77;
cvt.u64.u32 %rd3, %r2;
cvt.rn.f32.u32 %f1, %r1;
cvt.rn.f64.u32 %d1, %r1;
"""
TAIL = """st.global.u64 [%rd2], %rd3;
st.global.u32 [%rd2+8], %r2;
st.global.f32 [%rd2+12], %f1;
st.global.f64 [%rd2+16], %d1;
ret;
}
"""


def long(lines: int) -> str:
    """A text of so many lines, each with numbers of its own, among them those that stay in the code."""
    rng = np.random.default_rng(5)
    body = []
    for k in range(lines):
        n = int(rng.integers(1, 1 << 32)) if k % 5 else int(rng.choice([3, 64, 65, 4096, 0xFFFFFFC0, 0xFFFFFFBF]))
        wide, x = int(rng.integers(1, 1 << 63)), float(rng.uniform(-1, 1))
        body.append((
            f"add.u32 %r2, %r2, {n};", f"mad.lo.u32 %r2, %r2, {n}, {n ^ 5};", f"xor.b32 %r2, %r2, {n};",
            f"div.u32 %r3, %r2, {n}; add.u32 %r2, %r2, %r3;",
            f"rem.s32 %r3, %r2, {n & 0xFFFF | 1}; xor.b32 %r2, %r2, %r3;",
            f"mad.lo.u64 %rd3, %rd3, {wide}, {wide // 3};", f"mul.hi.u32 %r3, %r2, {n}; add.u32 %r2, %r2, %r3;",
            f"fma.rn.f32 %f1, %f1, 0f{np.float32(x).view(np.uint32):08X}, 0f{np.float32(1 - x).view(np.uint32):08X};",
            f"fma.rn.f64 %d1, %d1, 0d{np.float64(x).view(np.uint64):016X}, 0d{np.float64(x / 3).view(np.uint64):016X};",
            f"shl.b32 %r3, %r2, {n % 31}; xor.b32 %r2, %r2, %r3;", f"min.u32 %r3, %r2, {n}; sub.u32 %r2, %r3, {k};",
        )[k % 11])  # fmt: skip
    return HEAD + "\n".join(body) + "\n" + TAIL


def run(text: str, device: str) -> np.ndarray:
    out = np.zeros(48 * 24, np.uint8)
    pl.launch(text, 1, 48, out, device=device)
    return out


@pytest.mark.long
def test_constants_of_a_long_text(monkeypatch: pytest.MonkeyPatch) -> None:
    text = long(constant_pool.LONG + 100)
    far = run(text, "cpu")
    assert (far == run(text, "step")).all()
    short = long(330)
    near = run(short, "cpu")
    monkeypatch.setattr(function, "LONG", 10)
    assert (run(short + "// again\n", "cpu") == near).all()


@pytest.mark.parametrize(
    ("lane", "numbers", "far"),
    [
        ("i32", np.uint32([0, 1, 64, 65, 4096, 4097, 0xFFFFFFFF]), [65, 4097]),
        ("f32", np.float32([0, 1, 2, 3.5, -1]), [1, 3.5, -1]),
        ("i16", np.uint16([4097]), []),
    ],
)
def test_which_constants_are_far(lane: str, numbers: np.ndarray, far: list[float]) -> None:
    table = constant_pool.ConstantPool(Text(), "converged")
    assert [n for n in numbers if table.takes(constant(np.full(32, n, numbers.dtype), lane))] == far


BODY = (
    "mad.lo.u32 %r2, %r2, %r1, {n};", "add.u32 %r3, %r2, {n};", "xor.b32 %r2, %r2, %r3;",
    "setp.lt.u32 %p1, %r3, {n};", "selp.b32 %r3, %r2, {n}, %p1;", "setp.gt.and.s32 %p2, %r3, %r2, !%p1;",
    "selp.b32 %r2, %r2, %r3, %p2;", "mul.wide.u32 %rd4, %r2, {n};", "add.u64 %rd3, %rd3, %rd4;",
    "cvt.u32.u64 %r3, %rd3;", "cvt.rn.f32.u32 %f2, %r3;", "fma.rn.f32 %f1, %f2, 0f3A83126F, %f1;",
    "mul.f64 %d1, %d1, 0d3FF000010C6F7A0B;", "cvt.u16.u32 %h1, %r3;", "add.u16 %h1, %h1, {k};",
    "cvt.s32.s16 %r4, %h1;", "add.u32 %r2, %r2, %r4;", "add.u32 %r2, %r2, %r6;", "min.s32 %r3, %r2, %r6;",
    "lop3.b32 %r2, %r2, %r3, {n}, 0x96;",
)  # fmt: skip


def runs(times: int, branch: str) -> str:
    """All kinds of rows: vectors, predicates, one number for all lanes, numbers of 16, 32 and 64 bits; and among them
    instructions that are none. Then the lanes that `branch` leaves run some more."""

    def lines(k: int) -> str:
        return "\n".join(BODY).format(n=2654435761 * k % (1 << 31) + 1, k=k % 1000)

    head = HEAD.replace(".reg .f64", ".reg .pred %p<4>; .reg .b16 %h<2>; .reg .f64").replace("%r<8>", "%r<9>")
    head += "mov.u32 %r6, %ctaid.x;\nadd.u32 %r6, %r6, 77;\nsetp.lt.u32 %p3, %r1, 11;\n"
    guarded = "\n@%p3 add.u32 %r2, %r2, 3;\n"
    more = "\n".join(lines(k) for k in range(3))
    return head + guarded.join(map(lines, range(times))) + f"\n{branch}\n{more}\nend:\n" + TAIL


@pytest.mark.sweep(2)
@pytest.mark.parametrize("branch", ["", "@%p3 bra end;"])
def test_runs_of_instructions_that_only_compute(branch: str, monkeypatch: pytest.MonkeyPatch) -> None:
    text = runs(110, branch)
    rows: list[int] = []
    made = instruction_tables.InstructionTables.text

    def counted(self: instruction_tables.InstructionTables) -> list[str]:
        rows.append(len(self._rows))
        return made(self)

    monkeypatch.setattr(instruction_tables.InstructionTables, "text", counted)
    found = run(text, "cpu")
    assert max(rows) > 1500
    assert (len(rows) == 2) == bool(branch), "with and without the function for diverged warps"
    assert (found == run(text, "step")).all()
