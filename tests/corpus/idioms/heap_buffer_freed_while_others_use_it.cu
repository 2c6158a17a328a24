// Heap buffer freed while others use it.
// launch: 1 x 64
// finds: fault
__shared__ int *buffer;
extern "C" __global__ void k(int *out, int *x, int n) {
    int t = threadIdx.x;
    if (t == 0) buffer = (int *)malloc(256);
    __syncthreads();
    buffer[t] = x[t];
    __syncthreads();
    int v = buffer[63 - t];
#ifndef BUG
    __syncthreads();
#endif
    if (t == 0) free(buffer);
    out[t] = v;
}
