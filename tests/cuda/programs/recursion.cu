// Recursive device functions: Ackermann, the towers of Hanoi, and mutual recursion; each thread to its own depth.
__device__ __noinline__ unsigned ackermann(unsigned m, unsigned n) {
    if (m == 0) return n + 1;
    if (n == 0) return ackermann(m - 1, 1);
    return ackermann(m - 1, ackermann(m, n - 1));
}

__device__ __noinline__ void hanoi(int n, int from, int to, int *pegs, int *moves) {
    if (n == 0) return;
    hanoi(n - 1, from, 3 - from - to, pegs, moves);
    pegs[n - 1] = to;
    ++*moves;
    hanoi(n - 1, 3 - from - to, to, pegs, moves);
}

__device__ bool odd(unsigned n);
__device__ __noinline__ bool even(unsigned n) { return n == 0 ? true : odd(n - 1); }
__device__ __noinline__ bool odd(unsigned n) { return n == 0 ? false : even(n - 1); }

extern "C" __global__ void recursion(unsigned *a, int *h, unsigned *parity) {
    int t = threadIdx.x, pegs[6] = {}, moves = 0;
    a[t] = ackermann(t % 3, t % 5);
    hanoi(t % 6, 0, 2, pegs, &moves);
    h[t] = moves;
    for (int i = 0; i < t % 6; i++) h[t] += 1000 * (pegs[i] == 2);
    parity[t] = even(t) * 2 + odd(t * 3);
}
