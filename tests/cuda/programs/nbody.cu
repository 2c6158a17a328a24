// One step of n-body: all pairs through shared tiles of float4 (x, y, z, mass).
extern "C" __global__ void nbody(const float4 *body, float4 *force, int n, float soft) {
    __shared__ float4 tile[64];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float4 me = i < n ? body[i] : make_float4(0, 0, 0, 0);
    float3 sum = {0, 0, 0};
    for (int start = 0; start < n; start += 64) {
        int j = start + threadIdx.x;
        tile[threadIdx.x] = j < n ? body[j] : make_float4(0, 0, 0, 0);
        __syncthreads();
#pragma unroll 8
        for (int k = 0; k < 64; k++) {
            float dx = tile[k].x - me.x, dy = tile[k].y - me.y, dz = tile[k].z - me.z;
            float inverse = rsqrtf(dx * dx + dy * dy + dz * dz + soft);
            float s = tile[k].w * inverse * inverse * inverse;
            sum.x += dx * s;
            sum.y += dy * s;
            sum.z += dz * s;
        }
        __syncthreads();
    }
    if (i < n) force[i] = make_float4(sum.x, sum.y, sum.z, 0);
}
