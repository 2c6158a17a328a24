// A range of CUDA C++ that needs its headers and sm_90, compiled for its text only: tensor cores, cooperative groups,
// clusters, asynchronous copies, barriers, textures, virtual functions, device memory, inline PTX, wide integers.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cub/block/block_scan.cuh>
#include <cuda/barrier>
#include <mma.h>

namespace cg = cooperative_groups;
using namespace nvcuda;

extern "C" __global__ void tensor_cores(const half *a, const half *b, float *c)
{
    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> left;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major> right;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum;
    wmma::fill_fragment(sum, 0.0f);
    wmma::load_matrix_sync(left, a, 16);
    wmma::load_matrix_sync(right, b, 16);
    wmma::mma_sync(sum, left, right, sum);
    wmma::store_matrix_sync(c, sum, 16, wmma::mem_row_major);
}

extern "C" __global__ void __cluster_dims__(2, 1, 1) groups(int *x)
{
    __shared__ int mine;
    auto block = cg::this_thread_block();
    auto tile = cg::tiled_partition<16>(block);
    int value = cg::reduce(tile, x[block.thread_rank()], cg::plus<int>());
    mine = value + tile.ballot(value > 3) + tile.match_any(value);
    auto cluster = cg::this_cluster();
    cluster.sync();
    x[block.thread_rank()] = *cluster.map_shared_rank(&mine, 1);
    cluster.sync();
    cg::this_grid().sync();
}

extern "C" __global__ void copies(int *out, const int *in)
{
    __shared__ alignas(16) int staged[256];
    __shared__ cuda::barrier<cuda::thread_scope_block> barrier;
    if (threadIdx.x == 0)
        init(&barrier, blockDim.x);
    __syncthreads();
    cuda::memcpy_async(staged, in, cuda::aligned_size_t<16>(sizeof(staged)), barrier);
    barrier.arrive_and_wait();
    out[threadIdx.x] = staged[threadIdx.x ^ 1];
}

extern "C" __global__ void block_scan(int *x)
{
    using Scan = cub::BlockScan<int, 128>;
    __shared__ Scan::TempStorage storage;
    Scan(storage).InclusiveSum(x[threadIdx.x], x[threadIdx.x]);
}

extern "C" __global__ void textures(cudaTextureObject_t texture, cudaSurfaceObject_t surface, float4 *out)
{
    out[0] = tex2D<float4>(texture, 1.0f, 2.0f);
    surf2Dread(&out[1], surface, 16, 1);
    surf2Dwrite(out[0], surface, 0, 0);
}

struct Shape {
    virtual __device__ int area(int side) { return side; }
};

struct Square : Shape {
    __device__ int area(int side) override { return side * side; }
};

extern "C" __global__ void objects(int *x, int n)
{
    Shape shape;
    Square square;
    Shape *chosen = n > 3 ? &shape : &square;
    int *heap = new int[n];
    heap[n - 1] = chosen->area(n);
    x[0] = heap[n - 1];
    delete[] heap;
}

extern "C" __global__ void numbers(double *d, float *f, long long *wide, int n)
{
    d[0] = sin(d[1]) + erf(d[2]) + __dadd_rz(d[3], d[4]);
    f[0] = powf(f[1], f[2]) + fmodf(f[3], f[4]) + __frsqrt_rn(f[5]);
    wide[0] = wide[1] / n + (long long)(((unsigned __int128)wide[2] * n) >> 64) + __popcll(wide[3]);
    atomicAdd(d, 1.0);
    atomicCAS((unsigned long long *)wide, 1ull, 2ull);
    asm volatile("{ .reg .pred p; setp.ne.b32 p, %1, 0; @!p mov.f32 %0, 0f3F800000; }" : "+f"(f[7]) : "r"(n));
    __threadfence_system();
}
