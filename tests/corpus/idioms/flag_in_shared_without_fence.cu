// Flag in shared without fence.
// launch: 1 x 64
// finds: RAW
extern "C" __global__ void k(int *out, int *x, int n) {
    __shared__ int data;
    __shared__ volatile int ready;
    int t = threadIdx.x;
    if (t == 0) ready = 0;
    __syncthreads();
    if (t == 0) {
        data = x[0];
#ifndef BUG
        __threadfence_block();
#endif
        ready = 1;
    }
    if (t == 32) {
        while (!ready);
#ifndef BUG
        __threadfence_block();
#endif
        out[0] = data;
    }
}
