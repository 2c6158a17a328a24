// Each lane counts itself.
// launch: 2 x 32
// finds: nothing
__device__ int data[32], count;
extern "C" __global__ void k(int *out, int *x, int n) {
    int t = threadIdx.x;
    if (blockIdx.x == 0) {
        data[t] = x[t];
        __threadfence();
        atomicAdd(&count, 1);
    } else {
        if (t == 0)
            while (atomicAdd(&count, 0) < 32) {}
        __syncwarp();
        __threadfence();
        out[t] = data[31 - t];
    }
}
