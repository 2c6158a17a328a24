"""Attention from the first try to pages of keys: what the library's kernels are written to improve on."""

from __future__ import annotations

import numpy as np

from benchmarks.kernels.rows import normal
from benchmarks.kernels.yardstick import OWN_ROWS, TREE, Kernel, Numbers

S, D = 512, 64


def _qkv(rng: Numbers) -> list[object]:
    return [*(normal(rng, S, D) for _ in range(3)), np.zeros((S, D), np.float32), np.int32(S)]


def _pages(rng: Numbers) -> list[object]:
    heads, pages, page = 32, 64, 16
    table = rng.permutation(heads * pages).astype(np.int32)
    k, v = (normal(rng, heads * pages * page, D) for _ in range(2))
    return [normal(rng, heads, D), k, v, table, np.zeros((heads, D), np.float32), np.int32(pages)]


ONLINE_C = """void {name}(const float *q, const float *k, const float *v, float *o, int n) {{
    for (int i = 0; i < n; i++) {{
        float m = -INFINITY, l = 0;
        for (int d = 0; d < 64; d++) o[i * 64 + d] = 0;
        for (int j = 0; j < n; j++) {{
            float s = 0;
            for (int d = 0; d < 64; d++) s += q[i * 64 + d] * k[j * 64 + d];
            s *= 0.125f;
            float top = fmaxf(m, s), old = expf(m - top), p = expf(s - top);
            l = l * old + p;
            m = top;
            for (int d = 0; d < 64; d++) o[i * 64 + d] = o[i * 64 + d] * old + p * v[j * 64 + d];
        }}
        for (int d = 0; d < 64; d++) o[i * 64 + d] /= l;
    }}
}}
"""

