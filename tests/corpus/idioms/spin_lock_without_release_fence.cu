// Spin lock without release fence.
// launch: 6 x 64
// finds: RAW
__device__ int lock;
extern "C" __global__ void k(int *out, int *x, int n) {
    if (threadIdx.x == 0) {
        while (atomicCAS(&lock, 0, 1) != 0);
        __threadfence();
        out[0] = out[0]+x[blockIdx.x];
#ifndef BUG
        __threadfence();
#endif
        atomicExch(&lock, 0);
    }
}
