// Persistent work queue.
// launch: 4 x 64
// finds: nothing
__device__ int q;
extern "C" __global__ void k(int *out, int *x, int n) {
    __shared__ int w;
    for (; ; ) {
        if (threadIdx.x == 0) w = atomicAdd(&q, 1);
        __syncthreads();
        int m = w;
        __syncthreads();
        if (m >= 20) break;
        out[m*64+threadIdx.x] = x[m*64+threadIdx.x]*2;
    }
}
