// counts[256] of n bytes: each block counts in shared memory with atomics, then adds to global memory with atomics.
extern "C" __global__ void histogram(const unsigned char *data, unsigned int *counts, int n)
{
    __shared__ unsigned int local[256];
    for (int bin = threadIdx.x; bin < 256; bin += blockDim.x)
        local[bin] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        atomicAdd(&local[data[i]], 1u);
    __syncthreads();
    for (int bin = threadIdx.x; bin < 256; bin += blockDim.x)
        if (local[bin] != 0)
            atomicAdd(&counts[bin], local[bin]);
}
