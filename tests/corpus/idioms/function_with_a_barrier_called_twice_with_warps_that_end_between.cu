// Function with a barrier called twice with warps that end between.
// launch: 1 x 128
// finds: nothing
__device__ __forceinline__ int total(int *s, int v) {
    int t = threadIdx.x;
    s[t] = v;
    __syncthreads();
    int sum = s[t & 31] + s[t & 31 ^ 1];
    return sum;
}
__device__ __forceinline__ int twice(int *s, int v) { return total(s, v) * 2; }
extern "C" __global__ void k(int *out, int *x, int n) {
    __shared__ int s[128], r[128];
    int a = twice(s, x[threadIdx.x]);
    if (threadIdx.x >= 64) return;
    out[threadIdx.x] = a + twice(r, a);
}
