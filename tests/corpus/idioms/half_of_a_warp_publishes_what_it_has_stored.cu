// Half of a warp publishes what it has stored.
// launch: 2 x 32
// finds: nothing
__device__ int data[32], flag;
extern "C" __global__ void k(int *out, int *x, int n) {
    int t = threadIdx.x;
    if (blockIdx.x == 0) {
        if (t < 16) {
            data[t] = x[t];
            __threadfence();
            __syncwarp(0xffff);
            if (t == 0) atomicExch(&flag, 1);
        }
    } else {
        if (t == 0)
            while (atomicAdd(&flag, 0) == 0) {}
        __syncwarp();
        __threadfence();
        out[t] = data[t & 15];
    }
}
