// Value and whether there is one are passed on together.
// launch: 1 x 32
// finds: nothing
extern "C" __global__ void k(int *out, int *x, int n) {
    int t = threadIdx.x, v, has = 0;
    if (x[t] > 40) v = x[t], has = 1;
    for (int d = 16; d > 0; d /= 2) {
        int other = __shfl_down_sync(~0u, v, d), there = __shfl_down_sync(~0u, has, d);
        if (there && t + d < 32) {
            v = has ? max(v, other) : other;
            has = 1;
        }
    }
    if (t == 0 && has) out[0] = v;
}
