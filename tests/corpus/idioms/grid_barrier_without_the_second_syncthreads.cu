// Grid barrier without the second syncthreads.
// launch: 3 x 64, cooperative
// finds: RAW
__device__ int arrived;
extern "C" __global__ void k(int *out, int *x, int n) {
    int t = threadIdx.x, i = blockIdx.x * 64 + t;
    out[i] = x[i];
    __syncthreads();
    if (t == 0) {
        __threadfence();
        int all = (atomicAdd(&arrived, 1) / (int)gridDim.x + 1) * (int)gridDim.x;  // of this launch
        while (atomicAdd(&arrived, 0) < all) {}
        __threadfence();
    }
#ifndef BUG
    __syncthreads();
#endif
    x[i] = out[(i + 64) % 192];
}
