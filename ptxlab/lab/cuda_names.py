"""What declarations, variables and types of CUDA C++ mean, and which PTX they become."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Word:
    """What a word means, how it is written, and the PTX that it becomes, "" where that depends or is none."""

    says: str
    syntax: str = ""
    ptx: str = ""


DECLARATIONS = {
    "__global__": Word("A kernel: a function that the host launches.", "__global__ void kernel(float *x)", ".entry"),
    "__device__": Word(
        "A function that kernels call, or a variable in global memory.", "__device__ float half_of(float x)"
    ),
    "__host__": Word("A function of the host. With `__device__` it is compiled for both."),
    "__shared__": Word(
        "Memory that the threads of a block share. It begins uninitialized. `extern __shared__ float x[];` has its "
        "size "
        "from the launch: dynamic shared memory.",
        "__shared__ float tile[32][33];",
        ".shared",
    ),
    "__constant__": Word(
        "Read-only memory that is cached for access by all threads of a warp at the same address.",
        "__constant__ float weights[64];",
        ".const",
    ),
    "__managed__": Word("A variable that host and device both read and write."),
    "__restrict__": Word(
        "A promise that no other pointer reaches this memory. The compiler may then read `const` data on the read-only "
        "path, `ld.global.nc`.",
        "const float *__restrict__ x",
    ),
    "__launch_bounds__": Word(
        "The most threads that a block is launched with, and how many blocks a multiprocessor should hold: what the "
        "assembler plans registers for.",
        "__launch_bounds__(threads, blocks)",
        ".maxntid",
    ),
    "__grid_constant__": Word(
        "A parameter that no thread changes, so that its address can be taken without a copy in local memory; a tensor "
        "map of TMA is passed so.",
        "const __grid_constant__ T x",
    ),
    "__cluster_dims__": Word(
        "The blocks of a cluster, which can reach each other's shared memory; from sm_90 on.",
        "__cluster_dims__(2, 1, 1)",
    ),
    "__forceinline__": Word("The function is always inlined: there is no call."),
    "__noinline__": Word("The function is not inlined if that can be avoided."),
    "extern": Word(
        '`extern "C"` keeps the name of a kernel as it is written. `extern __shared__` is shared memory whose size the '
        "launch says."
    ),
    "volatile": Word("Each access is made, in this order. It does not order accesses of other threads."),
    "asm": Word(
        "PTX in place: `%0`, `%1` are the operands, and a register's own percent sign is written twice, `%%tid.x`. "
        'Constraints: `"r"` 32 bits, `"l"` 64 bits, `"f"` float, `"d"` double, `"h"` 16 bits, `"n"` a constant.',
        'asm volatile("ex2.approx.f32 %0, %1;" : "=f"(y) : "f"(x) : "memory");',
    ),
    "unroll": Word("`#pragma unroll` repeats the loop's body in place of the loop; with a number that many times."),
}
"""What is said of functions and variables."""

VARIABLES = {
    "threadIdx": Word("The thread's place in its block: `.x`, `.y`, `.z`.", "", "%tid"),
    "blockIdx": Word("The block's place in the grid: `.x`, `.y`, `.z`.", "", "%ctaid"),
    "blockDim": Word("The threads of a block: `.x`, `.y`, `.z`.", "", "%ntid"),
    "gridDim": Word("The blocks of the grid: `.x`, `.y`, `.z`.", "", "%nctaid"),
    "warpSize": Word("The lanes of a warp: 32."),
}
"""Variables that every thread has."""

TYPES = {
    "float4": Word("Four floats, aligned to 16 bytes: read and written by one access.", "float4 v = x4[i];"),
    "float2": Word("Two floats, aligned to 8 bytes: read and written by one access.", "float2 v = x2[i];"),
    "int4": Word("Four ints, aligned to 16 bytes: read and written by one access.", "int4 v = x4[i];"),
    "uint4": Word("Four unsigned ints, aligned to 16 bytes: read and written by one access.", "uint4 v = x4[i];"),
    "dim3": Word("Three sizes, of a grid or a block; what is left out is 1.", "dim3 block(32, 4);"),
    "half": Word("A 16-bit float: 5 bits of exponent, 10 of fraction. Needs `#include <cuda_fp16.h>`.", "", "f16"),
    "half2": Word(
        "Two halves in one register: one instruction computes both. Needs `#include <cuda_fp16.h>`.", "", "f16x2"
    ),
    "__nv_bfloat16": Word(
        "A 16-bit float with the range of float: 8 bits of exponent, 7 of fraction. Needs `#include <cuda_bf16.h>`.",
        "",
        "bf16",
    ),
}
"""Types."""
