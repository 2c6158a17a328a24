# %% [markdown]
# # 14 · Your own kernel
#
# Here you write kernels in PTX by hand, in Python with the builder, in CUDA C++, and in Triton. All four become PTX,
# and every tool that you know works on all of them.
#
# **Who writes the better PTX, a compiler or you, and how would you know?**

# %%
import matplotlib.pyplot as plt
import numpy as np

import ptxlab as pl
from ptxlab.builder import Builder, Ptr, f32, kernel, u32
from ptxlab.course import check, scoreboard

# %load_ext ptxlab
scoreboard.show()

# %% [markdown]
# ## What shall it do?
#
# First a small kernel that every layer of a language model has beside attention. *RMSNorm* divides each row by its
# root mean square and multiplies it by a weight for each column:
#
# $$ y_i = \frac{x_i}{\sqrt{\frac1n \sum_j x_j^2 + \varepsilon}} \, w_i $$

# %%
rows, n, eps = 8, 256, 1e-5
random = np.random.default_rng(0)
x, w = random.standard_normal((rows, n), np.float32), random.standard_normal(n, np.float32)
exact = x.astype(float) / np.sqrt((x.astype(float) ** 2).mean(axis=1, keepdims=True) + eps) * w
y = np.zeros_like(x)

# %% [markdown]
# ## By hand
#
# One warp per row. Lane $i$ takes the elements $i, i + 32, \dots$; five butterflies add up the squares; then a second
# pass scales. `-k hand` keeps the text under a name, `-o hand` the run in a variable.

# %%
# %%ptx -k hand -o hand --grid 8 --block 32 --args x,w,y,n,eps --counters
.version 7.0
.target sm_80
.address_size 64

.visible .entry rms_norm(
    .param .u64 x, .param .u64 w, .param .u64 y, .param .u32 n, .param .f32 eps
)
{
    .reg .pred  %p;
    .reg .u32   %row, %lane, %n, %i;
    .reg .u64   %x, %w, %y, %xi, %wi, %yi, %start;
    .reg .f32   %eps, %v, %sum, %other, %count, %mean, %scale, %weight;

    ld.param.u64       %x, [x];
    ld.param.u64       %w, [w];
    ld.param.u64       %y, [y];
    ld.param.u32       %n, [n];
    ld.param.f32       %eps, [eps];
    mov.u32            %row, %ctaid.x;
    mov.u32            %lane, %tid.x;
    mul.lo.u32         %row, %row, %n;
    mul.wide.u32       %start, %row, 4;
    add.u64            %x, %x, %start;
    add.u64            %y, %y, %start;

    mov.f32            %sum, 0f00000000;
    mov.u32            %i, %lane;
squares:
    setp.ge.u32        %p, %i, %n;
    @%p bra            add_up;
    mad.wide.u32       %xi, %i, 4, %x;
    ld.global.f32      %v, [%xi];
    fma.rn.f32         %sum, %v, %v, %sum;
    add.u32            %i, %i, 32;
    bra                squares;
add_up:
    shfl.sync.bfly.b32 %other, %sum, 16, 31, 0xffffffff;
    add.f32            %sum, %sum, %other;
    shfl.sync.bfly.b32 %other, %sum, 8, 31, 0xffffffff;
    add.f32            %sum, %sum, %other;
    shfl.sync.bfly.b32 %other, %sum, 4, 31, 0xffffffff;
    add.f32            %sum, %sum, %other;
    shfl.sync.bfly.b32 %other, %sum, 2, 31, 0xffffffff;
    add.f32            %sum, %sum, %other;
    shfl.sync.bfly.b32 %other, %sum, 1, 31, 0xffffffff;
    add.f32            %sum, %sum, %other;

    cvt.rn.f32.u32     %count, %n;
    div.rn.f32         %mean, %sum, %count;
    add.f32            %mean, %mean, %eps;
    rsqrt.approx.f32   %scale, %mean;

    mov.u32            %i, %lane;
scaling:
    setp.ge.u32        %p, %i, %n;
    @%p bra            done;
    mad.wide.u32       %xi, %i, 4, %x;
    mad.wide.u32       %wi, %i, 4, %w;
    mad.wide.u32       %yi, %i, 4, %y;
    ld.global.f32      %v, [%xi];
    ld.global.f32      %weight, [%wi];
    mul.f32            %v, %v, %scale;
    mul.f32            %v, %v, %weight;
    st.global.f32      [%yi], %v;
    add.u32            %i, %i, 32;
    bra                scaling;
done:
    ret;
}

