// Cuda::barrier in shared.
// launch: 2 x 64
// finds: nothing
#include <cuda/barrier>
extern "C" __global__ void k(int *out, int *x, int n) {
    __shared__ cuda::barrier<cuda::thread_scope_block> b;
    __shared__ int s[64];
    int t = threadIdx.x;
    if (t == 0) init(&b, 64);
    __syncthreads();
    for (int r = 0; r<3; r++) {
        s[t] = x[r*64+t];
        b.arrive_and_wait();
        out[r*64+t] = s[63-t];
        b.arrive_and_wait();
    }
}
