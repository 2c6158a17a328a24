// Early return before syncthreads, then data.
// launch: 1 x 64
// finds: barrier after exit, uninitialised read
extern "C" __global__ void k(int *out, int *x, int n) {
    __shared__ int s[64];
    int t = threadIdx.x;
#ifdef BUG
    if (t >= 40) return;
    s[t] = x[t];
    __syncthreads();
    out[t] = s[63-t];
#else
    s[t] = x[t];
    __syncthreads();
    if (t<40) out[t] = s[63-t];
#endif
}