# %%
print(f"largest error {np.abs(y - exact).max():.1e}")

# %% [exercise] 14-clamp

# %% [markdown]
# ## With the builder
#
# The same, line for line. Python writes the five butterflies.


# %%
@kernel
def rms_norm(k: Builder, x: Ptr[f32], w: Ptr[f32], y: Ptr[f32], n: u32, eps: f32):
    """One warp = one row."""
    row, lane = k.ctaid.x * n, k.tid.x
    total = k.var(f32, 0.0)
    with k.loop(n, start=lane, step=32) as i:
        v = (x + row)[i]
        total.set(k.fma(v, v, total))
    for distance in (16, 8, 4, 2, 1):
        total += k.shfl(total, distance, 31, -1, mode="bfly")
    scale = k.rsqrt(total / k.cvt(f32, n) + eps, approx=True)
    with k.loop(n, start=lane, step=32) as i:
        (y + row)[i] = (x + row)[i] * scale * w[i]


# %% [markdown]
# ## In CUDA C++
#
# `pl.cuda` compiles with NVIDIA's own compiler, which needs no GPU. The result is a kernel like any other; each line
# of its PTX knows its line of the source.

# %%
SOURCE = """
extern "C" __global__ void rms_norm(const float *x, const float *w, float *y, int n, float eps) {
    const float *row = x + blockIdx.x * n;
    float total = 0.0f;
    for (int i = threadIdx.x; i < n; i += 32)
        total += row[i] * row[i];
    for (int distance = 16; distance; distance /= 2)
        total += __shfl_xor_sync(0xffffffff, total, distance);
    float scale = rsqrtf(total / n + eps);
    for (int i = threadIdx.x; i < n; i += 32)
        y[blockIdx.x * n + i] = row[i] * scale * w[i];
}
"""
try:
    from_cuda = pl.cuda(SOURCE, file="rms_norm.cu")
    print(from_cuda)
except pl.UnavailableError as missing:
    from_cuda = None
    print(missing)

# %% [exercise] 14-down

# %% [markdown]
# ## In Triton
#
# In Triton you write no threads: one program works on a whole row, and the compiler distributes it over lanes. Like
# `pl.cuda`, its compiler can work without a GPU, if it is installed.

# %%
try:
    import triton
    import triton.language as tl

    @triton.jit
    def rms_norm_triton(x, w, y, n, eps, BLOCK: tl.constexpr):
        i = tl.arange(0, BLOCK)
        row = tl.program_id(0) * n
        v = tl.load(x + row + i, mask=i < n, other=0.0)
        scale = tl.rsqrt(tl.sum(v * v, axis=0) / n + eps)
        tl.store(y + row + i, v * scale * tl.load(w + i, mask=i < n, other=0.0), mask=i < n)

    signature = {"x": "*fp32", "w": "*fp32", "y": "*fp32", "n": "i32", "eps": "fp32"}
    from_triton = pl.triton(rms_norm_triton, signature, {"BLOCK": n}, num_warps=1)
    print(from_triton)
except (ImportError, pl.UnavailableError) as missing:
    from_triton = None
    print(f"Triton is not here ({missing}), so its column stays empty: pip install 'ptxlab[triton]'")

# %% [markdown]
# ## How do they compare?
#
# One function for all: run, measure the error, count, ask the assembler. (`KEPT` has what `%%ptx -k` kept.)


# %%
from ptxlab.lab.named_kernels import KEPT


def measure(k):
    """A row of the table."""
    y = np.full_like(x, np.nan)
    run = pl.launch(k, rows, 32, x, w, pl.out(y), n, eps, device="cpu", counters=True)
    c = run.counters
    seen = pl.inspect(k)
    return {
        "lines of PTX": len(seen.source),
        "registers": seen.registers,
        "warp-instructions": c.warp_instructions,
        "loads": c["l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum"],
        "sectors": c["memory_l2_theoretical_sectors_global"],
        "error": np.abs(y - exact).max(),
    }


