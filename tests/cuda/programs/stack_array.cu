// alloca: an array on the thread's stack whose length is known at run time only; __builtin_trap never reached.
extern "C" __global__ void stack_array(int *out, int n) {
    int t = blockIdx.x * blockDim.x + threadIdx.x, length = t % n + 1;
    int *a = (int *)alloca(length * sizeof(int));
    for (int i = 0; i < length; i++) a[i] = i * t;
    int sum = 0;
    for (int i = length - 1; i >= 0; i--) sum += a[i];
    out[t] = sum;
}
