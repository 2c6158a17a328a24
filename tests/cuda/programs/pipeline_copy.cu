// The pipeline primitives of cuda_pipeline.h: three stages of asynchronous copies ahead of the computation.
#include <cuda_pipeline.h>
#define STAGES 3

extern "C" __global__ void pipeline_copy(const float4 *x, float *out, int tiles) {
    __shared__ float4 stage[STAGES][64];
    int t = threadIdx.x;
    float sum = 0;
    for (int s = 0; s < STAGES - 1; s++) {
        if (s < tiles) __pipeline_memcpy_async(&stage[s][t], &x[s * 64 + t], 16);
        __pipeline_commit();
    }
    for (int i = 0; i < tiles; i++) {
        int ahead = i + STAGES - 1;
        if (ahead < tiles) __pipeline_memcpy_async(&stage[ahead % STAGES][t], &x[ahead * 64 + t], 16);
        __pipeline_commit();
        __pipeline_wait_prior(STAGES - 1);
        __syncthreads();
        float4 v = stage[i % STAGES][63 - t];
        sum += v.x + 2 * v.y + 3 * v.z + 4 * v.w;
        __syncthreads();
    }
    out[t] = sum;
}
