"""Prefix sums, a pass of a radix sort, histograms, and sums into rows: what threads exchange and add."""

from __future__ import annotations

import numpy as np

from benchmarks.kernels.rows import normal
from benchmarks.kernels.yardstick import APART, ATOMIC, LANES, TREE, Kernel, Numbers

N, BLOCKS = 1 << 20, 4096


def _scan(rng: Numbers) -> list[object]:
    return [rng.integers(0, 100, N, dtype=np.int32), np.zeros(N, np.int32)]


def _histogram(rng: Numbers) -> list[object]:
    return [rng.integers(0, 256, N, dtype=np.uint8), np.zeros(256, np.int32), np.int32(N)]


def _digits(rng: Numbers) -> list[object]:
    keys = rng.integers(0, 1 << 32, 1 << 18, dtype=np.uint32)
    digits = (keys >> 8 & 15).reshape(256, 1024)
    counts = np.stack([(digits == digit).sum(1) for digit in range(16)]).reshape(-1)
    return [keys, np.zeros_like(keys), (np.cumsum(counts) - counts).astype(np.int32), np.int32(8)]


SCAN_C = """void {name}(const int *x, int *y) {{
    for (int b = 0; b < 4096; b++) {{
        int s = 0;
        for (int i = 0; i < 256; i++) y[b * 256 + i] = s += x[b * 256 + i];
    }}
}}
"""
HISTOGRAM_C = """void {name}(const unsigned char *x, int *bins, int n) {{
    for (int i = 0; i < n; i++) bins[x[i]]++;
}}
"""

