// Breadth-first search of a graph in one block: frontiers in shared queues, filled with warp-aggregated atomics.
extern "C" __global__ void breadth_first(const int *start, const int *edges, int *distance, int n, int source) {
    __shared__ int queue[2][512], count[2];
    int t = threadIdx.x;
    for (int i = t; i < n; i += blockDim.x) distance[i] = i == source ? 0 : -1;
    if (t == 0) {
        queue[0][0] = source;
        count[0] = 1;
        count[1] = 0;
    }
    __syncthreads();
    for (int level = 0, now = 0; count[now]; level++, now ^= 1) {
        for (int i = t; i < count[now]; i += blockDim.x) {
            int node = queue[now][i];
            for (int e = start[node]; e < start[node + 1]; e++)
                if (atomicCAS(distance + edges[e], -1, level + 1) == -1)
                    queue[now ^ 1][atomicAdd(&count[now ^ 1], 1)] = edges[e];
        }
        __syncthreads();
        if (t == 0) count[now] = 0;
        __syncthreads();
    }
}
