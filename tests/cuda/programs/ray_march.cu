// A ray marcher: signed distances of a sphere and a box, normals by differences, lit into bytes.
struct V { float x, y, z; };
__device__ V operator+(V a, V b) { return {a.x + b.x, a.y + b.y, a.z + b.z}; }
__device__ V operator*(V a, float s) { return {a.x * s, a.y * s, a.z * s}; }
__device__ float dot(V a, V b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
__device__ float length(V a) { return norm3df(a.x, a.y, a.z); }
__device__ float scene(V p) {
    float sphere = length(p) - 1.0f;
    V q = {fabsf(p.x) - 0.7f, fabsf(p.y) - 0.7f, fabsf(p.z) - 0.7f};
    V outside = {fmaxf(q.x, 0.0f), fmaxf(q.y, 0.0f), fmaxf(q.z, 0.0f)};
    float box = length(outside) + fminf(fmaxf(q.x, fmaxf(q.y, q.z)), 0.0f);
    return fmaxf(box, -(sphere + 0.1f));
}

extern "C" __global__ void ray_march(float *depth, unsigned char *shade, int width, int height) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    V origin = {0.5f, 0.4f, -3.0f}, ray = {(x + 0.5f) / width - 0.5f, (y + 0.5f) / height - 0.5f, 1.0f};
    ray = ray * (1.0f / length(ray));
    float t = 0;
    bool hit = false;
    for (int i = 0; i < 64 && t < 8; i++) {
        float d = scene(origin + ray * t);
        if (d < 1e-3f) {
            hit = true;
            break;
        }
        t += d;
    }
    int at = y * width + x;
    depth[at] = hit ? t : -1.0f;
    if (!hit) {
        shade[at] = 0;
        return;
    }
    V p = origin + ray * t;
    float here = scene(p), e = 1e-2f;
    V n = {scene(p + V{e, 0, 0}) - here, scene(p + V{0, e, 0}) - here, scene(p + V{0, 0, e}) - here};
    float light = __saturatef(-dot(n, ray) * rnorm3df(n.x, n.y, n.z));
    shade[at] = (unsigned char)__float2uint_rn(light * 255.0f);
}
