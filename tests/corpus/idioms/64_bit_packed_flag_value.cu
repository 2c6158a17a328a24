// 64-bit packed flag+value.
// launch: 8 x 64
// finds: nothing
__device__ unsigned long long pk[8];
extern "C" __global__ void k(int *out, int *x, int n) {
    int b = blockIdx.x;
    if (threadIdx.x) return;
    unsigned long long p = 0;
    if (b) {
        do p = *(volatile unsigned long long*)&pk[b-1];
        while (!(p >> 32));
    }
    int s = (int)p+x[b];
    out[b] = s;
    *(volatile unsigned long long*)&pk[b] = (1ull << 32)|(unsigned)s;
}
