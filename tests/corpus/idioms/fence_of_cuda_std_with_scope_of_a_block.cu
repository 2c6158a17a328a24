// Fence of cuda std with scope of a block.
// launch: 2 x 32
// finds: RAW
#include <cuda/atomic>
__device__ int flag;
extern "C" __global__ void k(int *out, int *x, int n) {
    if (threadIdx.x) return;
    cuda::atomic_ref<int, cuda::thread_scope_device> f(flag);
    if (blockIdx.x == 0) {
        x[0] = 7;
#ifdef BUG
        cuda::atomic_thread_fence(cuda::memory_order_release, cuda::thread_scope_block);
#else
        cuda::atomic_thread_fence(cuda::memory_order_release, cuda::thread_scope_device);
#endif
        f.store(1, cuda::memory_order_relaxed);
    } else {
        while (!f.load(cuda::memory_order_acquire));
        out[0] = x[0];
    }
}
