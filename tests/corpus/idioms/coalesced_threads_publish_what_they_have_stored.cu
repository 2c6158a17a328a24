// Coalesced threads publish what they have stored.
// launch: 2 x 32
// finds: nothing
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
__device__ int data[32], count;
extern "C" __global__ void k(int *out, int *x, int n) {
    int t = threadIdx.x;
    if (blockIdx.x == 0) {
        data[t] = 0;
        __threadfence();
        __syncwarp();
        if (x[t] > 30) {
            auto g = cg::coalesced_threads();
            data[t] = x[t];
            __threadfence();
            g.sync();
            if (g.thread_rank() == 0) atomicAdd(&count, 1);
        }
    } else {
        if (t == 0)
            while (atomicAdd(&count, 0) == 0) {}
        __syncwarp();
        __threadfence();
        out[t] = data[31 - t];
    }
}
