// What the other kernels leave out: constants, initialised globals, indirect calls, printf, assert, local arrays,
// double, half, 64-bit and byte arithmetic, a switch, volatile, launch bounds. Only its text is used.
#include <cassert>
#include <cstdio>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

__constant__ float coefficients[4] = {1.0f, -2.5f, 3.25f, 1e-30f};
__device__ int table[2][3] = {{1, 2, 3}, {-4, 5, 6}};
__device__ int *pointer = &table[1][0];
__device__ const char text[] = "a \"quoted\" name";
__managed__ int managed = 7;

__device__ __noinline__ float twice(float x) { return 2.0f * x; }
__device__ __noinline__ float thrice(float x) { return 3.0f * x; }
__device__ float (*functions[2])(float) = {twice, thrice};

struct Pair {
    double a;
    short b[3];
};

extern "C" __global__ void __launch_bounds__(128, 2) calls(float *out, Pair pair, int choice, const __half *halves)
{
    float scratch[8];
    for (int i = 0; i < 8; ++i)
        scratch[i] = coefficients[i & 3] * i;
    float value = functions[choice & 1](scratch[choice & 7]);
    switch (choice) {
    case 0: value += __half2float(halves[0]); break;
    case 1: value *= pair.b[choice]; break;
    case 2: value = sqrtf(value); break;
    case 3: value = __bfloat162float(__float2bfloat16(value)); break;
    case 4: value += (float)pair.a / 3; break;
    case 5: value -= pointer[1] + table[choice & 1][2] + managed; break;
    case 6: value = __fdividef(value, 7.0f) + sinf(value); break;
    default: assert(choice < 100);
    }
    if (choice == 99)
        printf("%s %d %f\n", text, choice, value);
    volatile float *sink = out;
    sink[threadIdx.x] = value;
}
