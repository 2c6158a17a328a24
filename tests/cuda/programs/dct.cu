// The discrete cosine transform of 8 x 8 blocks, and quantisation with rounding and saturation.
extern "C" __global__ void dct(const unsigned char *image, short *out, int width) {
    __shared__ float block[8][9], half[8][9];
    int x = threadIdx.x, y = threadIdx.y, at = (blockIdx.y * 8 + y) * width + blockIdx.x * 8 + x;
    block[y][x] = (float)image[at] - 128.0f;
    __syncthreads();
    float sum = 0;
    for (int k = 0; k < 8; k++) sum += block[y][k] * cospif((2 * k + 1) * x / 16.0f);
    half[y][x] = sum * (x ? 0.5f : 0.35355339f);
    __syncthreads();
    sum = 0;
    for (int k = 0; k < 8; k++) sum += half[k][x] * cospif((2 * k + 1) * y / 16.0f);
    sum *= y ? 0.5f : 0.35355339f;
    out[at] = (short)max(-100, min(100, __float2int_rn(sum / (1 + x + y))));
}
