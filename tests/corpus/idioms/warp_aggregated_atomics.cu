// Warp aggregated atomics.
// launch: 4 x 64
// finds: nothing
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
extern "C" __global__ void k(int *out, int *x, int n) {
    int i = blockIdx.x*blockDim.x+threadIdx.x;
    if (x[i]>50) {
        auto a = cg::coalesced_threads();
        int b;
        if (a.thread_rank() == 0) b = atomicAdd(&out[0], a.size());
        b = a.shfl(b, 0);
        out[1+b+a.thread_rank()] = x[i];
    }
}
