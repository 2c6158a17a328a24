// Seqlock with atomic data.
// launch: 4 x 32
// finds: nothing
#include <cuda/atomic>
__device__ cuda::atomic<unsigned, cuda::thread_scope_device> seq;
__device__ cuda::atomic<int, cuda::thread_scope_device> a, b;
extern "C" __global__ void k(int *out, int *x, int n) {
    if (threadIdx.x) return;
    if (blockIdx.x == 0) {
        for (int i = 1; i < 4; i++) {
            seq.store(2 * i - 1, cuda::memory_order_relaxed);
            cuda::atomic_thread_fence(cuda::memory_order_release, cuda::thread_scope_device);
            a.store(i, cuda::memory_order_relaxed);
            b.store(2 * i, cuda::memory_order_relaxed);
            seq.store(2 * i, cuda::memory_order_release);
        }
    } else {
        unsigned s0, s1; int va, vb;
        do {
            s0 = seq.load(cuda::memory_order_acquire);
            va = a.load(cuda::memory_order_relaxed);
            vb = b.load(cuda::memory_order_relaxed);
            cuda::atomic_thread_fence(cuda::memory_order_acquire, cuda::thread_scope_device);
            s1 = seq.load(cuda::memory_order_relaxed);
        } while (s0 != s1 || s0 & 1);
        out[blockIdx.x] = vb - 2 * va;
    }
}
