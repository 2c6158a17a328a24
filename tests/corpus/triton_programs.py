"""Programs of Triton as people write them: kernels with their host code, each with what numpy makes of its arguments.

`PROGRAMS[name](to)` runs one and gives back (result, wanted, tolerance) triples. `to` makes a tensor of a numpy array:
torch.from_numpy, or nothing, since the emulator takes numpy's arrays as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import triton
import triton.language as tl

Triple = tuple[Any, Any, float]
To = Callable[[np.ndarray], Any]


def random(seed: int, *shape: int, kind: Any = np.float32) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype(kind)


def steps(x: Any) -> tuple[int, ...]:
    """Elements from one to the next, of each axis."""
    return tuple(n // x.itemsize for n in x.strides) if isinstance(x, np.ndarray) else tuple(x.stride())


# -- vector addition ---------------------------------------------------------------------------------------------------


@triton.jit
def add_kernel(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(axis=0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask)
    y = tl.load(y_ptr + offsets, mask=mask)
    tl.store(out_ptr + offsets, x + y, mask=mask)


def vector_add(to: To) -> Iterable[Triple]:
    x, y, out = random(1, 1000), random(2, 1000), np.zeros(1000, np.float32)
    result = to(out)
    add_kernel[lambda meta: (triton.cdiv(1000, meta["BLOCK"]),)](to(x), to(y), result, 1000, BLOCK=256)
    yield result, x + y, 0


# -- softmax -----------------------------------------------------------------------------------------------------------


@triton.jit
def softmax_forward(out_ptr, x_ptr, x_step, out_step, rows, columns, BLOCK: tl.constexpr, num_stages: tl.constexpr):
    for row in tl.range(tl.program_id(0), rows, tl.num_programs(0), num_stages=num_stages):
        at = tl.arange(0, BLOCK)
        mask = at < columns
        x = tl.load(x_ptr + row * x_step + at, mask=mask, other=-float("inf"))
        e = tl.exp(x - tl.max(x, axis=0))
        tl.store(out_ptr + row * out_step + at, e / tl.sum(e, axis=0), mask=mask)


@triton.jit
def softmax_backward(dx_ptr, y_ptr, dy_ptr, columns, BLOCK: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, BLOCK)
    mask = at < columns
    y = tl.load(y_ptr + row * columns + at, mask=mask, other=0.0)
    dy = tl.load(dy_ptr + row * columns + at, mask=mask, other=0.0)
    tl.store(dx_ptr + row * columns + at, y * (dy - tl.sum(y * dy, axis=0)), mask=mask)


def softmax(to: To) -> Iterable[Triple]:
    x, dy = random(3, 13, 100), random(4, 13, 100)
    given, y, dx = to(x), to(np.zeros_like(x)), to(np.zeros_like(x))
    block = triton.next_power_of_2(100)
    softmax_forward[(4,)](y, given, steps(given)[0], steps(y)[0], 13, 100, BLOCK=block, num_stages=2, num_warps=2)
    # Fused, y * dy + another lane's product is rounded differently on each side of the exchange: racecheck reports that
    # the lanes then store different sums to one place.
    softmax_backward[(13,)](dx, y, to(dy), 100, BLOCK=block, enable_fp_fusion=False)
    e = np.exp(x - x.max(1, keepdims=True))
    wanted = e / e.sum(1, keepdims=True)
    yield y, wanted, 1e-5
    yield dx, wanted * (dy - (wanted * dy).sum(1, keepdims=True)), 1e-5


# -- matrix products ---------------------------------------------------------------------------------------------------


@triton.autotune(
    configs=[
        triton.Config({"BM": 64, "BN": 32, "BK": 32, "GROUP": 4}, num_stages=3, num_warps=4),
        triton.Config({"BM": 16, "BN": 16, "BK": 16, "GROUP": 4}, num_stages=2, num_warps=1),
    ],
    key=["m", "n", "k"],
)
@triton.jit
def matmul_kernel(
    a_ptr, b_ptr, c_ptr, m, n, k, am, ak, bk, bn, cm, cn, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
    GROUP: tl.constexpr, ACTIVATION: tl.constexpr,
):  # fmt: skip
    program = tl.program_id(0)
    rows, columns = tl.cdiv(m, BM), tl.cdiv(n, BN)
    group = program // (GROUP * columns)
    first = group * GROUP
    size = min(rows - first, GROUP)
    row = first + (program % (GROUP * columns)) % size
    column = (program % (GROUP * columns)) // size
    i = (row * BM + tl.arange(0, BM)) % m
    j = (column * BN + tl.arange(0, BN)) % n
    inner = tl.arange(0, BK)
    a = a_ptr + i[:, None] * am + inner[None, :] * ak
    b = b_ptr + inner[:, None] * bk + j[None, :] * bn
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for step in range(tl.cdiv(k, BK)):
        left = tl.load(a, mask=inner[None, :] < k - step * BK, other=0.0)
        right = tl.load(b, mask=inner[:, None] < k - step * BK, other=0.0)
        acc = tl.dot(left, right, acc)
        a += BK * ak
        b += BK * bk
    if ACTIVATION == "leaky_relu":
        acc = leaky_relu(acc)
    i, j = row * BM + tl.arange(0, BM), column * BN + tl.arange(0, BN)
    c = c_ptr + i[:, None] * cm + j[None, :] * cn
    tl.store(c, acc.to(c_ptr.dtype.element_ty), mask=(i[:, None] < m) & (j[None, :] < n))


@triton.jit
def leaky_relu(x):
    return tl.where(x >= 0, x, 0.01 * x)


def matmul(to: To) -> Iterable[Triple]:
    m, n, k = 70, 50, 64
    a, b = random(5, m, k, kind=np.float16), random(6, n, k, kind=np.float16).T
    c, left, right = to(np.zeros((m, n), np.float16)), to(a), to(b)
    grid = lambda meta: (triton.cdiv(m, meta["BM"]) * triton.cdiv(n, meta["BN"]),)
    matmul_kernel[grid](left, right, c, m, n, k, *steps(left), *steps(right), *steps(c), ACTIVATION="leaky_relu")
    wanted = a.astype(np.float32) @ b.astype(np.float32)
    yield c, np.where(wanted >= 0, wanted, 0.01 * wanted), 2e-2


@triton.jit
def grouped_kernel(
    a_ptrs, b_ptrs, c_ptrs, sizes_ptr, groups, PROGRAMS: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr,
    BK: tl.constexpr,
):  # fmt: skip
    tile = tl.program_id(0)
    done = 0
    for g in range(groups):
        m, n, k = tl.load(sizes_ptr + g * 3), tl.load(sizes_ptr + g * 3 + 1), tl.load(sizes_ptr + g * 3 + 2)
        columns = tl.cdiv(n, BN)
        tiles = tl.cdiv(m, BM) * columns
        while tile >= done and tile < done + tiles:
            a = tl.load(a_ptrs + g).to(tl.pointer_type(tl.float16))
            b = tl.load(b_ptrs + g).to(tl.pointer_type(tl.float16))
            c = tl.load(c_ptrs + g).to(tl.pointer_type(tl.float16))
            i = (tile - done) // columns * BM + tl.arange(0, BM)
            j = (tile - done) % columns * BN + tl.arange(0, BN)
            inner = tl.arange(0, BK)
            acc = tl.zeros((BM, BN), dtype=tl.float32)
            for step in range(0, k, BK):
                at = step + inner
                left = tl.load(a + i[:, None] * k + at[None, :], mask=(i < m)[:, None] & (at < k)[None, :], other=0.0)
                right = tl.load(b + at[:, None] * n + j[None, :], mask=(at < k)[:, None] & (j < n)[None, :], other=0.0)
                acc = tl.dot(left, right, acc)
            tl.store(c + i[:, None] * n + j[None, :], acc.to(tl.float16), mask=(i < m)[:, None] & (j < n)[None, :])
            tile += PROGRAMS
        done += tiles


def grouped_matmul(to: To) -> Iterable[Triple]:
    shapes = [(40, 32, 48), (16, 64, 16), (33, 20, 32)]
    a = [random(7 + g, m, k, kind=np.float16) for g, (m, n, k) in enumerate(shapes)]
    b = [random(17 + g, k, n, kind=np.float16) for g, (m, n, k) in enumerate(shapes)]
    given_a, given_b = [to(x) for x in a], [to(x) for x in b]
    c = [to(np.zeros((m, n), np.float16)) for m, n, k in shapes]
    tables = [to(np.array([x.data_ptr() for x in xs], np.int64)) for xs in (given_a, given_b, c)]
    grouped_kernel[(5,)](*tables, to(np.array(shapes, np.int32)), len(shapes), PROGRAMS=5, BM=32, BN=32, BK=16)
    for left, right, out in zip(a, b, c, strict=True):
        yield out, left.astype(np.float32) @ right.astype(np.float32), 2e-2


@triton.jit
def persistent_kernel(a, b, c, m, n, k, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, PROGRAMS: tl.constexpr):
    """C = A B^T, tensors by descriptors, each program a row of tiles."""
    columns = tl.cdiv(n, BN)
    for tile in tl.range(tl.program_id(0), tl.cdiv(m, BM) * columns, PROGRAMS):
        i, j = tile // columns * BM, tile % columns * BN
        acc = tl.zeros((BM, BN), dtype=tl.float32)
        for step in range(0, k, BK):
            acc = tl.dot(a.load([i, step]), b.load([j, step]).T, acc)
        c.store([i, j], acc.to(tl.float16))


def persistent_matmul(to: To) -> Iterable[Triple]:
    from triton.tools.tensor_descriptor import TensorDescriptor

    m, n, k = 128, 64, 96
    a, b = random(27, m, k, kind=np.float16), random(28, n, k, kind=np.float16)
    c = to(np.zeros((m, n), np.float16))
    tiles = [((m, k), (64, 32), to(a)), ((n, k), (32, 32), to(b)), ((m, n), (64, 32), c)]
    described = [TensorDescriptor(x, list(shape), [shape[1], 1], list(box)) for shape, box, x in tiles]
    persistent_kernel[(3,)](*described, m, n, k, BM=64, BN=32, BK=32, PROGRAMS=3)
    yield c, a.astype(np.float32) @ b.astype(np.float32).T, 3e-2


@triton.jit
def described_kernel(x_ptr, out_ptr, m, n, BM: tl.constexpr, BN: tl.constexpr):
    """out = 2 x, by descriptors that the kernel makes."""
    x = tl.make_tensor_descriptor(x_ptr, shape=[m, n], strides=[n, 1], block_shape=[BM, BN])
    out = tl.make_tensor_descriptor(out_ptr, shape=[m, n], strides=[n, 1], block_shape=[BM, BN])
    i, j = tl.program_id(0) * BM, tl.program_id(1) * BN
    out.store([i, j], x.load([i, j]) * 2)


def described(to: To) -> Iterable[Triple]:
    x = random(29, 40, 48)
    out = to(np.zeros_like(x))
    described_kernel[(3, 3)](to(x), out, 40, 48, BM=16, BN=16)
    yield out, 2 * x, 0


# -- layer norm --------------------------------------------------------------------------------------------------------


@triton.jit
def norm_forward(x_ptr, y_ptr, w_ptr, b_ptr, mean_ptr, rstd_ptr, columns, eps, BLOCK: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, BLOCK)
    mask = at < columns
    x = tl.load(x_ptr + row * columns + at, mask=mask, other=0.0).to(tl.float32)
    mean = tl.sum(x, axis=0) / columns
    centred = tl.where(mask, x - mean, 0.0)
    rstd = 1 / tl.sqrt(tl.sum(centred * centred, axis=0) / columns + eps)
    tl.store(mean_ptr + row, mean)
    tl.store(rstd_ptr + row, rstd)
    y = centred * rstd * tl.load(w_ptr + at, mask=mask) + tl.load(b_ptr + at, mask=mask)
    tl.store(y_ptr + row * columns + at, y, mask=mask)


@triton.jit
def norm_backward(
    dx_ptr, dy_ptr, dw_ptr, db_ptr, x_ptr, w_ptr, mean_ptr, rstd_ptr, lock_ptr, columns, GROUPS: tl.constexpr,
    BLOCK: tl.constexpr,
):  # fmt: skip
    """dx of a row; its share of dw and db is added to those of its group under a lock."""
    row, at = tl.program_id(0), tl.arange(0, BLOCK)
    mask = at < columns
    x = tl.load(x_ptr + row * columns + at, mask=mask, other=0.0).to(tl.float32)
    dy = tl.load(dy_ptr + row * columns + at, mask=mask, other=0.0).to(tl.float32)
    w = tl.load(w_ptr + at, mask=mask).to(tl.float32)
    rstd = tl.load(rstd_ptr + row)
    scaled = tl.where(mask, (x - tl.load(mean_ptr + row)) * rstd, 0.0)
    wdy = tl.where(mask, w * dy, 0.0)
    dx = (wdy - scaled * (tl.sum(scaled * wdy, axis=0) / columns) - tl.sum(wdy, axis=0) / columns) * rstd
    tl.store(dx_ptr + row * columns + at, dx, mask=mask)
    group = row % GROUPS
    lock, count = lock_ptr + group, lock_ptr + GROUPS + group
    dw, db = dw_ptr + group * columns + at, db_ptr + group * columns + at
    more_w, more_b = dy * scaled, dy
    while tl.atomic_cas(lock, 0, 1) == 1:
        pass
    if tl.load(count) == 0:
        tl.atomic_xchg(count, 1)
    else:
        more_w += tl.load(dw, mask=mask)
        more_b += tl.load(db, mask=mask)
    tl.store(dw, more_w, mask=mask)
    tl.store(db, more_b, mask=mask)
    tl.debug_barrier()
    tl.atomic_xchg(lock, 0)


@triton.jit
def norm_sums(parts_ptr, out_ptr, groups, columns, BM: tl.constexpr, BN: tl.constexpr):
    j = tl.program_id(0) * BN + tl.arange(0, BN)
    total = tl.zeros((BM, BN), dtype=tl.float32)
    for start in range(0, groups, BM):
        i = start + tl.arange(0, BM)
        mask = (i[:, None] < groups) & (j[None, :] < columns)
        total += tl.load(parts_ptr + i[:, None] * columns + j[None, :], mask=mask, other=0.0)
    tl.store(out_ptr + j, tl.sum(total, axis=0), mask=j < columns)


def layer_norm(to: To) -> Iterable[Triple]:
    rows, columns, groups, eps = 12, 90, 4, 1e-5
    x, dy = random(31, rows, columns, kind=np.float16), random(32, rows, columns, kind=np.float16)
    w, b = random(33, columns), random(34, columns)
    y, dx = (to(np.zeros((rows, columns), np.float16)) for _ in range(2))
    mean, rstd = (to(np.zeros(rows, np.float32)) for _ in range(2))
    dw, db = (to(np.zeros((groups, columns), np.float32)) for _ in range(2))
    sum_w, sum_b, lock = to(np.zeros(columns, np.float32)), to(np.zeros(columns, np.float32)), to(np.zeros(8, np.int32))
    given = to(x)
    norm_forward[(rows,)](given, y, to(w), to(b), mean, rstd, columns, eps, BLOCK=128, num_warps=2)
    norm_backward[(rows,)](
        dx, to(dy), dw, db, given, to(w), mean, rstd, lock, columns, GROUPS=groups, BLOCK=128, enable_fp_fusion=False
    )
    norm_sums[(3,)](dw, sum_w, groups, columns, BM=4, BN=32)
    norm_sums[(3,)](db, sum_b, groups, columns, BM=4, BN=32)
    wide, grad = x.astype(np.float64), dy.astype(np.float64)
    scale = 1 / np.sqrt(wide.var(1, keepdims=True) + eps)
    scaled = (wide - wide.mean(1, keepdims=True)) * scale
    yield y, scaled * w + b, 1e-2
    wdy = grad * w
    yield dx, (wdy - scaled * (scaled * wdy).mean(1, keepdims=True) - wdy.mean(1, keepdims=True)) * scale, 1e-2
    yield sum_w, (grad * scaled).sum(0), 1e-3
    yield sum_b, grad.sum(0), 1e-3


# -- attention ---------------------------------------------------------------------------------------------------------


@triton.jit
def attention_forward(
    q_ptr, k_ptr, v_ptr, o_ptr, lse_ptr, n, scale, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr,
    CAUSAL: tl.constexpr,
):  # fmt: skip
    head = tl.program_id(1) * n * D
    i, d = tl.program_id(0) * BM + tl.arange(0, BM), tl.arange(0, D)
    q = tl.load(q_ptr + head + i[:, None] * D + d[None, :], mask=i[:, None] < n, other=0.0)
    top, total = tl.full((BM,), -float("inf"), tl.float32), tl.zeros((BM,), tl.float32)
    acc = tl.zeros((BM, D), tl.float32)
    end = tl.minimum(n, (tl.program_id(0) + 1) * BM) if CAUSAL else n
    for start in range(0, end, BN):
        j = start + tl.arange(0, BN)
        k = tl.load(k_ptr + head + j[None, :] * D + d[:, None], mask=j[None, :] < n, other=0.0)
        s = tl.dot(q, k) * scale
        seen = j[None, :] < n
        if CAUSAL:
            seen = seen & (j[None, :] <= i[:, None])
        s = tl.where(seen, s, -float("inf"))
        new = tl.maximum(top, tl.max(s, axis=1))
        p = tl.exp(s - new[:, None])
        rescale = tl.exp(top - new)
        total = total * rescale + tl.sum(p, axis=1)
        v = tl.load(v_ptr + head + j[:, None] * D + d[None, :], mask=j[:, None] < n, other=0.0)
        acc = tl.dot(p.to(v.dtype), v, acc * rescale[:, None])
        top = new
    tl.store(o_ptr + head + i[:, None] * D + d[None, :], acc / total[:, None], mask=i[:, None] < n)
    tl.store(lse_ptr + tl.program_id(1) * n + i, top + tl.log(total), mask=i < n)


@triton.jit
def attention_backward(
    q_ptr, k_ptr, v_ptr, do_ptr, lse_ptr, delta_ptr, dq_ptr, dk_ptr, dv_ptr, n, scale, D: tl.constexpr,
    BM: tl.constexpr, BN: tl.constexpr, CAUSAL: tl.constexpr,
):  # fmt: skip
    """dK and dV of a tile of keys; its share of dQ is added atomically."""
    head, lines = tl.program_id(1) * n * D, tl.program_id(1) * n
    j, d = tl.program_id(0) * BN + tl.arange(0, BN), tl.arange(0, D)
    k = tl.load(k_ptr + head + j[:, None] * D + d[None, :], mask=j[:, None] < n, other=0.0)
    v = tl.load(v_ptr + head + j[:, None] * D + d[None, :], mask=j[:, None] < n, other=0.0)
    dk, dv = tl.zeros((BN, D), tl.float32), tl.zeros((BN, D), tl.float32)
    for start in range(0, n, BM):
        i = start + tl.arange(0, BM)
        at, inside = head + i[:, None] * D + d[None, :], i[:, None] < n
        q, do = tl.load(q_ptr + at, mask=inside, other=0.0), tl.load(do_ptr + at, mask=inside, other=0.0)
        lse, delta = tl.load(lse_ptr + lines + i, mask=i < n), tl.load(delta_ptr + lines + i, mask=i < n)
        seen = (i[:, None] < n) & (j[None, :] < n)
        if CAUSAL:
            seen = seen & (j[None, :] <= i[:, None])
        p = tl.where(seen, tl.exp(tl.dot(q, tl.trans(k)) * scale - lse[:, None]), 0.0)
        dv = tl.dot(tl.trans(p.to(do.dtype)), do, dv)
        ds = tl.where(seen, p * (tl.dot(do, tl.trans(v)) - delta[:, None]) * scale, 0.0).to(q.dtype)
        dk = tl.dot(tl.trans(ds), q, dk)
        tl.atomic_add(dq_ptr + at, tl.dot(ds, k), mask=inside)
    tl.store(dk_ptr + head + j[:, None] * D + d[None, :], dk, mask=j[:, None] < n)
    tl.store(dv_ptr + head + j[:, None] * D + d[None, :], dv, mask=j[:, None] < n)


@triton.jit
def attention_delta(o_ptr, do_ptr, delta_ptr, n, D: tl.constexpr, BM: tl.constexpr):
    i, d = tl.program_id(0) * BM + tl.arange(0, BM), tl.arange(0, D)
    at = i[:, None] * D + d[None, :]
    o, do = tl.load(o_ptr + at, mask=i[:, None] < n, other=0.0), tl.load(do_ptr + at, mask=i[:, None] < n, other=0.0)
    tl.store(delta_ptr + i, tl.sum(o * do.to(tl.float32), axis=1), mask=i < n)


def attention(to: To) -> Iterable[Triple]:
    heads, n, d, scale = 2, 40, 16, 0.25
    q, k, v, do = (random(40 + s, heads, n, d, kind=np.float16) for s in range(4))
    given = [to(x) for x in (q, k, v, do)]
    out, dq, dk, dv = (to(np.zeros((heads, n, d), np.float32)) for _ in range(4))
    lse, delta = (to(np.zeros((heads, n), np.float32)) for _ in range(2))
    sizes = {"D": d, "BM": 16, "BN": 16, "CAUSAL": True}
    attention_forward[(3, heads)](*given[:3], out, lse, n, scale, **sizes)
    attention_delta[(triton.cdiv(heads * n, 16),)](out, given[3], delta, heads * n, D=d, BM=16)
    attention_backward[(3, heads)](*given, lse, delta, dq, dk, dv, n, scale, **sizes)
    wide = [x.astype(np.float64) for x in (q, k, v, do)]
    s = np.where(np.tril(np.ones((n, n), bool)), wide[0] @ wide[1].transpose(0, 2, 1) * scale, -np.inf)
    p = np.exp(s - s.max(2, keepdims=True))
    p /= p.sum(2, keepdims=True)
    o = p @ wide[2]
    ds = p * (wide[3] @ wide[2].transpose(0, 2, 1) - (wide[3] * o).sum(2, keepdims=True)) * scale
    yield out, o, 1e-2
    yield dv, p.transpose(0, 2, 1) @ wide[3], 1e-2
    yield dk, ds.transpose(0, 2, 1) @ wide[0], 1e-2
    yield dq, ds @ wide[1], 1e-2


# -- more of the language ----------------------------------------------------------------------------------------------


@triton.heuristics({"EVEN": lambda args: args["n"] % args["BLOCK"] == 0})
@triton.jit
def mixed_kernel(pair, out_ptr, n, scale, shift: tl.constexpr, BLOCK: tl.constexpr, EVEN: tl.constexpr):
    """A tuple of arrays, None, a heuristic, a constant."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = None if EVEN else at < n
    total = tl.load(pair[0] + at, mask=mask) * scale + shift
    if pair[1] is not None:
        total += tl.load(pair[1] + at, mask=mask)
    tl.store(out_ptr + at, total, mask=mask)


def mixed(to: To) -> Iterable[Triple]:
    x, y, first, second = random(50, 64), random(51, 64), np.zeros(64, np.float32), np.zeros(60, np.float32)
    out, short = to(first), to(second)
    mixed_kernel[(2,)]((to(x), to(y)), out, 64, 0.5, shift=3, BLOCK=32)
    mixed_kernel[(2,)]((to(x), None), short, 60, 2, shift=1, BLOCK=32)
    yield out, x * np.float32(0.5) + 3 + y, 1e-6
    yield short, x[:60] * 2 + 1, 1e-6


PROGRAMS: dict[str, Callable[[To], Iterable[Triple]]] = {
    f.__name__: f
    for f in (
        vector_add, softmax, matmul, grouped_matmul, persistent_matmul, described, layer_norm, attention,
        mixed,
    )
}  # fmt: skip
