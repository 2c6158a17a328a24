// Cg grid sync.
// launch: 4 x 64, cooperative
// finds: nothing
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
extern "C" __global__ void k(int *out, int *x, int n) {
    auto g = cg::this_grid();
    int i = blockIdx.x*blockDim.x+threadIdx.x;
    int total = gridDim.x*blockDim.x;
    for (int r = 0; r<4; r++) {
        out[i] = x[(i+1)%total]+r;
        g.sync();
        x[i] = out[(i+total-1)%total];
        g.sync();
    }
}
