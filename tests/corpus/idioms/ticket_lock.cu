// Ticket lock.
// launch: 4 x 64
// finds: nothing
__device__ int next_, serving;
extern "C" __global__ void k(int *out, int *x, int n) {
    if (threadIdx.x == 0) {
        int me = atomicAdd(&next_, 1);
        while (*(volatile int*)&serving != me);
        __threadfence();
        out[0] += x[blockIdx.x];
        __threadfence();
        *(volatile int*)&serving = me+1;
    }
}
