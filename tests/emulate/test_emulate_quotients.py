"""Integer division and remainders of 32 lanes: multiples and their neighbours, overflow, zero, one divisor for all."""

from __future__ import annotations

import numpy as np
import pytest
from emulate_programs import WAYS, kernel, launch

NUMBER = {16: ("%h1", "%h2", "%h3"), 32: ("%r20", "%r21", "%r22"), 64: ("%rd10", "%rd11", "%rd12")}
BLOCKS, THREADS = 24, 48
"""CTAs whose second warp is half empty."""


def text(operation: str, bits: int, same: bool, guard: str = "") -> str:
    """Each thread divides its number by its own divisor, or by its CTA's; under a guard odd ones leave theirs."""
    a, b, d = NUMBER[bits]
    divisor = "mul.wide.u32 %rd6, %r2, {size};" if same else "mul.wide.u32 %rd6, %r4, {size};"
    offset = BLOCKS * THREADS * bits // 8
    return kernel(f"""
    mul.wide.u32 %rd5, %r4, {bits // 8};
    {divisor.format(size=bits // 8)}
    add.u64 %rd7, %rd2, %rd5; add.u64 %rd8, %rd2, %rd6; add.u64 %rd9, %rd1, %rd5;
    ld.global.b{bits} {a}, [%rd7];
    ld.global.b{bits} {b}, [%rd8+{offset}];
    and.b32 %r5, %r1, 1; setp.eq.u32 %p1, %r5, 0;
    mov.b{bits} {d}, 7;
    {guard} {operation} {d}, {a}, {b};
    st.global.b{bits} [%rd9], {d};
    """)


def numbers(bits: int, same: bool) -> np.ndarray:
    """Dividends, and as many divisors: in every second CTA, or pair of numbers, of such a size that f64 has them."""
    rng, count = np.random.default_rng(bits), BLOCKS * THREADS
    size = rng.integers(1, bits + 1, count)
    size[::2] = np.minimum(size[::2], 50)
    divisors = [int(rng.integers(0, 1 << 64, dtype=np.uint64)) >> 64 - int(n) for n in rng.integers(1, bits + 1, count)]
    divisors[:8] = [0, 1, -1, 1 << bits - 1, 3, (1 << bits - 1) - 1, (1 << min(bits, 50)) - 1, 1 << 24]
    dividends = []
    for k, n in enumerate(size):
        a, b = int(rng.integers(0, 1 << 64, dtype=np.uint64)) >> 64 - int(n), divisors[k // THREADS if same else k]
        multiple = a - a % b if b else a
        dividends.append([a, multiple, multiple - 1, -a, 1 << bits - 1, -multiple, 1 - multiple, a][k % 8])
    return np.array([each % (1 << bits) for each in dividends + divisors], f"u{bits // 8}")


@pytest.mark.sweep(5)
@pytest.mark.parametrize("guard", ["", "@%p1"], ids=["all", "some"])
@pytest.mark.parametrize("same", [False, True], ids=["own", "same"])
@pytest.mark.parametrize("type_", ["u16", "s16", "u32", "s32", "u64", "s64"])
@pytest.mark.parametrize("word", ["div", "rem"])
def test_quotients(word: str, type_: str, same: bool, guard: str) -> None:
    bits = int(type_[1:])
    program, x = text(f"{word}.{type_}", bits, same, guard), numbers(bits, same)
    found = []
    for way in WAYS:
        out = np.zeros(BLOCKS * THREADS, x.dtype)
        launch(way, program, out, x, grid=(BLOCKS,), block=(THREADS,))
        found.append(out.tolist())
    assert all(each == found[0] for each in found)
    a, b = x[: BLOCKS * THREADS], x[BLOCKS * THREADS :]
    b = np.repeat(b[:BLOCKS], THREADS) if same else b
    for k, quotient in enumerate(found[0]):
        if guard and k % THREADS % 2:
            assert quotient == 7
        elif b[k] and type_[0] == "u":
            assert quotient == (a[k] // b[k] if word == "div" else a[k] % b[k])
