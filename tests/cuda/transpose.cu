// out [columns, rows] = x [rows, columns] transposed, through a padded 32 x 33 tile; blocks of 32 x 8 threads.
extern "C" __global__ void transpose(const float *x, float *out, int rows, int columns)
{
    __shared__ float tile[32][33];
    int column = blockIdx.x * 32 + threadIdx.x;
    int row = blockIdx.y * 32 + threadIdx.y;
    for (int i = 0; i < 32; i += 8)
        if (row + i < rows && column < columns)
            tile[threadIdx.y + i][threadIdx.x] = x[(row + i) * columns + column];
    __syncthreads();
    column = blockIdx.y * 32 + threadIdx.x;
    row = blockIdx.x * 32 + threadIdx.y;
    for (int i = 0; i < 32; i += 8)
        if (row + i < columns && column < rows)
            out[(row + i) * rows + column] = tile[threadIdx.x][threadIdx.y + i];
}
