// Look first and take then without fence.
// launch: 5 x 32
// finds: RAW
#include <cuda/atomic>
__device__ int lock;
extern "C" __global__ void k(int *out, int *x, int n) {
    if (threadIdx.x) return;
    cuda::atomic_ref<int, cuda::thread_scope_device> l(lock);
    for (;;) {
        while (l.load(cuda::memory_order_relaxed));
        if (!l.exchange(1, cuda::memory_order_relaxed)) break;
    }
#ifndef BUG
    cuda::atomic_thread_fence(cuda::memory_order_acquire, cuda::thread_scope_device);
#endif
    out[0] += x[blockIdx.x];
    l.store(0, cuda::memory_order_release);
}
