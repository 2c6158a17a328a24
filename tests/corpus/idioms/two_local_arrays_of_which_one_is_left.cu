// Two local arrays of which one is left.
// launch: 1 x 32
// finds: array overrun
extern "C" __global__ void k(int *out, int *x, int n) {
    int keys[12], values[12], t = threadIdx.x, count = 0;
    for (int i = 0; i < 12; i++) keys[i] = values[i] = 0;
    for (int i = 0; i < 16; i++)
        if (x[t + i] > 30) {
#ifndef BUG
            if (count == 12) break;
#endif
            keys[count] = x[t + i];
            values[count++ % 12] = i;
        }
    int sum = 0;
    for (int i = 0; i < 12; i++) sum += keys[i] * values[(i + x[i]) % 12];
    out[t] = sum;
}
