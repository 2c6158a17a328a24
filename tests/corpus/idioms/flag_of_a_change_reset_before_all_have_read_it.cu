// Flag of a change reset before all have read it.
// launch: 1 x 64
// finds: RAW
extern "C" __global__ void k(int *out, int *x, int n) {
    __shared__ int changed, label[65];
    int t = threadIdx.x;
    label[t] = x[t];
    if (t == 0) label[64] = 0;
    do {
        __syncthreads();
        if (t == 0) changed = 0;
        __syncthreads();
        int v = label[t + 1];
        __syncthreads();
        if (v < label[t]) {
            label[t] = v;
            atomicExch(&changed, 1);
        }
#ifndef BUG
        __syncthreads();
#endif
    } while (changed);
    out[t] = label[t];
}
