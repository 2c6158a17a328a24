// Wrong one of two locks.
// launch: 6 x 64
// finds: RAW
__device__ int lock[2];
extern "C" __global__ void k(int *out, int *x, int n) {
    if (threadIdx.x == 0) {
#ifdef BUG
        int *l = &lock[blockIdx.x&1];
#else
        int *l = &lock[0];
#endif
        while (atomicCAS(l, 0, 1) != 0);
        __threadfence();
        out[0] = out[0]+x[blockIdx.x];
        __threadfence();
        atomicExch(l, 0);
    }
}
