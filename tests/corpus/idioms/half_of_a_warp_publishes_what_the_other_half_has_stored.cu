// Half of a warp publishes what the other half has stored.
// launch: 2 x 32
// finds: RAW
__device__ int data[32], flag;
extern "C" __global__ void k(int *out, int *x, int n) {
    int t = threadIdx.x;
    if (blockIdx.x == 0) {
        data[t] = x[t];
        if (t < 16) {
#ifdef BUG
            __syncwarp(0xffff);
#endif
        }
#ifndef BUG
        __syncwarp();
#endif
        __threadfence();
        if (t == 0) atomicExch(&flag, 1);
    } else {
        if (t == 0)
            while (atomicAdd(&flag, 0) == 0) {}
        __syncwarp();
        __threadfence();
        out[t] = data[31 - t];
    }
}
