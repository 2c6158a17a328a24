// Cuda::atomic spin with system scope.
// launch: 3 x 64
// finds: nothing
#include <cuda/atomic>
__device__ cuda::atomic<int, cuda::thread_scope_system> f;
extern "C" __global__ void k(int *out, int *x, int n) {
    if (threadIdx.x) return;
    if (blockIdx.x == 0) {
        out[5] = 9;
        f.store(1);
    }  else if (blockIdx.x == 1) {
        while (f.load() != 1);
        out[6] = out[5];
        f = 2;
    }  else if (blockIdx.x == 2) {
        while (f != 2);
        out[7] = out[5]+out[6];
    }
}
