// Semaphore of a tile loop.
// launch: 6 x 32
// finds: nothing
#include <cuda/semaphore>
__device__ cuda::counting_semaphore<cuda::thread_scope_device, 4> s{1};
extern "C" __global__ void k(int *out, int *x, int n) {
    if (threadIdx.x == 0) {
        s.acquire();
        out[0] += x[blockIdx.x];
        s.release();
    }
}
