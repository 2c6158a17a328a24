"""Right kernels of Triton, which `tests/support/damaged.py` damages a line at a time."""

import triton
import triton.language as tl


@triton.jit
def add(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < n
    x = tl.load(x_ptr + at, mask=mask)
    y = tl.load(y_ptr + at, mask=mask)
    tl.store(out_ptr + at, x + y, mask=mask)


@triton.jit
def softmax(x_ptr, out_ptr, rows, cols, BLOCK: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, BLOCK)
    mask = at < cols
    x = tl.load(x_ptr + row * cols + at, mask=mask, other=-float("inf"))
    e = tl.exp(x - tl.max(x, axis=0))
    tl.store(out_ptr + row * cols + at, e / tl.sum(e, axis=0), mask=mask)


@triton.jit
def matmul(a_ptr, b_ptr, out_ptr, n, BLOCK: tl.constexpr):
    rows = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    cols = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK, BLOCK), tl.float32)
    for start in range(0, n, BLOCK):
        inner = start + tl.arange(0, BLOCK)
        left = (rows[:, None] < n) & (inner[None, :] < n)
        right = (inner[:, None] < n) & (cols[None, :] < n)
        a = tl.load(a_ptr + rows[:, None] * n + inner[None, :], mask=left, other=0.0)
        b = tl.load(b_ptr + inner[:, None] * n + cols[None, :], mask=right, other=0.0)
        total += tl.dot(a, b, input_precision="ieee")
    mask = (rows[:, None] < n) & (cols[None, :] < n)
    tl.store(out_ptr + rows[:, None] * n + cols[None, :], total, mask=mask)


@triton.jit
def layer_norm(x_ptr, w_ptr, out_ptr, cols, BLOCK: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, BLOCK)
    mask = at < cols
    x = tl.load(x_ptr + row * cols + at, mask=mask, other=0.0)
    mean = tl.sum(x, axis=0) / cols
    apart = tl.where(mask, x - mean, 0.0)
    scale = 1 / tl.sqrt(tl.sum(apart * apart, axis=0) / cols + 1e-5)
    w = tl.load(w_ptr + at, mask=mask)
    tl.store(out_ptr + row * cols + at, apart * scale * w, mask=mask)


@triton.jit
def histogram(x_ptr, bins_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < n
    bins = tl.load(x_ptr + at, mask=mask, other=0)
    tl.atomic_add(bins_ptr + bins, 1, mask=mask)


@triton.jit
def total(x_ptr, out_ptr, lock_ptr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + tl.program_id(0) * BLOCK + at)
    while tl.atomic_cas(lock_ptr, 0, 1) == 1:
        pass
    tl.store(out_ptr + at, tl.load(out_ptr + at) + x)
    tl.debug_barrier()
    tl.atomic_xchg(lock_ptr, 0)


@triton.jit
def rotate(x_ptr, scratch_ptr, out_ptr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    mine = tl.program_id(0) * BLOCK
    tl.store(scratch_ptr + mine + at, tl.load(x_ptr + mine + at))
    tl.debug_barrier()
    tl.store(out_ptr + mine + at, tl.load(scratch_ptr + mine + (at + 1) % BLOCK))


@triton.jit
def transpose(x_ptr, out_ptr, rows, cols, BLOCK: tl.constexpr):
    row = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    col = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tile = tl.load(x_ptr + row[:, None] * cols + col[None, :], mask=(row[:, None] < rows) & (col[None, :] < cols))
    tl.store(out_ptr + col[:, None] * rows + row[None, :], tile.T, mask=(col[:, None] < cols) & (row[None, :] < rows))


@triton.jit
def gather(x_ptr, index_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < n
    index = tl.load(index_ptr + at, mask=mask, other=0)
    tl.store(out_ptr + at, tl.load(x_ptr + index, mask=mask), mask=mask)
