// Consumer does not hand the buffer back.
// launch: 1 x 128
// finds: RAW|WAR, barrier shared, deadlock
extern "C" __global__ void k(int *out, int *x, int n) {
    __shared__ int s[64];
    int t = threadIdx.x;
    if (t < 64) {
        for (int i = 0; i < 4; i++) {
#ifndef BUG
            asm volatile("bar.sync 2, 128;" ::: "memory");
#endif
            s[t] = x[i * 64 + t];
            asm volatile("bar.arrive 1, 128;" ::: "memory");
        }
    } else {
        int sum = 0;
#ifndef BUG
        asm volatile("bar.arrive 2, 128;" ::: "memory");
#endif
        for (int i = 0; i < 4; i++) {
            asm volatile("bar.sync 1, 128;" ::: "memory");
            sum += s[127 - t];
#ifndef BUG
            if (i < 3) asm volatile("bar.arrive 2, 128;" ::: "memory");
#endif
        }
        out[t - 64] = sum;
    }
}
