# %% [markdown]
# # 18 · Your language
#
# CUDA C++, numba, Triton, CuTe DSL, Warp, cuTile: each lets you say other things, and each becomes PTX. Here the same
# softmax is written in five of them, and the same tools look at all. **What does a language decide for you, and what does
# that cost?** First numba, where a thread takes a whole row, as one writes it first.

# %%
import warnings

import numpy as np

import ptxlab as pl
from ptxlab.course import check, scoreboard

warnings.filterwarnings("ignore", category=UserWarning, module="triton|numba|cutlass|warp")
kernels, rows, columns = {}, 8, 100  # language -> (kernel, grid, block, arguments behind x and y)
x = np.random.default_rng(0).standard_normal((rows, columns), np.float32)
e = np.exp(x.astype(float) - x.max(axis=1, keepdims=True))
exact = e / e.sum(axis=1, keepdims=True)
scoreboard.show()

# %%
try:
    import math

    from numba import cuda

    @cuda.jit
    def softmax_numba(x, y, columns):
        row = cuda.grid(1)
        if row < x.shape[0]:
            top = x[row, 0]
            for j in range(1, columns):
                top = max(top, x[row, j])
            total = np.float32(0)
            for j in range(columns):
                total += math.exp(x[row, j] - top)
            for j in range(columns):
                y[row, j] = math.exp(x[row, j] - top) / total

    kernels["numba"] = pl.numba(softmax_numba, x, x, columns), 1, 32, (columns,)
    print(kernels["numba"][0])
except (ImportError, pl.UnavailableError) as missing:
    print(f"numba-cuda is not here ({missing}): pip install 'ptxlab[numba]'")

# %% [exercise] 18-sectors

# %% [markdown]
# In numba there is no exchange between lanes, and nothing to get wrong. CUDA C++ and numba come with `pip install
# 'ptxlab[cuda,numba]'`. The others are packages of their own; a cell whose language is not installed says so in one line,
# and its column stays empty. What you see before you run the notebook are the outputs of a run that had all five.

# %% [markdown]
# ## CUDA C++: you name every thread
#
# A warp takes a row. You write who reads what, and how lanes exchange their parts: five shuffles for the maximum, five
# for the sum.

# %%
SOURCE = """
__device__ float butterfly(float value, bool sum) {
    for (int distance = 16; distance; distance /= 2) {
        float theirs = __shfl_xor_sync(0xffffffff, value, distance);
        value = sum ? value + theirs : fmaxf(value, theirs);
    }
    return value;
}
__global__ void softmax(const float *x, float *y, int columns) {
    x += blockIdx.x * columns, y += blockIdx.x * columns;
    float top = -INFINITY, total = 0;
    for (int j = threadIdx.x; j < columns; j += 32) top = fmaxf(top, x[j]);
    top = butterfly(top, false);
    for (int j = threadIdx.x; j < columns; j += 32) total += expf(x[j] - top);
    total = butterfly(total, true);
    for (int j = threadIdx.x; j < columns; j += 32) y[j] = expf(x[j] - top) / total;
}
"""
try:
    kernels["CUDA C++"] = pl.cuda(SOURCE, file="softmax.cu"), rows, 32, (columns,)
    print(kernels["CUDA C++"][0])
except pl.UnavailableError as missing:
    print(missing)

# %% [markdown]
# ## Triton: you name no thread
#
# A program takes a row as one block of values. The compiler says which lane has which element, and writes the exchange.

# %%
try:
    import triton
    import triton.language as tl

    @triton.jit
    def softmax_triton(x_ptr, y_ptr, columns, BLOCK: tl.constexpr):
        at = tl.arange(0, BLOCK)
        row = tl.program_id(0) * columns
        x = tl.load(x_ptr + row + at, mask=at < columns, other=-float("inf"))
        e = tl.exp(x - tl.max(x, axis=0))
        tl.store(y_ptr + row + at, e / tl.sum(e, axis=0), mask=at < columns)

    from_triton = pl.triton(softmax_triton, x, x, columns, BLOCK=128, num_warps=1)
    kernels["Triton"] = from_triton, rows, None, (columns,)
    print(kernels["Triton"][0])
except (ImportError, pl.UnavailableError) as missing:
    print(f"Triton is not here ({missing}): pip install 'ptxlab[triton]'")

# %% [markdown]
# ## CuTe DSL: threads, with the tensor's layout known
#
# Shape and strides are part of the tensor's type, so `x[row, j]` becomes an address with constants. Threads are yours
# again; the butterflies have a name.

# %%
try:
    import cutlass
    from cutlass import cute

    from ptxlab.frontends.cute import cute as from_cute

    @cute.kernel
    def softmax_cute(x: cute.Tensor, y: cute.Tensor, columns: cutlass.Int32):
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
            y[row, j] = cute.math.exp(x[row, j] - top) / total

    @cute.jit
    def launch_cute(x: cute.Tensor, y: cute.Tensor, columns: cutlass.Int32):
        softmax_cute(x, y, columns).launch(grid=(x.shape[0], 1, 1), block=(32, 1, 1))

    kernels["CuTe DSL"] = from_cute(launch_cute, x, x, cutlass.Int32(columns)), rows, 32, (columns,)
    print(kernels["CuTe DSL"][0])
except (ImportError, pl.UnavailableError) as missing:
    print(f"CuTe DSL is not here ({missing}): pip install nvidia-cutlass-dsl")

# %% [markdown]
# ## cuTile: tiles, and no threads at all
#
# As in Triton a program has a tile. Arrays know their shape, so nobody writes an address.

