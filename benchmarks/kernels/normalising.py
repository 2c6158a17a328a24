"""Softmax and layernorm in eight versions: who owns a row, and where it is kept."""

from __future__ import annotations

import numpy as np

from benchmarks.kernels.rows import normal
from benchmarks.kernels.yardstick import CHAIN, OWN_ROWS, TREE, Kernel, Numbers

ROWS, M = 1024, 256


def _rows(rng: Numbers) -> list[object]:
    return [normal(rng, ROWS, M), np.zeros((ROWS, M), np.float32), np.int32(M)]


SOFTMAX_C = """void {name}(const float *x, float *y, int m) {{
    for (int i = 0; i < 1024; i++) {{
        float top = -INFINITY, sum = 0;
        for (int k = 0; k < m; k++) top = fmaxf(top, x[i * m + k]);
        for (int k = 0; k < m; k++) sum += y[i * m + k] = expf(x[i * m + k] - top);
        for (int k = 0; k < m; k++) y[i * m + k] /= sum;
    }}
}}
"""
LAYERNORM_C = """void {name}(const float *x, float *y, int m) {{
    for (int i = 0; i < 1024; i++) {{
        float mean = 0, var = 0;
        for (int k = 0; k < m; k++) mean += x[i * m + k];
        mean /= m;
        for (int k = 0; k < m; k++) var += (x[i * m + k] - mean) * (x[i * m + k] - mean);
        float scale = 1 / sqrtf(var / m + 1e-5f);
        for (int k = 0; k < m; k++) y[i * m + k] = (x[i * m + k] - mean) * scale;
    }}
}}
"""

