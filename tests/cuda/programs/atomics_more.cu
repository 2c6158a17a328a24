// Atomics of halves, bfloats, 16-bit words, vectors, and atomic_ref with every memory order.
#include <cuda/atomic>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

extern "C" __global__ void atomics_more(half2 *h, __nv_bfloat162 *b, unsigned short *words, int *counters, half *one,
                                        unsigned long long *wide) {
    int i = threadIdx.x;
    atomicAdd(h, __floats2half2_rn(1, 2));
    atomicAdd(b, __floats2bfloat162_rn(1, 0.5f));
    atomicAdd(one, __float2half(0.25f));
    unsigned short seen = words[0], old;
    do {
        old = seen;
        seen = atomicCAS(words, old, (unsigned short)(old + 3));
    } while (seen != old);
    cuda::atomic_ref<int, cuda::thread_scope_device> c(counters[0]);
    c.fetch_add(1, cuda::std::memory_order_relaxed);
    cuda::atomic_ref<int, cuda::thread_scope_block> d(counters[1]);
    d.fetch_max(i, cuda::std::memory_order_acq_rel);
    cuda::atomic_ref<int, cuda::thread_scope_system> e(counters[2]);
    e.fetch_xor(i);
    int expected = 0;
    cuda::atomic_ref<int, cuda::thread_scope_device> f(counters[3]);
    if (f.compare_exchange_strong(expected, i + 1)) counters[4] = i;
    cuda::atomic_ref<unsigned long long, cuda::thread_scope_device> g(wide[0]);
    g.fetch_sub(i);
    atomicMin(wide + 1, 1000ull - i);
    atomicMin((long long *)wide + 2, -(long long)i);
    atomicAnd(wide + 3, ~(1ull << i));
    __shared__ cuda::atomic<int, cuda::thread_scope_block> s;
    if (i == 0) s.store(5);
    __syncthreads();
    s.fetch_add(i);
    __syncthreads();
    if (i == 0) counters[5] = s.load(cuda::std::memory_order_acquire);
    cuda::atomic_thread_fence(cuda::std::memory_order_seq_cst, cuda::thread_scope_system);
}
