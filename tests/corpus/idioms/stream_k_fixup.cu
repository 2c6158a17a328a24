// Stream-k fixup.
// launch: 6 x 64
// finds: nothing
__device__ volatile int flag[8];
__device__ int part[8][64];
extern "C" __global__ void k(int *out, int *x, int n) {
    int b = blockIdx.x, t = threadIdx.x;
    int v = x[b*64+t];
    if (b&1) {
        part[b][t] = v;
        __threadfence();
        __syncthreads();
        if (t == 0) flag[b] = 1;
    }
    else {
        if (t == 0) while (!flag[b+1]);
        __syncthreads();
        __threadfence();
        out[b*64+t] = v+part[b+1][t];
    }
}
