"""Products of f16 and bf16 in the code for each kind of CPU that this one can run: to the last bit as `step`."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from emulate_programs import ENGINES, kernel, run
from matrix_programs import NUMPY, multiply, pack, program, unpack

from ptxlab.isa.fragments import Fragment

pytestmark = pytest.mark.skipif("jit" not in ENGINES, reason="llvmlite is not installed")
native = pytest.importorskip("ptxlab.emulate.jit.native.code")

_MMA = "mma.sync.aligned"
FORMS = [
    *(f"{_MMA}.{shape}.row.col.{d}.{t}.{t}.{c}" for shape, d, t, c in (
        ("m16n8k16", "f32", "f16", "f32"), ("m16n8k16", "f16", "f16", "f16"), ("m16n8k8", "f32", "f16", "f32"),
        ("m16n8k16", "f32", "bf16", "f32"), ("m16n8k8", "f32", "bf16", "f32"),
    )),
    *(f"wmma.mma.sync.aligned.row.col.{shape}.{types}" for shape, types in (
        ("m16n16k16", "f32.f16"), ("m32n8k16", "f16.f32"), ("m8n32k16", "f32.f32"),
        ("m16n16k16", "f32.bf16.bf16.f32"), ("m32n8k16", "f32.bf16.bf16.f32"), ("m8n32k16", "f32.bf16.bf16.f32"),
    )),
]  # fmt: skip
HASWELL = "+sse2,+sse3,+ssse3,+sse4.1,+sse4.2,+avx,+avx2,+fma,+bmi,+bmi2,+lzcnt,+popcnt,+movbe"
CPUS = {
    "haswell": native.Cpu("haswell", HASWELL + ",+f16c"),
    "without F16C": native.Cpu("x86-64-v3", HASWELL + ",-f16c"),
    "ivybridge": native.Cpu("ivybridge", "+sse2,+sse4.2,+avx,+f16c,+popcnt"),
    "x86-64-v2": native.Cpu("x86-64-v2", ""),
}


def matrix(rng: np.random.Generator, f: Fragment, kind: str) -> np.ndarray:
    """A matrix of "normal" numbers, of numbers of all "sizes", or of ones among which there are special ones."""
    dtype = NUMPY[f.type]
    x = rng.standard_normal((f.rows, f.columns))
    if kind == "sizes":
        x *= 2.0 ** rng.integers(-140, 100, x.shape)
    with np.errstate(all="ignore"):
        held = x.astype(dtype)
        if kind == "special":
            some = np.array([0, -0.0, np.inf, -np.inf, np.nan, 1e-40, -3e-45, 6e-8, -6e-5, 65504]).astype(dtype)
            held = np.where(rng.random(x.shape) < 0.03, some[rng.integers(0, len(some), x.shape)], held)
    return held


def compare(opcode: str) -> None:
    rng, (_, p) = np.random.default_rng(5), program(opcode)
    for kind in ("normal", "sizes", "special"):
        given = [pack(f, matrix(rng, f, kind)) for f in (p.a, p.b, p.c)]
        step, jit = (multiply(engine, opcode, *given) for engine in ("step", "jit"))
        assert (step == jit).all(), kind


@pytest.mark.sweep(4)
@pytest.mark.parametrize("opcode", FORMS)
def test_code_for_this_cpu_agrees(opcode: str) -> None:
    compare(opcode)


@pytest.mark.sweep(26)
@pytest.mark.parametrize("opcode", FORMS)
@pytest.mark.parametrize("cpu", CPUS)
def test_code_for_older_cpus_agrees(opcode: str, cpu: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if not all(f"+{feature}" in native.host().features for feature in ("avx2", "fma", "f16c")):
        pytest.skip("needs a CPU with AVX2")
    monkeypatch.setattr(native, "host", lambda: CPUS[cpu])
    compare(opcode)


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
    "the same A and B": lambda t: mma(t, D, A, B, D) + mma(t, D, A, NEXT, D) + mma(t, D, A, B, D),
    "A changes": lambda t: mma(t, D, A, B, D) + "    mov.b32 %r11, %r22;\n" + mma(t, D, A, B, D),
    "B changes": lambda t: mma(t, D, A, B, D) + "    mov.b32 %r15, %r16;\n" + mma(t, D, OTHER, B, D),
    "changes under a guard": lambda t: (
        mma(t, D, A, B, D) + "    setp.gt.u32 %p1, %r1, 7;\n    @%p1 mov.b32 %r11, %r22;\n" + mma(t, D, A, B, D)
    ),
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
    "more than there is room for": lambda t: "".join(
        f"    add.u32 %r{30 + k}, %r{10 + k % 4}, {k * 8};\n" for k in range(40)
    ) + 2 * "".join(
        mma(t, D, "{" + ", ".join(f"%r{30 + 4 * k + i}" for i in range(4)) + "}", B, D) for k in range(10)
    ),
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
ACROSS, PAIRED = "{%r14, %r16}", "{%r15, %r17}"


def ldmatrix(d: str, trans: str = "", offset: int = 0) -> str:
    return f"    ldmatrix.sync.aligned.m8n8.x{d.count('%')}{trans}.shared.b16 {d}, [%r24+{offset}];\n"


PROGRAMS |= {
    "ldmatrix loads B": lambda t: (
        TILE + mma(t, D, A, B, D) + ldmatrix(B) + mma(t, D, A, B, D) + ldmatrix(B, ".trans") + mma(t, D, A, B, D)
    ),
    "ldmatrix loads two": lambda t: TILE + ldmatrix(FOUR) + mma(t, D, A, B, D) + mma(t, D, A, NEXT, D)
    + ldmatrix(FOUR, ".trans") + mma(t, D, A, ACROSS, D) + mma(t, D, OTHER, PAIRED, D) + mma(t, D, A, ACROSS, D),
    "ldmatrix loads A and B": lambda t: (
        TILE + ldmatrix(A) + ldmatrix(B, ".trans") + mma(t, D, A, B, D) + mma(t, D, A, "{%r10, %r15}", D)
    ),
    "B is read as well": lambda t: (
        TILE + ldmatrix(FOUR) + mma(t, D, A, B, D) + "    mov.b32 %r10, %r17;\n" + mma(t, D, A, NEXT, D)
    ),
    "B is written again": lambda t: (
        TILE + ldmatrix(FOUR) + mma(t, D, A, B, D) + "    mov.b32 %r15, %r20;\n" + mma(t, D, A, B, D)
        + mma(t, D, A, NEXT, D)
    ),
    "B is changed before it is used": lambda t: (
        TILE + ldmatrix(FOUR) + "    mov.b32 %r16, %r20;\n" + mma(t, D, A, B, D) + mma(t, D, A, NEXT, D)
    ),
    "B is needed in the next block": lambda t: (
        "    mov.u32 %r5, 0;\n" + TILE + ldmatrix(FOUR) + "AGAIN:\n" + mma(t, D, A, B, D) + ldmatrix(FOUR, ".trans")
        + mma(t, D, A, NEXT, D) + "    add.u32 %r5, %r5, 1;\n    setp.lt.u32 %p1, %r5, 3;\n    @%p1 bra AGAIN;\n"
    ),
    "many of B at once": lambda t: TILE + "".join(
        ldmatrix("{" + ", ".join(f"%r{30 + 4 * k + i}" for i in range(4)) + "}", ".trans" * (k % 2)) for k in range(11)
    ) + "".join(
        mma(t, D, A, "{" + f"%r{30 + 4 * k + 2 * i}, %r{31 + 4 * k + 2 * i}" + "}", D) for i in range(2)
        for k in range(11)
    ),
    "the last reader has a guard": lambda t: (
        TILE + "    setp.lt.u32 %p1, %r1, 32;\n" + ldmatrix(B) + "    @%p1 " + mma(t, D, A, B, D).strip() + "\n"
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
    "steps of many sums": lambda t: sums(*each_step(t)),
    "a sum is read between steps": lambda t: sums(*each_step(t, ("    add.f32 %s9, %s9, %s3;\n", "", ""))),
    "a sum is written between steps": lambda t: sums(*each_step(t, ("", "    mov.f32 %s6, %f1;\n", ""))),
    "a sum is shuffled between steps": lambda t: sums(
        *each_step(t, ("    shfl.sync.bfly.b32 %s5, %s4, 1, 31, -1;\n", "", ""))
    ),
    "a sum is stored between steps": lambda t: sums(
        *each_step(t, ("", "    st.global.f32 [%rd7], %s17;\n    ld.global.f32 %s2, [%rd7];\n", ""))
    ),
    "A and B change between steps": lambda t: sums(
        *each_step(t, ("    mov.b32 %r11, %r22;\n    mov.b32 %r15, %r21;\n", "    mov.b32 %r12, %r14;\n", ""))
    ),
    "sums begin with other registers": lambda t: sums(
        "".join(f"    mul.f32 %z{i}, %f{i}, 0f40400000;\n" for i in range(4)),
        *(mma(t, s, A, B, "{%z0, %z1, %z2, %z3}") for s in SUMS[:3]),
        "    mov.f32 %z1, %f2;\n",
        *(mma(t, s, A, NEXT, "{%z0, %z1, %z2, %z3}") for s in SUMS[3:]),
        *each_step(t),
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
    "two sums change places": lambda t: sums(
        *each_step(t), mma(t, SUMS[0], A, B, SUMS[1]), mma(t, SUMS[1], A, B, SUMS[0]), *each_step(t)
    ),
    "a sum that others multiply": lambda t: sums(
        *each_step(t), "".join(f"    mov.b32 %r{20 + i}, %s{i};\n" for i in range(4)), *each_step(t)
    ),
    "more steps than are deferred at once": lambda t: sums(*(each_step(t) * 7)),
    "steps beside a product of other types": lambda t: sums(
        *each_step(t)[:2],
        f"    {_MMA}.m16n8k8.row.col.f32.{t}.{t}.f32 {SUMS[1]}, {{%r10, %r11}}, {{%r14}}, {SUMS[1]};\n",
        *each_step(t),
    ),
    "steps around a guard": lambda t: sums(
        *each_step(t), "    setp.lt.u32 %p1, %r1, 32;\n    @%p1 " + mma(t, SUMS[1], A, B, SUMS[1]).strip() + "\n",
        *each_step(t), "    @!%p1 " + mma(t, SUMS[2], A, B, SUMS[2]).strip() + "\n", *each_step(t),
    ),
    "steps in a loop": lambda t: sums(
        "    mov.u32 %r5, 0;\nAGAIN:\n", *each_step(t),
        "    add.u32 %r5, %r5, 1;\n    setp.lt.u32 %p1, %r5, 3;\n    @%p1 bra AGAIN;\n",
    ),
    "all of B loaded before": lambda t: sums(
        TILE, *(ldmatrix("{" + ", ".join(f"%r{30 + 4 * k + i}" for i in range(4)) + "}", ".trans" * (k % 2))
                for k in range(12)),
        *(mma(t, SUMS[(k + n) % 5], A_OF[n], f"{{%r{30 + 4 * k + 2 * n}, %r{31 + 4 * k + 2 * n}}}", SUMS[(k + n) % 5])
          for k in range(12) for n in range(2)),
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
