// Bitonic sort of one block in shared memory, keys with values.
extern "C" __global__ void sort_bitonic(float *keys, int *values) {
    extern __shared__ float key[];
    int *value = (int *)(key + blockDim.x);
    int t = threadIdx.x;
    key[t] = keys[t];
    value[t] = values[t];
    for (int size = 2; size <= blockDim.x; size *= 2) {
        for (int stride = size / 2; stride > 0; stride /= 2) {
            __syncthreads();
            int other = t ^ stride;
            if (other > t) {
                bool up = (t & size) == 0;
                if ((key[t] > key[other]) == up) {
                    float k = key[t];
                    key[t] = key[other];
                    key[other] = k;
                    int v = value[t];
                    value[t] = value[other];
                    value[other] = v;
                }
            }
        }
    }
    __syncthreads();
    keys[t] = key[t];
    values[t] = value[t];
}
