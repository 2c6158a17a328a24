// mma.sync in its other shapes and types: bf16, tf32, f64, 8-bit integers, f16 accumulators; ldmatrix.trans, movmatrix.
__device__ unsigned shared_address(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }

extern "C" __global__ void mma_bf16(const unsigned *a, const unsigned *b, float *c) {
    int t = threadIdx.x, g = t / 4, q = t % 4;
    unsigned x[4] = {a[g * 8 + q], a[(g + 8) * 8 + q], a[g * 8 + q + 4], a[(g + 8) * 8 + q + 4]}, y[2] = {b[g * 8 + q], b[g * 8 + q + 4]};
    float d[4] = {};
    asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(y[0]), "r"(y[1]));
    c[g * 8 + 2 * q] = d[0]; c[g * 8 + 2 * q + 1] = d[1]; c[(g + 8) * 8 + 2 * q] = d[2]; c[(g + 8) * 8 + 2 * q + 1] = d[3];
}

extern "C" __global__ void mma_tf32(const unsigned *a, const unsigned *b, float *c) {
    int t = threadIdx.x, g = t / 4, q = t % 4;
    float d[4] = {};
    asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[g * 8 + q]), "r"(a[(g + 8) * 8 + q]), "r"(a[g * 8 + q + 4]), "r"(a[(g + 8) * 8 + q + 4]), "r"(b[g * 8 + q]), "r"(b[g * 8 + q + 4]));
    c[g * 8 + 2 * q] = d[0]; c[g * 8 + 2 * q + 1] = d[1]; c[(g + 8) * 8 + 2 * q] = d[2]; c[(g + 8) * 8 + 2 * q + 1] = d[3];
}

extern "C" __global__ void mma_f64(const double *a, const double *b, double *c) {
    int t = threadIdx.x, g = t / 4, q = t % 4;
    double d[2] = {};
    asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0,%1}, {%2}, {%3}, {%0,%1};" : "+d"(d[0]), "+d"(d[1]) : "d"(a[g * 4 + q]), "d"(b[g * 4 + q]));
    c[g * 8 + 2 * q] = d[0]; c[g * 8 + 2 * q + 1] = d[1];
}

extern "C" __global__ void mma_s8(const unsigned *a, const unsigned *b, int *c) {
    int t = threadIdx.x, g = t / 4, q = t % 4;
    int d[4] = {};
    asm("mma.sync.aligned.m16n8k32.row.col.satfinite.s32.s8.u8.s32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
        : "r"(a[g * 8 + q]), "r"(a[(g + 8) * 8 + q]), "r"(a[g * 8 + q + 4]), "r"(a[(g + 8) * 8 + q + 4]), "r"(b[g * 8 + q]), "r"(b[g * 8 + q + 4]));
    c[g * 8 + 2 * q] = d[0]; c[g * 8 + 2 * q + 1] = d[1]; c[(g + 8) * 8 + 2 * q] = d[2]; c[(g + 8) * 8 + 2 * q + 1] = d[3];
}

extern "C" __global__ void matrix_moves(const unsigned short *x, unsigned short *transposed, unsigned short *moved) {
    __shared__ __align__(16) unsigned short tile[8][8];
    int t = threadIdx.x;
    tile[t / 8][t % 8] = x[t];
    tile[t / 8 + 4][t % 8] = x[t + 32];
    __syncwarp();
    unsigned r, s;
    asm volatile("ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16 {%0}, [%1];" : "=r"(r) : "r"(shared_address(&tile[t % 8][0])));
    ((unsigned *)transposed)[t] = r;
    asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];" : "=r"(r) : "r"(shared_address(&tile[t % 8][0])));
    asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(s) : "r"(r));
    ((unsigned *)moved)[t] = s;
}
