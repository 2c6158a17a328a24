// Field of a local structure runs into the next field.
// launch: 1 x 32
// finds: nothing
struct Pair { int head[4], tail[4]; };
extern "C" __global__ void k(int *out, int *x, int n) {
    Pair p;
    int t = threadIdx.x, other[4];
    for (int i = 0; i < 4; i++) p.head[i] = p.tail[i] = other[i] = i;
    p.head[x[t] % 5] = 7;
    other[x[t + 1] % 4] = 8;
    out[t] = p.head[x[t + 2] % 4] + p.tail[x[t + 3] % 4] + other[x[t + 4] % 4];
}
