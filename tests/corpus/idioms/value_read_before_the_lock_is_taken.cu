// Value read before the lock is taken.
// launch: 3 x 32
// finds: RAW
__device__ int lock, best;
extern "C" __global__ void k(int *out, int *x, int n) {
    if (threadIdx.x == 0) {
        int mine = x[blockIdx.x];
#ifdef BUG
        int before = best;
#endif
        while (atomicCAS(&lock, 0, 1) != 0) {}
        __threadfence();
#ifndef BUG
        int before = best;
#endif
        if (mine + 1 > before) best = mine + 1;
        __threadfence();
        atomicExch(&lock, 0);
    }
}
