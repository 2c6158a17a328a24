"""Softmax in CuTe DSL: a warp a row."""

import cutlass
from cutlass import cute


@cute.kernel
def softmax_kernel(x: cute.Tensor, out: cute.Tensor, columns: cutlass.Int32):
    lane, _, _ = cute.arch.thread_idx()
    row, _, _ = cute.arch.block_idx()
    top = -cutlass.Float32.inf
    for j in range(lane, columns, 32):
        top = cutlass.max(top, x[row, j])
    top = cute.arch.warp_reduction_max(top)
    total = cutlass.Float32(0.0)
    for j in range(lane, columns, 32):
        total += cute.math.exp(x[row, j] - top)
    total = cute.arch.warp_reduction_sum(total)
    for j in range(lane, columns, 32):
        out[row, j] = cute.math.exp(x[row, j] - top) / total


@cute.jit
def softmax(x: cute.Tensor, out: cute.Tensor, columns: cutlass.Int32):
    softmax_kernel(x, out, columns).launch(grid=(x.shape[0], 1, 1), block=(32, 1, 1))
