"""mma.sync and wmma.mma on both engines: against numpy, and against each other to the last bit."""

from __future__ import annotations

import numpy as np
import pytest
from emulate_programs import ENGINES, kernel, run
from matrix_programs import BITS, NUMPY, multiply, pack, program, shifts, unpack

from ptxlab.isa.fragments import Fragment

_MMA = "mma.sync.aligned"
FORMS = [
    *(f"{_MMA}.{shape}.row.col.{d}.{t}.{t}.{d}" for shape, d, t in (
        ("m16n8k16", "f32", "f16"), ("m16n8k16", "f16", "f16"), ("m16n8k8", "f32", "f16"), ("m16n8k8", "f16", "f16"),
        ("m16n8k16", "f32", "bf16"), ("m16n8k8", "f32", "bf16"), ("m16n8k4", "f32", "tf32"), ("m16n8k8", "f32", "tf32"),
        ("m8n8k4", "f64", "f64"), ("m16n8k4", "f64", "f64"), ("m16n8k8", "f64", "f64"), ("m16n8k16", "f64", "f64"),
        ("m8n8k16", "s32", "s8"), ("m16n8k16", "s32", "u8"), ("m16n8k32", "s32", "s8"), ("m16n8k32", "f32", "e4m3"),
        ("m16n8k32", "f16", "e5m2"), ("m16n8k16", "f32", "e5m2"), ("m16n8k16", "f16", "e4m3"),
    )),
    f"{_MMA}.m16n8k32.row.col.satfinite.s32.u8.s8.s32", f"{_MMA}.m16n8k64.row.col.satfinite.s32.s4.u4.s32",
    f"{_MMA}.m16n8k32.row.col.f32.e4m3.e5m2.f32",
    *(f"{_MMA}.{shape}.row.col.s32.{types}.s32" for shape, types in (
        ("m8n8k32", "s4.s4"), ("m16n8k32", "u4.u4"), ("m16n8k64", "s4.s4"), ("m16n8k64", "u4.s4"),
            )),
    *(f"{_MMA}.{shape}.row.col.s32.b1.b1.s32.{bits}.popc" for shape in ("m8n8k128", "m16n8k128", "m16n8k256")
      for bits in ("xor", "and")),
    *(f"{_MMA}.m8n8k4.{la}.{lb}.{d}.f16.f16.{c}" for la, lb, d, c in (
        ("row", "row", "f32", "f32"), ("row", "col", "f32", "f16"), ("col", "row", "f16", "f16"),
        ("col", "col", "f32", "f32"),
    )),
    *(f"wmma.mma.sync.aligned.row.col.{shape}.{types}" for shape, types in (
        ("m16n16k16", "f32.f32"), ("m16n16k16", "f16.f16"), ("m16n16k16", "f32.f16"), ("m16n16k16", "f16.f32"),
        ("m32n8k16", "f32.f32"), ("m8n32k16", "f32.f32"), ("m32n8k16", "f16.f16"), ("m8n32k16", "f16.f16"),
        ("m16n16k16", "f32.bf16.bf16.f32"), ("m32n8k16", "f32.bf16.bf16.f32"), ("m8n32k16", "f32.bf16.bf16.f32"),
        ("m16n16k16", "s32.s8.s8.s32"), ("m8n32k16", "s32.u8.u8.s32.satfinite"), ("m32n8k16", "s32.s8.s8.s32"),
        ("m16n16k8", "f32.tf32.tf32.f32"), ("m8n8k4", "f64.f64.f64.f64"), ("m8n8k32", "s32.s4.s4.s32"),
        ("m8n8k32", "s32.u4.u4.s32.satfinite"),
    )),
    *(f"wmma.mma.{bits}.popc.sync.aligned.row.col.m8n8k128.s32.b1.b1.s32" for bits in ("xor", "and")),
]  # fmt: skip


@pytest.mark.sweep(10)
@pytest.mark.parametrize("opcode", FORMS)
def test_small_integers_are_exact(engine: str, opcode: str) -> None:
    rng, (_, p) = np.random.default_rng(0), program(opcode)
    low = {"u8": 0, "u4": 0, "b1": 0}
    high = {"b1": 2}
    a, b, c = (rng.integers(low.get(f.type, -4), high.get(f.type, 5), (f.rows, f.columns)) for f in (p.a, p.b, p.c))
    packed = [pack(f, x.astype(NUMPY[f.type])) for f, x in ((p.a, a), (p.b, b), (p.c, c))]
    d = unpack(p.d, multiply(engine, opcode, *packed)).astype(np.float64)
    product = (a[:, :, None] ^ b).sum(1) if p.bits == "xor" else a @ b
    assert (d == (product + c)[p.d.row, p.d.column]).all()


