// Ballot in a loop that lanes leave.
// launch: 1 x 32
// finds: fault
extern "C" __global__ void k(int *out, int *x, int n) {
    int t = threadIdx.x, m = x[t] % 5 + 1, seen = 0;
#ifdef BUG
    for (int i = 0; i < m; i++) seen += __popc(__ballot_sync(~0u, x[t + i] > 50));
    __syncwarp();
#else
    for (int i = 0; __any_sync(~0u, i < m); i++) seen += __popc(__ballot_sync(~0u, i < m && x[t + i] > 50));
#endif
    out[t] = seen;
}
