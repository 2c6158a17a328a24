// Threadfence_block publish across blocks.
// launch: 2 x 64
// finds: RAW
__device__ volatile int flag;
extern "C" __global__ void k(int *out, int *x, int n) {
    if (blockIdx.x == 0) {
        if (threadIdx.x == 0) {
            x[0] = 42;
#ifdef BUG
            __threadfence_block();
#else
            __threadfence();
#endif
            flag = 1;
        }
    }
    else if (threadIdx.x == 0) {
        while (!flag);
#ifdef BUG
        __threadfence_block();
#else
        __threadfence();
#endif
        out[0] = x[0];
    }
}
