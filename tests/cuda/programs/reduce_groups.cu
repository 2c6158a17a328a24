// A sum with cooperative groups: a tile of a warp, cg::reduce, and a scan of a tile of four.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
namespace cg = cooperative_groups;

extern "C" __global__ void reduce_groups(const int *x, int *out, int n) {
    cg::thread_block block = cg::this_thread_block();
    auto warp = cg::tiled_partition<32>(block);
    __shared__ int partial[32];
    int sum = 0;
    for (int i = block.thread_rank(); i < n; i += block.size()) sum += x[i];
    sum = cg::reduce(warp, sum, cg::plus<int>());
    if (warp.thread_rank() == 0) partial[warp.meta_group_rank()] = sum;
    block.sync();
    if (warp.meta_group_rank() == 0) {
        int value = warp.thread_rank() < warp.meta_group_size() ? partial[warp.thread_rank()] : 0;
        value = cg::reduce(warp, value, cg::plus<int>());
        if (warp.thread_rank() == 0) out[0] = value;
    }
    auto four = cg::tiled_partition<4>(block);
    int first = four.shfl((int)block.thread_rank(), 0);
    int any = four.any(x[block.thread_rank() % n] < 0), all = four.all(x[block.thread_rank() % n] < 0);
    out[1 + block.thread_rank()] = first * 4 + any * 2 + all;
    cg::coalesced_group active = cg::coalesced_threads();
    if (block.thread_rank() % 3 == 0) {
        cg::coalesced_group third = cg::coalesced_threads();
        out[1 + block.size() + block.thread_rank()] = third.size() * 100 + third.thread_rank();
    } else {
        out[1 + block.size() + block.thread_rank()] = active.size();
    }
}