KERNELS = [
    Kernel(
        "softmax_thread", "a thread per row, three passes", ROWS // 128, 128, _rows, (1,),
        """extern "C" __global__ void softmax_thread(const float *x, float *y, int m) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float top = -INFINITY, sum = 0;
    for (int k = 0; k < m; k++) top = fmaxf(top, x[i * m + k]);
    for (int k = 0; k < m; k++) sum += y[i * m + k] = expf(x[i * m + k] - top);
    for (int k = 0; k < m; k++) y[i * m + k] /= sum;
}
""",
        SOFTMAX_C.format(name="softmax_thread"), reason=OWN_ROWS,
    ),
    Kernel(
        "softmax_warp", "a warp per row, the row in registers, shuffles", ROWS // 4, 128, _rows, (1,),
        """extern "C" __global__ void softmax_warp(const float *x, float *y, int m) {
    int i = blockIdx.x * 4 + threadIdx.x / 32, t = threadIdx.x % 32;
    float row[8], top = -INFINITY, sum = 0;
    for (int k = 0; k < 8; k++) top = fmaxf(top, row[k] = x[i * m + k * 32 + t]);
    for (int w = 16; w; w /= 2) top = fmaxf(top, __shfl_xor_sync(0xffffffff, top, w));
    for (int k = 0; k < 8; k++) sum += row[k] = expf(row[k] - top);
    for (int w = 16; w; w /= 2) sum += __shfl_xor_sync(0xffffffff, sum, w);
    for (int k = 0; k < 8; k++) y[i * m + k * 32 + t] = row[k] / sum;
}
""",
        SOFTMAX_C.format(name="softmax_warp"), reason=TREE,
    ),
    Kernel(
        "softmax_block", "a block per row, trees in shared memory", ROWS, 128, _rows, (1,),
        """extern "C" __global__ void softmax_block(const float *x, float *y, int m) {
    __shared__ float s[128];
    int i = blockIdx.x, t = threadIdx.x;
    float top = -INFINITY, sum = 0;
    for (int k = t; k < m; k += 128) top = fmaxf(top, x[i * m + k]);
    s[t] = top;
    __syncthreads();
    for (int w = 64; w; w /= 2) {
        if (t < w) s[t] = fmaxf(s[t], s[t + w]);
        __syncthreads();
    }
    top = s[0];
    __syncthreads();
    for (int k = t; k < m; k += 128) sum += y[i * m + k] = expf(x[i * m + k] - top);
    s[t] = sum;
    __syncthreads();
    for (int w = 64; w; w /= 2) {
        if (t < w) s[t] += s[t + w];
        __syncthreads();
    }
    for (int k = t; k < m; k += 128) y[i * m + k] /= s[0];
}
""",
        SOFTMAX_C.format(name="softmax_block"), reason=TREE,
    ),
    Kernel(
        "softmax_online", "a thread per row, maximum and sum in one pass", ROWS // 128, 128, _rows, (1,),
        """extern "C" __global__ void softmax_online(const float *x, float *y, int m) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float top = -INFINITY, sum = 0;
    for (int k = 0; k < m; k++) {
        float v = x[i * m + k], next = fmaxf(top, v);
        sum = sum * expf(top - next) + expf(v - next);
        top = next;
    }
    for (int k = 0; k < m; k++) y[i * m + k] = expf(x[i * m + k] - top) / sum;
}
""",
        """void softmax_online(const float *x, float *y, int m) {
    for (int i = 0; i < 1024; i++) {
        float top = -INFINITY, sum = 0;
        for (int k = 0; k < m; k++) {
            float v = x[i * m + k], next = fmaxf(top, v);
            sum = sum * expf(top - next) + expf(v - next);
            top = next;
        }
        for (int k = 0; k < m; k++) y[i * m + k] = expf(x[i * m + k] - top) / sum;
    }
}
""", reason=OWN_ROWS,
    ),
    Kernel(
        "layernorm_thread", "a thread per row", ROWS // 128, 128, _rows, (1,),
        """extern "C" __global__ void layernorm_thread(const float *x, float *y, int m) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float mean = 0, var = 0;
    for (int k = 0; k < m; k++) mean += x[i * m + k];
    mean /= m;
    for (int k = 0; k < m; k++) var += (x[i * m + k] - mean) * (x[i * m + k] - mean);
    float scale = rsqrtf(var / m + 1e-5f);
    for (int k = 0; k < m; k++) y[i * m + k] = (x[i * m + k] - mean) * scale;
}
""",
        LAYERNORM_C.format(name="layernorm_thread"), reason=OWN_ROWS,
    ),
    Kernel(
        "layernorm_warp", "a warp per row, shuffles", ROWS // 4, 128, _rows, (1,),
        """extern "C" __global__ void layernorm_warp(const float *x, float *y, int m) {
    int i = blockIdx.x * 4 + threadIdx.x / 32, t = threadIdx.x % 32;
    float mean = 0, var = 0;
    for (int k = t; k < m; k += 32) mean += x[i * m + k];
    for (int w = 16; w; w /= 2) mean += __shfl_xor_sync(0xffffffff, mean, w);
    mean /= m;
    for (int k = t; k < m; k += 32) var += (x[i * m + k] - mean) * (x[i * m + k] - mean);
    for (int w = 16; w; w /= 2) var += __shfl_xor_sync(0xffffffff, var, w);
    float scale = rsqrtf(var / m + 1e-5f);
    for (int k = t; k < m; k += 32) y[i * m + k] = (x[i * m + k] - mean) * scale;
}
""",
        LAYERNORM_C.format(name="layernorm_warp"), reason=TREE,
    ),
    Kernel(
        "layernorm_block", "a block per row, atomicAdd of f32 in shared memory", ROWS, 256, _rows, (1,),
        """extern "C" __global__ void layernorm_block(const float *x, float *y, int m) {
    __shared__ float mean, var;
    int i = blockIdx.x, t = threadIdx.x;
    if (t == 0) mean = var = 0;
    __syncthreads();
    float v = x[i * m + t];
    atomicAdd(&mean, v / m);
    __syncthreads();
    atomicAdd(&var, (v - mean) * (v - mean) / m);
    __syncthreads();
    y[i * m + t] = (v - mean) * rsqrtf(var + 1e-5f);
}
""",
        LAYERNORM_C.format(name="layernorm_block"), reason=CHAIN,
    ),
    Kernel(
        "layernorm_float4", "a warp per row, float4 loads and stores", ROWS // 4, 128, _rows, (1,),
        """extern "C" __global__ void layernorm_float4(const float4 *x, float4 *y, int m) {
    int i = blockIdx.x * 4 + threadIdx.x / 32, t = threadIdx.x % 32;
    float4 a = x[i * 64 + t], b = x[i * 64 + t + 32];
    float mean = a.x + a.y + a.z + a.w + b.x + b.y + b.z + b.w, var;
    for (int w = 16; w; w /= 2) mean += __shfl_xor_sync(0xffffffff, mean, w);
    mean /= m;
    a.x -= mean, a.y -= mean, a.z -= mean, a.w -= mean, b.x -= mean, b.y -= mean, b.z -= mean, b.w -= mean;
    var = a.x * a.x + a.y * a.y + a.z * a.z + a.w * a.w + b.x * b.x + b.y * b.y + b.z * b.z + b.w * b.w;
    for (int w = 16; w; w /= 2) var += __shfl_xor_sync(0xffffffff, var, w);
    float s = rsqrtf(var / m + 1e-5f);
    y[i * 64 + t] = make_float4(a.x * s, a.y * s, a.z * s, a.w * s);
    y[i * 64 + t + 32] = make_float4(b.x * s, b.y * s, b.z * s, b.w * s);
}
""",
        LAYERNORM_C.format(name="layernorm_float4"), reason=TREE,
    ),
]  # fmt: skip
