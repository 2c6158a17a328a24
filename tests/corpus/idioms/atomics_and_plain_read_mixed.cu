// Atomics and plain read mixed.
// launch: 1 x 64
// finds: WAR
extern "C" __global__ void k(int *out, int *x, int n) {
    int t = threadIdx.x;
    __shared__ int s;
    if (t == 0)s = 0;
    __syncthreads();
    atomicAdd(&s, x[t]);
#ifndef BUG
    __syncthreads();
#endif
    out[t] = s;
}
