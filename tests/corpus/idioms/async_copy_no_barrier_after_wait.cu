// Async copy, no barrier after wait.
// launch: 1 x 64
// finds: RAW, uninitialised read
#include <cuda_pipeline.h>
extern "C" __global__ void k(int *out, int *x, int n) {
    __shared__ int s[64];
    int t = threadIdx.x;
    __pipeline_memcpy_async(&s[t], &x[t], 4);
    __pipeline_commit();
    __pipeline_wait_prior(0);
#ifndef BUG
    __syncthreads();
#endif
    out[t] = s[63-t];
}
