// Counter of a warp reset behind its tickets.
// launch: 1 x 64
// finds: WAW
extern "C" __global__ void k(int *out, int *x, int n) {
    __shared__ int taken[2];
    int t = threadIdx.x, w = t / 32;
    if (t % 32 == 0) taken[w] = 0;
    __syncwarp();
    for (int i = 0; i < 3; i++) {
        int ticket = atomicAdd(&taken[w], 1);
        out[(i * 2 + w) * 32 + ticket] = x[t];
#ifndef BUG
        __syncwarp();
#endif
        if (t % 32 == 0) taken[w] = 0;
        __syncwarp();
    }
}
