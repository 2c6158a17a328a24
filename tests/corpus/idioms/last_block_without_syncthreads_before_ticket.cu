// Last block without syncthreads before ticket.
// launch: 4 x 96
// finds: RAW
__device__ unsigned int count;
extern "C" __global__ void k(int *out, int *x, int n) {
    __shared__ bool last;
    int i = blockIdx.x*blockDim.x+threadIdx.x;
    out[i] = x[i]*2;
    __threadfence();
#ifndef BUG
    __syncthreads();
#endif
    if (threadIdx.x == 0) last = atomicAdd(&count, 1) == gridDim.x-1;
    __syncthreads();
    if (last) {
        int s = 0;
        __threadfence();
        for (int j = threadIdx.x; j<gridDim.x*blockDim.x; j += blockDim.x) s += out[j];
        out[2048+threadIdx.x] = s;
    }
}
