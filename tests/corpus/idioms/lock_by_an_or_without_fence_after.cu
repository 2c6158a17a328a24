// Lock by an or without fence after.
// launch: 5 x 32
// finds: RAW
__device__ int lock;
extern "C" __global__ void k(int *out, int *x, int n) {
    if (threadIdx.x) return;
    while (atomicOr(&lock, 1) & 1);
#ifndef BUG
    __threadfence();
#endif
    out[0] += x[blockIdx.x];
    __threadfence();
    atomicAnd(&lock, ~1);
}
