// Sum of lanes of which some have no value.
// launch: 1 x 32
// finds: uninitialised register
extern "C" __global__ void k(int *out, int *x, int n) {
    int t = threadIdx.x;
#ifdef BUG
    int v;
#else
    int v = 0;
#endif
    if (t < 20) v = x[t];
    for (int d = 16; d > 0; d /= 2) v += __shfl_down_sync(~0u, v, d);
    if (t == 0) out[0] = v;
}
