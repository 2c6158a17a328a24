// Flag set by 32-bit halves polled as 64.
// launch: 2 x 64
// finds: nothing
__device__ volatile int h[2];
extern "C" __global__ void k(int *out, int *x, int n) {
    if (threadIdx.x) return;
    if (blockIdx.x == 0) {
        out[0] = 4;
        __threadfence();
        h[1] = 1;
    }  else if (blockIdx.x == 1) {
        while ((*(volatile unsigned long long*)h) >> 32 == 0);
        __threadfence();
        out[1] = out[0];
    }
}
