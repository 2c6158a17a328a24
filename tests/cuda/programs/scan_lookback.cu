// Single-pass scan of many blocks: each looks back at what its predecessors have published, and waits for them.
struct Status { unsigned flag, value; };  // flag 0: nothing, 1: the block's own sum, 2: the sum up to here

__device__ unsigned next_block = 0;

extern "C" __global__ void scan_lookback(const unsigned *x, unsigned *out, volatile Status *status, unsigned n) {
    __shared__ unsigned s[128], block, before;
    unsigned t = threadIdx.x;
    if (t == 0) block = atomicAdd(&next_block, 1);
    __syncthreads();
    unsigned i = block * blockDim.x + t;
    s[t] = i < n ? x[i] : 0;
    __syncthreads();
    for (unsigned d = 1; d < blockDim.x; d *= 2) {
        unsigned v = t >= d ? s[t - d] : 0;
        __syncthreads();
        s[t] += v;
        __syncthreads();
    }
    if (t == 0) {
        unsigned sum = s[blockDim.x - 1], total = 0;
        status[block].value = sum;
        __threadfence();
        status[block].flag = block == 0 ? 2 : 1;
        for (int b = (int)block - 1; b >= 0;) {
            unsigned flag = status[b].flag;
            if (flag == 0) continue;
            __threadfence();
            // The value may have become the whole sum since its flag was read; then the flag says so by now.
            unsigned value = status[b].value;
            __threadfence();
            if (status[b].flag != flag) continue;
            total += value;
            if (flag == 2) break;
            b--;
        }
        if (block > 0) {
            status[block].flag = 0;
            __threadfence();
            status[block].value = total + sum;
            __threadfence();
            status[block].flag = 2;
        }
        before = total;
    }
    __syncthreads();
    if (i < n) out[i] = before + s[t];
}
