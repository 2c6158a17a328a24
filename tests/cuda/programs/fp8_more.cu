// fp8 pairs and fours, fp6 and fp4, saturation, conversions from half and bfloat16.
#include <cuda_fp4.h>
#include <cuda_fp6.h>
#include <cuda_fp8.h>

extern "C" __global__ void fp8_more(const float2 *x, unsigned short *pairs, float2 *back, unsigned char *small) {
    int i = threadIdx.x;
    __nv_fp8x2_e4m3 a(x[i]);
    __nv_fp8x2_e5m2 b(x[i]);
    pairs[2 * i] = a.__x;
    pairs[2 * i + 1] = b.__x;
    float2 f = float2(a), g = float2(b);
    back[i] = make_float2(f.x + g.x, f.y + g.y);
    small[4 * i] = __nv_fp6_e2m3(x[i].x).__x;
    small[4 * i + 1] = __nv_fp6_e3m2(x[i].x).__x;
    small[4 * i + 2] = __nv_fp4_e2m1(x[i].x).__x;
    small[4 * i + 3] = __nv_fp8_e4m3(__float2half(x[i].y)).__x;
}
