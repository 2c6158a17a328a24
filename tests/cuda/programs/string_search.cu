// Finds a short word in a long text, a byte a thread, and turns the text to upper case with byte permutations.
__constant__ char word[8] = "needle";

extern "C" __global__ void string_search(const char *text, int length, int *found, int *places, char *upper) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= length) return;
    char c = text[i];
    upper[i] = c >= 'a' && c <= 'z' ? c - 32 : c;
    int k = 0;
    while (word[k] && i + k < length && text[i + k] == word[k]) k++;
    if (!word[k]) places[atomicAdd(found, 1)] = i;
}

extern "C" __global__ void swap_bytes(const unsigned *x, unsigned *out, unsigned short *halves, int n) {
    int i = threadIdx.x;
    if (i >= n) return;
    out[i] = __byte_perm(x[i], 0, 0x0123);
    halves[i] = (unsigned short)(x[i] >> 16 | (x[i] & 0xff) << 8);
}
