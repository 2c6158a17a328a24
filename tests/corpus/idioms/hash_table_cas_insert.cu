// Hash table CAS insert.
// launch: 4 x 64
// finds: nothing
__device__ int keys[1024];
__device__ int vals[1024];
extern "C" __global__ void k(int *out, int *x, int n) {
    int i = blockIdx.x*blockDim.x+threadIdx.x;
    int key = x[i]*7+1;
    int h = (key*31)&1023;
    for (; ; ) {
        int p = atomicCAS(&keys[h], 0, key);
        if (p == 0 || p == key) {
            atomicAdd(&vals[h], 1);
            break;
        }
        h = (h+1)&1023;
    }
    out[i] = h;
}
