// Counter barrier monotone with atomicAdd(0) poll.
// launch: 4 x 64
// finds: nothing
__device__ int c;
extern "C" __global__ void k(int *out, int *x, int n) {
    int i = blockIdx.x*blockDim.x+threadIdx.x, T = gridDim.x*blockDim.x;
    for (int r = 0; r<3; r++) {
        out[i] = x[(i+r)%T];
        __syncthreads();
        if (threadIdx.x == 0) {
            __threadfence();
            atomicAdd(&c, 1);
            while (atomicAdd(&c, 0)<(2*r+1)*gridDim.x);
            __threadfence();
        }
        __syncthreads();
        x[i] = out[(i+7)%T];
        __syncthreads();
        if (threadIdx.x == 0) {
            __threadfence();
            atomicAdd(&c, 1);
            while (atomicAdd(&c, 0)<(2*r+2)*gridDim.x);
            __threadfence();
        }
        __syncthreads();
    }
}
