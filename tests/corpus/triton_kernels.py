"""The Triton kernels whose PTX is in the corpus: element-wise, reductions, tensor cores, atomics, random numbers."""

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


@triton.jit
def matmul_tma(a, b, c, m, n, k, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, ROLES: tl.constexpr):
    """C = A * B with tensor maps that the kernel writes itself; ROLES: by a producer and its consumers."""
    row, column = tl.program_id(0) * BM, tl.program_id(1) * BN
    left = tl.make_tensor_descriptor(a, [m, k], [k, 1], [BM, BK])
    right = tl.make_tensor_descriptor(b, [k, n], [n, 1], [BK, BN])
    product = tl.make_tensor_descriptor(c, [m, n], [n, 1], [BM, BN])
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for start in tl.range(0, k, BK, warp_specialize=ROLES):
        acc = tl.dot(left.load([row, start]), right.load([start, column]), acc)
    product.store([row, column], acc)


@triton.jit
def attention_tma(q, k, v, out, n, scale, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, ROLES: tl.constexpr):
    """Attention of one head by tensor maps; n: a multiple of BN. ROLES: by a producer and its consumers."""
    row = tl.program_id(0) * BM
    queries = tl.make_tensor_descriptor(q, [n, D], [D, 1], [BM, D])
    keys = tl.make_tensor_descriptor(k, [n, D], [D, 1], [BN, D])
    values = tl.make_tensor_descriptor(v, [n, D], [D, 1], [BN, D])
    result = tl.make_tensor_descriptor(out, [n, D], [D, 1], [BM, D])
    query = queries.load([row, 0])
    row_max = tl.full((BM,), -float("inf"), tl.float32)
    row_sum = tl.zeros((BM,), tl.float32)
    acc = tl.zeros((BM, D), tl.float32)
    for start in tl.range(0, n, BN, warp_specialize=ROLES):
        score = tl.dot(query, keys.load([start, 0]).T) * scale
        new_max = tl.maximum(row_max, tl.max(score, axis=1))
        p = tl.exp2(score - new_max[:, None])
        rescale = tl.exp2(row_max - new_max)
        row_sum = row_sum * rescale + tl.sum(p, axis=1)
        acc = tl.dot(p.to(tl.float16), values.load([start, 0]), acc * rescale[:, None])
        row_max = new_max
    result.store([row, 0], (acc / row_sum[:, None]).to(tl.float16))


@triton.jit
def layernorm(x, weight, bias, out, columns, eps, BLOCK: tl.constexpr):
    """Each row normalised to mean 0 and variance 1, scaled and shifted."""
    row = tl.program_id(0)
    offsets = tl.arange(0, BLOCK)
    mask = offsets < columns
    value = tl.load(x + row * columns + offsets, mask=mask, other=0.0).to(tl.float32)
    mean = tl.sum(value, axis=0) / columns
    centred = tl.where(mask, value - mean, 0.0)
    scale = 1 / tl.sqrt(tl.sum(centred * centred, axis=0) / columns + eps)
    scaled = centred * scale * tl.load(weight + offsets, mask=mask) + tl.load(bias + offsets, mask=mask)
    tl.store(out + row * columns + offsets, scaled, mask=mask)


@triton.jit
def dropout(x, out, kept, n, probability, seed, BLOCK: tl.constexpr):
    """Elements are zeroed with a probability, by Philox random numbers; `kept` says which are not."""
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    keep = tl.rand(seed, offsets) > probability
    value = tl.load(x + offsets, mask=mask)
    tl.store(out + offsets, tl.where(keep, value / (1 - probability), 0.0), mask=mask)
    tl.store(kept + offsets, keep.to(tl.int8), mask=mask)


@triton.jit
def scan(x, out, totals, columns, BLOCK: tl.constexpr):
    """Running sums of each row, and the sum of what is larger than its neighbours' maximum so far."""
    row = tl.program_id(0)
    offsets = tl.arange(0, BLOCK)
    mask = offsets < columns
    value = tl.load(x + row * columns + offsets, mask=mask, other=0)
    tl.store(out + row * columns + offsets, tl.cumsum(value, axis=0), mask=mask)
    tl.atomic_max(totals, tl.sum(value, axis=0))
    tl.atomic_add(totals + 1, tl.max(value, axis=0))


