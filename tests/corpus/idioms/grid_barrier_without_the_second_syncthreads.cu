// Grid barrier without the second syncthreads.
// launch: 3 x 64, cooperative
// finds: WAR
__device__ int arrived;
extern "C" __global__ void k(int *out, int *x, int n) {
    int t = threadIdx.x, i = blockIdx.x * 64 + t;
    out[i] = x[i];
    __syncthreads();
    if (t == 0) {
        __threadfence();
        atomicAdd(&arrived, 1);
        while (atomicAdd(&arrived, 0) < (int)gridDim.x) {}
        __threadfence();
    }
#ifndef BUG
    __syncthreads();
#endif
    x[i] = out[(i + 64) % 192];
}
