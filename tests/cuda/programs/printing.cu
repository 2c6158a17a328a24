// printf on the device: every kind of argument, from some of the threads.
#include <stdio.h>

extern "C" __global__ void printing(const float *x, int *done, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && i % 16 == 3)
        done[i] = printf("%d: x = %f, %s %c %5.2e|%-6u|%06x|%lld %%\n", i, x[i], i > 20 ? "late" : "early", 'a' + i % 26,
                         x[i] * 1000.0, i * 7u, i * 4097, -5000000000LL * i);
    if (i == 0) printf("no arguments\n");
}
