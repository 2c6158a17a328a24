// First lane waits for the flag and its warp does not wait for it.
// launch: 2 x 32
// missed: a strong load counts for all lanes of its warp, so that no __syncwarp is missed behind it
__device__ volatile int flag;
__device__ int data[32];
extern "C" __global__ void k(int *out, int *x, int n) {
    int t = threadIdx.x;
    if (blockIdx.x == 0) {
        data[t] = x[t];
        __threadfence();
        __syncwarp();
        if (t == 0) flag = 1;
    } else {
        if (t == 0) {
            while (flag == 0) {}
            __threadfence();
        }
#ifndef BUG
        __syncwarp();
#endif
        out[t] = data[31 - t];
    }
}
