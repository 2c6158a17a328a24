// Sum of warps read without a barrier.
// launch: 1 x 128
// finds: WAR, uninitialised read
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
extern "C" __global__ void k(int *out, int *x, int n) {
    __shared__ int s[4];
    auto b = cg::this_thread_block();
    auto w = cg::tiled_partition<32>(b);
    int v = x[b.thread_rank()];
    for (int d = 16; d; d >>= 1) v += w.shfl_down(v, d);
    if (w.thread_rank() == 0) s[b.thread_rank()/32] = v;
#ifndef BUG
    b.sync();
#endif
    if (b.thread_rank() == 0) out[0] = s[0]+s[1]+s[2]+s[3];
}
