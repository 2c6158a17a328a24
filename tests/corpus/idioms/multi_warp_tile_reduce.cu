// Multi warp tile reduce.
// launch: 2 x 128
// finds: nothing
#define _CG_ABI_EXPERIMENTAL
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
namespace cg = cooperative_groups;
extern "C" __global__ void k(int *out, int *x, int n) {
    __shared__ cg::block_tile_memory<128> room;
    auto block = cg::this_thread_block(room);
    auto tile = cg::tiled_partition<64>(block);
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int sum = cg::reduce(tile, x[i], cg::plus<int>());
    int most = cg::reduce(tile, x[i], cg::greater<int>());
    out[i] = sum + most;
}
