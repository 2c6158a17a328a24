// Seven ways to sum an array, one block at a time, from the slowest to the one that people use.

__device__ unsigned load(const unsigned *x, unsigned i, unsigned n) { return i < n ? x[i] : 0; }

// 1: interleaved addressing; half of each warp idles behind a modulo.
extern "C" __global__ void reduce1(const unsigned *x, unsigned *out, unsigned n) {
    extern __shared__ unsigned s[];
    unsigned t = threadIdx.x;
    s[t] = load(x, blockIdx.x * blockDim.x + t, n);
    __syncthreads();
    for (unsigned stride = 1; stride < blockDim.x; stride *= 2) {
        if (t % (2 * stride) == 0) s[t] += s[t + stride];
        __syncthreads();
    }
    if (t == 0) out[blockIdx.x] = s[0];
}

// 2: whole warps work or idle, at the price of bank conflicts.
extern "C" __global__ void reduce2(const unsigned *x, unsigned *out, unsigned n) {
    extern __shared__ unsigned s[];
    unsigned t = threadIdx.x;
    s[t] = load(x, blockIdx.x * blockDim.x + t, n);
    __syncthreads();
    for (unsigned stride = 1; stride < blockDim.x; stride *= 2) {
        unsigned i = 2 * stride * t;
        if (i < blockDim.x) s[i] += s[i + stride];
        __syncthreads();
    }
    if (t == 0) out[blockIdx.x] = s[0];
}

// 3: sequential addressing, no conflicts.
extern "C" __global__ void reduce3(const unsigned *x, unsigned *out, unsigned n) {
    extern __shared__ unsigned s[];
    unsigned t = threadIdx.x;
    s[t] = load(x, blockIdx.x * blockDim.x + t, n);
    __syncthreads();
    for (unsigned stride = blockDim.x / 2; stride > 0; stride >>= 1) {
        if (t < stride) s[t] += s[t + stride];
        __syncthreads();
    }
    if (t == 0) out[blockIdx.x] = s[0];
}

// 4: the first addition happens during the load.
extern "C" __global__ void reduce4(const unsigned *x, unsigned *out, unsigned n) {
    extern __shared__ unsigned s[];
    unsigned t = threadIdx.x, i = blockIdx.x * blockDim.x * 2 + t;
    s[t] = load(x, i, n) + load(x, i + blockDim.x, n);
    __syncthreads();
    for (unsigned stride = blockDim.x / 2; stride > 0; stride >>= 1) {
        if (t < stride) s[t] += s[t + stride];
        __syncthreads();
    }
    if (t == 0) out[blockIdx.x] = s[0];
}

// 5: the last warp needs no block-wide barrier.
extern "C" __global__ void reduce5(const unsigned *x, unsigned *out, unsigned n) {
    extern __shared__ unsigned s[];
    unsigned t = threadIdx.x, i = blockIdx.x * blockDim.x * 2 + t;
    s[t] = load(x, i, n) + load(x, i + blockDim.x, n);
    __syncthreads();
    for (unsigned stride = blockDim.x / 2; stride > 32; stride >>= 1) {
        if (t < stride) s[t] += s[t + stride];
        __syncthreads();
    }
    if (t < 32) {
        volatile unsigned *v = s;
        for (int stride = 32; stride > 0; stride >>= 1) {
            unsigned sum = v[t] + v[t + stride];
            __syncwarp();
            v[t] = sum;
            __syncwarp();
        }
    }
    if (t == 0) out[blockIdx.x] = s[0];
}

// 6: the block's size is known to the compiler, every loop is unrolled.
template <unsigned BLOCK> __device__ void unrolled(const unsigned *x, unsigned *out, unsigned n) {
    __shared__ unsigned s[BLOCK];
    unsigned t = threadIdx.x, sum = 0;
    for (unsigned i = blockIdx.x * BLOCK * 2 + t; i < n; i += BLOCK * 2 * gridDim.x)
        sum += x[i] + load(x, i + BLOCK, n);
    s[t] = sum;
    __syncthreads();
#pragma unroll
    for (unsigned stride = BLOCK / 2; stride > 0; stride >>= 1) {
        if (t < stride) s[t] += s[t + stride];
        __syncthreads();
    }
    if (t == 0) out[blockIdx.x] = s[0];
}
extern "C" __global__ void reduce6(const unsigned *x, unsigned *out, unsigned n) { unrolled<128>(x, out, n); }

// 7: shuffles inside the warp, shared memory between warps.
extern "C" __global__ void reduce7(const unsigned *x, unsigned *out, unsigned n) {
    __shared__ unsigned s[32];
    unsigned t = threadIdx.x, sum = 0;
    for (unsigned i = blockIdx.x * blockDim.x + t; i < n; i += blockDim.x * gridDim.x) sum += x[i];
    for (int d = 16; d > 0; d >>= 1) sum += __shfl_down_sync(0xffffffff, sum, d);
    if (t % 32 == 0) s[t / 32] = sum;
    __syncthreads();
    if (t < 32) {
        sum = t < blockDim.x / 32 ? s[t] : 0;
        for (int d = 16; d > 0; d >>= 1) sum += __shfl_xor_sync(0xffffffff, sum, d);
        if (t == 0) out[blockIdx.x] = sum;
    }
}
