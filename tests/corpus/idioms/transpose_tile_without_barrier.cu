// Transpose tile without barrier.
// launch: 1 x 256
// finds: RAW, uninitialised read
extern "C" __global__ void k(int *out, int *x, int n) {
    __shared__ int s[16][17];
    int c = threadIdx.x%16, r = threadIdx.x/16;
    s[r][c] = x[threadIdx.x];
#ifndef BUG
    __syncthreads();
#endif
    out[threadIdx.x] = s[c][r];
}
