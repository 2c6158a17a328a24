// Inbox polled relaxed.
// launch: 2 x 64
// finds: RAW
#include <cuda/atomic>
__device__ int box[64], count;
extern "C" __global__ void k(int *out, int *x, int n) {
    cuda::atomic_ref<int, cuda::thread_scope_device> c(count);
    if (blockIdx.x == 0) {
        box[threadIdx.x] = x[threadIdx.x];
        __syncthreads();
        if (threadIdx.x == 0) c.store(64, cuda::memory_order_release);
    } else {
        if (threadIdx.x == 0) while (c.load(cuda::memory_order_relaxed) != 64);
#ifndef BUG
        if (threadIdx.x == 0) __threadfence();
#endif
        __syncthreads();
        out[threadIdx.x] = box[63 - threadIdx.x];
    }
}
