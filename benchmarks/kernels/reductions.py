"""Sums of an array in six styles, each block's apart or added to one place; C beside them is a plain loop."""

from __future__ import annotations

import numpy as np

from benchmarks.kernels.yardstick import APART, ATOMIC, STRIDED, TREE, Kernel, Numbers

N, BLOCKS = 1 << 20, 4096


def _partial(rng: Numbers) -> list[object]:
    return [rng.random(N, dtype=np.float32), np.zeros(BLOCKS, np.float32), np.int32(N)]


def _total(rng: Numbers) -> list[object]:
    return [rng.integers(0, 100, N, dtype=np.int32), np.zeros(1, np.int32), np.int32(N)]


PARTIAL_C = """void {name}(const float *x, float *y, int n) {{
    for (int b = 0; b < n / 256; b++) {{
        float s = 0;
        for (int i = 0; i < 256; i++) s += x[b * 256 + i];
        y[b] = s;
    }}
}}
"""
TOTAL_C = """void {name}(const int *x, int *y, int n) {{
    int s = 0;
    for (int i = 0; i < n; i++) s += x[i];
    *y += s;
}}
"""


def _shared(name: str, loop: str) -> str:
    return f"""extern "C" __global__ void {name}(const float *x, float *y, int n) {{
    __shared__ float s[256];
    int t = threadIdx.x;
    s[t] = x[blockIdx.x * 256 + t];
    __syncthreads();
    {loop}
    if (t == 0) y[blockIdx.x] = s[0];
}}
"""


KERNELS = [
    Kernel(
        "reduce_interleaved", "t % (2 w) == 0: every warp diverges", BLOCKS, 256, _partial, (1,),
        _shared("reduce_interleaved", """for (int w = 1; w < 256; w *= 2) {
        if (t % (2 * w) == 0) s[t] += s[t + w];
        __syncthreads();
    }"""),
        PARTIAL_C.format(name="reduce_interleaved"), reason=TREE,
    ),
    Kernel(
        "reduce_sequential", "t < w, halves", BLOCKS, 256, _partial, (1,),
        _shared("reduce_sequential", """for (int w = 128; w; w /= 2) {
        if (t < w) s[t] += s[t + w];
        __syncthreads();
    }"""),
        PARTIAL_C.format(name="reduce_sequential"), reason=TREE,
    ),
    Kernel(
        "reduce_shuffle", "warps by shuffles, then one warp", BLOCKS, 256, _partial, (1,),
        """extern "C" __global__ void reduce_shuffle(const float *x, float *y, int n) {
    __shared__ float warps[8];
    int t = threadIdx.x;
    float s = x[blockIdx.x * 256 + t];
    for (int w = 16; w; w /= 2) s += __shfl_down_sync(0xffffffff, s, w);
    if (t % 32 == 0) warps[t / 32] = s;
    __syncthreads();
    if (t < 32) {
        s = t < 8 ? warps[t] : 0;
        for (int w = 4; w; w /= 2) s += __shfl_down_sync(0xffffffff, s, w);
        if (t == 0) y[blockIdx.x] = s;
    }
}
""",
        PARTIAL_C.format(name="reduce_shuffle"), reason=TREE,
    ),
    Kernel(
        "reduce_groups", "cooperative groups: tiled_partition and reduce", BLOCKS, 256, _partial, (1,),
        """#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
namespace cg = cooperative_groups;
extern "C" __global__ void reduce_groups(const float *x, float *y, int n) {
    __shared__ float warps[8];
    auto block = cg::this_thread_block();
    auto warp = cg::tiled_partition<32>(block);
    float s = cg::reduce(warp, x[block.group_index().x * 256 + block.thread_rank()], cg::plus<float>());
    if (warp.thread_rank() == 0) warps[warp.meta_group_rank()] = s;
    block.sync();
    if (block.thread_rank() == 0) {
        for (int k = 1; k < 8; k++) s += warps[k];
        y[block.group_index().x] = s;
    }
}
""",
        PARTIAL_C.format(name="reduce_groups"), reason=TREE,
    ),
    Kernel(
        "reduce_atomic", "an atomicAdd per thread", BLOCKS, 256, _total, (1,),
        """extern "C" __global__ void reduce_atomic(const int *x, int *y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) atomicAdd(y, x[i]);
}
""",
        TOTAL_C.format(name="reduce_atomic"), tolerance=0, reason=ATOMIC,
    ),
    Kernel(
        "reduce_strided", "a grid-stride loop, dynamic shared memory, one atomic per block", 64, 256, _total, (1,),
        """extern "C" __global__ void reduce_strided(const int *x, int *y, int n) {
    extern __shared__ int s[];
    int t = threadIdx.x, sum = 0;
    for (int i = blockIdx.x * blockDim.x + t; i < n; i += gridDim.x * blockDim.x) sum += x[i];
    s[t] = sum;
    __syncthreads();
    for (int w = blockDim.x / 2; w; w /= 2) {
        if (t < w) s[t] += s[t + w];
        __syncthreads();
    }
    if (t == 0) atomicAdd(y, s[0]);
}
""",
        TOTAL_C.format(name="reduce_strided"), tolerance=0, shared=1024, reason=APART,
    ),
    Kernel(
        "sum_grid_stride", "a grid-stride loop over an array that no cache holds, a sum per thread", 128, 256,
        lambda rng: [rng.random(1 << 22, dtype=np.float32), np.zeros(1 << 15, np.float32), np.int32(1 << 22)], (1,),
        """extern "C" __global__ void sum_grid_stride(const float *x, float *y, int n) {
    int first = blockIdx.x * blockDim.x + threadIdx.x;
    float s = 0;
    for (int i = first; i < n; i += gridDim.x * blockDim.x) s += x[i];
    y[first] = s;
}
""",
        """void sum_grid_stride(const float *x, float *y, int n) {
    for (int i = 0; i < 1 << 15; i++) y[i] = 0;
    for (int k = 0; k < n; k += 1 << 15)
        for (int i = 0; i < 1 << 15; i++) y[i] += x[k + i];
}
""", reason=STRIDED,
    ),
]  # fmt: skip
