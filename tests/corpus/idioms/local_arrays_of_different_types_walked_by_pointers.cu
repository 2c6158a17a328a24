// Local arrays of different types walked by pointers.
// launch: 1 x 32
// finds: nothing
extern "C" __global__ void k(int *out, int *x, int n) {
    double a[6];
    char b[10];
    int c[5], t = threadIdx.x;
    for (double *p = a; p != a + 6; p++) *p = x[p - a];
    for (char *p = b + 9; p >= b; p--) *p = (char)(p - b + t);
    int *last = c + 4;
    for (int i = 4; i >= 0; i--) *(last - i) = x[t + i];
    int m = x[t] % 5;
    int *q = x[t + 1] > 50 ? c : (int *)a;
    out[t] = (int)a[m] + b[m * 2] + c[m] + q[m];
}
