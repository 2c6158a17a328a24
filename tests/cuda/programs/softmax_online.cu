// Softmax of rows in one pass: every thread keeps a running maximum and sum, merged through shuffles; warp a row.
struct State { float max, sum; };

__device__ State merge(State a, State b) {
    bool bigger = a.max > b.max;
    State big = bigger ? a : b, small = bigger ? b : a;
    return {big.max, big.sum + small.sum * __expf(small.max - big.max)};
}

extern "C" __global__ void softmax_online(const float *x, float *out, int rows, int columns) {
    int lane = threadIdx.x % 32, row = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
    if (row >= rows) return;
    const float *in = x + (long long)row * columns;
    State s = {-3.4e38f, 0.0f};
    for (int c = lane; c < columns; c += 32) s = merge(s, {__ldg(in + c), 1.0f});
    for (int d = 16; d; d >>= 1) {
        State other = {__shfl_xor_sync(~0u, s.max, d), __shfl_xor_sync(~0u, s.sum, d)};
        s = merge(s, other);
    }
    for (int c = lane; c < columns; c += 32) __stcs(out + row * columns + c, __expf(__ldcs(in + c) - s.max) / s.sum);
}
