// Persistent blocks that take work items from a queue, and a software grid barrier built of atomics.
__device__ unsigned arrived = 0;
__device__ volatile unsigned generation = 0;

__device__ void everyone() {
    __syncthreads();
    if (threadIdx.x == 0) {
        unsigned mine = generation;
        __threadfence();
        if (atomicAdd(&arrived, 1) == gridDim.x - 1) {
            arrived = 0;
            __threadfence();
            generation = mine + 1;
        } else {
            while (generation == mine) {}
        }
        __threadfence();
    }
    __syncthreads();
}

extern "C" __global__ void heat_persistent(volatile float *a, volatile float *b, int n, int steps, unsigned *taken,
                                           int *work, int items) {
    for (int s = 0; s < steps; s++) {
        for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
            b[i] = 0.25f * a[max(i - 1, 0)] + 0.5f * a[i] + 0.25f * a[min(i + 1, n - 1)];
        everyone();
        volatile float *t = a;
        a = b;
        b = t;
    }
    __shared__ unsigned item;
    for (;;) {
        if (threadIdx.x == 0) item = atomicAdd(taken, 1);
        __syncthreads();
        if (item >= items) break;
        atomicAdd(work + item, (int)threadIdx.x + 1);
        __syncthreads();
    }
}
