// Async copy, its source overwritten before it has come.
// launch: 1 x 64
// finds: asynchronous copy
#include <cuda_pipeline.h>
extern "C" __global__ void k(int *out, int *x, int n) {
    __shared__ int s[64];
    int t = threadIdx.x;
    __pipeline_memcpy_async(&s[t], &out[t], 4);
    __pipeline_commit();
#ifndef BUG
    __pipeline_wait_prior(0);
#endif
    __syncthreads();
    out[t ^ 32] = x[t];
    __pipeline_wait_prior(0);
    __syncthreads();
    out[t + 64] = s[t ^ 1];
}
