// Last warp takes a ticket early.
// launch: 3 x 128
// finds: RAW
__device__ int part[12 * 32];
__device__ int done;
extern "C" __global__ void k(int *out, int *x, int n) {
    int lane = threadIdx.x % 32, w = (blockIdx.x * blockDim.x + threadIdx.x) / 32, warps = gridDim.x * 4, last = 0;
    part[w * 32 + lane] = x[w * 32 + lane];
    __threadfence();
#ifndef BUG
    __syncwarp();
#endif
    if (lane == 0) last = atomicAdd(&done, 1) == warps - 1;
    last = __shfl_sync(~0u, last, 0);
    if (last) {
        __threadfence();
        int sum = 0;
        for (int i = 0; i < warps; i++) sum += part[i * 32 + (lane ^ 1)];
        out[lane] = sum;
    }
}
