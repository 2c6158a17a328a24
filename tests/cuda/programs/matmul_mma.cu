// Matrix multiplication with inline PTX: cp.async in two stages, ldmatrix, mma.sync m16n8k16 (f16 in, f32 out).
#include <cuda_fp16.h>

__device__ unsigned shared_address(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }

__device__ void copy16(void *to, const void *from) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared_address(to)), "l"(from) : "memory");
}

// One warp computes 16 x 16 of C = A B^T, A [m][k], B [n][k].
extern "C" __global__ void matmul_mma(const half *a, const half *b, float *c, int n, int k) {
    __shared__ __align__(16) half left[2][16][24], right[2][16][24];
    int lane = threadIdx.x, row = blockIdx.y * 16, col = blockIdx.x * 16;
    float acc[2][4] = {};
    auto load = [&](int stage, int at) {
        int r = lane / 2, q = lane % 2 * 8;
        copy16(&left[stage][r][q], a + (row + r) * k + at + q);
        copy16(&right[stage][r][q], b + (col + r) * k + at + q);
        asm volatile("cp.async.commit_group;" ::: "memory");
    };
    load(0, 0);
    for (int at = 0, now = 0; at < k; at += 16, now ^= 1) {
        if (at + 16 < k) {
            load(now ^ 1, at + 16);
            asm volatile("cp.async.wait_group 1;" ::: "memory");
        } else {
            asm volatile("cp.async.wait_group 0;" ::: "memory");
        }
        __syncwarp();
        unsigned x[4], y[4];
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                     : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3])
                     : "r"(shared_address(&left[now][lane % 16][lane / 16 * 8])));
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                     : "=r"(y[0]), "=r"(y[1]), "=r"(y[2]), "=r"(y[3])
                     : "r"(shared_address(&right[now][lane % 8 + lane / 16 * 8][lane / 8 % 2 * 8])));
        for (int h = 0; h < 2; h++)
            asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
                         "{%8, %9}, {%0, %1, %2, %3};"
                         : "+f"(acc[h][0]), "+f"(acc[h][1]), "+f"(acc[h][2]), "+f"(acc[h][3])
                         : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(y[2 * h]), "r"(y[2 * h + 1]));
        __syncwarp();
    }
    for (int h = 0; h < 2; h++) {
        float *to = c + (row + lane / 4) * n + col + h * 8 + lane % 4 * 2;
        *(float2 *)to = make_float2(acc[h][0], acc[h][1]);
        *(float2 *)(to + 8 * n) = make_float2(acc[h][2], acc[h][3]);
    }
}
