// Several steps of a ring shift-and-add in one cooperative launch: every block waits for the whole grid between steps.
#include <cooperative_groups.h>
namespace cg = cooperative_groups;

extern "C" __global__ void grid_sync(int *a, int *b, int n, int steps) {
    cg::grid_group grid = cg::this_grid();
    int i = grid.thread_rank();
    for (int s = 0; s < steps; s++) {
        if (i < n) b[i] = a[i] + a[(i + 1) % n];
        grid.sync();
        int *t = a;
        a = b;
        b = t;
    }
}
