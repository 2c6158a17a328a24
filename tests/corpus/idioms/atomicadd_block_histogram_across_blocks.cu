// AtomicAdd_block histogram across blocks.
// launch: 4 x 64
// finds: WAW
extern "C" __global__ void k(int *out, int *x, int n) {
    int i = blockIdx.x*blockDim.x+threadIdx.x;
#ifdef BUG
    atomicAdd_block(&out[x[i]&15], 1);
#else
    atomicAdd(&out[x[i]&15], 1);
#endif
}
