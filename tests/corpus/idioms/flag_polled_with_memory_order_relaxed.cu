// Flag polled with memory_order_relaxed.
// launch: 2 x 64
// finds: RAW
#include <cuda/atomic>
extern "C" __global__ void k(int *out, int *x, int n) {
    cuda::atomic_ref<int, cuda::thread_scope_device> f(out[100]);
    if (threadIdx.x) return;
    if (blockIdx.x == 0) {
        x[0] = 7;
        f.store(1, cuda::memory_order_release);
    }
#ifdef BUG
    else {
        while (!f.load(cuda::memory_order_relaxed));
        out[0] = x[0];
    }
#else
    else {
        while (!f.load(cuda::memory_order_acquire));
        out[0] = x[0];
    }
#endif
}
