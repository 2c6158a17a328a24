// Named barriers between warps: one warp fills a ring of tiles, three consume them (bar.arrive and bar.sync).
extern "C" __global__ void producer_consumer(const int *x, int *out, int tiles) {
    __shared__ int ring[2][96];
    int warp = threadIdx.x / 32, t = threadIdx.x % 32, sum = 0;
    if (warp == 0) {
        for (int i = 0; i < tiles; i++) {
            asm volatile("bar.sync %0, 128;" ::"r"(3 + (i & 1)) : "memory");
            for (int k = 0; k < 3; k++) ring[i & 1][k * 32 + t] = x[i * 96 + k * 32 + t];
            __threadfence_block();
            asm volatile("bar.arrive %0, 128;" ::"r"(1 + (i & 1)) : "memory");
        }
    } else {
        asm volatile("bar.arrive 3, 128;" ::: "memory");
        asm volatile("bar.arrive 4, 128;" ::: "memory");
        for (int i = 0; i < tiles; i++) {
            asm volatile("bar.sync %0, 128;" ::"r"(1 + (i & 1)) : "memory");
            sum += (i + 1) * ring[i & 1][(warp - 1) * 32 + (t + i) % 32];
            if (i + 2 < tiles) asm volatile("bar.arrive %0, 128;" ::"r"(3 + (i & 1)) : "memory");
        }
        out[threadIdx.x - 32] = sum;
    }
    int votes = __syncthreads_count(threadIdx.x % 5 == 0) * 4 + __syncthreads_and(1) * 2 + __syncthreads_or(warp == 9);
    if (threadIdx.x == 0) out[96] = votes;
}
