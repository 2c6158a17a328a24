// Wait for a token only in one warp.
// launch: 1 x 64
// finds: RAW
#include <cuda/barrier>
extern "C" __global__ void k(int *out, int *x, int n) {
    __shared__ cuda::barrier<cuda::thread_scope_block> b;
    __shared__ int s[64];
    int t = threadIdx.x;
    if (t == 0) init(&b, 64);
    __syncthreads();
    s[t] = x[t];
    auto token = b.arrive();
#ifdef BUG
    if (t < 32)
#endif
    b.wait(static_cast<decltype(token) &&>(token));
    out[t] = s[63 - t];
}
