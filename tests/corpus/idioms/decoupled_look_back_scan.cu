// Decoupled look-back scan.
// launch: 6 x 64
// finds: nothing
__device__ volatile int status[64];
__device__ volatile int aggregate[64];
__device__ volatile int prefix[64];
__device__ int ticket;
extern "C" __global__ void k(int *out, int *x, int n) {
    __shared__ int s[64];
    __shared__ int tile;
    __shared__ int before;
    int t = threadIdx.x;
    if (t == 0) tile = atomicAdd(&ticket, 1);
    __syncthreads();
    int i = tile*64+t;
    s[t] = x[i];
    __syncthreads();
    for (int d = 1; d<64; d *= 2) {
        int v = t >= d? s[t-d]:0;
        __syncthreads();
        s[t] += v;
        __syncthreads();
    }
    if (t == 63) {
        aggregate[tile] = s[63];
        __threadfence();
        status[tile] = 1;
    }
    if (t == 0) {
        int sum = 0;
        int p = tile-1;
        while (p >= 0) {
            int f;
            do f = status[p];
            while (f == 0);
            __threadfence();
            if (f == 2) {
                sum += prefix[p];
                break;
            }
            sum += aggregate[p];
            p--;
        }
        before = sum;
    }
    __syncthreads();
    if (t == 63) {
        prefix[tile] = before+s[63];
        __threadfence();
        status[tile] = 2;
    }
    out[i] = s[t]+before;
}
