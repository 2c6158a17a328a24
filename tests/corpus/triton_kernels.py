"""The Triton kernels whose PTX is in the corpus: element-wise, a reduction, tensor cores, atomics, attention."""

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    """out = x + y."""
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    tl.store(out + offsets, tl.load(x + offsets, mask=mask) + tl.load(y + offsets, mask=mask), mask=mask)


@triton.jit
def softmax(x, out, columns, BLOCK: tl.constexpr):
    """Each row's softmax, a row a program."""
    row = tl.program_id(0)
    offsets = tl.arange(0, BLOCK)
    mask = offsets < columns
    value = tl.load(x + row * columns + offsets, mask=mask, other=-float("inf"))
    value = tl.exp(value - tl.max(value, axis=0))
    tl.store(out + row * columns + offsets, value / tl.sum(value, axis=0), mask=mask)


@triton.jit
def matmul(a, b, c, m, n, k, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """C = A * B in 16 bits with f32 accumulation."""
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    inner = tl.arange(0, BK)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for start in range(0, k, BK):
        left = tl.load(a + rows[:, None] * k + (start + inner)[None, :], mask=(rows < m)[:, None], other=0.0)
        right = tl.load(b + (start + inner)[:, None] * n + columns[None, :], mask=(columns < n)[None, :], other=0.0)
        acc = tl.dot(left, right, acc)
    tl.store(c + rows[:, None] * n + columns[None, :], acc, mask=(rows < m)[:, None] & (columns < n)[None, :])


@triton.jit
def histogram(data, counts, n, BLOCK: tl.constexpr):
    """counts[256] of n bytes, by atomics."""
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    tl.atomic_add(counts + tl.load(data + offsets, mask=mask, other=0).to(tl.int32), 1, mask=mask)


@triton.jit
def attention(q, k, v, out, n, scale, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    """Attention of one head: online softmax over tiles of keys."""
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    dims = tl.arange(0, D)
    query = tl.load(q + rows[:, None] * D + dims[None, :], mask=(rows < n)[:, None], other=0.0)
    row_max = tl.full((BM,), -float("inf"), tl.float32)
    row_sum = tl.zeros((BM,), tl.float32)
    acc = tl.zeros((BM, D), tl.float32)
    for start in range(0, n, BN):
        columns = start + tl.arange(0, BN)
        key = tl.load(k + columns[None, :] * D + dims[:, None], mask=(columns < n)[None, :], other=0.0)
        score = tl.where((columns < n)[None, :], tl.dot(query, key) * scale, -float("inf"))
        new_max = tl.maximum(row_max, tl.max(score, axis=1))
        p = tl.exp2(score - new_max[:, None])
        rescale = tl.exp2(row_max - new_max)
        row_sum = row_sum * rescale + tl.sum(p, axis=1)
        value = tl.load(v + columns[:, None] * D + dims[None, :], mask=(columns < n)[:, None], other=0.0)
        acc = tl.dot(p.to(value.dtype), value, acc * rescale[:, None])
        row_max = new_max
    tl.store(out + rows[:, None] * D + dims[None, :], acc / row_sum[:, None], mask=(rows < n)[:, None])


def _case(name: str, kernel: object, arch: int, arguments: dict[str, str], constants: dict[str, int]) -> tuple:
    signature = {**arguments, **dict.fromkeys(constants, "constexpr")}
    return name, kernel, arch, signature, constants


_MATMUL = {"a": "*fp16", "b": "*fp16", "c": "*fp32", "m": "i32", "n": "i32", "k": "i32"}
_ATTENTION = {"q": "*bf16", "k": "*bf16", "v": "*bf16", "out": "*fp32", "n": "i32", "scale": "fp32"}

ALL = [
    _case("add", add, 80, {"x": "*fp32", "y": "*fp32", "out": "*fp32", "n": "i32"}, {"BLOCK": 256}),
    _case("softmax", softmax, 80, {"x": "*fp32", "out": "*fp32", "columns": "i32"}, {"BLOCK": 1024}),
    _case("matmul", matmul, 80, _MATMUL, {"BM": 32, "BN": 32, "BK": 32}),
    _case("matmul", matmul, 90, _MATMUL, {"BM": 64, "BN": 32, "BK": 32}),
    _case("histogram", histogram, 80, {"data": "*u8", "counts": "*i32", "n": "i32"}, {"BLOCK": 256}),
    _case("attention", attention, 80, _ATTENTION, {"D": 32, "BM": 32, "BN": 32}),
]
