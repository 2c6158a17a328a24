// Field without a value in a returned structure.
// launch: 1 x 32
// missed: all fields are passed on, as padding is, and the caller loads those, too, that it does not use
struct Found { int there, value; };
__device__ __noinline__ Found find(int *x, int i) {
    Found found;
    found.there = x[i] > 50;
    if (found.there) found.value = x[i];
#ifndef BUG
    else found.value = 0;
#endif
    return found;
}
extern "C" __global__ void k(int *out, int *x, int n) {
    out[threadIdx.x] = find(x, threadIdx.x).value;
}
