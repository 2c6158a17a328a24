// Grid counter reset race.
// launch: 3 x 64
// finds: WAW
__device__ int c;
extern "C" __global__ void k(int *out, int *x, int n) {
#ifdef BUG
    if (blockIdx.x == 0 && threadIdx.x == 0) c = 0;
    if (threadIdx.x == 0) atomicAdd(&c, 1);
#else
    if (threadIdx.x == 0) atomicAdd(&c, 1);
#endif
}
