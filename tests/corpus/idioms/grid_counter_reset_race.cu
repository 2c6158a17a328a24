// Grid counter reset race.
// launch: 3 x 64
// missed: a word's record keeps its last writer only, here the same thread's atomic operation
__device__ int c;
extern "C" __global__ void k(int *out, int *x, int n) {
#ifdef BUG
    if (blockIdx.x == 0 && threadIdx.x == 0) c = 0;
    if (threadIdx.x == 0) atomicAdd(&c, 1);
#else
    if (threadIdx.x == 0) atomicAdd(&c, 1);
#endif
}
