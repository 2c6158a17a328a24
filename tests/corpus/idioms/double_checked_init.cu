// Double-checked init.
// launch: 4 x 64
// finds: nothing
__device__ int once;
__device__ int table[32];
extern "C" __global__ void k(int *out, int *x, int n) {
    if (threadIdx.x == 0) {
        int s = atomicCAS(&once, 0, 1);
        if (s == 0) {
            for (int i = 0; i<32; i++) table[i] = i*i;
            __threadfence();
            atomicExch(&once, 2);
        }  else { while (*(volatile int*)&once != 2); __threadfence(); }
    }
    __syncthreads();
    out[blockIdx.x*64+threadIdx.x] = table[threadIdx.x&31];
}
