"""A NaN that arithmetic made is the canonical one wherever its bits are seen, however it was moved before."""

from __future__ import annotations

import random

import numpy as np
import pytest
from emulate_programs import ENGINES, agreed, kernel

pytestmark = pytest.mark.skipif("jit" not in ENGINES, reason="needs llvmlite: there is one engine only")
NUMBERS = (
    0x7FC00000, 0xFFC00000, 0x7F812345, 0xFFE54321, 0x7F800000, 0xFF800000, 0, 0x80000000, 0x3F800000, 0xBF800000,
    0x7F7FFFFF, 1, 0x40490FDB,
)  # fmt: skip
ARITHMETIC = (
    "add.f32 {d}, {a}, {b};", "sub.f32 {d}, {a}, {b};", "mul.f32 {d}, {a}, {b};",
    "fma.rn.f32 {d}, {a}, {b}, {c};", "fma.rm.f32 {d}, {a}, {b}, {c};", "div.rn.f32 {d}, {a}, {b};",
    "sqrt.rn.f32 {d}, {a};",
)  # fmt: skip
MOVES = (
    "mov.f32 {d}, {a};", "neg.f32 {d}, {a};", "abs.f32 {d}, {a};", "max.f32 {d}, {a}, {b};", "min.f32 {d}, {a}, {b};",
    "selp.f32 {d}, {a}, {b}, %p1;", "cvt.sat.f32.f32 {d}, {a};", "copysign.f32 {d}, {a}, {b};",
    "mov.b32 %r20, {a}; shfl.sync.bfly.b32 %r21, %r20, 5, 31, -1; mov.b32 {d}, %r21;",
    "mov.b32 %r20, {a}; shfl.sync.down.b32 %r21, %r20, 3, 31, -1; mov.b32 {d}, %r21;",
    "mov.b32 %r20, {a}; shfl.sync.idx.b32 %r21, %r20, 7, 31, -1; mov.b32 {d}, %r21;",
    "mov.b32 %r20, {a}; xor.b32 %r20, %r20, %r6; mov.b32 {d}, %r20;",
    "setp.lt.f32 %p1, {a}, {b};", "setp.neu.f32 %p1, {a}, {b};", "setp.nan.f32 %p1, {a}, {b};",
    "@%p1 mov.f32 {d}, {a};", "@!%p1 neg.f32 {d}, {a};",
    "mov.b32 %r20, {a}; mad.lo.u32 %r6, %r6, 31, %r20;",
)  # fmt: skip


def body_of(seed: int) -> str:
    """Arithmetic on NaNs and numbers, of which some bits are seen at once, and all at the end."""
    rng = random.Random(seed)
    lines = ["mul.wide.u32 %rd5, %r4, 24; add.u64 %rd5, %rd2, %rd5; mov.u32 %r6, 0; setp.lt.u32 %p1, %r1, 11;"]
    lines += [f"ld.global.f32 %f{k}, [%rd5+{4 * k}];" for k in range(6)]
    for _ in range(30):
        a, b, c, d = (f"%f{rng.randrange(6)}" for _ in range(4))
        lines.append(rng.choice(rng.choice((ARITHMETIC, MOVES))).format(a=a, b=b, c=c, d=d))
        if rng.random() < 0.1:
            at = len(lines)
            lines.append(f"setp.gt.u32 %p2, %r1, {rng.randrange(40)}; @%p2 bra L{at}; add.f32 {d}, {a}, {b}; L{at}:")
    lines += [f"mov.b32 %r20, %f{k}; mad.lo.u32 %r6, %r6, 31, %r20;" for k in range(6)]
    return "\n".join(lines) + "st.global.u32 [%rd3], %r6;"


@pytest.mark.sweep(3)
@pytest.mark.parametrize("seed", range(12))
def test_engines_agree(seed: int) -> None:
    text = kernel(body_of(seed))
    x = np.random.default_rng(seed).choice(np.array(NUMBERS, np.uint32), 8 * 64 * 6)
    agreed(text, threads=64, blocks=8, x=x)


@pytest.mark.sweep(2)
@pytest.mark.parametrize("operation", ["max", "min"])
@pytest.mark.parametrize("operands", ["%f2, %f1", "%f1, %f2", "%f3, %f1", "%f1, %f3"])
def test_a_nan_beside_one_that_arithmetic_made(operation: str, operands: str) -> None:
    """What is moved is not canonical because something that may stand in its place is."""
    body = f"""ld.global.f32 %f1, [%rd2]; add.f32 %f2, %f1, %f1; selp.f32 %f3, %f2, %f1, %p1;
        {operation}.f32 %f4, {operands}; mov.b32 %r6, %f4; st.global.u32 [%rd3], %r6;"""
    text, x = kernel("setp.lt.u32 %p1, %r1, 11;" + body), np.full(64, 0x7F812345, np.uint32)
    assert agreed(text, x=x).out == [0x7FFFFFFF] * 32


@pytest.mark.parametrize("word", ["max", "min"])
@pytest.mark.parametrize("type_", ["f32", "f64"])
def test_the_larger_and_the_smaller_of_all_pairs(word: str, type_: str) -> None:
    """Of numbers as they are loaded, of results of arithmetic (where no NaN is a signalling one), and of either."""
    size, unsigned, of = (4, np.uint32, "f") if type_ == "f32" else (8, np.uint64, "fd")
    pool = np.array(NUMBERS, np.uint32)
    if type_ == "f64":
        wide = [0x7FF8 << 48, 0xFFF4 << 48, 0x7FF0000000000001, 0x7FF << 52, 0xFFF << 52, 0, 1 << 63, 0x3FF << 52, 1]
        pool = np.array(wide, np.uint64)
    x = np.stack([np.repeat(pool, pool.size), np.tile(pool, pool.size)], 1)
    x = np.resize(x, (256, 2)).astype(unsigned)
    a, b, c, d = (f"%{of}{k}" for k in range(1, 5))
    one = "0f3F800000" if type_ == "f32" else "0d3FF0000000000000"
    lines = [
        f"mul.wide.u32 %rd5, %r4, {2 * size}; add.u64 %rd5, %rd2, %rd5; mul.wide.u32 %rd6, %r4, {4 * size};",
        "add.u64 %rd6, %rd1, %rd6; setp.lt.u32 %p1, %r1, 20;",
        f"ld.global.{type_} {a}, [%rd5]; ld.global.{type_} {b}, [%rd5+{size}];",
        f"{word}.{type_} {d}, {a}, {b}; st.global.{type_} [%rd6], {d};",
        f"mul.{type_} {c}, {a}, {one}; {word}.{type_} {d}, {c}, {b}; st.global.{type_} [%rd6+{size}], {d};",
        f"selp.{type_} {c}, {c}, {b}, %p1; {word}.{type_} {d}, {c}, {b};",
        f"st.global.{type_} [%rd6+{2 * size}], {d};",
        f"{word}.{type_} {d}, {one}, {b}; {word}.{type_} {d}, {d}, {a}; st.global.{type_} [%rd6+{3 * size}], {d};",
    ]
    agreed(kernel("\n".join(lines)), threads=64, blocks=4, x=x, out=np.zeros(4 * 256, unsigned))
