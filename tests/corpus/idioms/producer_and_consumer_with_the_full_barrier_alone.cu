// Producer and consumer with the full barrier alone.
// launch: 1 x 64
// finds: RAW, barrier shared, deadlock
__device__ void sync(int id) { asm volatile("bar.sync %0, 64;" ::"r"(id) : "memory"); }
__device__ void arrive(int id) { asm volatile("bar.arrive %0, 64;" ::"r"(id) : "memory"); }
extern "C" __global__ void k(int *out, int *x, int n) {
    __shared__ int s[32];
    int t = threadIdx.x, lane = t % 32, sum = 0;
    if (t < 32) {
        for (int i = 0; i < 4; i++) {
#ifndef BUG
            sync(2);
#endif
            s[lane] = x[i * 32 + lane];
            arrive(1);
#ifdef BUG
            sync(2);
#endif
        }
    } else {
#ifdef BUG
        for (int i = 0; i < 4; i++) {
            arrive(2);
            sync(1);
            sum += s[31 - lane];
        }
#else
        arrive(2);
        for (int i = 0; i < 4; i++) {
            sync(1);
            sum += s[31 - lane];
            if (i < 3) arrive(2);
        }
#endif
        out[lane] = sum;
    }
}
