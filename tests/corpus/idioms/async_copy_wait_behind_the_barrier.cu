// Async copy, the barrier stands in front of the wait.
// launch: 1 x 64
// finds: asynchronous copy
#include <cuda_pipeline.h>
extern "C" __global__ void k(int *out, int *x, int n) {
    __shared__ int s[64];
    int t = threadIdx.x;
    __pipeline_memcpy_async(&s[t], &x[t], 4);
    __pipeline_commit();
#ifdef BUG
    __syncthreads();
    __pipeline_wait_prior(0);
#else
    __pipeline_wait_prior(0);
    __syncthreads();
#endif
    out[t] = s[t ^ 32];
}
