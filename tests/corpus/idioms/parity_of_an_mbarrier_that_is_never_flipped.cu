// Parity of an mbarrier that is never flipped.
// launch: 1 x 64
// finds: fault
__device__ unsigned int address(void *p) { return (unsigned int)__cvta_generic_to_shared(p); }
extern "C" __global__ void k(int *out, int *x, int n) {
    __shared__ unsigned long long full;
    __shared__ int s[64];
    int t = threadIdx.x, sum = 0;
    if (t == 0) asm volatile("mbarrier.init.shared.b64 [%0], 64;" ::"r"(address(&full)) : "memory");
    __syncthreads();
    for (int i = 0; i < 4; i++) {
        s[t] = x[i * 64 + t];
#ifdef BUG
        int parity = 0;
#else
        int parity = i & 1;
#endif
        unsigned long long state;
        asm volatile("mbarrier.arrive.shared.b64 %0, [%1];" : "=l"(state) : "r"(address(&full)) : "memory");
        asm volatile(
            "{ .reg .pred p; again: mbarrier.try_wait.parity.shared.b64 p, [%0], %1; @!p bra again; }" ::"r"(address(&full)), "r"(parity) : "memory");
        sum += s[63 - t];
        __syncthreads();
    }
    out[t] = sum;
}
