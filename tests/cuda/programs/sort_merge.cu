// Merge sort across the grid: each thread merges two runs, or finds its element's place by binary search.
__device__ int lower(const int *x, int n, int key) {
    int a = 0, b = n;
    while (a < b) {
        int m = (a + b) / 2;
        if (x[m] < key) a = m + 1; else b = m;
    }
    return a;
}

__device__ int upper(const int *x, int n, int key) {
    int a = 0, b = n;
    while (a < b) {
        int m = (a + b) / 2;
        if (x[m] <= key) a = m + 1; else b = m;
    }
    return a;
}

extern "C" __global__ void sort_merge(const int *x, int *out, int n, int run) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int pair = i / (2 * run) * 2 * run, middle = min(pair + run, n), end = min(pair + 2 * run, n);
    int key = x[i];
    int place = i < middle ? i + lower(x + middle, end - middle, key)
                           : i - middle + pair + upper(x + pair, middle - pair, key);
    out[place] = key;
}
