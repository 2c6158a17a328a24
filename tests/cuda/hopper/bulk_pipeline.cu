// y = 2 x + 1, tile by tile through a ring of two stages: bulk copies bring a tile, an mbarrier counts its bytes, all
// threads work on it in shared memory, and a bulk copy takes it away.

constexpr unsigned TILE = 128, STAGES = 2, BYTES = TILE * sizeof(float);

__device__ unsigned shared_address(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }

__device__ void init(unsigned barrier, unsigned count)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(count) : "memory");
}

__device__ void fetch(unsigned to, const float *from, unsigned barrier)
{
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(BYTES) : "memory");
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
                 ::"r"(to), "l"(from), "r"(BYTES), "r"(barrier) : "memory");
}

__device__ void wait(unsigned barrier, unsigned parity)
{
    asm volatile("{\n\t.reg .pred done;\n"
                 "AGAIN_%=:\n\tmbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n\t@!done bra AGAIN_%=;\n\t}"
                 ::"r"(barrier), "r"(parity) : "memory");
}

extern "C" __global__ void bulk_pipeline(const float *x, float *y, unsigned tiles)
{
    __shared__ alignas(128) float tile[STAGES][TILE];
    __shared__ unsigned long long full[STAGES];
    const bool leader = threadIdx.x == 0;
    if (leader) {
        for (unsigned stage = 0; stage < STAGES; stage++)
            init(shared_address(&full[stage]), 1);
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
        for (unsigned stage = 0; stage < STAGES && stage < tiles; stage++)
            fetch(shared_address(tile[stage]), x + stage * TILE, shared_address(&full[stage]));
    }
    __syncthreads();
    for (unsigned n = 0; n < tiles; n++) {
        const unsigned stage = n % STAGES;
        wait(shared_address(&full[stage]), n / STAGES & 1);
        for (unsigned k = threadIdx.x; k < TILE; k += blockDim.x)
            tile[stage][k] = 2 * tile[stage][k] + 1;
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); // what was stored is seen by the copy
        __syncthreads();
        if (leader) {
            asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;"
                         ::"l"(y + n * TILE), "r"(shared_address(tile[stage])), "r"(BYTES) : "memory");
            asm volatile("cp.async.bulk.commit_group;\n\tcp.async.bulk.wait_group.read 0;" ::: "memory");
            if (n + STAGES < tiles)
                fetch(shared_address(tile[stage]), x + (n + STAGES) * TILE, shared_address(&full[stage]));
        }
    }
    if (leader)
        asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
}
