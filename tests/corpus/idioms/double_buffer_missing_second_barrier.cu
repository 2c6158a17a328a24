// Double buffer missing second barrier.
// launch: 1 x 64
// finds: WAR
extern "C" __global__ void k(int *out, int *x, int n) {
    __shared__ int s[64];
    int t = threadIdx.x;
    int a = 0;
    for (int i = 0; i<4; i++) {
        s[t] = x[i*64+t];
        __syncthreads();
        a += s[63-t];
#ifndef BUG
        __syncthreads();
#endif
    }
    out[t] = a;
}
