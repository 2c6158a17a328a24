// Leader waits for the flag and the others do not wait for it.
// launch: 2 x 64
// finds: RAW
__device__ volatile int flag;
__device__ int data[64];
extern "C" __global__ void k(int *out, int *x, int n) {
    int t = threadIdx.x;
    if (blockIdx.x == 0) {
        data[t] = x[t];
        __threadfence();
        __syncthreads();
        if (t == 0) flag = 1;
    } else {
        if (t == 0) {
            while (flag == 0) {}
            __threadfence();
        }
#ifndef BUG
        __syncthreads();
#endif
        out[t] = data[63 - t];
    }
}
