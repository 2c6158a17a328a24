// Cooperative groups: labelled and binary partitions, scans, group copies, tiles of tiles.
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
namespace cg = cooperative_groups;

extern "C" __global__ void groups_more(const int *x, int *out, int n) {
    cg::thread_block block = cg::this_thread_block();
    auto warp = cg::tiled_partition<32>(block);
    auto eight = cg::tiled_partition<8>(warp);
    __shared__ int tile[64];
    cg::memcpy_async(block, tile, x, sizeof(int) * 64);
    cg::wait(block);
    int t = block.thread_rank(), v = tile[t], *row = out + t;
    row[0] = cg::inclusive_scan(warp, v);
    row[64] = cg::exclusive_scan(eight, v, cg::plus<int>());
    row[128] = cg::reduce(eight, v, cg::greater<int>());
    auto labels = cg::labeled_partition(warp, v & 3);
    row[192] = labels.size() * 100 + labels.thread_rank();
    row[256] = cg::reduce(labels, v, cg::plus<int>());
    auto halves = cg::binary_partition(warp, v > 0);
    row[320] = halves.shfl(v, 0);
    row[384] = warp.match_any(v & 1) ^ warp.ballot(v > 2);
    row[448] = cg::reduce(warp, (float)v, cg::less<float>()) * 2;
    row[512] = cg::invoke_one_broadcast(eight, [&] { return v + 1000; }) >= 0;
    warp.sync();
    if (v > 0) {
        auto together = cg::coalesced_threads();
        row[576] = cg::inclusive_scan(together, 1);
    } else {
        row[576] = 0;
    }
}
