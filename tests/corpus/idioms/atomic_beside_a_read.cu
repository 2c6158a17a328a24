// Atomic operation beside a read.
// launch: 1 x 64
// finds: WAR
extern "C" __global__ void k(int *out, int *x, int n) {
    int t = threadIdx.x, seen = 0;
    if (t == 0) out[0] = 5;
    __syncthreads();
    if (t == 0) seen = x[0] + out[n > 9999];
#ifndef BUG
    __syncthreads();
#endif
    if (t == 40) atomicAdd(out, 1);
    out[64 + t] = seen;
}
