"""Softmax in Mojo: a thread a row."""

from std.math import exp
from max.gpu import thread_idx, block_idx, block_dim
from max.gpu.host import DeviceContext


def softmax(x: Pointer[Float32, MutAnyOrigin], output: Pointer[Float32, MutAnyOrigin], rows: Int32, columns: Int32):
    var row = Int(block_idx.x * block_dim.x + thread_idx.x)
    if row >= Int(rows):
        return
    var at = row * Int(columns)
    var top = x[unsafe_offset=at]
    for j in range(Int(columns)):
        top = max(top, x[unsafe_offset=at + j])
    var total = Float32(0)
    for j in range(Int(columns)):
        total += exp(x[unsafe_offset=at + j] - top)
    for j in range(Int(columns)):
        output[unsafe_offset=at + j] = exp(x[unsafe_offset=at + j] - top) / total


def main() raises:
    var context = DeviceContext()
    var x = context.enqueue_create_buffer[DType.float32](800)
    var output = context.enqueue_create_buffer[DType.float32](800)
    context.enqueue_function[softmax](x.unsafe_ptr(), output.unsafe_ptr(), Int32(8), Int32(100), grid_dim=1, block_dim=32)
    context.synchronize()
