// Token and position embedding with 16-byte packs, and its backward with float atomics.
struct alignas(16) Pack { float v[4]; };

extern "C" __global__ void embed(Pack *out, const int *tokens, const Pack *wte, const Pack *wpe, int T, int C) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, packs = C / 4;
    if (i >= T * packs) return;
    int t = i / packs, c = i % packs;
    Pack a = wte[tokens[t] * packs + c], b = wpe[t * packs + c], sum;
    for (int k = 0; k < 4; k++) sum.v[k] = a.v[k] + b.v[k];
    out[i] = sum;
}

extern "C" __global__ void embed_backward(float *dwte, const int *tokens, const float *dout, int T, int C) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < T * C) atomicAdd(dwte + tokens[i / C] * C + i % C, dout[i]);
}
