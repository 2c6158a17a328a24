// Async copy of 16 bytes to rows of 17 words.
// launch: 1 x 32
// finds: fault
#include <cuda_pipeline.h>
extern "C" __global__ void k(int *out, int *x, int n) {
#ifdef BUG
    __shared__ alignas(16) int s[32][17];
#else
    __shared__ alignas(16) int s[32][20];
#endif
    int t = threadIdx.x;
    for (int i = 0; i < 16; i += 4) __pipeline_memcpy_async(&s[t][i], &x[t * 16 + i], 16);
    __pipeline_commit();
    __pipeline_wait_prior(0);
    __syncwarp();
    out[t] = s[31 - t][5];
}
