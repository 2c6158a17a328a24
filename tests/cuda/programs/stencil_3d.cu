// A seven-point stencil that walks through z with its column in registers and the plane in shared memory.
extern "C" __global__ void stencil_3d(const float *in, float *out, int nx, int ny, int nz) {
    __shared__ float plane[10][18];
    int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y, tx = threadIdx.x + 1, ty = threadIdx.y + 1;
    bool inside = x < nx && y < ny;
    int step = nx * ny, at = y * nx + x;
    float below = 0, here = inside ? in[at] : 0, above = inside && nz > 1 ? in[at + step] : 0;
    for (int z = 0; z < nz; z++) {
        plane[ty][tx] = here;
        if (threadIdx.x == 0) plane[ty][0] = x > 0 && y < ny ? in[at - 1] : 0;
        if (threadIdx.x == 15) plane[ty][17] = x + 1 < nx && y < ny ? in[at + 1] : 0;
        if (threadIdx.y == 0) plane[0][tx] = y > 0 && x < nx ? in[at - nx] : 0;
        if (threadIdx.y == 7) plane[9][tx] = y + 1 < ny && x < nx ? in[at + nx] : 0;
        if (!inside) plane[ty][tx] = 0;
        __syncthreads();
        if (inside)
            out[at] = plane[ty][tx - 1] + plane[ty][tx + 1] + plane[ty - 1][tx] + plane[ty + 1][tx] + below + above -
                      6 * here;
        __syncthreads();
        below = here;
        here = above;
        at += step;
        above = inside && z + 2 < nz ? in[at + step] : 0;
    }
}