@triton.jit
def transpose(x, out, rows, columns, BLOCK: tl.constexpr):
    """out = x^T through registers."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    j = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    mask = (i < rows)[:, None] & (j < columns)[None, :]
    tile = tl.load(x + i[:, None] * columns + j[None, :], mask=mask, other=0.0)
    tl.store(out + j[:, None] * rows + i[None, :], tl.trans(tile), mask=tl.trans(mask))


def _case(
    name: str,
    kernel: object,
    arch: int,
    arguments: dict[str, str],
    constants: dict[str, int],
    *,
    divisible: bool = False,
    **options: int,
) -> tuple:
    """`divisible`: all pointers and sizes are multiples of 16, which is what asynchronous copies need."""
    signature = {**arguments, **dict.fromkeys(constants, "constexpr")}
    attributes = {(k,): [["tt.divisibility", 16]] for k in range(len(arguments))} if divisible else {}
    return name, kernel, arch, signature, constants, attributes, options


_MATMUL = {"a": "*fp16", "b": "*fp16", "c": "*fp32", "m": "i32", "n": "i32", "k": "i32"}
_ATTENTION = {"q": "*bf16", "k": "*bf16", "v": "*bf16", "out": "*fp32", "n": "i32", "scale": "fp32"}
_ATTENTION_TMA = {"q": "*fp16", "k": "*fp16", "v": "*fp16", "out": "*fp16", "n": "i32", "scale": "fp32"}
_LAYERNORM = {"x": "*fp16", "weight": "*fp32", "bias": "*fp32", "out": "*fp32", "columns": "i32", "eps": "fp32"}
_DROPOUT = {"x": "*fp32", "out": "*fp32", "kept": "*i8", "n": "i32", "probability": "fp32", "seed": "i32"}

ALL = [
    _case("add", add, 80, {"x": "*fp32", "y": "*fp32", "out": "*fp32", "n": "i32"}, {"BLOCK": 256}),
    _case("softmax", softmax, 80, {"x": "*fp32", "out": "*fp32", "columns": "i32"}, {"BLOCK": 1024}),
    _case("matmul", matmul, 80, _MATMUL, {"BM": 32, "BN": 32, "BK": 32}),
    _case("matmul", matmul, 90, _MATMUL, {"BM": 64, "BN": 32, "BK": 32}),
    _case("histogram", histogram, 80, {"data": "*u8", "counts": "*i32", "n": "i32"}, {"BLOCK": 256}),
    _case("attention", attention, 80, _ATTENTION, {"D": 32, "BM": 32, "BN": 32}),
    _case("attention", attention, 90, _ATTENTION, {"D": 64, "BM": 64, "BN": 64}, divisible=True),
    *(
        _case(
            f"matmul_{stages}_stages",
            matmul,
            80,
            _MATMUL,
            {"BM": 32, "BN": 32, "BK": 32},
            divisible=True,
            num_stages=stages,
            num_warps=2,
        )
        for stages in (2, 3, 4)
    ),
    _case("layernorm", layernorm, 80, _LAYERNORM, {"BLOCK": 256}, num_warps=2),
    _case("dropout", dropout, 80, _DROPOUT, {"BLOCK": 256}),
    _case("scan", scan, 80, {"x": "*i32", "out": "*i32", "totals": "*i32", "columns": "i32"}, {"BLOCK": 256}),
    _case("transpose", transpose, 80, {"x": "*fp32", "out": "*fp32", "rows": "i32", "columns": "i32"}, {"BLOCK": 32}),
    *(
        _case(
            f"{name}_{'roles' if roles else 'tma'}", kernel, 90, arguments, constants | {"ROLES": roles}, divisible=True
        )
        for name, kernel, arguments, constants in (
            ("matmul", matmul_tma, _MATMUL, {"BM": 128, "BN": 64, "BK": 64}),
            ("attention", attention_tma, _ATTENTION_TMA, {"D": 64, "BM": 128, "BN": 64}),
        )
        for roles in (False, True)
    ),
]
