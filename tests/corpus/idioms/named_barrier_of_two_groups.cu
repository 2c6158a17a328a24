// Named barrier of two groups.
// launch: 1 x 128
// finds: RAW, barrier shared, uninitialised read
extern "C" __global__ void k(int *out, int *x, int n) {
    __shared__ int s[128];
    int t = threadIdx.x, barrier = t / 64 + 1;
#ifdef BUG
    barrier = 1;
#endif
    s[t] = x[t];
    asm volatile("bar.sync %0, 64;" ::"r"(barrier) : "memory");
    out[t] = s[t ^ 32];
}
