"""What built kernels compute, on the emulator: loops, branches, guards, pointers, shared memory, conversions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import ptxlab as pl
from ptxlab.builder import (
    Builder,
    KernelFunction,
    Ptr,
    Var,
    bf16,
    f16,
    f32,
    f64,
    kernel,
    s8,
    s32,
    s64,
    u8,
    u16,
    u32,
    u64,
)

ENGINES = ["step", "cpu"]


def results(
    function: KernelFunction, threads: int, *args: Any, device: str = "step", dtype: Any = np.uint32
) -> NDArray[Any]:
    """What one block of `threads` writes to its first argument, an array with an element for each thread."""
    out = np.zeros(threads, dtype)
    pl.launch(function, 1, threads, out, *args, device=device)
    return out


@pytest.mark.parametrize("device", ENGINES)
def test_nested_ifs_and_elses(device: str) -> None:
    @kernel
    def f(k: Builder, out: Ptr[u32], n: u32) -> None:
        i = k.thread_index()
        answer = k.var(u32, 0)
        with k.if_(i < n):
            with k.if_((i & 1) == 0):
                answer.set(1)
                with k.if_(i == 4):
                    answer += 10
            with k.else_():
                with k.if_(i == 3):
                    answer.set(2)
                with k.else_():
                    answer.set(3)
        with k.else_():
            answer.set(4)
        out[i] = answer

    i = np.arange(40)
    odd = np.where(i == 3, 2, 3)
    even = np.where(i == 4, 11, 1)
    assert (results(f, 40, np.uint32(20), device=device) == np.where(i < 20, np.where(i % 2, odd, even), 4)).all()


@pytest.mark.parametrize("device", ENGINES)
def test_loops(device: str) -> None:
    @kernel
    def f(k: Builder, out: Ptr[u32]) -> None:
        i = k.thread_index()
        total = k.var(u32, 0)
        with k.loop(i, start=2, step=3) as j:
            with k.loop(j) as inner:
                k.continue_if(inner == 1)
                k.break_if(inner > 4)
                total += inner
        out[i] = total

    def expected(n: int) -> int:
        return sum(sum(x for x in range(min(j, 5)) if x != 1) for j in range(2, n, 3))

    assert results(f, 40, device=device).tolist() == [expected(n) for n in range(40)]


def test_loops_that_count_down_and_in_other_types() -> None:
    @kernel
    def f(k: Builder, out: Ptr[s32], n: u64) -> None:
        i = k.thread_index()
        signed = k.cvt(s32, i)
        total = k.var(s32, 0)
        with k.loop(-1, start=signed, step=-2) as j:
            total += j
        with k.loop(n, step=2):
            total += 100
        out[i] = total

    found = results(f, 10, np.uint64(5), dtype=np.int32)
    assert found.tolist() == [sum(range(i, -1, -2)) + 300 for i in range(10)]


@pytest.mark.parametrize("device", ENGINES)
def test_while(device: str) -> None:
    @kernel
    def collatz(k: Builder, out: Ptr[u32]) -> None:
        i = k.thread_index()
        n, steps = k.var(u32, i + 1), k.var(u32, 0)
        with k.while_(lambda: n != 1):
            odd = (n & 1) == 1
            n.set(k.select(odd, n * 3 + 1, n >> 1))
            steps += 1
        out[i] = steps

    def steps(n: int) -> int:
        return 0 if n == 1 else 1 + steps(3 * n + 1 if n % 2 else n // 2)

    assert results(collatz, 30, device=device).tolist() == [steps(n + 1) for n in range(30)]


def test_guard_predicates_instead_of_branching() -> None:
    @kernel
    def f(k: Builder, out: Ptr[u32], n: u32) -> None:
        i = k.thread_index()
        with k.guard(i < n):
            double = i * 2
            out[i] = double
        k.return_if(i != 39)
        out[0] = 7

    assert results(f, 40, np.uint32(20)).tolist() == [7, *(2 * i if i < 20 else 0 for i in range(1, 40))]
    assert "bra" not in f.ptx
    assert "@%p1 mul.lo.u32" in " ".join(f.ptx.split())


@pytest.mark.parametrize("device", ENGINES)
def test_shared_memory(device: str) -> None:
    @kernel
    def transpose(k: Builder, out: Ptr[u32]) -> None:
        tile = k.shared(u32, (8, 9))
        i = k.tid.x
        row, column = i >> 3, i & 7
        tile[row, column] = i
        k.barrier()
        line = tile.row(3)
        out[i] = tile[column, row] + line[0] + tile[3, 0]

    i = np.arange(64)
    assert (results(transpose, 64, device=device) == (i % 8 * 8 + i // 8) + 48).all()
    assert ".shared .align 16 .u32 tile[72];" in transpose.ptx
    assert "mov.u32 %tile, tile;" in " ".join(transpose.ptx.split())


def test_dynamic_shared_memory() -> None:
    @kernel
    def f(k: Builder, out: Ptr[u32]) -> None:
        first = k.dynamic_shared(u32)
        second = (first + 64).cast(u16)
        i = k.tid.x
        first[i] = i * i
        second[i] = k.cvt(u16, i)
        k.barrier()
        other = 63 - i
        out[i] = first[other] + k.cvt(u32, second[other])

    out = np.zeros(64, np.uint32)
    pl.launch(f, 1, 64, out, shared=64 * 6, device="step")
    i = 63 - np.arange(64)
    assert (out == i * i + i).all()
    assert ".extern .shared .align 16 .b8 first[];" in f.ptx


@pytest.mark.parametrize("device", ENGINES)
def test_pointers(device: str) -> None:
    @kernel
    def f(k: Builder, out: Ptr[u32], x: Ptr[u32], i64: s64) -> None:
        i = k.thread_index()
        moving = k.var_ptr(x + 2)
        moving += 1
        moving += i
        a = moving[0]
        moving.set(x + 1)
        *_, last = k.load(x, 4, vector=4)
        out[i] = a + moving[i] * 100 + last * 10000 + x[i64] * 1000000

    x = np.arange(64, dtype=np.uint32)
    i = np.arange(32)
    found = results(f, 32, x, np.int64(5), device=device)
    assert (found == (i + 3) + (i + 1) * 100 + 30000 + 5000000).all()


def test_vector_and_multiple_stores() -> None:
    @kernel
    def f(k: Builder, out: Ptr[u32]) -> None:
        i = k.thread_index()
        k.store(out + i * 8, [i, i + 1, i + 2, 7], vector=4)
        k.store(out + i * 8 + 4, [i, 8], vector=2)
        k.store(out + (i * 8 + 6), [i, 9])

    out = np.zeros(32, np.uint32)
    pl.launch(f, 1, 4, out, device="step")
    assert out.reshape(4, 8).tolist() == [[i, i + 1, i + 2, 7, i, 8, i, 9] for i in range(4)]


def test_bytes_and_16_bit_floats() -> None:
    @kernel
    def f(k: Builder, b: Ptr[u8], s: Ptr[s8], h: Ptr[f16], g: Ptr[bf16], out: Ptr[f32]) -> None:
        b[1] = b[0] + 1
        s[1] = s[0] - 1
        h[1] = h[0] + k.var(f16, 0.5)
        h[2] = 0.1
        g[1] = 0.1
        g[2] = k.cvt(bf16, k.cvt(f32, h[0]))
        out[0] = k.cvt(f32, h[2])
        out[1] = k.cvt(f32, g[1])

    b, s = np.array([200, 0], np.uint8), np.array([-100, 0], np.int8)
    h, g, out = np.array([1.5, 0, 0], np.float16), np.zeros(3, np.uint16), np.zeros(2, np.float32)
    pl.launch(f(arch="sm_90"), 1, 1, b, s, h, g, out, device="step")
    assert (b[1], s[1], h[1], h[2]) == (201, -101, 2.0, np.float16(0.1))
    assert g.tolist() == [0, 0x3DCD, 0x3FC0]
    assert out[0] == np.float32(np.float16(0.1))
    assert out[1] == np.float32(0.10009765625)


def test_operators_are_pythons() -> None:
    @kernel
    def f(k: Builder, out: Ptr[s32], a: s32, b: s32, u: u32) -> None:
        values = [
            a + b, a - b, a * b, a // b, a % b, a & b, a | b, a ^ b, a << 3, a >> 1, ~a, -a, abs(a),
            5 - a, 7 // b, 100 % b, k.bitcast(s32, 1 << u), k.min(a, b), k.max(a, b),
            k.bitcast(s32, -u), k.bitcast(s32, u & ~7),
            *(k.select(p, 1, 0, type=s32) for p in (a < b, a <= b, a > b, a >= b, a == b, a != b, 3 < b, ~(a < b))),
            *(k.select(p, 1, 0, type=s32) for p in ((a < b) & (b > 0), (a < b) | (b > 0), (a < b) ^ (b > 0))),
        ]  # fmt: skip
        for n, value in enumerate(values):
            out[n] = value

    out = np.zeros(64, np.int32)
    pl.launch(f, 1, 1, out, np.int32(-37), np.int32(5), np.uint32(13), device="step")
    a, b, u = -37, 5, 13
    expected = [
        a + b, a - b, a * b, -7, -2, a & b, a | b, a ^ b, a << 3, a >> 1, ~a, -a, abs(a),
        5 - a, 7 // b, 100 % b, 1 << u, a, b, -u, u & ~7,
        1, 1, 0, 0, 0, 1, 1, 0,
        1, 1, 0,
    ]  # fmt: skip
    assert out[: len(expected)].tolist() == expected


def test_float_operators() -> None:
    @kernel
    def f(k: Builder, out: Ptr[f64], x: f64, y: f32, nan: f32) -> None:
        wide = k.cvt(f64, y)
        unequal = k.select(nan != nan, 1.0, 0.0, type=f64)
        whole = k.cvt(f64, k.cvt(s32, y))
        for n, value in enumerate([x + 0.1, x - wide, 2 / x, -x, abs(-x), np.float64(3) * x, unequal, whole, 1 - x]):
            out[n] = value

    out = np.zeros(9)
    pl.launch(f, 1, 1, out, 0.7, np.float32(-2.75), np.float32("nan"), device="step")
    assert out.tolist() == [0.7 + 0.1, 0.7 + 2.75, 2 / 0.7, -0.7, 0.7, 3 * 0.7, 1.0, -2.0, 1 - 0.7]
    assert "0d3FB999999999999A" in f.ptx  # 0.1 with all its bits, though Python calls it a float like any other


def test_swapping_variables_through_copies() -> None:
    def swap(k: Builder, a: Var[u32], b: Var[u32]) -> None:
        kept = k.copy(a)
        a.set(b)
        b.set(kept)

    @kernel
    def f(k: Builder, out: Ptr[u32]) -> None:
        low, high = k.var(u32, 1), k.var(u32, 2)
        swap(k, low, high)
        out[0] = low * 10 + high

    assert results(f, 1)[0] == 21
