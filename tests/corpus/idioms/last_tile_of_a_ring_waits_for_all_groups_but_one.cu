// Last tile of a ring waits for all groups but one.
// launch: 1 x 64
// finds: asynchronous copy
#include <cuda_pipeline.h>
extern "C" __global__ void k(int *out, int *x, int n) {
    __shared__ int s[2][64];
    int t = threadIdx.x, tiles = x[0] % 2 + 4, sum = 0;
    __pipeline_memcpy_async(&s[0][t], &x[t], 4);
    __pipeline_commit();
    for (int i = 0; i < tiles; i++) {
        if (i + 1 < tiles) {
            __pipeline_memcpy_async(&s[(i + 1) % 2][t], &x[(i + 1) * 64 + t], 4);
            __pipeline_commit();
        }
#ifndef BUG
        else __pipeline_commit();
#endif
        __pipeline_wait_prior(1);
        __syncthreads();
        sum += s[i % 2][63 - t];
        __syncthreads();
    }
    out[t] = sum;
}