def random_registers(rng: np.random.Generator, f: Fragment, kind: str) -> np.ndarray:
    """Registers full of: "normal" numbers, numbers of all "sizes", "edge" values among normal ones, or any "bits"."""
    if kind == "bits" or f.type in ("s8", "u8", "s4", "u4", "b1", "s32"):
        return rng.integers(0, 1 << f.width, (f.registers, 32), dtype=np.uint64, endpoint=f.width < 64)
    dtype = NUMPY[f.type]
    x = rng.standard_normal((f.registers, f.packed, 32))
    if kind == "sizes":
        x *= 2.0 ** rng.integers(-140, 100, x.shape)
    with np.errstate(all="ignore"):
        bits = x.astype(dtype).view(BITS[f.bits // 8])
        if kind == "edge":
            special = np.array([0, -0.0, np.inf, -np.inf, np.nan, 1e-40, 3e-45, 6e-8, -6e-5, 448]).astype(dtype)
            chosen = rng.integers(0, len(special), x.shape)
            bits = np.where(rng.random(x.shape) < 0.05, special.view(bits.dtype)[chosen], bits)
    return np.bitwise_or.reduce(bits.astype(np.uint64) << shifts(f), axis=1)


@pytest.mark.sweep(30)
@pytest.mark.skipif("jit" not in ENGINES, reason="llvmlite is not installed")
@pytest.mark.parametrize("opcode", FORMS)
def test_engines_agree_to_the_last_bit(opcode: str) -> None:
    rng, (_, p) = np.random.default_rng(1), program(opcode)
    for kind in ("normal", "sizes", "edge", "bits"):
        given = [random_registers(rng, f, kind) for f in (p.a, p.b, p.c)]
        step, jit = (multiply(engine, opcode, *given) for engine in ("step", "jit"))
        assert (step == jit).all(), kind


@pytest.mark.sweep(11)
@pytest.mark.skipif("jit" not in ENGINES, reason="llvmlite is not installed")
@pytest.mark.parametrize("opcode", [f for f in FORMS if "m16n8k16" in f or "m16n16k16.f32" in f or "e4m3" in f])
@pytest.mark.parametrize("name", ["haswell", "ivybridge", "x86-64-v2"])
def test_code_for_an_older_cpu_agrees(opcode: str, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without AVX-512 other instructions are chosen, above all for bf16; without F16C halves are converted by hand."""
    from ptxlab.emulate.jit.native import code as native

    if "+avx2" not in native.host().features or "+f16c" not in native.host().features:
        pytest.skip("needs a CPU with AVX2")
    older = native.Cpu(name, "" if name == "x86-64-v2" else "+f16c")
    monkeypatch.setattr(native, "host", lambda: older)
    rng, (_, p) = np.random.default_rng(3), program(opcode)
    for kind in ("normal", "edge"):
        given = [random_registers(rng, f, kind) for f in (p.a, p.b, p.c)]
        step, jit = (multiply(engine, opcode, *given) for engine in ("step", "jit"))
        assert (step == jit).all(), kind


@pytest.mark.parametrize("type_", ["f16", "bf16", "tf32"])
def test_f32_sums_are_fused_multiply_adds_in_order(engine: str, type_: str) -> None:
    """Products of such factors are exact in f64, and one rounding of the f64 sum is what fma does but for rare ties."""
    opcode = f"{_MMA}.{'m16n8k8' if type_ == 'tf32' else 'm16n8k16'}.row.col.f32.{type_}.{type_}.f32"
    rng, (_, p) = np.random.default_rng(2), program(opcode)
    a, b, c = (rng.standard_normal((f.rows, f.columns)).astype(NUMPY[f.type]) for f in (p.a, p.b, p.c))
    if type_ == "tf32":
        a, b = (np.asarray(x.view(np.uint32) & np.uint32(0xFFFFE000)).view(np.float32) for x in (a, b))
    total = c.astype(np.float32)
    for k in range(a.shape[1]):
        total = (a[:, k, None].astype(float) * b[None, k].astype(float) + total).astype(np.float32)
    d = unpack(p.d, multiply(engine, opcode, pack(p.a, a), pack(p.b, b), pack(p.c, c)))
    assert (d == total[p.d.row, p.d.column]).all()


def test_tf32_ignores_the_low_bits(engine: str) -> None:
    opcode = f"{_MMA}.m16n8k4.row.col.f32.tf32.tf32.f32"
    _, p = program(opcode)
    one = pack(p.a, np.full((16, 4), 1.0, np.float32))
    b, c = pack(p.b, np.full((4, 8), 3.0, np.float32)), pack(p.c, np.zeros((16, 8), np.float32))
    d = unpack(p.d, multiply(engine, opcode, one | np.uint64(0x1FFF), b, c))
    assert (d == 12.0).all()


@pytest.mark.parametrize(("saturates", "expected"), [(False, -(2**31)), (True, 2**31 - 1)])
def test_integer_sums_wrap_or_saturate(engine: str, saturates: bool, expected: int) -> None:
    opcode = f"{_MMA}.m16n8k16.row.col{'.satfinite' if saturates else ''}.s32.s8.s8.s32"
    _, p = program(opcode)
    a, b = np.zeros((16, 16), np.int8), np.zeros((16, 8), np.int8)
    a[:, 0] = b[0] = 1
    c = np.full((16, 8), 2**31 - 1, np.int32)
    d = unpack(p.d, multiply(engine, opcode, pack(p.a, a), pack(p.b, b), pack(p.c, c)))
    assert (d == expected).all()


def test_f16_sums_are_rounded_once(engine: str) -> None:
    """2048 + 1 + 1: f16 would lose each 1."""
    opcode = f"{_MMA}.m16n8k8.row.col.f16.f16.f16.f16"
    _, p = program(opcode)
    a, b = np.zeros((16, 8), np.float16), np.zeros((8, 8), np.float16)
    a[:, :2] = b[:2] = 1
    c = np.full((16, 8), 2048, np.float16)
    d = unpack(p.d, multiply(engine, opcode, pack(p.a, a), pack(p.b, b), pack(p.c, c)))
    assert (d == 2050).all()


MINE = f"{_MMA}.m16n8k8.row.col.f32.f16.f16.f32"


def test_numbers_sinks_and_uniform_registers_as_operands(engine: str) -> None:
    body = f"""
    mov.b32 %r10, 0x3C003C00; mov.f32 %f1, 0f3F000000;
    {MINE} {{%f2, _, %f3, _}}, {{%r10, 0x3C003C00}}, {{0x40004000}}, {{0f3F800000, 0f3F800000, 0f40000000, %f1}};
    add.f32 %f4, %f2, %f3; st.global.f32 [%rd3], %f4;
"""
    assert (run(engine, kernel(body))[0].view(np.float32) == 17 + 18).all()


@pytest.mark.parametrize(("limit", "expected"), [(0, 100), (32, 108)])
def test_guard_that_is_the_same_everywhere(engine: str, limit: int, expected: float) -> None:
    body = f"""
    mov.b32 %r10, 0x3C003C00; mov.f32 %f1, 0f42C80000;
    setp.lt.u32 %p1, %r1, {limit};
    @%p1 {MINE} {{%f1, %f1, %f1, %f1}}, {{%r10, %r10}}, {{%r10}}, {{%f1, %f1, %f1, %f1}};
    st.global.f32 [%rd3], %f1;
"""
    assert (run(engine, kernel(body))[0].view(np.float32) == expected).all()


def test_split_warp_comes_together_first(engine: str) -> None:
    """Half of the lanes take another way, and a value that is the same in all lanes before differs after."""
    body = f"""
    mov.b32 %r10, 0x3C003C00; mov.f32 %f1, 0f00000000; mov.u32 %r6, 5;
    setp.lt.u32 %p1, %r1, 16; @%p1 bra OTHER;
    mov.u32 %r6, 7;
    bra JOIN;
OTHER:
    mov.u32 %r6, 9;
JOIN:
    {MINE} {{%f1, %f2, %f3, %f4}}, {{%r10, %r10}}, {{%r10}}, {{%f1, %f1, %f1, %f1}};
    cvt.rzi.u32.f32 %r7, %f1; add.u32 %r7, %r7, %r6; st.global.u32 [%rd3], %r7;
"""
    assert (run(engine, kernel(body))[0] == 8 + np.where(np.arange(32) < 16, 9, 7)).all()


def test_lanes_wait_in_a_loop_with_their_own_trip_counts(engine: str) -> None:
    body = f"""
    mov.b32 %r10, 0x3C003C00; mov.f32 %f1, 0f00000000; mov.u32 %r5, 0;
LOOP:
    setp.ge.u32 %p1, %r5, %r1; @%p1 bra DONE;
    add.u32 %r5, %r5, 1;
    bra LOOP;
DONE:
    add.u32 %r5, %r5, 1;
    {MINE} {{%f1, %f2, %f3, %f4}}, {{%r10, %r10}}, {{%r10}}, {{%f1, %f1, %f1, %f1}};
    cvt.rzi.u32.f32 %r7, %f4; add.u32 %r7, %r7, %r5; st.global.u32 [%rd3], %r7;
"""
    assert (run(engine, kernel(body))[0] == 8 + np.arange(32) + 1).all()


def test_products_of_small_numbers_keep_subnormal_sums() -> None:
    """In products and in C."""
    opcode = f"{_MMA}.m16n8k16.row.col.f32.bf16.bf16.f32"
    _, p = program(opcode)
    for a, b, c in ((1e-20, 1e-20, 0.0), (1.0, 1.0, 1e-40), (1e-39, 1.0, 0.0), (1.0, 3e-39, 0.0), (1e-25, 2e-14, 0.0)):
        given = np.full((16, 16), a), np.full((16, 8), b), np.full((16, 8), c)
        packed = [pack(f, x.astype(NUMPY[f.type])) for f, x in zip((p.a, p.b, p.c), given, strict=True)]
        found = [unpack(p.d, multiply(engine, opcode, *packed)) for engine in ENGINES]
        assert (found[0] == found[-1]).all()
        assert (found[0] != 0).all()
