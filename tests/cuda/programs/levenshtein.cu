// Edit distance of two strings along anti-diagonals, with a ring of three rows in shared memory.
extern "C" __global__ void levenshtein(const char *a, const char *b, int n, int m, int *out) {
    extern __shared__ int ring[];  // [3][n + 1]
    int t = threadIdx.x;
    for (int d = 0; d <= n + m; d++) {
        int *now = ring + d % 3 * (n + 1), *one = ring + (d + 2) % 3 * (n + 1), *two = ring + (d + 1) % 3 * (n + 1);
        for (int i = t; i <= n; i += blockDim.x) {
            int j = d - i;
            if (j < 0 || j > m) continue;
            if (i == 0 || j == 0) now[i] = i + j;
            else now[i] = min(min(one[i - 1], one[i]) + 1, two[i - 1] + (a[i - 1] != b[j - 1]));
        }
        __syncthreads();
    }
    if (t == 0) *out = ring[(n + m) % 3 * (n + 1) + n];
}
