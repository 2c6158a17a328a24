// Lane 0 publishes for its warp.
// launch: 2 x 32
// finds: RAW
__device__ int data[32], flag;
extern "C" __global__ void k(int *out, int *x, int n) {
    int t = threadIdx.x;
    if (blockIdx.x == 0) {
        data[t] = x[t];
#ifndef BUG
        __syncwarp();
#endif
        if (t == 0) {
            __threadfence();
            atomicExch(&flag, 1);
        }
    } else {
        if (t == 0)
            while (atomicAdd(&flag, 0) == 0) {}
        __syncwarp();
        __threadfence();
        out[t] = data[31 - t];
    }
}
