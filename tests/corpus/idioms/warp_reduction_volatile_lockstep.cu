// Warp reduction volatile lockstep.
// launch: 1 x 64
// finds: relies on lanes in lockstep
extern "C" __global__ void k(int *out, int *x, int n) {
    __shared__ int s[64];
    int t = threadIdx.x;
    s[t] = x[t];
    __syncthreads();
#ifdef BUG
    if (t<32) {
        volatile int *v = s;
        v[t] += v[t+32];
        v[t] += v[t+16];
        v[t] += v[t+8];
        v[t] += v[t+4];
        v[t] += v[t+2];
        v[t] += v[t+1];
    }
#else
    if (t<32) {
        volatile int *v = s;
        int y = v[t]+v[t+32];
        for (int d = 16; d; d >>= 1) {
            __syncwarp();
            v[t] = y;
            __syncwarp();
            y += v[(t+d)&31];
        }
        __syncwarp();
        v[t] = y;
    }
#endif
    if (t == 0) out[0] = s[0];
}
