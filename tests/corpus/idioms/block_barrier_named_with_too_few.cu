// Block barrier named with too few.
// launch: 1 x 96
// finds: fault
extern "C" __global__ void k(int *out, int *x, int n) {
    __shared__ int s[96];
    int t = threadIdx.x;
    s[t] = x[t];
#ifdef BUG
    asm volatile("bar.sync 1, 64; ");
#else
    asm volatile("bar.sync 1, 96; ");
#endif
    out[t] = s[(t+32)%96];
}