# %%
try:
    import cuda.tile as ct

    from ptxlab.frontends.cutile import cutile

    @ct.kernel
    def softmax_tile(x, y, TILE: ct.Constant[int]):
        row, at = ct.bid(0), ct.arange(TILE, dtype=ct.int32)
        value = ct.gather(x, (row, at), padding_value=-float("inf"))
        e = ct.exp(value - ct.max(value))
        ct.scatter(y, (row, at), e / ct.sum(e))

    kernels["cuTile"] = cutile(softmax_tile, x, x, 128), rows, None, ()
    print(kernels["cuTile"][0])
except (ImportError, pl.UnavailableError) as missing:
    print(f"cuTile is not here ({missing}): pip install 'cuda-tile[tileiras]'")

# %% [exercise] 18-loads

# %% [markdown]
# ## What did each cost?
#
# One call for all: run with every check, compare with numpy, count.


# %%
def measure(kernel, grid, block, more):
    """A column of the table."""
    y = np.full_like(x, np.nan)
    run = pl.launch(kernel, grid, block, x, y, *more, device="cpu", counters=True, checks="all")
    c = run.counters
    return {
        "lines of PTX": len(kernel.ptx.splitlines()),
        "threads": run.grid[0] * run.block[0],
        "warp-instructions": c.warp_instructions,
        "loads": c["l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum"],
        "sectors": c.global_sectors,
        "shared memory": c["smsp__inst_executed_op_shared_ld.sum"] + c["smsp__inst_executed_op_shared_st.sum"],
        "findings": len(run.findings),
        "error": np.abs(y - exact).max(),
    }


table = {name: measure(*case) for name, case in kernels.items()}
print(f"{'':18}" + "".join(f"{name:>12}" for name in table))
for what in next(iter(table.values()), {}):
    values = [column[what] for column in table.values()]
    print(f"{what:18}" + "".join(f"{v:12.1e}" if what == "error" else f"{v:12,}" for v in values))

# %% [markdown]
# All are right, and all checks are silent. The languages decided differently:
#
# - **Who has which element.** A thread a row needs no exchange and touches the most sectors: lanes of a load are a row
#   apart. A warp a row, or a tile, reads neighbours.
# - **Where a row stays.** In Triton and cuTile a tile is a value; it stays in registers, and is read once. Your loops
#   in CUDA C++ and CuTe DSL read it three times, because you wrote three loops. CUDA C++ has more loads than CuTe DSL
#   all the same: nvcc has unrolled the loops by four, and of 100 elements four lanes have four rounds and the others
#   three, so that a warp goes both ways.
# - **How many threads.** cuTile takes 128 for a row of 100, so it must exchange through shared memory; Triton was told
#   to take one warp.
#
# ## Side by side
#
# Which lines of PTX become of which line of yours? Click a line of the kernel that reads least, then its loads.

# %%
least = min(table, key=lambda name: table[name]["sectors"] + table[name]["warp-instructions"], default=None)
if least is not None:
    kernel, grid, block, more = kernels[least]
    print(least)
    display(pl.explore(kernel, grid, block, x, np.zeros_like(x), *more))

# %% [markdown]
# And two texts beside each other, where there are two:

# %%
if {"CUDA C++", "Triton"} <= set(kernels):
    display(pl.diff(kernels["CUDA C++"][0], kernels["Triton"][0]))

# %% [markdown]
# ## What only the PTX shows
#
# A dot product in one line of Triton, `tl.sum(x * y)`. The compiler fuses the product with the first sum of the
# exchange. So each lane rounds the *other* lane's product, and not its own: two lanes have two sums, and both store
# theirs to one place. A test of values passes, whichever comes last. The machine sees two values.

# %%
try:
    import triton

    @triton.jit
    def dot(x_ptr, y_ptr, out_ptr, BLOCK: tl.constexpr):
        at = tl.arange(0, BLOCK)
        tl.store(out_ptr, tl.sum(tl.load(x_ptr + at) * tl.load(y_ptr + at), axis=0))

    a, b = np.random.default_rng(3).standard_normal((2, 128)).astype(np.float32)
    out = np.zeros(1, np.float32)
    for fusion in (True, False):
        with warnings.catch_warnings(), pl.triton(checks="all") as session:
            warnings.simplefilter("ignore")
            dot[(1,)](a, b, out, BLOCK=128, enable_fp_fusion=fusion)
        words = [finding.message for finding in session.findings]
        print(f"fused: {fusion}, {out[0]:.6f}, {words or 'nothing to report'}")
except ImportError as missing:
    print(f"Triton is not here ({missing}): pip install 'ptxlab[triton]'")

# %% [exercise] 18-fused

# %% [markdown]
# # What have you seen?
#
# - A language decides who has which element, where values stay, and how lanes exchange them. The counters say what that
#   costs; the text of the program does not.
# - Languages of tiles read a row once because a tile is a value. In languages of threads that is your decision.
# - All of them end as PTX: one explorer, one debugger, the same checks, with the line in *your* language.
#
# `docs/languages.md` has these and more: Warp, Mojo, tinygrad, programs of `cuda.core`, sources of PyTorch extensions.
#
# ## Further reading
#
# - P. Tillet, H. T. Kung, D. Cox: *Triton: An Intermediate Language and Compiler for Tiled Neural Network
#   Computations*. MAPL 2019.
# - S. K. Lam, A. Pitrou, S. Seibert: *Numba: A LLVM-based Python JIT Compiler*. LLVM-HPC 2015.
# - NVIDIA: *CUTLASS documentation*, "CuTe DSL"; *cuTile Python documentation*.