KERNELS = [
    Kernel(
        "attention_rows", "a thread per query row, O in global memory, no loop unrolled", S // 32, 32, _qkv, (3,),
        """extern "C" __global__ void attention_rows(const float *q, const float *k, const float *v, float *o, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float m = -INFINITY, l = 0;
#pragma unroll 1
    for (int d = 0; d < 64; d++) o[i * 64 + d] = 0;
    for (int j = 0; j < n; j++) {
        float s = 0;
#pragma unroll 1
        for (int d = 0; d < 64; d++) s += q[i * 64 + d] * k[j * 64 + d];
        s *= 0.125f;
        float top = fmaxf(m, s), old = expf(m - top), p = expf(s - top);
        l = l * old + p;
        m = top;
#pragma unroll 1
        for (int d = 0; d < 64; d++) o[i * 64 + d] = o[i * 64 + d] * old + p * v[j * 64 + d];
    }
#pragma unroll 1
    for (int d = 0; d < 64; d++) o[i * 64 + d] /= l;
}
""",
        ONLINE_C.format(name="attention_rows"), reason=OWN_ROWS,
    ),
    Kernel(
        "attention_registers", "a thread per query row, q and O in registers", S // 32, 32, _qkv, (3,),
        """extern "C" __global__ void attention_registers(const float *q, const float *k, const float *v, float *o,
                                               int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float m = -INFINITY, l = 0, mine[64], sum[64];
    for (int d = 0; d < 64; d++) mine[d] = q[i * 64 + d], sum[d] = 0;
    for (int j = 0; j < n; j++) {
        float s = 0;
        for (int d = 0; d < 64; d++) s += mine[d] * k[j * 64 + d];
        s *= 0.125f;
        float top = fmaxf(m, s), old = expf(m - top), p = expf(s - top);
        l = l * old + p;
        m = top;
        for (int d = 0; d < 64; d++) sum[d] = sum[d] * old + p * v[j * 64 + d];
    }
    for (int d = 0; d < 64; d++) o[i * 64 + d] = sum[d] / l;
}
""",
        ONLINE_C.format(name="attention_registers"),
    ),
    Kernel(
        "attention_block", "a block per query row, scores in shared memory", S, 64, _qkv, (3,),
        """extern "C" __global__ void attention_block(const float *q, const float *k, const float *v, float *o, int n) {
    __shared__ float s[512], part[64];
    int i = blockIdx.x, t = threadIdx.x;
    float top = -INFINITY, sum = 0, out = 0;
    for (int j = t; j < n; j += 64) {
        float dot = 0;
        for (int d = 0; d < 64; d++) dot += q[i * 64 + d] * k[j * 64 + d];
        s[j] = dot * 0.125f;
        top = fmaxf(top, s[j]);
    }
    part[t] = top;
    __syncthreads();
    for (int w = 32; w; w >>= 1) {
        if (t < w) part[t] = fmaxf(part[t], part[t + w]);
        __syncthreads();
    }
    top = part[0];
    __syncthreads();
    for (int j = t; j < n; j += 64) sum += s[j] = expf(s[j] - top);
    part[t] = sum;
    __syncthreads();
    for (int w = 32; w; w >>= 1) {
        if (t < w) part[t] += part[t + w];
        __syncthreads();
    }
    for (int j = 0; j < n; j++) out += s[j] * v[j * 64 + t];
    o[i * 64 + t] = out / part[0];
}
""",
        """void attention_block(const float *q, const float *k, const float *v, float *o, int n) {
    float *s = malloc(n * sizeof *s);
    for (int i = 0; i < n; i++) {
        float top = -INFINITY, sum = 0;
        for (int j = 0; j < n; j++) {
            float dot = 0;
            for (int d = 0; d < 64; d++) dot += q[i * 64 + d] * k[j * 64 + d];
            s[j] = dot * 0.125f;
            top = fmaxf(top, s[j]);
        }
        for (int j = 0; j < n; j++) sum += s[j] = expf(s[j] - top);
        for (int d = 0; d < 64; d++) o[i * 64 + d] = 0;
        for (int j = 0; j < n; j++)
            for (int d = 0; d < 64; d++) o[i * 64 + d] += s[j] * v[j * 64 + d];
        for (int d = 0; d < 64; d++) o[i * 64 + d] /= sum;
    }
    free(s);
}
""", reason=TREE,
    ),
    Kernel(
        "decode_pages", "one query per head, keys in pages of 16, a warp per head", 32, 32, _pages, (4,),
        """extern "C" __global__ void decode_pages(const float *q, const float *k, const float *v, const int *table,
                                        float *o, int pages) {
    int h = blockIdx.x, t = threadIdx.x;
    float m = -INFINITY, l = 0, a = 0, b = 0, qa = q[h * 64 + t], qb = q[h * 64 + t + 32];
    for (int page = 0; page < pages; page++) {
        const float *kp = k + table[h * pages + page] * 16 * 64, *vp = v + table[h * pages + page] * 16 * 64;
        for (int j = 0; j < 16; j++) {
            float s = qa * kp[j * 64 + t] + qb * kp[j * 64 + t + 32];
            for (int w = 16; w; w >>= 1) s += __shfl_xor_sync(0xffffffff, s, w);
            s *= 0.125f;
            float top = fmaxf(m, s), old = expf(m - top), p = expf(s - top);
            l = l * old + p;
            m = top;
            a = a * old + p * vp[j * 64 + t];
            b = b * old + p * vp[j * 64 + t + 32];
        }
    }
    o[h * 64 + t] = a / l;
    o[h * 64 + t + 32] = b / l;
}
""",
        """void decode_pages(const float *q, const float *k, const float *v, const int *table, float *o, int pages) {
    for (int h = 0; h < 32; h++) {
        float m = -INFINITY, l = 0;
        for (int d = 0; d < 64; d++) o[h * 64 + d] = 0;
        for (int page = 0; page < pages; page++) {
            const float *kp = k + table[h * pages + page] * 16 * 64, *vp = v + table[h * pages + page] * 16 * 64;
            for (int j = 0; j < 16; j++) {
                float s = 0;
                for (int d = 0; d < 64; d++) s += q[h * 64 + d] * kp[j * 64 + d];
                s *= 0.125f;
                float top = fmaxf(m, s), old = expf(m - top), p = expf(s - top);
                l = l * old + p;
                m = top;
                for (int d = 0; d < 64; d++) o[h * 64 + d] = o[h * 64 + d] * old + p * vp[j * 64 + d];
            }
        }
        for (int d = 0; d < 64; d++) o[h * 64 + d] /= l;
    }
}
""", reason=TREE,
    ),
    Kernel(
        "attention_warp", "a warp per query row, a lane per key, scores handed around by shuffles", S // 4, (32, 4),
        _qkv, (3,),
        """extern "C" __global__ void attention_warp(const float *q, const float *k, const float *v, float *o, int n) {
    __shared__ float keys[32][65], values[32][64];
    const unsigned all = 0xffffffff;
    int lane = threadIdx.x, i = blockIdx.x * 4 + threadIdx.y, t = threadIdx.y * 32 + lane;
    float qa = q[i * 64 + lane] * 0.125f, qb = q[i * 64 + lane + 32] * 0.125f, a = 0, b = 0, m = -INFINITY, l = 0;
    for (int j = 0; j < n; j += 32) {
        for (int e = t; e < 32 * 64; e += 128) {
            keys[e / 64][e % 64] = k[j * 64 + e];
            values[e / 64][e % 64] = v[j * 64 + e];
        }
        __syncthreads();
        float s = 0;
        for (int d = 0; d < 32; d++) {
            s += __shfl_sync(all, qa, d) * keys[lane][d];
            s += __shfl_sync(all, qb, d) * keys[lane][d + 32];
        }
        float top = s;
        for (int w = 16; w; w >>= 1) top = fmaxf(top, __shfl_xor_sync(all, top, w));
        top = fmaxf(top, m);
        float p = __expf(s - top), old = __expf(m - top), sum = p;
        for (int w = 16; w; w >>= 1) sum += __shfl_xor_sync(all, sum, w);
        l = l * old + sum;
        m = top;
        a *= old;
        b *= old;
        for (int d = 0; d < 32; d++) {
            float share = __shfl_sync(all, p, d);
            a += share * values[d][lane];
            b += share * values[d][lane + 32];
        }
        __syncthreads();
    }
    o[i * 64 + lane] = a / l;
    o[i * 64 + lane + 32] = b / l;
}
""",
        ONLINE_C.format(name="attention_warp"),
    ),
]  # fmt: skip
