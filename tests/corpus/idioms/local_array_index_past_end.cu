// Local array index past end.
// launch: 1 x 64
// finds: array overrun
extern "C" __global__ void k(int *out, int *x, int n) {
    int v[8];
    int w[8];
    int t = threadIdx.x;
    for (int i = 0; i<8; i++) {
        v[i] = x[i];
        w[i] = i;
    }
#ifdef BUG
    v[(x[t]&7)+1] = 5;
#else
    v[(x[t]&7)] = 5;
#endif
    int s = 0;
    for (int i = 0; i<8; i++) s += v[(i*3)&7]+w[(x[i]+t)&7];
    out[t] = s;
}
