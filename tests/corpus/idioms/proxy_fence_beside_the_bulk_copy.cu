// Proxy fence beside the bulk copy.
// launch: 1 x 64, on sm_90
// finds: async proxy without a fence
extern "C" __global__ void k(int *out, int *x, int n) {
    __shared__ alignas(128) int s[64];
    int t = threadIdx.x;
    s[t] = x[t];
    __syncthreads();
    if (t == 32) asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
#ifndef BUG
    __syncthreads();
#endif
    if (t == 0) {
        asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], 256;"
                     ::"l"(out), "r"((unsigned)__cvta_generic_to_shared(s)) : "memory");
        asm volatile("cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;" ::: "memory");
    }
}
