// Lanes with a value alone are added up.
// launch: 1 x 32
// finds: uninitialised register
extern "C" __global__ void k(int *out, int *x, int n) {
    int t = threadIdx.x, v;
    if (t < 16) v = x[t];
#ifdef BUG
    for (int d = 16; d > 0; d /= 2) v += __shfl_down_sync(~0u, v, d);
#else
    for (int d = 8; d > 0; d /= 2) v += __shfl_down_sync(~0u, v, d);
#endif
    if (t == 0) out[0] = v;
}
