// Sum set to zero by one block.
// launch: 3 x 64
// finds: WAW
extern "C" __global__ void k(int *out, int *x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
#ifdef BUG
    if (i == 0) *out = 0;
    __syncthreads();
#endif
    atomicAdd(out, x[i]);
}
