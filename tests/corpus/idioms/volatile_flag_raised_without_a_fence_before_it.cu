// Volatile flag raised without a fence before it.
// launch: 2 x 32
// finds: RAW
__device__ volatile int flag;
__device__ int data;
extern "C" __global__ void k(int *out, int *x, int n) {
    if (threadIdx.x) return;
    if (blockIdx.x == 0) {
        data = x[3];
#ifndef BUG
        __threadfence();
#endif
        flag = 1;
    } else {
        while (flag == 0) {}
        __threadfence();
        out[0] = data;
    }
}
