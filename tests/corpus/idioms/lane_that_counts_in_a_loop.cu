// Lane that counts in a loop.
// launch: 1 x 32
// finds: RAW
extern "C" __global__ void k(int *out, int *x, int n) {
    __shared__ int count;
    int t = threadIdx.x;
    if (t == 0) count = 0;
    __syncwarp();
    if (t == 3) {
#pragma unroll 1
        for (int i = 0; i < 8; i++)
            if (x[i] > 20) atomicAdd(&count, x[i]);
    }
#ifdef BUG
    if (t == 5) out[0] = count;
#else
    if (t == 3) out[0] = count;
#endif
}
