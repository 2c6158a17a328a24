// In-place stencil between threads of blocks.
// launch: 4 x 64
// finds: WAR
extern "C" __global__ void k(int *out, int *x, int n) {
    int i = blockIdx.x*blockDim.x+threadIdx.x;
#ifdef BUG
    if (i>0 && i<n-1) x[i] = x[i-1]+x[i+1];
#else
    if (i>0 && i<n-1) out[i] = x[i-1]+x[i+1];
#endif
}
