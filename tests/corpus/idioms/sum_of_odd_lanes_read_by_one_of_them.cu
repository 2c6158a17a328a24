// Sum of odd lanes read by one of them.
// launch: 2 x 32
// finds: RAW
__device__ float sums[2];
extern "C" __global__ void k(int *out, int *x, int n) {
    int t = threadIdx.x;
    if (t & 1) atomicAdd(&sums[blockIdx.x], (float)x[t]);
#ifndef BUG
    __syncwarp();
#endif
    if (t == 1) out[blockIdx.x] = sums[blockIdx.x];
}
