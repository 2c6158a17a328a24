// Local pointer kept in shared memory for a callback.
// launch: 1 x 64
// finds: fault
struct Task { int *result; int input; };
extern "C" __global__ void k(int *out, int *x, int n) {
    __shared__ Task tasks[64];
    int t = threadIdx.x;
    int mine = 0;
    tasks[t].input = x[t];
    tasks[t].result = &mine;
    __syncthreads();
#ifdef BUG
    Task task = tasks[63 - t];
#else
    Task task = tasks[t];
#endif
    *task.result = task.input * 2;
    __syncthreads();
    out[t] = mine;
}
