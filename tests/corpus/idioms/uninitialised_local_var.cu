// Uninitialised local var.
// launch: 1 x 64
// finds: uninitialised read
extern "C" __global__ void k(int *out, int *x, int n) {
    int t = threadIdx.x;
    int a[4];
#ifndef BUG
    for (int i = 0; i<4; i++)a[i] = 0;
#endif
    a[x[t]&3] = 1;
    out[t] = a[(x[t]+1)&3];
}
