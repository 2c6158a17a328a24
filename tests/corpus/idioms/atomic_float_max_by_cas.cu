// Atomic float max by CAS.
// launch: 4 x 64
// finds: nothing
extern "C" __global__ void k(int *out, int *x, int n) {
    int i = blockIdx.x*blockDim.x+threadIdx.x;
    int old = *(volatile int*)out, as;
    do {
        as = old;
        if (as >= x[i]) break;
        old = atomicCAS(out, as, x[i]);
    }  while (old != as);
}
