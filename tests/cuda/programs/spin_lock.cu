// A lock that all threads of a warp want at once, and one inside a block; needs progress of diverged lanes.
__device__ int lock = 0;

extern "C" __global__ void spin_lock(volatile int *counter, volatile int *order, int rounds) {
    __shared__ int mine;
    if (threadIdx.x == 0) mine = 0;
    __syncthreads();
    for (int r = 0; r < rounds; r++) {
        while (atomicCAS(&lock, 0, 1) != 0) {}
        __threadfence();
        int at = *counter;
        order[at] = blockIdx.x * blockDim.x + threadIdx.x;
        *counter = at + 1;
        __threadfence();
        atomicExch(&lock, 0);
    }
    bool done = false;
    while (!done) {
        if (atomicExch(&mine, 1) == 0) {
            counter[1 + blockIdx.x]++;
            __threadfence_block();
            atomicExch(&mine, 0);
            done = true;
        }
    }
}
