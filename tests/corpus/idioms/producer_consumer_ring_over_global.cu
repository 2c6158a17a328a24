// Producer consumer ring over global.
// launch: 2 x 32
// finds: nothing
__device__ volatile int full[4];
__device__ int buf[4][32];
extern "C" __global__ void k(int *out, int *x, int n) {
    int t = threadIdx.x;
    if (blockIdx.x == 0) {
        for (int r = 0; r<12; r++) {
            if (t == 0) while (full[r&3] != 0);
            __syncthreads();
            __threadfence();
            buf[r&3][t] = x[r*32+t];
            __threadfence();
            __syncthreads();
            if (t == 0) full[r&3] = 1;
        }
    }
    else {
        int a = 0;
        for (int r = 0; r<12; r++) {
            if (t == 0) while (full[r&3] != 1);
            __syncthreads();
            __threadfence();
            a += buf[r&3][t];
            __threadfence();
            __syncthreads();
            if (t == 0) full[r&3] = 0;
        }
        out[t] = a;
    }
}