kernels = {"by hand": KEPT["hand"].text, "builder": rms_norm, "CUDA C++": from_cuda, "Triton": from_triton}
table = {name: measure(k) for name, k in kernels.items() if k is not None}
print(f"{'':18}" + "".join(f"{name:>12}" for name in table))
for what in table["builder"]:
    values = [row[what] for row in table.values()]
    print(f"{what:18}" + "".join(f"{v:12.1e}" if what == "error" else f"{v:12,}" for v in values))

# %% [markdown]
# Loads, sectors and error are the same. The PTX by hand executes a tenth fewer instructions than the builder's. The
# C++ compiler's PTX is more than three times as long, and executes fewer instructions. Why? Look at the loads and
# branches of its loops.

# %%
if from_cuda is not None:
    loop = [line for line in from_cuda.ptx.splitlines() if "ld.global" in line or "bra" in line or "fma" in line]
    print("\n".join(loop))

# %% [markdown]
# The compiler has **unrolled** the loops: four elements per round, from one address with offsets. So the counter and
# the branch are executed once per four elements, and four loads can be in flight before the first is used. Another
# loop does the remaining elements, which makes the PTX long.
#
# That depends on details. Make the counter `unsigned`, and the compiler must allow for its wrapping around:

# %%
if from_cuda is not None:
    wrapping = pl.cuda(SOURCE.replace("for (int i = threadIdx.x", "for (unsigned i = threadIdx.x"), file="rms_norm.cu")
    for name, k in (("int", from_cuda), ("unsigned", wrapping)):
        row = measure(k)
        print(f"{name:9} {row['lines of PTX']} lines of PTX, {row['warp-instructions']:,} warp-instructions")

# %% [markdown]
# One word in the source, and the kernel executes more instructions than the one by hand. You would not know without
# looking.
#
# So is the `int` version the best there is? The compiler made your loop faster. It did not ask *whether x must be
# read twice*.
#
# ## What only you know
#
# The compiler must assume that `y` may overlap `x`, and that `n` may be anything. You know that rows have 256
# elements, that they are aligned, and that eight numbers per lane fit into registers. So read once, 16 bytes at a
# time, keep the row, write once:


# %%
@kernel
def rms_norm_once(k: Builder, x: Ptr[f32], w: Ptr[f32], y: Ptr[f32], n: u32, eps: f32, *, N: int = 256):
    """One warp = one row of N elements, which stays in registers; 16 bytes per load."""
    lane = k.tid.x
    row = k.ctaid.x * N + lane * 4
    total = k.var(f32, 0.0)
    kept = []
    for first in range(0, N, 128):
        piece = k.load(x + row + first, 4, vector=4)
        kept.append(piece)
        for v in piece:
            total.set(k.fma(v, v, total))
    for distance in (16, 8, 4, 2, 1):
        total += k.shfl(total, distance, 31, -1, mode="bfly")
    scale = k.rsqrt(total * (1.0 / N) + eps, approx=True)
    for first, piece in zip(range(0, N, 128), kept, strict=True):
        weights = k.load(w + lane * 4 + first, 4, vector=4)
        k.store(y + row + first, [v * scale * u for v, u in zip(piece, weights, strict=True)], vector=4)


table["by knowledge"] = measure(rms_norm_once)
names = ("warp-instructions", "loads", "sectors", "registers")
figure, axes = plt.subplots(1, 4, figsize=(9, 2.6), layout="constrained")
for axis, what in zip(axes, names, strict=True):
    axis.bar(range(len(table)), [row[what] for row in table.values()], color=[f"C{i}" for i in range(len(table))])
    axis.set_xticks(range(len(table)), table, rotation=60, fontsize=8)
    axis.set_title(what, fontsize=9)
for what in names:
    print(f"{what:18} {table['builder'][what]:6,} -> {table['by knowledge'][what]:6,}")