KERNELS = [
    Kernel(
        "scan_hillis_steele", "two barriers a step in shared memory", BLOCKS, 256, _scan, (1,),
        """extern "C" __global__ void scan_hillis_steele(const int *x, int *y) {
    __shared__ int s[256];
    int t = threadIdx.x, i = blockIdx.x * 256 + t;
    s[t] = x[i];
    __syncthreads();
    for (int w = 1; w < 256; w *= 2) {
        int below = t >= w ? s[t - w] : 0;
        __syncthreads();
        s[t] += below;
        __syncthreads();
    }
    y[i] = s[t];
}
""",
        SCAN_C.format(name="scan_hillis_steele"), tolerance=0, reason=TREE,
    ),
    Kernel(
        "scan_blelloch", "up and down a tree in shared memory", BLOCKS, 128, _scan, (1,),
        """extern "C" __global__ void scan_blelloch(const int *x, int *y) {
    __shared__ int s[256];
    int t = threadIdx.x, i = blockIdx.x * 256;
    s[2 * t] = x[i + 2 * t];
    s[2 * t + 1] = x[i + 2 * t + 1];
    int w = 1;
    for (int d = 128; d; d /= 2, w *= 2) {
        __syncthreads();
        if (t < d) s[w * (2 * t + 2) - 1] += s[w * (2 * t + 1) - 1];
    }
    if (t == 0) s[255] = 0;
    for (int d = 1; d < 256; d *= 2) {
        w /= 2;
        __syncthreads();
        if (t < d) {
            int low = s[w * (2 * t + 1) - 1];
            s[w * (2 * t + 1) - 1] = s[w * (2 * t + 2) - 1];
            s[w * (2 * t + 2) - 1] += low;
        }
    }
    __syncthreads();
    y[i + 2 * t] = s[2 * t] + x[i + 2 * t];
    y[i + 2 * t + 1] = s[2 * t + 1] + x[i + 2 * t + 1];
}
""",
        SCAN_C.format(name="scan_blelloch"), tolerance=0, reason=TREE,
    ),
    Kernel(
        "scan_shuffle", "warps by shuffles, then their sums", BLOCKS, 256, _scan, (1,),
        """extern "C" __global__ void scan_shuffle(const int *x, int *y) {
    __shared__ int sums[8];
    int t = threadIdx.x, lane = t % 32, s = x[blockIdx.x * 256 + t];
    for (int w = 1; w < 32; w *= 2) {
        int below = __shfl_up_sync(0xffffffff, s, w);
        if (lane >= w) s += below;
    }
    if (lane == 31) sums[t / 32] = s;
    __syncthreads();
    for (int k = 0; k < t / 32; k++) s += sums[k];
    y[blockIdx.x * 256 + t] = s;
}
""",
        SCAN_C.format(name="scan_shuffle"), tolerance=0, reason=TREE,
    ),
    Kernel(
        "scan_lookback", "one pass over all: a block waits for the sums of those before it", 512, 256,
        lambda rng: [
            rng.integers(0, 50, 1 << 19, dtype=np.int32), np.zeros(1 << 19, np.int32), np.zeros(1, np.int32),
            np.zeros(512, np.uint64),
        ], (1, 2, 3),
        """typedef unsigned long long State;  // 1: the sum of the block, 2: and of all before it
__device__ State state(State kind, int sum) { return kind << 32 | (unsigned)sum; }
extern "C" __global__ void scan_lookback(const int4 *x, int4 *y, int *ticket, volatile State *states) {
    __shared__ int sums[8], mine, before;
    if (threadIdx.x == 0) mine = atomicAdd(ticket, 1) % gridDim.x, before = 0;
    __syncthreads();
    int b = mine, t = threadIdx.x, lane = t % 32;
    int4 v = x[b * 256 + t];
    v.y += v.x, v.z += v.y, v.w += v.z;
    int s = v.w, low = 0, total = 0;
    for (int w = 1; w < 32; w *= 2) {
        int below = __shfl_up_sync(0xffffffff, s, w);
        if (lane >= w) s += below;
    }
    if (lane == 31) sums[t / 32] = s;
    __syncthreads();
    for (int k = 0; k < 8; k++) {
        if (k < t / 32) low += sums[k];
        total += sums[k];
    }
    if (t == 0) {
        if (b) states[b] = state(1, total);
        int sum = 0;
        for (int at = b - 1; at >= 0; at--) {
            State other;
            do other = states[at]; while (other >> 32 == 0);
            sum += (int)other;
            if (other >> 32 == 2) break;
        }
        __threadfence();
        states[b] = state(2, sum + total);
        before = sum;
    }
    __syncthreads();
    low += before + s - v.w;
    y[b * 256 + t] = make_int4(v.x + low, v.y + low, v.z + low, v.w + low);
}
""",
        """void scan_lookback(const int *x, int *y, int *ticket, uint64_t *states) {
    int s = 0;
    for (int b = 0; b < 512; b++) {
        for (int i = 0; i < 1024; i++) y[b * 1024 + i] = s += x[b * 1024 + i];
        states[b] = 2ull << 32 | (unsigned)s;
    }
    *ticket = 512;
}
""", tolerance=0, reason=TREE,
    ),
    Kernel(
        "radix_scatter", "a pass of a radix sort: ranks by __match_any_sync and popc", 256, 256, _digits, (1,),
        """extern "C" __global__ void radix_scatter(const unsigned *keys, unsigned *out, const int *offsets,
                                         int shift) {
    __shared__ int next[16], counts[8][16];
    int t = threadIdx.x, warp = t / 32;
    if (t < 16) next[t] = offsets[t * gridDim.x + blockIdx.x];
    for (int round = 0; round < 4; round++) {
        if (t < 128) counts[t / 16][t % 16] = 0;
        __syncthreads();
        unsigned key = keys[blockIdx.x * 1024 + round * 256 + t], digit = key >> shift & 15;
        unsigned equal = __match_any_sync(0xffffffff, digit);
        int rank = __popc(equal & ((1u << t % 32) - 1));
        if (rank == 0) counts[warp][digit] = __popc(equal);
        __syncthreads();
        if (t < 16) {
            int s = next[t];
            for (int w = 0; w < 8; w++) {
                int count = counts[w][t];
                counts[w][t] = s;
                s += count;
            }
            next[t] = s;
        }
        __syncthreads();
        out[counts[warp][digit] + rank] = key;
        __syncthreads();
    }
}
""",
        """void radix_scatter(const uint32_t *keys, uint32_t *out, const int *offsets, int shift) {
    for (int b = 0; b < 256; b++) {
        int next[16];
        for (int d = 0; d < 16; d++) next[d] = offsets[d * 256 + b];
        for (int i = 0; i < 1024; i++) out[next[keys[b * 1024 + i] >> shift & 15]++] = keys[b * 1024 + i];
    }
}
""", tolerance=0, reason=TREE,
    ),
    Kernel(
        "histogram_global", "an atomicAdd per byte to global memory", BLOCKS, 256, _histogram, (1,),
        """extern "C" __global__ void histogram_global(const unsigned char *x, int *bins, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) atomicAdd(&bins[x[i]], 1);
}
""",
        HISTOGRAM_C.format(name="histogram_global"), tolerance=0, reason=ATOMIC,
    ),
    Kernel(
        "histogram_shared", "atomics in shared memory, a grid-stride loop", 64, 256, _histogram, (1,),
        """extern "C" __global__ void histogram_shared(const unsigned char *x, int *bins, int n) {
    __shared__ int mine[256];
    mine[threadIdx.x] = 0;
    __syncthreads();
    for (int i = blockIdx.x * 256 + threadIdx.x; i < n; i += gridDim.x * 256) atomicAdd(&mine[x[i]], 1);
    __syncthreads();
    atomicAdd(&bins[threadIdx.x], mine[threadIdx.x]);
}
""",
        HISTOGRAM_C.format(name="histogram_shared"), tolerance=0, reason=APART,
    ),
    Kernel(
        "embedding_gather", "rows of a table by index, a block per row", 8192, 64,
        lambda rng: [
            normal(rng, 4096, 64), rng.integers(0, 4096, 8192, dtype=np.int32), np.zeros((8192, 64), np.float32)
        ], (2,),
        """extern "C" __global__ void embedding_gather(const float *table, const int *index, float *out) {
    out[blockIdx.x * 64 + threadIdx.x] = table[index[blockIdx.x] * 64 + threadIdx.x];
}
""",
        """void embedding_gather(const float *table, const int *index, float *out) {
    for (int i = 0; i < 8192; i++)
        for (int d = 0; d < 64; d++) out[i * 64 + d] = table[index[i] * 64 + d];
}
""", tolerance=0, reason=LANES,
    ),
    Kernel(
        "embedding_add", "gradients added to rows of a table, atomicAdd of f32", 4096, 64,
        lambda rng: [
            normal(rng, 4096, 64), rng.integers(0, 1024, 4096, dtype=np.int32), np.zeros((1024, 64), np.float32)
        ], (2,),
        """extern "C" __global__ void embedding_add(const float *gradient, const int *index, float *table) {
    atomicAdd(&table[index[blockIdx.x] * 64 + threadIdx.x], gradient[blockIdx.x * 64 + threadIdx.x]);
}
""",
        """void embedding_add(const float *gradient, const int *index, float *table) {
    for (int i = 0; i < 4096; i++)
        for (int d = 0; d < 64; d++) table[index[i] * 64 + d] += gradient[i * 64 + d];
}
""", reason=ATOMIC,
    ),
]  # fmt: skip
