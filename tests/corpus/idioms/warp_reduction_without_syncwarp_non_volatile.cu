// Warp reduction without syncwarp, non volatile.
// launch: 1 x 64
// finds: RAW
extern "C" __global__ void k(int *out, int *x, int n) {
    __shared__ int s[64];
    int t = threadIdx.x;
    s[t] = x[t];
    __syncthreads();
    for (int d = 32; d>0; d >>= 1) {
        if (t<d) s[t] += s[t+d];
#ifdef BUG
        if (d>32)
#endif
        __syncthreads();
    }
    if (t == 0) out[0] = s[0];
}
