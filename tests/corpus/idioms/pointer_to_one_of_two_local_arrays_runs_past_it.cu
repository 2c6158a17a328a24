// Pointer to one of two local arrays runs past it.
// launch: 1 x 32
// missed: a pointer that comes from two objects is not followed
extern "C" __global__ void k(int *out, int *x, int n) {
    int a[8], b[8], t = threadIdx.x;
    for (int i = 0; i < 8; i++) {
        a[(i + x[0]) % 8] = x[i];
        b[(i + x[1]) % 8] = x[i + 8];
    }
    int *p = x[t] > 50 ? a : b;
    p[4] = 1;
#ifdef BUG
    if (p == a) out[t] = p[8 + x[2] % 8];
#else
    if (p == a) out[t] = p[x[2] % 8];
#endif
}
