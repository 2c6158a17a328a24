// Structure of which one field is set.
// launch: 1 x 32
// finds: uninitialised read
struct Best { int value, at[6]; };
__device__ __noinline__ Best best(int *x, int m) {
    Best b;
    b.value = x[0];
    for (int i = 0; i < m; i++) b.at[i] = i;
    return b;
}
extern "C" __global__ void k(int *out, int *x, int n) {
    int t = threadIdx.x;
#ifdef BUG
    Best b = best(x + t, x[t] & 3);
#else
    Best b = best(x + t, 6);
#endif
    out[t] = b.value + b.at[5];
}
