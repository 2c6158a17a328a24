// The Mandelbrot set: neighbouring threads leave their loops at very different times.
extern "C" __global__ void mandelbrot(unsigned short *out, int width, int height, int most) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    double cr = -2.0 + 2.5 * x / width, ci = -1.25 + 2.5 * y / height, zr = 0, zi = 0;
    unsigned short count = 0;
    while (count < most && __dadd_rn(__dmul_rn(zr, zr), __dmul_rn(zi, zi)) <= 4.0) {
        double next = __dadd_rn(__dsub_rn(__dmul_rn(zr, zr), __dmul_rn(zi, zi)), cr);
        zi = __dadd_rn(__dmul_rn(2.0 * zr, zi), ci);
        zr = next;
        count++;
    }
    out[y * width + x] = count;
}
