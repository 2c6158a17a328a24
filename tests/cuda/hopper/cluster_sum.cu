// Sums: the four blocks of a cluster add up their parts, and the first reads the others' sums from their shared memory.

constexpr unsigned BLOCKS = 4;

__device__ unsigned rank()
{
    unsigned found;
    asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(found));
    return found;
}

__device__ float of_block(const float *mine, unsigned other)
{
    unsigned address = (unsigned)__cvta_generic_to_shared(mine);
    float value;
    asm volatile("mapa.shared::cluster.u32 %0, %0, %1;" : "+r"(address) : "r"(other));
    asm volatile("ld.shared::cluster.f32 %0, [%1];" : "=f"(value) : "r"(address) : "memory");
    return value;
}

__device__ void meet()
{
    asm volatile("barrier.cluster.arrive.release.aligned;\n\tbarrier.cluster.wait.acquire.aligned;" ::: "memory");
}

extern "C" __global__ void __cluster_dims__(BLOCKS, 1, 1) cluster_sum(const float *x, float *sums, unsigned count)
{
    __shared__ float of_warps[2], of_this_block;
    const unsigned cluster = blockIdx.x / BLOCKS, here = rank() * blockDim.x + threadIdx.x;
    float sum = 0;
    for (unsigned k = here; k < count; k += BLOCKS * blockDim.x)
        sum += x[cluster * count + k];
    for (unsigned away = 16; away; away /= 2)
        sum += __shfl_xor_sync(~0u, sum, away);
    if (threadIdx.x % 32 == 0)
        of_warps[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x == 0)
        of_this_block = of_warps[0] + of_warps[1];
    meet(); // the sums are there
    if (rank() == 0 && threadIdx.x == 0) {
        float all = 0;
        for (unsigned other = 0; other < BLOCKS; other++)
            all += of_block(&of_this_block, other);
        sums[cluster] = all;
    }
    meet(); // and no block ends before they were read
}
