// Barrier object used before all know it is made.
// launch: 1 x 64
// finds: WAW, mbarrier init
#include <cuda/barrier>
using Barrier = cuda::barrier<cuda::thread_scope_block>;
extern "C" __global__ void k(int *out, int *x, int n) {
    __shared__ alignas(8) char room[sizeof(Barrier)];
    __shared__ int s[64];
    Barrier *barrier = (Barrier *)room;
    int t = threadIdx.x;
    if (t == 0) init(barrier, 64);
#ifndef BUG
    __syncthreads();
#endif
    s[t] = x[t];
    barrier->arrive_and_wait();
    out[t] = s[63 - t];
}
