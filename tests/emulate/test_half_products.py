"""Products of f16 and bf16 that follow each other, with factors and sums from anywhere: to the last bit as `step`."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from emulate_programs import ENGINES, kernel, run
from matrix_programs import multiply, pack, program, unpack

pytestmark = pytest.mark.skipif("jit" not in ENGINES, reason="llvmlite is not installed")
native = pytest.importorskip("ptxlab.emulate.jit.native.code")

_MMA = "mma.sync.aligned"


def chain(lines: str) -> str:
    """A kernel with a in %r10 to %r13 and %r20 to %r23, b in %r14 to %r17, c in %f0 to %f3, that stores %f0 to %f3."""
    loads = "".join(
        f"    ld.global.b32 {r}, [%rd6+{256 * k}];\n"
        for k, r in enumerate([*(f"%r{i}" for i in (*range(10, 18), *range(20, 24))), *(f"%f{i}" for i in range(4))])
    )
    stores = "".join(f"    st.global.b32 [%rd7+{256 * k}], %f{k};\n" for k in range(4))
    start = "    mul.wide.u32 %rd5, %r1, 8;\n    add.u64 %rd6, %rd2, %rd5;\n    add.u64 %rd7, %rd1, %rd5;\n"
    return kernel(start + loads + lines + stores)


D = "{%f0, %f1, %f2, %f3}"
A, OTHER = "{%r10, %r11, %r12, %r13}", "{%r20, %r21, %r22, %r23}"
B, NEXT = "{%r14, %r15}", "{%r16, %r17}"


def mma(type_: str, d: str, a: str, b: str, c: str) -> str:
    return f"    {_MMA}.m16n8k16.row.col.f32.{type_}.{type_}.f32 {d}, {a}, {b}, {c};\n"


PROGRAMS = {
    "A changes": lambda t: mma(t, D, A, B, D) + "    mov.b32 %r11, %r22;\n" + mma(t, D, A, B, D),
    "under a guard": lambda t: (
        "    setp.lt.u32 %p1, %r1, 0;\n    @%p1 " + mma(t, D, A, B, D).strip() + "\n" + mma(t, D, A, B, D)
    ),
    "c in another order": lambda t: mma(t, D, A, B, "{%f2, %f0, %f3, %f1}") + mma(t, "{%f1, %f2, %f3, %f0}", A, B, D),
    "the sum becomes A": lambda t: mma(t, D, A, B, D) + "".join(
        f"    mov.b32 %r{10 + k}, %f{k};\n" for k in range(4)) + mma(t, D, A, B, D),
    "the sum begins with other NaNs": lambda t: (
        "    mul.f32 %f0, %f0, 0f7F800000;\n    sub.f32 %f0, %f0, %f0;\n    fma.rn.f32 %f1, %f0, %f2, %f3;\n"
        + mma(t, D, A, B, D) + "    add.f32 %f2, %f2, %f1;\n" + mma(t, D, A, NEXT, "{%f1, %f1, %f2, %f3}")
    ),
    "d is A": lambda t: mma(t, "{%r10, %r11, %r12, %r13}", A, B, D) + mma(t, D, A, B, D),
    "a loop": lambda t: (
        "    mov.u32 %r5, 0;\nAGAIN:\n" + mma(t, D, A, B, D) + mma(t, D, A, NEXT, D)
        + "    add.u32 %r11, %r11, 1;\n    add.u32 %r5, %r5, 1;\n    setp.lt.u32 %p1, %r5, 3;\n    @%p1 bra AGAIN;\n"
        + mma(t, D, A, B, D)
    ),
    "a literal": lambda t: mma(t, D, A, "{%r14, 0x3C003F80}", D) + mma(t, D, A, "{%r14, 0x3F803C00}", D),
}  # fmt: skip


TILE = (
    "    .shared .align 16 .b8 tile[512];\n    mov.u32 %r24, tile;\n    shl.b32 %r25, %r1, 4;\n"
    "    add.u32 %r24, %r24, %r25;\n    st.shared.v4.b32 [%r24], {%r20, %r21, %r22, %r23};\n    bar.sync 0;\n"
)
FOUR = "{%r14, %r15, %r16, %r17}"


def ldmatrix(d: str, trans: str = "", offset: int = 0) -> str:
    return f"    ldmatrix.sync.aligned.m8n8.x{d.count('%')}{trans}.shared.b16 {d}, [%r24+{offset}];\n"


PROGRAMS |= {
    "ldmatrix loads A and B": lambda t: (
        TILE + ldmatrix(A) + ldmatrix(B, ".trans") + mma(t, D, A, B, D) + mma(t, D, A, "{%r10, %r15}", D)
    ),
    "B is written again": lambda t: (
        TILE + ldmatrix(FOUR) + mma(t, D, A, B, D) + "    mov.b32 %r15, %r20;\n" + mma(t, D, A, B, D)
        + mma(t, D, A, NEXT, D)
    ),
    "B is needed in the next block": lambda t: (
        "    mov.u32 %r5, 0;\n" + TILE + ldmatrix(FOUR) + "AGAIN:\n" + mma(t, D, A, B, D) + ldmatrix(FOUR, ".trans")
        + mma(t, D, A, NEXT, D) + "    add.u32 %r5, %r5, 1;\n    setp.lt.u32 %p1, %r5, 3;\n    @%p1 bra AGAIN;\n"
    ),
    "the sum goes where B was": lambda t: (
        TILE + ldmatrix(FOUR) + mma(t, "{%r14, %r15, %r26, %r27}", A, B, D) + mma(t, D, A, NEXT, D)
        + mma(t, D, A, B, D)
    ),
    "half as deep": lambda t: TILE + ldmatrix(FOUR, ".trans") + "".join(
        f"    {_MMA}.m16n8k8.row.col.f32.{t}.{t}.f32 {D}, {{%r10, %r11}}, {{{b}}}, {D};\n"
        for b in ("%r14", "%r15", "%r17", "%r15")
    ),
}  # fmt: skip

SUMS = ["{" + ", ".join(f"%s{4 * n + i}" for i in range(4)) + "}" for n in range(5)]
A_OF, B_OF = (A, OTHER), (B, NEXT)


def sums(*steps: str) -> str:
    """Five sums of f32 that begin as %f0 to %f3, what is done with them, and all of them added to these."""
    first = "".join(f"    mov.f32 %s{4 * n + i}, %f{i};\n" for n in range(5) for i in range(4))
    last = "".join(f"    add.f32 %f{i}, %f{i}, %s{4 * n + i};\n" for n in range(5) for i in range(4))
    return "    .reg .f32 %s<20>, %z<4>;\n" + first + "".join(steps) + last


def each_step(t: str, more: tuple[str, ...] = ("", "", "")) -> list[str]:
    """Three steps along k, each with a product for each of the five sums; `more` follows each step."""
    return [
        "".join(mma(t, s, A_OF[k % 2], B_OF[(n + k) % 2], s) for n, s in enumerate(SUMS)) + more[k] for k in range(3)
    ]


PROGRAMS |= {
    "a sum is shuffled between steps": lambda t: sums(
        *each_step(t, ("    shfl.sync.bfly.b32 %s5, %s4, 1, 31, -1;\n", "", ""))
    ),
    "sums begin with zeros": lambda t: sums(
        "".join(f"    mov.f32 %z{i}, 0f00000000;\n    mov.f32 %s{i}, 0f00000000;\n" for i in range(4)),
        "".join(f"    mov.f32 %s{4 + i}, 0f{'80000000' if i == 2 else '00000000'};\n" for i in range(4)),
        mma(t, SUMS[3], A, B, "{%z0, %z1, %z2, %z3}"), mma(t, SUMS[4], A, NEXT, "{%z3, %z2, %z0, %z0}"),
        mma(t, SUMS[2], A, NEXT, "{0f00000000, 0f00000000, 0f00000000, 0f00000000}"),
        *each_step(t, ("    add.f32 %s2, %z1, %s2;\n", "    mov.f32 %z0, %s5;\n", "")),
        mma(t, SUMS[1], A, B, "{%z0, %z1, %z2, %z3}"),
    ),
    "a sum begins with another": lambda t: sums(
        mma(t, SUMS[0], A, B, SUMS[0]), mma(t, SUMS[1], A, NEXT, SUMS[0]), mma(t, SUMS[0], OTHER, B, SUMS[1]),
        mma(t, SUMS[2], A, B, SUMS[2]), mma(t, SUMS[1], A, B, SUMS[1]), mma(t, SUMS[0], A, NEXT, SUMS[0]),
    ),
    "steps beside a product of other types": lambda t: sums(
        *each_step(t)[:2],
        f"    {_MMA}.m16n8k8.row.col.f32.{t}.{t}.f32 {SUMS[1]}, {{%r10, %r11}}, {{%r14}}, {SUMS[1]};\n",
        *each_step(t),
    ),
    "steps around a guard": lambda t: sums(
        *each_step(t), "    setp.lt.u32 %p1, %r1, 32;\n    @%p1 " + mma(t, SUMS[1], A, B, SUMS[1]).strip() + "\n",
        *each_step(t), "    @!%p1 " + mma(t, SUMS[2], A, B, SUMS[2]).strip() + "\n", *each_step(t),
    ),
}  # fmt: skip


@pytest.mark.sweep(48)
@pytest.mark.parametrize("type_", ["f16", "bf16"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_products_read_what_the_registers_hold(name: str, type_: str) -> None:
    rng = np.random.default_rng(7)
    dtype = np.dtype(np.float16 if type_ == "f16" else ml_dtypes.bfloat16)
    halves = rng.standard_normal((12, 32, 2)).astype(dtype)
    x = np.zeros((16, 32, 2), np.uint32)
    x[:12, :, 0] = np.ascontiguousarray(halves).view(np.uint32)[..., 0]
    x[12:, :, 0] = rng.standard_normal((4, 32)).astype(np.float32).view(np.uint32)
    text = chain(PROGRAMS[name](type_)).replace("%r<40>", "%r<80>")
    step, jit = (
        run(engine, text, x=x.view(np.uint64).reshape(16, 32), out=np.zeros((4, 32), np.uint64))[0]
        for engine in ("step", "jit")
    )
    assert (step == jit).all()
    assert step.any()


def test_products_of_small_numbers_keep_subnormal_sums() -> None:
    """In products and in C."""
    opcode = f"{_MMA}.m16n8k16.row.col.f32.bf16.bf16.f32"
    _, p = program(opcode)
    bfloat16 = ml_dtypes.bfloat16
    for a, b, c in ((1e-20, 1e-20, 0.0), (1.0, 1.0, 1e-40), (1e-39, 1.0, 0.0), (1.0, 3e-39, 0.0), (1e-25, 2e-14, 0.0)):
        given = [np.full((16, 16), a).astype(bfloat16), np.full((16, 8), b).astype(bfloat16)]
        packed = [pack(f, x) for f, x in zip((p.a, p.b, p.c), (*given, np.full((16, 8), c, np.float32)), strict=True)]
        step, jit = (unpack(p.d, multiply(engine, opcode, *packed)) for engine in ("step", "jit"))
        assert (step == jit).all()
        assert (step != 0).all()
