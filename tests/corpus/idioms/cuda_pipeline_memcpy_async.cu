// Cuda::pipeline memcpy_async.
// launch: 2 x 64
// finds: nothing
#include <cuda/pipeline>
#include <cooperative_groups.h>
extern "C" __global__ void k(int *out, int *x, int n) {
    auto b = cooperative_groups::this_thread_block();
    __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> st;
    __shared__ int s[2][64];
    auto p = cuda::make_pipeline(b, &st);
    int a = 0;
    p.producer_acquire();
    cuda::memcpy_async(b, s[0], x, 64*4, p);
    p.producer_commit();
    for (int r = 0; r<6; r++) {
        if (r<5) {
            p.producer_acquire();
            cuda::memcpy_async(b, s[(r+1)&1], x+64*(r+1), 64*4, p);
            p.producer_commit();
        }
        p.consumer_wait();
        a += s[r&1][(threadIdx.x+1)&63];
        p.consumer_release();
    }
    out[blockIdx.x*64+threadIdx.x] = a;
}
