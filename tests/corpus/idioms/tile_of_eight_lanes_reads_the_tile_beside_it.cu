// Tile of eight lanes reads the tile beside it.
// launch: 1 x 32
// finds: RAW
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
extern "C" __global__ void k(int *out, int *x, int n) {
    __shared__ int s[32];
    auto tile = cg::tiled_partition<8>(cg::this_thread_block());
    int t = threadIdx.x;
    s[t] = x[t];
    tile.sync();
#ifdef BUG
    out[t] = s[(t + 8) % 32];
#else
    out[t] = s[t / 8 * 8 + (t + 3) % 8];
#endif
}
