// Inclusive prefix sum of n <= blockDim.x integers (Hillis and Steele), double-buffered in dynamic shared memory.
extern "C" __global__ void scan(const int *x, int *out, int n)
{
    extern __shared__ int buffer[];
    int i = threadIdx.x, from = 0, to = blockDim.x;
    buffer[from + i] = i < n ? x[i] : 0;
    __syncthreads();
    for (int offset = 1; offset < blockDim.x; offset *= 2) {
        int value = buffer[from + i];
        if (i >= offset)
            value += buffer[from + i - offset];
        buffer[to + i] = value;
        int other = from;
        from = to;
        to = other;
        __syncthreads();
    }
    if (i < n)
        out[i] = buffer[from + i];
}
