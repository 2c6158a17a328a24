"""Right kernels of numba-cuda, which `tests/support/damaged.py` damages a line at a time."""

from numba import cuda, float32, int32


@cuda.jit
def reverse(x, out):
    tile = cuda.shared.array(64, float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    tile[t] = x[i]
    cuda.syncthreads()
    out[i] = tile[63 - t]


@cuda.jit
def stencil(x, out, n):
    tile = cuda.shared.array(66, float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    if i < n:
        tile[t + 1] = x[i]
    if t == 0:
        tile[0] = x[i - 1] if i > 0 else float32(0)
    if t == 63 or i == n - 1:
        tile[t + 2] = x[i + 1] if i + 1 < n else float32(0)
    cuda.syncthreads()
    if i < n:
        out[i] = tile[t] + tile[t + 1] + tile[t + 2]


@cuda.jit
def block_sum(x, out, n):
    tile = cuda.shared.array(64, float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    tile[t] = float32(0)
    if i < n:
        tile[t] = x[i]
    cuda.syncthreads()
    step = 32
    while step > 0:
        if t < step:
            tile[t] += tile[t + step]
        cuda.syncthreads()
        step //= 2
    if t == 0:
        out[cuda.blockIdx.x] = tile[0]


@cuda.jit
def transpose(x, out, rows, cols):
    tile = cuda.shared.array((16, 17), float32)
    a, b = cuda.threadIdx.x, cuda.threadIdx.y
    row, col = cuda.blockIdx.y * 16 + b, cuda.blockIdx.x * 16 + a
    if row < rows and col < cols:
        tile[b, a] = x[row, col]
    cuda.syncthreads()
    row, col = cuda.blockIdx.x * 16 + b, cuda.blockIdx.y * 16 + a
    if row < cols and col < rows:
        out[row, col] = tile[a, b]


@cuda.jit
def histogram(x, bins, n):
    counts = cuda.shared.array(32, int32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    if t < 32:
        counts[t] = 0
    cuda.syncthreads()
    if i < n:
        cuda.atomic.add(counts, x[i], 1)
    cuda.syncthreads()
    if t < 32:
        cuda.atomic.add(bins, t, counts[t])


@cuda.jit
def matmul(a, b, out, n):
    left = cuda.shared.array((16, 16), float32)
    right = cuda.shared.array((16, 16), float32)
    c, r = cuda.threadIdx.x, cuda.threadIdx.y
    row, col = cuda.blockIdx.y * 16 + r, cuda.blockIdx.x * 16 + c
    total = float32(0)
    for start in range(0, n, 16):
        left[r, c] = a[row, start + c] if row < n and start + c < n else float32(0)
        right[r, c] = b[start + r, col] if start + r < n and col < n else float32(0)
        cuda.syncthreads()
        for j in range(16):
            total += left[r, j] * right[j, c]
        cuda.syncthreads()
    if row < n and col < n:
        out[row, col] = total


@cuda.jit
def scan(x, out):
    tile = cuda.shared.array(64, float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    tile[t] = x[i]
    cuda.syncthreads()
    step = 1
    while step < 64:
        before = float32(0)
        if t >= step:
            before = tile[t - step]
        cuda.syncthreads()
        tile[t] += before
        cuda.syncthreads()
        step *= 2
    out[i] = tile[t]


@cuda.jit
def last_block(x, partial, count, out):
    tile = cuda.shared.array(64, float32)
    t = cuda.threadIdx.x
    tile[t] = x[cuda.grid(1)]
    cuda.syncthreads()
    if t == 0:
        total = float32(0)
        for j in range(64):
            total += tile[j]
        partial[cuda.blockIdx.x] = total
        cuda.threadfence()
        if cuda.atomic.add(count, 0, 1) == cuda.gridDim.x - 1:
            cuda.threadfence()
            total = float32(0)
            for j in range(cuda.gridDim.x):
                total += partial[j]
            out[0] = total


@cuda.jit
def exchange(x, out):
    tile = cuda.shared.array(32, float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    tile[t] = x[i]
    cuda.syncwarp()
    out[i] = tile[t ^ 1]
