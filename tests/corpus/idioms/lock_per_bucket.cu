// Lock per bucket.
// launch: 6 x 64
// finds: nothing
__device__ int locks[8];
extern "C" __global__ void k(int *out, int *x, int n) {
    if (threadIdx.x) return;
    for (int r = 0; r<5; r++) {
        int b = x[blockIdx.x*5+r]&7;
        while (atomicCAS(&locks[b], 0, 1));
        __threadfence();
        out[b*4] += 1;
        __threadfence();
        atomicExch(&locks[b], 0);
    }
}
