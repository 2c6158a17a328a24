// Treiber stack push then grid pop by last.
// launch: 4 x 32
// finds: nothing
__device__ int head, cnt;
__device__ int nxt[512];
__device__ int val[512];
extern "C" __global__ void k(int *out, int *x, int n) {
    int i = blockIdx.x*blockDim.x+threadIdx.x+1;
    val[i] = x[i];
    int old = *(volatile int*)&head, assumed;
    do {
        assumed = old;
        nxt[i] = assumed;
        __threadfence();
        old = atomicCAS(&head, assumed, i);
    }  while (old != assumed);
    __syncthreads();
    __shared__ bool last;
    if (threadIdx.x == 0) {
        __threadfence();
        last = atomicAdd(&cnt, 1) == gridDim.x-1;
    }
    __syncthreads();
    if (last && threadIdx.x == 0) {
        __threadfence();
        int s = 0;
        for (int p = head; p; p = nxt[p]) s += val[p];
        out[0] = s;
    }
}
