// Matrix multiplication with 4 x 4 results a thread, float4 loads and double-buffered tiles.
#define T 32
extern "C" __global__ void __launch_bounds__(64) matmul_blocked(const float *a, const float *b, float *c, int n) {
    __shared__ __align__(16) float left[2][T][T], right[2][T][T];
    int t = threadIdx.x, row = t / 8 * 4, col = t % 8 * 4;
    const float *pa = a + blockIdx.y * T * n, *pb = b + blockIdx.x * T;
    float acc[4][4] = {};
    auto load = [&](int buffer, int k) {
        for (int i = t; i < T * T / 4; i += 64) {
            int r = i / (T / 4), q = i % (T / 4) * 4;
            *(float4 *)&left[buffer][r][q] = *(const float4 *)(pa + r * n + k + q);
            *(float4 *)&right[buffer][r][q] = *(const float4 *)(pb + (k + r) * n + q);
        }
    };
    load(0, 0);
    for (int k = 0, now = 0; k < n; k += T, now ^= 1) {
        __syncthreads();
        if (k + T < n) load(now ^ 1, k + T);
#pragma unroll
        for (int i = 0; i < T; i++) {
            float4 v = *(float4 *)&right[now][i][col];
#pragma unroll
            for (int r = 0; r < 4; r++) {
                float u = left[now][row + r][i];
                acc[r][0] += u * v.x;
                acc[r][1] += u * v.y;
                acc[r][2] += u * v.z;
                acc[r][3] += u * v.w;
            }
        }
    }
    for (int r = 0; r < 4; r++)
        *(float4 *)&c[(blockIdx.y * T + row + r) * n + blockIdx.x * T + col] =
            make_float4(acc[r][0], acc[r][1], acc[r][2], acc[r][3]);
}
