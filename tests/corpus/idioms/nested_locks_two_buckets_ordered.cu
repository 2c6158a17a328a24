// Nested locks two buckets ordered.
// launch: 6 x 64
// finds: nothing
__device__ int locks[8];
extern "C" __global__ void k(int *out, int *x, int n) {
    if (threadIdx.x) return;
    for (int r = 0; r<4; r++) {
        int a = x[blockIdx.x*9+r]&7, b = x[blockIdx.x*9+r+1]&7;
        if (a == b) b = (a+1)&7;
        if (a>b) {
            int c = a;
            a = b;
            b = c;
        }
        while (atomicCAS(&locks[a], 0, 1));
        while (atomicCAS(&locks[b], 0, 1));
        __threadfence();
        int v = out[a];
        out[a] = out[b]+1;
        out[b] = v;
        __threadfence();
        atomicExch(&locks[b], 0);
        atomicExch(&locks[a], 0);
    }
}
