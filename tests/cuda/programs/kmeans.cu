// One round of k-means: nearest centre of each point, sums and counts a cluster in shared memory.
#define K 5
#define DIMS 3
extern "C" __global__ void kmeans(const float *points, const float *centres, int *label, float *sums, int *counts,
                                  int n) {
    __shared__ float s[K][DIMS];
    __shared__ int c[K];
    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    if (t < K * DIMS) s[t / DIMS][t % DIMS] = 0;
    if (t < K) c[t] = 0;
    __syncthreads();
    if (i < n) {
        float best = INFINITY;
        int which = 0;
        for (int k = 0; k < K; k++) {
            float d = 0;
            for (int m = 0; m < DIMS; m++) {
                float e = points[m * n + i] - centres[k * DIMS + m];
                d += e * e;
            }
            if (d < best) best = d, which = k;
        }
        label[i] = which;
        for (int m = 0; m < DIMS; m++) atomicAdd(&s[which][m], points[m * n + i]);
        atomicAdd(&c[which], 1);
    }
    __syncthreads();
    if (t < K * DIMS) atomicAdd(sums + t, s[t / DIMS][t % DIMS]);
    if (t < K) atomicAdd(counts + t, c[t]);
}
