// Sense reversing global barrier.
// launch: 4 x 64
// finds: nothing
__device__ int arrived;
__device__ volatile int sense;
extern "C" __global__ void k(int *out, int *x, int n) {
    int i = blockIdx.x*blockDim.x+threadIdx.x, T = gridDim.x*blockDim.x;
    int my = 0;
    for (int r = 0; r<3; r++) {
        out[i] = x[(i+r)%T];
        my^=1;
        __threadfence();
        __syncthreads();
        if (threadIdx.x == 0) {
            if (atomicAdd(&arrived, 1) == gridDim.x-1) {
                arrived = 0;
                __threadfence();
                sense = my;
            }  else while (sense != my);
            __threadfence();
        }
        __syncthreads();
        x[i] = out[(i+7)%T];
        my^=1;
        __threadfence();
        __syncthreads();
        if (threadIdx.x == 0) {
            if (atomicAdd(&arrived, 1) == gridDim.x-1) {
                arrived = 0;
                __threadfence();
                sense = my;
            }  else while (sense != my);
            __threadfence();
        }
        __syncthreads();
    }
}
