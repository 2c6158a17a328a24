// out = softmax of each row of x [rows, columns]; one block a row, the maximum and the sum by block reduction.
template <typename Operator> __device__ float block_reduce(float value, float *partial, Operator combine)
{
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = (blockDim.x + 31) / 32;
    for (int offset = 16; offset > 0; offset /= 2)
        value = combine(value, __shfl_xor_sync(0xffffffffu, value, offset));
    __syncthreads();
    if (lane == 0)
        partial[warp] = value;
    __syncthreads();
    value = partial[0];
    for (int i = 1; i < warps; ++i)
        value = combine(value, partial[i]);
    return value;
}

struct Maximum {
    __device__ float operator()(float a, float b) const { return fmaxf(a, b); }
};

struct Sum {
    __device__ float operator()(float a, float b) const { return a + b; }
};

extern "C" __global__ void softmax(const float *x, float *out, int columns)
{
    __shared__ float partial[32];
    const float *row = x + (size_t)blockIdx.x * columns;
    float *result = out + (size_t)blockIdx.x * columns;
    float largest = __int_as_float(0xff800000); // -inf
    for (int i = threadIdx.x; i < columns; i += blockDim.x)
        largest = fmaxf(largest, row[i]);
    largest = block_reduce(largest, partial, Maximum());
    float sum = 0.0f;
    for (int i = threadIdx.x; i < columns; i += blockDim.x)
        sum += expf(row[i] - largest);
    sum = block_reduce(sum, partial, Sum());
    for (int i = threadIdx.x; i < columns; i += blockDim.x)
        result[i] = expf(row[i] - largest) / sum;
}
