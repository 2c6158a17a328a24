// Votes, matches, shuffles in all modes and widths, reductions and masks inside a warp.
extern "C" __global__ void warp_votes(const int *x, unsigned *out) {
    int t = threadIdx.x, v = x[t];
    unsigned r[18];
    r[0] = __ballot_sync(~0u, v & 1);
    r[1] = __any_sync(~0u, v > 1000) | __all_sync(~0u, v > -1000) << 1;
    r[2] = __match_any_sync(~0u, v);
    int same;
    r[3] = __match_all_sync(~0u, v & 0, &same) + same;
    r[4] = __match_all_sync(~0u, v, &same) + same;
    r[5] = __shfl_sync(~0u, v, t + 5);
    r[6] = __shfl_sync(~0u, v, 3, 8);
    r[7] = __shfl_up_sync(~0u, v, 2, 16);
    r[8] = __shfl_down_sync(~0u, v, 3, 4);
    r[9] = __shfl_xor_sync(~0u, v, 9);
    r[10] = 0;
    if (v & 1) r[10] = __activemask();
    __syncwarp();
    r[11] = 0;
    if (t % 4 == 1) r[11] = __ballot_sync(0x22222222, v > 0);
    unsigned long long wide = __match_any_sync(~0u, (unsigned long long)v << 40);
    r[12] = (unsigned)wide;
    r[13] = __float_as_uint(__shfl_xor_sync(~0u, v * 1.5f, 1));
    r[14] = __double2loint(__shfl_down_sync(~0u, (double)v / 3, 1));
    asm("{ .reg .pred p; setp.ne.s32 p, %1, 0; vote.sync.uni.pred p, p, 0xffffffff; selp.u32 %0, 1, 0, p; }"
        : "=r"(r[15]) : "r"(v));
    unsigned lt, ge;
    asm("mov.u32 %0, %%lanemask_lt;" : "=r"(lt));
    asm("mov.u32 %0, %%lanemask_ge;" : "=r"(ge));
    r[16] = lt ^ ge;
    asm("mov.u32 %0, %%laneid;" : "=r"(r[17]));
    for (int k = 0; k < 18; k++) out[k * 32 + t] = r[k];
}
