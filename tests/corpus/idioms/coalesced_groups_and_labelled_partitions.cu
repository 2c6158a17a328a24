// Coalesced groups and labelled partitions.
// launch: 2 x 64
// finds: nothing
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
namespace cg = cooperative_groups;
extern "C" __global__ void k(int *out, int *x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (x[i] & 1) {
        auto active = cg::coalesced_threads();
        auto part = cg::labeled_partition(active, x[i] >> 1 & 1);
        out[i] = cg::reduce(part, x[i], cg::plus<int>()) + part.thread_rank();
    } else out[i] = -1;
}
