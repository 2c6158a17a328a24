// Loads and stores with every cache operator and hint, vectors of all widths, prefetches, and isspacep.
extern "C" __global__ void cache_hints(const int *x, int *out, const double2 *wide, short4 *small, uchar2 *tiny) {
    __shared__ int tile[64];
    int i = threadIdx.x;
    int r = __ldg(x + i) + __ldcg(x + i) * 2 + __ldca(x + i) * 3 + __ldcs(x + i) * 4 + __ldlu(x + i) * 5 + __ldcv(x + i) * 6;
    __stwb(out + i, r);
    __stcg(out + 64 + i, r + 1);
    __stcs(out + 128 + i, r + 2);
    __stwt(out + 192 + i, r + 3);
    int4 v = __ldg((const int4 *)x + i % 16);
    __stcs((int4 *)(out + 256) + i, v);
    double2 d = __ldcs(wide + i);
    short4 s = {(short)d.x, (short)d.y, (short)i, 7};
    small[i] = s;
    tiny[i] = make_uchar2(s.x, s.y);
    tile[i] = i;
    __syncthreads();
    unsigned hinted;
    asm volatile("{ .reg .b64 p; createpolicy.fractional.L2::evict_last.b64 p, 1.0;"
                 " ld.global.L2::cache_hint.u32 %0, [%1], p; }" : "=r"(hinted) : "l"(x + i));
    asm volatile("prefetch.global.L2 [%0];" ::"l"(x + i));
    asm volatile("ld.global.nc.L1::no_allocate.L2::128B.u32 %0, [%1];" : "=r"(hinted) : "l"(x + i));
    out[512 + i] = hinted + __isShared(tile + i) * 1000 + __isGlobal(x) * 2000 + __isShared(x) * 4000 + __isLocal(&r) * 8000;
    int *generic = i % 2 ? tile + i : out + i;
    out[576 + i] = *generic;
}
