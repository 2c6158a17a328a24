// Block-wide algorithms of CUB: reduce, scan, radix sort, discontinuity, histogram and exchange, of one block.
#include <cub/block/block_discontinuity.cuh>
#include <cub/block/block_exchange.cuh>
#include <cub/block/block_histogram.cuh>
#include <cub/block/block_radix_sort.cuh>
#include <cub/block/block_reduce.cuh>
#include <cub/block/block_scan.cuh>
#include <cub/warp/warp_reduce.cuh>
#include <cub/warp/warp_scan.cuh>

extern "C" __global__ void cub_sums(const int *x, int *sums, int *scanned, int *warps) {
    typedef cub::BlockReduce<int, 96> Reduce;
    typedef cub::BlockScan<int, 96> Scan;
    typedef cub::WarpScan<int> WarpScan;
    __shared__ union { Reduce::TempStorage reduce; Scan::TempStorage scan; WarpScan::TempStorage warp[3]; } s;
    int t = threadIdx.x, v = x[t];
    int sum = Reduce(s.reduce).Sum(v);
    __syncthreads();
    int most = Reduce(s.reduce).Reduce(v, cuda::maximum<>{});
    if (t == 0) {
        sums[0] = sum;
        sums[1] = most;
    }
    __syncthreads();
    int running, total;
    Scan(s.scan).ExclusiveSum(v, running, total);
    scanned[t] = running;
    if (t == 0) sums[2] = total;
    __syncthreads();
    int inclusive;
    WarpScan(s.warp[t / 32]).InclusiveSum(v, inclusive);
    warps[t] = inclusive;
}

extern "C" __global__ void cub_sort(const unsigned *keys, const int *values, unsigned *sorted, int *moved, int *heads) {
    typedef cub::BlockRadixSort<unsigned, 64, 4, int> Sort;
    typedef cub::BlockDiscontinuity<unsigned, 64> Heads;
    __shared__ union { Sort::TempStorage sort; Heads::TempStorage heads; } s;
    unsigned k[4];
    int v[4], flags[4];
    for (int i = 0; i < 4; i++) {
        k[i] = keys[threadIdx.x * 4 + i];
        v[i] = values[threadIdx.x * 4 + i];
    }
    Sort(s.sort).Sort(k, v);
    __syncthreads();
    Heads(s.heads).FlagHeads(flags, k, cuda::std::not_equal_to<>{});
    for (int i = 0; i < 4; i++) {
        sorted[threadIdx.x * 4 + i] = k[i];
        moved[threadIdx.x * 4 + i] = v[i];
        heads[threadIdx.x * 4 + i] = flags[i];
    }
}

extern "C" __global__ void cub_histogram(const unsigned char *data, unsigned *counts, int *striped) {
    typedef cub::BlockHistogram<unsigned char, 64, 3, 16, cub::BLOCK_HISTO_SORT> Histogram;
    typedef cub::BlockExchange<int, 64, 3> Exchange;
    __shared__ union { Histogram::TempStorage histogram; Exchange::TempStorage exchange; } s;
    __shared__ unsigned table[16];
    unsigned char d[3];
    int v[3];
    for (int i = 0; i < 3; i++) d[i] = data[threadIdx.x * 3 + i], v[i] = threadIdx.x * 3 + i;
    Histogram(s.histogram).Histogram(d, table);
    __syncthreads();
    Exchange(s.exchange).BlockedToStriped(v, v);
    if (threadIdx.x < 16) counts[threadIdx.x] = table[threadIdx.x];
    for (int i = 0; i < 3; i++) striped[threadIdx.x * 3 + i] = v[i];
}
