// Static array runs into dynamic memory.
// launch: 1 x 64, 256 bytes of dynamic shared memory
// finds: array overrun
extern __shared__ int d[];
extern "C" __global__ void k(int *out, int *x, int n) {
    __shared__ int a[64];
    int t = threadIdx.x;
    a[t] = x[t];
    d[t] = 0;
    __syncthreads();
    int sum = 0;
#ifdef BUG
    for (int i = 0; i < 3; i++) sum += a[t + i];
#else
    for (int i = 0; i < 3; i++) sum += a[(t + i) % 64];
#endif
    out[t] = sum + d[t];
}
