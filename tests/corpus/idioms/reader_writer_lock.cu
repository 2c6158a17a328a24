// Reader writer lock.
// launch: 8 x 64
// finds: nothing
__device__ int rw;
extern "C" __global__ void k(int *out, int *x, int n) {
    if (threadIdx.x) return;
    if (blockIdx.x%2) {
        while (atomicCAS(&rw, 0, -1));
        __threadfence();
        out[0] += 1;
        out[1] = out[0];
        __threadfence();
        atomicExch(&rw, 0);
    }
    else {
        int o;
        do {
            o = *(volatile int*)&rw;
        }  while (o<0 || atomicCAS(&rw, o, o+1) != o);
        __threadfence();
        int s = out[0]-out[1];
        __threadfence();
        atomicAdd(&rw, -1);
        out[100+blockIdx.x] = s;
    }
}
