// Union find.
// launch: 2 x 32
// finds: nothing
extern "C" __global__ void k(int *out, int *x, int n) {
    int i = blockIdx.x*blockDim.x+threadIdx.x;
    volatile int *p = out;
    int a = i+1, b = x[i]+1;
    for (; ; ) {
        while (p[a] && p[a] != a) a = p[a];
        while (p[b] && p[b] != b) b = p[b];
        if (a == b) break;
        if (a<b) {
            int c = a;
            a = b;
            b = c;
        }
        int o = atomicCAS(&out[a], 0, b);
        if (o == 0) break;
        a = o;
    }
}
