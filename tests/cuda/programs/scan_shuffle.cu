// Inclusive scan with shuffles: inside the warp, then over the warps' totals.
extern "C" __global__ void scan_shuffle(const long long *x, long long *out, int n) {
    __shared__ long long totals[32];
    int t = threadIdx.x, lane = t & 31, warp = t >> 5;
    long long v = t < n ? x[t] : 0;
    for (int d = 1; d < 32; d *= 2) {
        long long left = __shfl_up_sync(0xffffffff, v, d);
        if (lane >= d) v += left;
    }
    if (lane == 31) totals[warp] = v;
    __syncthreads();
    if (warp == 0) {
        long long w = lane < blockDim.x / 32 ? totals[lane] : 0;
        for (int d = 1; d < 32; d *= 2) {
            long long left = __shfl_up_sync(0xffffffff, w, d);
            if (lane >= d) w += left;
        }
        totals[lane] = w;
    }
    __syncthreads();
    if (t < n) out[t] = v + (warp ? totals[warp - 1] : 0);
}
