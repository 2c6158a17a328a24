// Ring of barrier objects.
// launch: 2 x 64
// finds: nothing
#include <cuda/barrier>
using barrier = cuda::barrier<cuda::thread_scope_block>;
extern "C" __global__ void k(int *out, int *x, int n) {
    __shared__ barrier full[2], empty[2];
    __shared__ int s[2][32];
    int t = threadIdx.x;
    if (t < 2) { init(&full[t], 64); init(&empty[t], 64); }
    __syncthreads();
    if (t < 32) {
        for (int i = 0; i < 6; i++) {
            if (i >= 2) empty[i & 1].arrive_and_wait();
            s[i & 1][t] = x[i * 32 + t];
            (void)full[i & 1].arrive();
        }
    } else {
        int sum = 0;
        for (int i = 0; i < 6; i++) {
            full[i & 1].arrive_and_wait();
            sum += s[i & 1][63 - t];
            if (i < 4) (void)empty[i & 1].arrive();
        }
        out[blockIdx.x * 32 + t - 32] = sum;
    }
}
