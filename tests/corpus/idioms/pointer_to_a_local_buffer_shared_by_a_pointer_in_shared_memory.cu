// Pointer to a local buffer shared by a pointer in shared memory.
// launch: 1 x 64
// finds: fault
extern "C" __global__ void k(int *out, int *x, int n) {
    __shared__ int *where;
    int room[8];
    int t = threadIdx.x;
    for (int i = 0; i < 8; i++) room[i] = x[i] + t;
    if (t == 0) where = room;
    __syncthreads();
#ifdef BUG
    out[t] = where[t & 7];
#else
    if (t == 0) out[t] = where[x[3] & 7];
    else out[t] = room[x[t] & 7];
#endif
}
