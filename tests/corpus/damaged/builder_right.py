"""Right kernels of the builder, which `tests/support/damaged.py` damages a line at a time."""

from ptxlab.builder import Ptr, f32, kernel, s32, u32


@kernel
def reverse(k, x: Ptr[f32], out: Ptr[f32]):
    tile = k.shared(f32, 64)
    t, i = k.tid.x, k.thread_index()
    tile[t] = x[i]
    k.barrier()
    out[i] = tile[63 - t]


@kernel
def stencil(k, x: Ptr[f32], out: Ptr[f32], n: u32):
    tile = k.shared(f32, 66)
    t, i = k.tid.x, k.thread_index()
    tile[t] = 0.0
    with k.if_(t < 2):
        tile[t + 64] = 0.0
    k.barrier()
    with k.if_(i < n):
        tile[t + 1] = x[i]
        with k.if_((t == 0) & (i > 0)):
            tile[0] = x[i - 1]
        with k.if_((t == 63) & (i + 1 < n)):
            tile[65] = x[i + 1]
    k.barrier()
    with k.if_(i < n):
        out[i] = tile[t] + tile[t + 1] + tile[t + 2]


@kernel
def block_sum(k, x: Ptr[f32], out: Ptr[f32], n: u32):
    tile = k.shared(f32, 64)
    t, i = k.tid.x, k.thread_index()
    tile[t] = 0.0
    with k.if_(i < n):
        tile[t] = x[i]
    k.barrier()
    step = k.var(u32, 32)
    with k.while_(lambda: step > 0):
        with k.if_(t < step):
            tile[t] = tile[t] + tile[t + step]
        k.barrier()
        step.set(step // 2)
    with k.if_(t == 0):
        out[k.ctaid.x] = tile[0]


@kernel
def transpose(k, x: Ptr[f32], out: Ptr[f32], rows: u32, cols: u32):
    tile = k.shared(f32, (16, 17))
    a, b = k.tid.x, k.tid.y
    row, col = k.ctaid.y * 16 + b, k.ctaid.x * 16 + a
    with k.if_((row < rows) & (col < cols)):
        tile[b, a] = x[row * cols + col]
    k.barrier()
    row, col = k.ctaid.x * 16 + b, k.ctaid.y * 16 + a
    with k.if_((row < cols) & (col < rows)):
        out[row * rows + col] = tile[a, b]


@kernel
def histogram(k, x: Ptr[s32], bins: Ptr[s32], n: u32):
    counts = k.shared(s32, 32)
    t, i = k.tid.x, k.thread_index()
    with k.if_(t < 32):
        counts[t] = 0
    k.barrier()
    with k.if_(i < n):
        k.red(counts + x[i], 1, operation="add")
    k.barrier()
    with k.if_(t < 32):
        k.red(bins + t, counts[t], operation="add")


@kernel
def matmul(k, a: Ptr[f32], b: Ptr[f32], out: Ptr[f32], n: u32):
    left, right = k.shared(f32, (16, 16)), k.shared(f32, (16, 16))
    c, r = k.tid.x, k.tid.y
    row, col = k.ctaid.y * 16 + r, k.ctaid.x * 16 + c
    total = k.var(f32, 0.0)
    with k.loop(n, step=16) as start:
        left[r, c] = 0.0
        right[r, c] = 0.0
        with k.if_((row < n) & (start + c < n)):
            left[r, c] = a[row * n + start + c]
        with k.if_((start + r < n) & (col < n)):
            right[r, c] = b[(start + r) * n + col]
        k.barrier()
        for j in range(16):
            total.set(k.fma(left[r, j], right[j, c], total))
        k.barrier()
    with k.if_((row < n) & (col < n)):
        out[row * n + col] = total


@kernel
def scan(k, x: Ptr[f32], out: Ptr[f32]):
    tile = k.shared(f32, 64)
    t, i = k.tid.x, k.thread_index()
    tile[t] = x[i]
    k.barrier()
    step = k.var(u32, 1)
    with k.while_(lambda: step < 64):
        before = k.var(f32, 0.0)
        with k.if_(t >= step):
            before.set(tile[t - step])
        k.barrier()
        tile[t] = tile[t] + before
        k.barrier()
        step.set(step * 2)
    out[i] = tile[t]


@kernel
def last_block(k, x: Ptr[f32], partial: Ptr[f32], count: Ptr[s32], out: Ptr[f32]):
    tile = k.shared(f32, 64)
    t = k.tid.x
    tile[t] = x[k.thread_index()]
    k.barrier()
    with k.if_(t == 0):
        total = k.var(f32, 0.0)
        with k.loop(64) as j:
            total += tile[j]
        partial[k.ctaid.x] = total
        k.fence(order="acq_rel", scope="gpu")
        ticket = k.atom(count, 1, operation="add")
        with k.if_(ticket == k.cvt(s32, k.nctaid.x) - 1):
            k.fence(order="acq_rel", scope="gpu")
            total.set(0.0)
            with k.loop(k.nctaid.x) as j:
                total += partial[j]
            out[0] = total


@kernel
def exchange(k, x: Ptr[f32], out: Ptr[f32]):
    tile = k.shared(f32, 32)
    t, i = k.tid.x, k.thread_index()
    tile[t] = x[i]
    k.op("bar.warp.sync", 0xFFFFFFFF)
    out[i] = tile[t ^ 1]
