// Pipeline wait_prior too loose.
// launch: 1 x 64
// finds: asynchronous copy
#include <cuda_pipeline.h>
extern "C" __global__ void k(int *out, int *x, int n) {
    __shared__ int s[2][64];
    int t = threadIdx.x;
    __pipeline_memcpy_async(&s[0][t], &x[t], 4);
    __pipeline_commit();
    __pipeline_memcpy_async(&s[1][t], &x[t+64], 4);
    __pipeline_commit();
#ifdef BUG
    __pipeline_wait_prior(1);
#else
    __pipeline_wait_prior(0);
#endif
    __syncthreads();
    out[t] = s[1][t^1]+s[0][t];
}
