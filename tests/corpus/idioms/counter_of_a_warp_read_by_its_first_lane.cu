// Counter of a warp read by its first lane.
// launch: 1 x 64
// finds: RAW
extern "C" __global__ void k(int *out, int *x, int n) {
    __shared__ int counts[2];
    int t = threadIdx.x, w = t / 32;
    if (t % 32 == 0) counts[w] = 0;
    __syncwarp();
    atomicAdd(&counts[w], x[t] & 3);
#ifndef BUG
    __syncwarp();
#endif
    if (t % 32 == 0) out[w] = counts[w];
}
