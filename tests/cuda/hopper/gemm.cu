// C = A B' in tiles of 64 x 64 by one warpgroup: two tensor copies bring 64 columns of A and of B, swizzled as wgmma
// wants to read them, an mbarrier counts their bytes, and four products of 16 columns add up.

constexpr unsigned TILE = 64, BYTES = TILE * TILE * 2;

struct alignas(64) TensorMap {
    char bytes[128];
};

__device__ unsigned shared_address(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }

__device__ void fetch(unsigned to, const TensorMap &map, unsigned row, unsigned column, unsigned barrier)
{
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];"
                 ::"r"(to), "l"(&map), "r"(column), "r"(row), "r"(barrier) : "memory");
}

__device__ void wait(unsigned barrier, unsigned parity)
{
    asm volatile("{\n\t.reg .pred done;\n"
                 "AGAIN_%=:\n\tmbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n\t@!done bra AGAIN_%=;\n\t}"
                 ::"r"(barrier), "r"(parity) : "memory");
}

/* 8 rows of 128 bytes, and the next 8 rows 1024 bytes further: the 128-byte swizzle. */
__device__ unsigned long long descriptor(unsigned address)
{
    return (address >> 4) | 1ull << 16 | (1024ull >> 4) << 32 | 1ull << 62;
}

__device__ void product(float (&d)[32], unsigned long long a, unsigned long long b)
{
    asm volatile("wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16\n\t"
                 "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31},\n\t%32, %33, 1, 1, 1, 0, 0;"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]),
                   "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]),
                   "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]),
                   "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31])
                 : "l"(a), "l"(b));
}

extern "C" __global__ void gemm(const __grid_constant__ TensorMap a, const __grid_constant__ TensorMap b, float *c,
                                unsigned m, unsigned n, unsigned k)
{
    extern __shared__ __align__(1024) unsigned char tiles[];
    __shared__ unsigned long long full;
    const unsigned a_tile = shared_address(tiles), b_tile = a_tile + BYTES, barrier = shared_address(&full);
    const unsigned row = blockIdx.y * TILE, column = blockIdx.x * TILE, thread = threadIdx.x;
    if (thread == 0) {
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;\n\tfence.mbarrier_init.release.cluster;" ::"r"(barrier) : "memory");
    }
    __syncthreads();
    float d[32] = {};
    for (unsigned first = 0; first < k; first += TILE) {
        if (thread == 0) {
            asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(2 * BYTES) : "memory");
            fetch(a_tile, a, row, first, barrier);
            fetch(b_tile, b, column, first, barrier);
        }
        wait(barrier, first / TILE & 1);
        asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
        for (unsigned step = 0; step < TILE / 16; step++) // 16 columns are 32 bytes, two units
            product(d, descriptor(a_tile) + 2 * step, descriptor(b_tile) + 2 * step);
        asm volatile("wgmma.commit_group.sync.aligned;\n\twgmma.wait_group.sync.aligned 0;" ::: "memory");
        __syncthreads(); // all four warps have read the tiles
    }
    const unsigned at = row + thread / 32 * 16 + thread % 32 / 4;
    for (unsigned i = 0; i < 32; i++) {
        const unsigned down = at + (i & 2) * 4, across = column + i / 4 * 8 + thread % 4 * 2 + (i & 1);
        if (down < m && across < n)
            c[down * n + across] = d[i];
    }
}
