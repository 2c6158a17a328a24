// Special registers and time: identities of the thread, its warp and the grid, clocks that run forward, nanosleep.
extern "C" __global__ void clocks(unsigned *out, long long *elapsed) {
    unsigned i = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
    unsigned t = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x, warp, lane, warps, grid;
    unsigned long long before, after;
    asm volatile("mov.u32 %0, %%warpid;" : "=r"(warp));
    asm volatile("mov.u32 %0, %%nwarpid;" : "=r"(warps));
    asm volatile("mov.u32 %0, %%laneid;" : "=r"(lane));
    asm volatile("mov.u32 %0, %%dynamic_smem_size;" : "=r"(grid));
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(before));
    long long c = clock64();
    __nanosleep(100);
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(after));
    unsigned at = i * blockDim.x * blockDim.y * blockDim.z + t;
    elapsed[2 * at] = clock64() - c;
    elapsed[2 * at + 1] = (long long)(after - before);
    out[at] = i * 10000 + t * 10 + (warp < warps) + (warp == t / 32) * 2 + (lane == t % 32) * 4 + grid * 0;
}
