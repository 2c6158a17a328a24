// Lanes add to one shared word.
// launch: 1 x 64
// finds: WAR
extern "C" __global__ void k(int *out, int *x, int n) {
    __shared__ int s;
    int t = threadIdx.x;
    if (t == 0)s = 0;
    __syncthreads();
#ifdef BUG
    if (t<7) s += x[t];
#else
    if (t<7) atomicAdd(&s, x[t]);
#endif
    __syncthreads();
    out[t] = s;
}
