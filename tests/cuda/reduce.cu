// out[block] = the sum of the block's share of x: shuffles within a warp, then shared memory across warps.
__inline__ __device__ float warp_sum(float value)
{
    for (int offset = warpSize / 2; offset > 0; offset /= 2)
        value += __shfl_down_sync(0xffffffffu, value, offset);
    return value;
}

extern "C" __global__ void reduce(const float *x, float *out, int n)
{
    __shared__ float partial[32];
    float sum = 0.0f;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        sum += x[i];
    sum = warp_sum(sum);
    int lane = threadIdx.x % warpSize, warp = threadIdx.x / warpSize;
    if (lane == 0)
        partial[warp] = sum;
    __syncthreads();
    int warps = (blockDim.x + warpSize - 1) / warpSize;
    if (warp == 0) {
        sum = lane < warps ? partial[lane] : 0.0f;
        sum = warp_sum(sum);
        if (lane == 0)
            out[blockIdx.x] = sum;
    }
}
