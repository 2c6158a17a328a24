// Structures by value as kernel parameters, 8- and 16-bit members, __grid_constant__, vectors of bytes and doubles.
struct __align__(16) Layout { int rows, columns; short bias; signed char shift; unsigned char flags[5]; double scale; };

__device__ __noinline__ Layout change(Layout l, int by) {
    l.bias += by;
    l.flags[by & 3] ^= 255;
    l.scale *= 2;
    return l;
}

extern "C" __global__ void structures(const Layout layout, const short4 *in, double2 *out, char2 *small) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= layout.rows * layout.columns) return;
    Layout mine = change(layout, i % 4);
    short4 v = in[i];
    out[i] = make_double2((v.x + mine.bias) * mine.scale, (double)(v.y << mine.shift) - v.z);
    small[i] = make_char2((char)(v.w + mine.flags[i % 5]), (char)-mine.flags[i & 3]);
}
