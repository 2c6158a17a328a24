// Arrive and wait split by the grid.
// launch: 3 x 64, cooperative
// finds: nothing
#include <cooperative_groups.h>
__device__ int part[192];
extern "C" __global__ void k(int *out, int *x, int n) {
    auto g = cooperative_groups::this_grid();
    int i = g.thread_rank();
    part[i] = x[i];
    auto token = g.barrier_arrive();
    int own = x[i] * 3;
    g.barrier_wait(static_cast<decltype(token) &&>(token));
    out[i] = own + part[191 - i];
}
