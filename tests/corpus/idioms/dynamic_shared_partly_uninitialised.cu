// Dynamic shared partly uninitialised.
// launch: 1 x 64, 256 bytes of dynamic shared memory
// finds: uninitialised read
extern "C" __global__ void k(int *out, int *x, int n) {
    extern __shared__ float d[];
    int t = threadIdx.x;
#ifdef BUG
    if (t<63) d[t] = x[t];
#else
    d[t] = x[t];
#endif
    __syncthreads();
    out[t] = d[t^1];
}
