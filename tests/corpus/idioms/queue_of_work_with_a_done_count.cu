// Queue of work with a done count.
// launch: 3 x 32
// finds: nothing
__device__ int head, tail, items[256], done;
extern "C" __global__ void k(int *out, int *x, int n) {
    if (threadIdx.x) return;
    if (blockIdx.x == 0)
        for (int i = 0; i < 8; i++) {
            ((volatile int *)items)[i] = x[i] + 1;
            __threadfence();
            atomicAdd(&tail, 1);
        }
    while (atomicAdd(&done, 0) < 8) {
        int at = atomicAdd(&head, 0);
        if (at < atomicAdd(&tail, 0) && atomicCAS(&head, at, at + 1) == at) {
            __threadfence();
            out[at] = ((volatile int *)items)[at];
            atomicAdd(&done, 1);
        }
    }
}
