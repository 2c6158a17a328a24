// cuda::pipeline: a block-wide producer and consumer pipeline of three stages.
#include <cooperative_groups.h>
#include <cuda/pipeline>

extern "C" __global__ void pipeline_cuda(const int *x, int *out, int tiles) {
    auto block = cooperative_groups::this_thread_block();
    __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 3> state;
    __shared__ int stage[3][64];
    auto pipe = cuda::make_pipeline(block, &state);
    int sum = 0, t = block.thread_rank();
    for (int compute = 0, fetch = 0; compute < tiles; compute++) {
        for (; fetch < tiles && fetch < compute + 3; fetch++) {
            pipe.producer_acquire();
            cuda::memcpy_async(&stage[fetch % 3][t], x + fetch * 64 + t, sizeof(int), pipe);
            pipe.producer_commit();
        }
        pipe.consumer_wait();
        block.sync();
        sum = sum * 3 + stage[compute % 3][63 - t];
        block.sync();
        pipe.consumer_release();
    }
    out[t] = sum;
}
