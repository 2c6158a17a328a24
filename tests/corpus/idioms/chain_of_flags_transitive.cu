// Chain of flags (transitive).
// launch: 8 x 64
// finds: nothing
extern "C" __global__ void k(int *out, int *x, int n) {
    volatile int *f = out+1000;
    int b = blockIdx.x;
    if (threadIdx.x) return;
    if (b>0) while (!f[b-1]);
    __threadfence();
    int s = 0;
    for (int j = 0; j<b; j++) s += out[j];
    out[b] = s+1;
    __threadfence();
    f[b] = 1;
}
