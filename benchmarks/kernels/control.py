"""Bytes, random numbers, loops that diverge, calls and recursion: what is not a matrix."""

from __future__ import annotations

import numpy as np

from benchmarks.kernels.rows import normal
from benchmarks.kernels.yardstick import BYTES, DIVERGED, OWN_ROWS, RECURSIVE, Kernel, Numbers


def _text(rng: Numbers) -> np.ndarray:
    return rng.choice(np.frombuffer(b"abcdefgh   XYZ\n", np.uint8), 1 << 20)


KERNELS = [
    Kernel(
        "upper_case", "a thread per byte of a text", 4096, 256,
        lambda rng: [_text(rng), np.zeros(1 << 20, np.uint8)], (1,),
        """extern "C" __global__ void upper_case(const unsigned char *x, unsigned char *y) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned char c = x[i];
    y[i] = c >= 'a' && c <= 'z' ? c - 32 : c;
}
""",
        """void upper_case(const unsigned char *x, unsigned char *y) {
    for (int i = 0; i < 1 << 20; i++) y[i] = x[i] >= 'a' && x[i] <= 'z' ? x[i] - 32 : x[i];
}
""", tolerance=0, reason=BYTES,
    ),
    Kernel(
        "hash_lines", "a thread hashes its own line of 128 bytes (FNV-1a)", 64, 128,
        lambda rng: [_text(rng), np.zeros(8192, np.uint32)], (1,),
        """extern "C" __global__ void hash_lines(const unsigned char *x, unsigned *y) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned h = 2166136261u;
    for (int k = 0; k < 128; k++) h = (h ^ x[i * 128 + k]) * 16777619u;
    y[i] = h;
}
""",
        """void hash_lines(const unsigned char *x, uint32_t *y) {
    for (int i = 0; i < 8192; i++) {
        uint32_t h = 2166136261u;
        for (int k = 0; k < 128; k++) h = (h ^ x[i * 128 + k]) * 16777619u;
        y[i] = h;
    }
}
""", tolerance=0, reason=OWN_ROWS,
    ),
    Kernel(
        "count_words", "a thread per line of 128 bytes, branches on bytes", 64, 128,
        lambda rng: [_text(rng), np.zeros(8192, np.int32)], (1,),
        """extern "C" __global__ void count_words(const unsigned char *x, int *y) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, words = 0;
    bool inside = false;
    for (int k = 0; k < 128; k++) {
        unsigned char c = x[i * 128 + k];
        if (c == ' ' || c == '\\n') inside = false;
        else if (!inside) inside = true, words++;
    }
    y[i] = words;
}
""",
        """void count_words(const unsigned char *x, int *y) {
    for (int i = 0; i < 8192; i++) {
        int words = 0, inside = 0;
        for (int k = 0; k < 128; k++) {
            unsigned char c = x[i * 128 + k];
            if (c == ' ' || c == '\\n') inside = 0;
            else if (!inside) inside = 1, words++;
        }
        y[i] = words;
    }
}
""", tolerance=0, reason=DIVERGED,
    ),
    Kernel(
        "random_pi", "xorshift in each thread, points in a circle", 16, 256,
        lambda rng: [np.zeros(4096, np.int32), np.int32(256)], (0,),
        """extern "C" __global__ void random_pi(int *y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, inside = 0;
    unsigned s = i * 747796405u + 2891336453u;
    for (int k = 0; k < n; k++) {
        s ^= s << 13; s ^= s >> 17; s ^= s << 5;
        float a = (s >> 8) * 0x1p-24f;
        s ^= s << 13; s ^= s >> 17; s ^= s << 5;
        float b = (s >> 8) * 0x1p-24f;
        if (__fadd_rn(__fmul_rn(a, a), __fmul_rn(b, b)) < 1) inside++;
    }
    y[i] = inside;
}
""",
        """__attribute__((optimize("fp-contract=off"))) void random_pi(int *y, int n) {
    for (int i = 0; i < 4096; i++) {
        int inside = 0;
        uint32_t s = i * 747796405u + 2891336453u;
        for (int k = 0; k < n; k++) {
            s ^= s << 13; s ^= s >> 17; s ^= s << 5;
            float a = (s >> 8) * 0x1p-24f;
            s ^= s << 13; s ^= s >> 17; s ^= s << 5;
            float b = (s >> 8) * 0x1p-24f;
            if (a * a + b * b < 1) inside++;
        }
        y[i] = inside;
    }
}
""", tolerance=0,
    ),
    Kernel(
        "mandelbrot", "two loops in f64 that end at another time in each lane", (16, 16), (16, 16),
        lambda rng: [np.zeros((256, 256), np.int32), np.int32(128)], (0,),
        """extern "C" __global__ void mandelbrot(int *y, int limit) {
    int i = blockIdx.y * 16 + threadIdx.y, j = blockIdx.x * 16 + threadIdx.x, n = 0;
    double ca = -2 + j * (3.0 / 256), cb = -1.5 + i * (3.0 / 256), a = 0, b = 0;
    while (n < limit && __dadd_rn(__dmul_rn(a, a), __dmul_rn(b, b)) < 4) {
        double next = __dadd_rn(__dsub_rn(__dmul_rn(a, a), __dmul_rn(b, b)), ca);
        b = __dadd_rn(__dmul_rn(2 * a, b), cb);
        a = next;
        n++;
    }
    y[i * 256 + j] = n;
}
""",
        """__attribute__((optimize("fp-contract=off"))) void mandelbrot(int *y, int limit) {
    for (int i = 0; i < 256; i++)
        for (int j = 0; j < 256; j++) {
            double ca = -2 + j * (3.0 / 256), cb = -1.5 + i * (3.0 / 256), a = 0, b = 0;
            int n = 0;
            while (n < limit && a * a + b * b < 4) {
                double next = a * a - b * b + ca;
                b = 2 * a * b + cb;
                a = next;
                n++;
            }
            y[i * 256 + j] = n;
        }
}
""", tolerance=0, reason=DIVERGED,
    ),
    Kernel(
        "collatz", "a loop of unknown length in each thread", 256, 256,
        lambda rng: [np.zeros(1 << 16, np.int32)], (0,),
        """extern "C" __global__ void collatz(int *y) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned long long v = i + 1;
    int n = 0;
    while (v != 1) {
        v = v % 2 ? 3 * v + 1 : v / 2;
        n++;
    }
    y[i] = n;
}
""",
        """void collatz(int *y) {
    for (uint32_t i = 0; i < 1 << 16; i++) {
        uint64_t v = i + 1;
        int n = 0;
        while (v != 1) {
            v = v % 2 ? 3 * v + 1 : v / 2;
            n++;
        }
        y[i] = n;
    }
}
""", tolerance=0, reason=DIVERGED,
    ),
    Kernel(
        "recursion", "Fibonacci numbers by recursion", 8, 128,
        lambda rng: [np.zeros(1024, np.int32)], (0,),
        """__device__ __noinline__ int fibonacci(int n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }
extern "C" __global__ void recursion(int *y) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    y[i] = fibonacci(8 + i % 4);
}
""",
        """static __attribute__((noinline)) int fibonacci(int n) {
    return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}
void recursion(int *y) {
    for (int i = 0; i < 1024; i++) y[i] = fibonacci(8 + i % 4);
}
""", tolerance=0, reason=RECURSIVE,
    ),
    Kernel(
        "calls", "a device function that is not inlined, in a loop", 64, 256,
        lambda rng: [normal(rng, 1 << 14), np.zeros(1 << 14, np.float32), np.int32(32)], (1,),
        """__device__ __noinline__ float step(float v, float x) { return v * 0.5f + x / (1 + v * v); }
extern "C" __global__ void calls(const float *x, float *y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float v = 0;
    for (int k = 0; k < n; k++) v = step(v, x[i]);
    y[i] = v;
}
""",
        """static __attribute__((noinline)) float step(float v, float x) { return v * 0.5f + x / (1 + v * v); }
void calls(const float *x, float *y, int n) {
    for (int i = 0; i < 1 << 14; i++) {
        float v = 0;
        for (int k = 0; k < n; k++) v = step(v, x[i]);
        y[i] = v;
    }
}
""", tolerance=1e-4,
    ),
    Kernel(
        "bodies", "all pairs of 1024 bodies, float4 through shared memory", 8, 128,
        lambda rng: [normal(rng, 1024, 4), np.zeros((1024, 4), np.float32), np.int32(1024)], (1,),
        """extern "C" __global__ void bodies(const float4 *x, float4 *y, int n) {
    __shared__ float4 s[128];
    int i = blockIdx.x * 128 + threadIdx.x;
    float4 me = x[i];
    float a = 0, b = 0, c = 0;
    for (int t = 0; t < n; t += 128) {
        s[threadIdx.x] = x[t + threadIdx.x];
        __syncthreads();
        for (int k = 0; k < 128; k++) {
            float dx = s[k].x - me.x, dy = s[k].y - me.y, dz = s[k].z - me.z;
            float r = rsqrtf(dx * dx + dy * dy + dz * dz + 0.01f), w = s[k].w * r * r * r;
            a += w * dx, b += w * dy, c += w * dz;
        }
        __syncthreads();
    }
    y[i] = make_float4(a, b, c, 0);
}
""",
        """void bodies(const float *x, float *y, int n) {
    for (int i = 0; i < n; i++) {
        float a = 0, b = 0, c = 0;
        for (int k = 0; k < n; k++) {
            float dx = x[4 * k] - x[4 * i], dy = x[4 * k + 1] - x[4 * i + 1], dz = x[4 * k + 2] - x[4 * i + 2];
            float r = 1 / sqrtf(dx * dx + dy * dy + dz * dz + 0.01f), w = x[4 * k + 3] * r * r * r;
            a += w * dx, b += w * dy, c += w * dz;
        }
        y[4 * i] = a, y[4 * i + 1] = b, y[4 * i + 2] = c, y[4 * i + 3] = 0;
    }
}
""",
    ),
]  # fmt: skip
