// Next piece of work overwritten before all have read it.
// launch: 2 x 64
// finds: RAW|WAR, divergent block
__device__ int next;
extern "C" __global__ void k(int *out, int *x, int n) {
    __shared__ int piece;
    while (true) {
        if (threadIdx.x == 0) piece = atomicAdd(&next, 1);
        __syncthreads();
        int mine = piece;
#ifndef BUG
        __syncthreads();
#endif
        if (mine >= 12) break;
        out[mine * 64 + threadIdx.x] = x[mine * 64 + threadIdx.x] + 1;
    }
}
