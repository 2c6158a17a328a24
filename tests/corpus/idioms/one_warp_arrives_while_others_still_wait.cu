// One warp arrives while others still wait.
// launch: 1 x 96
// finds: WAR, mbarrier missed
__device__ unsigned at(void *p) { return (unsigned)__cvta_generic_to_shared(p); }
__device__ void arrive(void *p) {
    asm volatile("{ .reg .b64 s; mbarrier.arrive.shared.b64 s, [%0]; }" ::"r"(at(p)) : "memory");
}
__device__ void wait(void *p, int parity) {
    int over;
    do asm volatile("{ .reg .pred p; mbarrier.test_wait.parity.shared.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
                    : "=r"(over) : "r"(at(p)), "r"(parity) : "memory");
    while (!over);
}
extern "C" __global__ void k(int *out, int *x, int n) {
    __shared__ unsigned long long full, empty;
    __shared__ int s;
    int t = threadIdx.x, sum = 0;
    for (void *p : {(void *)&full, (void *)&empty})
        if (t == 0) asm volatile("mbarrier.init.shared.b64 [%0], 1;" ::"r"(at(p)) : "memory");
    __syncthreads();
    for (int i = 0; i < 4; i++) {
        if (t == 0) {
            wait(&empty, (i & 1) ^ 1);
            s = x[i];
            arrive(&full);
        } else if (t >= 32) {
            wait(&full, i & 1);
            sum += s;
#ifndef BUG
            asm volatile("bar.sync 1, 64;" ::: "memory");
#endif
            if (t == 32) arrive(&empty);
        }
    }
    out[t] = sum;
}
