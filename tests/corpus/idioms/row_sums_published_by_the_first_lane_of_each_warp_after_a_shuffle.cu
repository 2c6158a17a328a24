// Row sums published by the first lane of each warp after a shuffle.
// launch: 3 x 64
// finds: nothing
__device__ int part[6], done;
extern "C" __global__ void k(int *out, int *x, int n) {
    int lane = threadIdx.x % 32, w = (blockIdx.x * 64 + threadIdx.x) / 32, last = 0;
    int v = x[blockIdx.x * 64 + threadIdx.x];
    out[64 + w * 32 + lane] = v;
    for (int d = 16; d > 0; d /= 2) v += __shfl_down_sync(~0u, v, d);
    if (lane == 0) {
        part[w] = v;
        __threadfence();
        last = atomicAdd(&done, 1) == 5;
    }
    last = __shfl_sync(~0u, last, 0);
    if (last) {
        __threadfence();
        int sum = 0;
        for (int i = 0; i < 6; i++) sum += part[i] + out[64 + i * 32 + (lane ^ 3)];
        out[lane] = sum;
    }
}