# %% [markdown]
# There are a quarter fewer sectors, a sixth of the loads, a third of the instructions. **A compiler makes good code
# of what you wrote; what to write is your decision.** That answers the question at the top, and the counters are how
# you know.

# %% [exercise] 14-once

# %% [markdown]
# ## What changed, in the text?

# %%
pl.diff(rms_norm, rms_norm_once)

# %% [markdown]
# ## Is it right, though?
#
# Before you trust a counter, let the machine look for mistakes. `pl.out` marks the output as unwritten, so that
# missing elements are found; the checks look for everything else. And try what the author did not think of: here,
# rows of another length.

# %%
y = np.full_like(x, np.nan)
CHECKS = ("memcheck", "initcheck", "racecheck", "synccheck")
print(pl.launch(rms_norm_once, rows, 32, x, w, pl.out(y), n, eps, checks=CHECKS))

short = np.ascontiguousarray(x[:, :200])
y = np.full_like(short, np.nan)
try:
    print(pl.launch(rms_norm_once, rows, 32, short, w, pl.out(y), 200, eps, checks=CHECKS))
except pl.DeviceFault as fault:
    print(fault)

# %% [markdown]
# The fast kernel is wrong where its assumptions are. A library has both kernels, and chooses.
#
# ## Step through your own
#
# The debugger takes anything that `pl.launch` takes. Here is the compiler's kernel, if it is there: follow the
# address register through one round of the unrolled loop. Where does it change?

# %%
y = np.zeros_like(x)
pl.debug(from_cuda or rms_norm, 1, 32, x, w, y, n, eps)

# %% [markdown]
# The explorer shows the lines of your Python, the PTX and the SASS side by side, and what each line costs. Click the
# vector load: how many instructions of SASS is it? Where are most registers alive?

# %%
pl.explore(rms_norm_once, rows, 32, x, w, y, n, eps)

# %% [exercise] 14-rope

# %% [markdown]
# Some ideas for kernels of your own, each a page or less: a softmax over rows; the GELU of a matrix; a transpose
# without bank conflicts; a histogram with atomics; the dot product of two long vectors over many blocks. Write the
# numpy first, then the kernel, then count.

# %% [markdown]
# ## The final: your own attention kernel
#
# 200 rows, 260 keys, inputs of 16 bits, beside `pipelined`. Enter the best that you have; it is run with all checks.
# Which metric will you win?

# %%
mine = scoreboard.latest("final")
scoreboard.enter("final", mine, block=64, rows_per_block=64)

# %% [markdown]
# Stuck in an exercise? `ptxlab.course.solution("14-rope")` prints one answer. Read the feedback twice before you ask for it.
#
# # What have you seen?
#
# - By hand, from Python, from C++, from Triton: it all becomes PTX, and one set of tools works on all of it.
# - A compiler unrolls, schedules and simplifies **what you wrote**. It does not know your data.
# - You know the sizes, the alignment, and what is needed again. **Here reading once instead of twice gained more than
#   unrolling.**
# - Check, then count, and try what the author did not think of.
#
# ## Further reading
#
# - B. Zhang, R. Sennrich: *Root Mean Square Layer Normalization*. NeurIPS 2019,
#   [arXiv:1910.07467](https://arxiv.org/abs/1910.07467).
# - J. Su, Y. Lu, S. Pan, A. Murtadha, B. Wen, Y. Liu: *RoFormer: Enhanced Transformer with Rotary Position
#   Embedding*. 2021, [arXiv:2104.09864](https://arxiv.org/abs/2104.09864). The last exercise.
# - P. Tillet, H. T. Kung, D. Cox: *Triton: An Intermediate Language and Compiler for Tiled Neural Network
#   Computations*. MAPL 2019.
# - NVIDIA: [*CUDA C++ Programming Guide*](https://docs.nvidia.com/cuda/cuda-c-programming-guide/) and
#   [*NVRTC*](https://docs.nvidia.com/cuda/nvrtc/), the compiler as a library.
# - M. Harris: *Optimizing Parallel Reduction in CUDA*. NVIDIA, 2007. Seven versions of one kernel, each with its
#   measurement.
