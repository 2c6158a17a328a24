// Cluster memory before the blocks have begun.
// launch: 2 x 32, on sm_90
// finds: block may not have begun
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
extern "C" __global__ void __cluster_dims__(2, 1, 1) k(int *out, int *x, int n) {
    __shared__ int s[32];
    cg::cluster_group cluster = cg::this_cluster();
    int t = threadIdx.x;
#ifndef BUG
    cluster.sync();
#endif
    cluster.map_shared_rank(s, cluster.block_rank() ^ 1)[t] = x[t];
    cluster.sync();
    out[32 * blockIdx.x + t] = s[t];
}
