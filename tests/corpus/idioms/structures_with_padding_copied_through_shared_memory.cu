// Structures with padding copied through shared memory.
// launch: 1 x 64
// finds: uninitialised read
struct Pair {
    char key;
    int value;
    short weight;
};
extern "C" __global__ void k(int *out, int *x, int n) {
    __shared__ Pair s[64];
    int t = threadIdx.x;
    s[t].key = x[t];
    s[t].value = 3 * x[t];
#ifndef BUG
    s[t].weight = 7;
#endif
    __syncthreads();
    ((Pair *)out)[t] = s[63 - t];
    out[1024 + t] = s[t ^ 1].weight * 2;
}
