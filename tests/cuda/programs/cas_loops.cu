// Atomics that the hardware does not have, built from compare-and-swap: float max, double add, saturating counter.
__device__ float atomic_max(float *p, float v) {
    int *q = (int *)p, old = *q, seen;
    do {
        seen = old;
        if (__int_as_float(seen) >= v) break;
        old = atomicCAS(q, seen, __float_as_int(v));
    } while (old != seen);
    return __int_as_float(old);
}

__device__ void atomic_add(double *p, double v) {
    unsigned long long *q = (unsigned long long *)p, old = *q, seen;
    do {
        seen = old;
        old = atomicCAS(q, seen, __double_as_longlong(v + __longlong_as_double(seen)));
    } while (old != seen);
}

__device__ void atomic_byte(unsigned char *p) {
    unsigned *word = (unsigned *)((unsigned long long)p & ~3ull), shift = ((unsigned long long)p & 3) * 8;
    unsigned old = *word, seen;
    do {
        seen = old;
        if ((seen >> shift & 255) == 255) return;
        old = atomicCAS(word, seen, seen + (1u << shift));
    } while (old != seen);
}

extern "C" __global__ void cas_loops(const float *x, float *most, double *sum, unsigned char *counts, unsigned *rest,
                                     int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    atomic_max(most, x[i]);
    atomic_add(sum, (double)x[i]);
    atomicAdd(sum + 1, (double)x[i]);
    atomic_byte(counts + i % 7);
    atomicMin((int *)rest, -i);
    atomicMax(rest + 1, (unsigned)i);
    atomicOr(rest + 2, 1u << i % 32);
    atomicAnd(rest + 3, ~(1u << i % 16));
    atomicXor(rest + 4, i);
    atomicInc(rest + 5, 9);
    atomicDec(rest + 6, 9);
    atomicSub(rest + 7, 3);
    if (i == n - 1) atomicExch(rest + 8, 77);
    atomicMax((unsigned long long *)(rest + 10), (unsigned long long)i << 33);
    atomicAdd_block((int *)rest + 12, 1);
    atomicAdd_system((int *)rest + 13, 2);
}
