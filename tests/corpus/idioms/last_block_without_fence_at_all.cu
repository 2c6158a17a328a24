// Last block without fence at all.
// launch: 4 x 96
// finds: RAW
__device__ unsigned int count;
extern "C" __global__ void k(int *out, int *x, int n) {
    __shared__ bool last;
    int i = blockIdx.x*blockDim.x+threadIdx.x;
    out[i] = x[i]*2;
#ifndef BUG
    __threadfence();
#endif
    __syncthreads();
    if (threadIdx.x == 0) last = atomicInc(&count, gridDim.x-1) == gridDim.x-1;
    __syncthreads();
    if (last) {
        int s = 0;
        for (int j = threadIdx.x; j<gridDim.x*blockDim.x; j += blockDim.x) s += out[j];
        out[2048+threadIdx.x] = s;
    }
}
