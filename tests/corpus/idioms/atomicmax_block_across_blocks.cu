// AtomicMax_block across blocks.
// launch: 4 x 64
// finds: WAW
extern "C" __global__ void k(int *out, int *x, int n) {
    int i = blockIdx.x*blockDim.x+threadIdx.x;
#ifdef BUG
    atomicMax_block(&out[0], x[i]);
#else
    atomicMax(&out[0], x[i]);
#endif
}
