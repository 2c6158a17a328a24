// Odd lanes count themselves and even lanes store.
// launch: 2 x 32
// finds: RAW
__device__ int data[32], count;
extern "C" __global__ void k(int *out, int *x, int n) {
    int t = threadIdx.x;
    if (blockIdx.x == 0) {
        data[t] = x[t];
        __threadfence();
#ifndef BUG
        __syncwarp();
#endif
        if (t & 1) atomicAdd(&count, 1);
    } else {
        if (t == 0)
            while (atomicAdd(&count, 0) < 16) {}
        __syncwarp();
        __threadfence();
        out[t] = data[31 - t];
    }
}
