// cuda::barrier of libcu++ (an mbarrier on sm_80): asynchronous copies that arrive at it, and split arrive and wait.
#include <cuda/barrier>

extern "C" __global__ void barrier_copy(const int *x, int *out, int rounds) {
    __shared__ cuda::barrier<cuda::thread_scope_block> ready;
    __shared__ int tile[128];
    int t = threadIdx.x, sum = 0;
    if (t == 0) init(&ready, blockDim.x);
    __syncthreads();
    for (int r = 0; r < rounds; r++) {
        cuda::memcpy_async(&tile[t], &x[r * blockDim.x + t], sizeof(int), ready);
        ready.arrive_and_wait();
        sum += tile[(t * 7 + r) % blockDim.x];
        auto token = ready.arrive();
        sum *= 3;
        ready.wait(static_cast<decltype(token) &&>(token));
    }
    out[t] = sum;
}
