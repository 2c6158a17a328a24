// Last block where only the first thread fences.
// launch: 4 x 64
// finds: RAW
__device__ int part[4 * 64];
__device__ int done;
extern "C" __global__ void k(int *out, int *x, int n) {
    __shared__ bool last;
    int t = threadIdx.x;
    part[blockIdx.x * 64 + t] = x[blockIdx.x * 64 + t];
#ifdef BUG
    if (t == 0) {
        __threadfence();
        last = atomicAdd(&done, 1) == gridDim.x - 1;
    }
    __syncthreads();
#else
    __syncthreads();
    if (t == 0) {
        __threadfence();
        last = atomicAdd(&done, 1) == gridDim.x - 1;
        __threadfence();
    }
    __syncthreads();
#endif
    if (last) {
        int sum = 0;
        for (int b = 0; b < gridDim.x; b++) sum += part[b * 64 + 63 - t];
        out[t] = sum;
    }
}
