// Reductions of a warp in one instruction (redux.sync).
extern "C" __global__ void warp_reductions(const int *x, unsigned *out) {
    int t = threadIdx.x, v = x[t];
    unsigned r[7] = {(unsigned)__reduce_add_sync(~0u, v), (unsigned)__reduce_min_sync(~0u, v),
                     (unsigned)__reduce_max_sync(~0u, v), __reduce_and_sync(~0u, (unsigned)v),
                     __reduce_or_sync(~0u, (unsigned)v), __reduce_xor_sync(~0u, (unsigned)v),
                     __reduce_max_sync(~0u, (unsigned)v)};
    for (int k = 0; k < 7; k++) out[k * 32 + t] = r[k];
}
