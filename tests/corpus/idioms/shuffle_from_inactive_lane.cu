// Shuffle from inactive lane.
// launch: 1 x 32
// finds: mask names exited lane, shuffle source
extern "C" __global__ void k(int *out, int *x, int n) {
    int t = threadIdx.x;
    int v = x[t];
#ifdef BUG
    if (t<16) v += __shfl_down_sync(0xffffffffu, v, 8);
#else
    v += __shfl_down_sync(0xffffffffu, v, 8);
#endif
    out[t] = v;
}
