// Two lanes add to neighbour shared byte.
// launch: 1 x 64
// finds: WAR
extern "C" __global__ void k(int *out, int *x, int n) {
    __shared__ unsigned char s[16];
    int t = threadIdx.x;
    if (t<16)s[t] = 0;
    __syncthreads();
#ifdef BUG
    if (t == 3 || t == 9) s[5] += 1;
#else
    if (t == 3) s[5] += 1;
#endif
    __syncthreads();
    out[t] = s[t&15];
}
