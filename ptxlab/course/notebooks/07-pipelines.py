# %% [markdown]
# # 07 · Pipelines: copies that nobody waits for
#
# The kernel of notebook 06 loads a tile, waits, multiplies, and loads the next. While a block
# loads, it gives the tensor cores nothing to do; while it multiplies, it asks nothing of memory. Other resident blocks
# can fill these gaps, if there are any: a kernel with large tiles leaves room for few.
#
# `cp.async` starts a copy from global to shared memory, and the thread goes on. **What is in flight then, and when
# is a buffer free again?** The two halves of that question are two promises that somebody must keep, and the
# machine checks both.

# %%
import inspect

import matplotlib.pyplot as plt
import numpy as np

import ptxlab as pl
from ptxlab import reference
from ptxlab.builder import Builder, Ptr, f32, kernel, u32

# %load_ext ptxlab

# %% [markdown]
# ## What could be won?
#
# A picture first. Copying a tile takes 3 units of time, multiplying it 2. With one buffer each waits for the other;
# with two, tile $j + 1$ may come while tile $j$ is used, but not earlier than tile $j - 1$ has been used up, for it
# is the same buffer.


# %%
def schedule(tiles, stages, copy=3.0, compute=2.0):
    """[(start, end)] of all copies and of all products; a copy needs a free buffer and a free memory."""
    copies, products = [], []
    for j in range(tiles):
        free = products[j - stages][1] if j >= stages else 0.0
        start = max(free, copies[-1][1] if copies else 0.0)
        copies.append((start, start + copy))
        start = max(copies[-1][1], products[-1][1] if products else 0.0)
        products.append((start, start + compute))
    return copies, products


figure, axes = plt.subplots(3, 1, figsize=(8, 3.6), sharex=True, layout="constrained")
for axis, stages in zip(axes, (1, 2, 3), strict=True):
    copies, products = schedule(6, stages)
    for y, spans in ((1, copies), (0, products)):
        for j, (start, end) in enumerate(spans):
            axis.broken_barh([(start, end - start)], (y - 0.4, 0.8), color=f"C{j}", edgecolor="w")
            axis.text((start + end) / 2, y, j, ha="center", va="center", color="w")
    axis.set_yticks([0, 1], ["products", "copies"])
    axis.set_title(f"{stages} buffer{'s' * (stages > 1)}: {products[-1][1]:.0f} units", fontsize=9, loc="left")
axes[-1].set_xlabel("time");

# %% [markdown]
# Two buffers, and memory is never idle again. A third brings nothing *here*, where every copy takes the same time;
# it pays when some are late.
#
# ## How does one copy without waiting?
#
# The smallest kernel that does it. Each lane copies 16 bytes, the most that one `cp.async` takes; then it closes
# what it has started into a *group* and waits for the group. `wait_for=None` leaves the waiting out.


# %%
@kernel
def copied(k: Builder, x: Ptr[f32], y: Ptr[f32], *, wait_for: int | None = 0):
    """One warp: 128 floats to shared memory, and one of them back to y[lane]."""
    lane = k.tid.x
    tile = k.shared(f32, 128)
    k.op("cp.async.cg.shared.global", tile + lane * 4, x + lane * 4, 16)
    k.op("cp.async.commit_group")
    if wait_for is not None:
        k.op("cp.async.wait_group", wait_for)
    y[lane] = tile[lane * 4]  # what this lane itself has copied


x, y = np.arange(128, dtype=np.float32), np.zeros(32, np.float32)
CHECKS = ("synccheck", "racecheck", "initcheck")
print(pl.launch(copied, 1, 32, x, y, checks=CHECKS))
print(y[:6])

# %% [markdown]
# A load brings its number into a register, and the register makes everybody wait who needs it. A copy past the
# registers has no such guard: who reads too early reads what was there before. Leave the wait out:

# %%
pl.launch(copied(wait_for=None), 1, 32, x, y, checks=CHECKS)

# %% [markdown]
# On this machine, and on a GPU with luck, the *numbers* would even be right: the copy was quick. The check does not
# look at numbers. It knows which bytes have been promised and not yet delivered.
#
# ## What does the number behind `wait_group` mean?
#
# Not *which* group, but **how many of the youngest may still be on their way**. Four groups are started here; then
# the thread waits with $n$ and reads all four. The machine says which reads came too early.


# %%
@kernel
def groups(k: Builder, x: Ptr[f32], y: Ptr[f32], *, count: int = 4, n: int = 0):
    """Starts `count` groups, waits until at most n of them are on their way, and reads all of them."""
    lane = k.tid.x
    tiles = k.shared(f32, (count, 128))
    for g in range(count):
        k.op("cp.async.cg.shared.global", tiles.row(g) + lane * 4, x + lane * 4, 16)
        k.op("cp.async.commit_group")
    k.op("cp.async.wait_group", n)
    for g in range(count):
        (y + g * 32)[lane] = tiles[g, lane * 4]


for n in range(5):
    run = pl.launch(groups(n=n), 1, 32, x, np.zeros(128, np.float32), checks=("synccheck",))
    early = len(run.findings)
    print(f"wait_group {n}: groups {list(range(4 - early))} have arrived, {list(range(4 - early, 4))} perhaps not")

# %% [markdown]
# Groups arrive in the order in which they were closed. To wait for the oldest of $s$ groups, write $s - 1$. That is
# why a pipeline closes a group in *every* round, even an empty one at the end: the number in the instruction is a
# constant, so the count must not change.
#
# ## Whose copies have arrived?
#
# **Only my own.** `wait_group` waits for what *this thread* has started. In a tile each thread copies a piece, and
# reads everybody's. So a second promise is needed, and you know who makes it: the barrier.


# %%
@kernel
def mirrored(k: Builder, x: Ptr[f32], y: Ptr[f32], *, meets: bool = True):
    """64 threads copy 16 bytes each; each reads what its mirror image in the other warp has copied."""
    thread = k.tid.x
    tile = k.shared(f32, 256)
    k.op("cp.async.cg.shared.global", tile + thread * 4, x + thread * 4, 16)
    k.op("cp.async.commit_group")
    k.op("cp.async.wait_group", 0)
    if meets:
        k.barrier()
    y[thread] = tile[(63 - thread) * 4]


x, y = np.arange(256, dtype=np.float32), np.zeros(64, np.float32)
print("with a barrier:", pl.launch(mirrored, 1, 64, x, y, checks=CHECKS).findings)
print("without:", pl.launch(mirrored(meets=False), 1, 64, x, y, checks=CHECKS).findings[0])

# %% [markdown]
# So: **first `wait_group`, then the barrier.** Behind the barrier, everybody's share has arrived, because everybody
# waited for their own before they came. The other way round it would be worthless: a thread could pass the barrier
# while its copies are still on their way.
#
# ## When may a buffer be filled again?
#
# When everybody has read it. That is the other half, and in the loop it comes at no cost. Look at the order of the
# rung:

# %%
source = pl.kernels.get("pipelined").source
start = source.index("        def arrive(")
print(source[start : source.index("        def multiplied(", start)].rstrip())

# %% [markdown]
# One barrier in a round, and it keeps both promises. Behind it
#
# - everybody's share of tile $j$ **has arrived** (each waited before the barrier), and
# - everybody **has finished with tile $j - 1$** (that came before the barrier in each thread's text), so that its
#   buffer may be filled with tile $j + 1$.
#
# Move the copy in front of the barrier, and the second promise is broken: a fast warp starts to fill the buffer
# from which a slow one still reads. That is an exercise.
#
# ## What about a tile that is too short?
#
# Keys past the end must not be read, but the buffer has to hold *something*, or products with old numbers, possibly
# NaN, would be the result. A copy can be told that its source has fewer bytes than 16; the rest is filled with
# zeros. With 0 bytes nothing is read at all, wherever the address points:

# %%
from ptxlab.kernels.tiles import Share

print(inspect.getsource(Share.fetch))

# %% [markdown]
# ## Does the whole kernel compute the same, and what does it cost?

# %%
q, k, v = reference.random_inputs(1, 1, 1, 128, 256, 32, dtype=np.float16, seed=1)
pl.compare(q, k, v, kernels=["swizzle", "pipelined"], device="cpu")

# %% [markdown]
# Fewer instructions and sectors than the rung before, for a reason of its own: a warp takes 32 query rows in place
# of 16, so that each piece of K and V that it loads is used twice. (Times are those of the CPU machine, which
# computes one thing after the other; there is nothing to overlap. On a GPU the overlap is the point.)
#
# The price is in the last columns: more registers, hence fewer warps on a multiprocessor. And each stage takes
# shared memory:

# %%
registers = pl.inspect(pl.kernels.get("pipelined").build(head_dim=128)).registers
for stages in (2, 3):
    built = pl.kernels.get("pipelined").build(head_dim=128, stages=stages)
    grid, block, shared = built.launch_shape(1, 1, 1, 128, 256)
    for arch in ("sm_80", "sm_89"):
        fits = pl.occupancy(registers, block[0], shared, arch=arch)
        print(f"{stages} stages, {shared:6,} bytes of shared memory: {fits}")

# %% [markdown]
# On an A100 (sm_80) registers decide, and a third stage is free. A card with 100 KB of shared memory (sm_89) has
# room for one block either way, and that room is the limit.
#
# ## Which tiles need not be copied at all?
#
# With a causal mask, a block of rows sees the keys up to its last row. Tiles behind that are not masked, they are
# never asked for. And as blocks near the end of the sequence have most to do, they are started first, so that no
# long one is left over when all others are through.

# %%
q, k, v = reference.random_inputs(1, 1, 1, 256, 256, 32, dtype=np.float16, seed=1)
for causal in (False, True):
    out = pl.attention(q, k, v, kernel="pipelined", causal=causal, device="cpu", counters=True)
    copies = sum(c.on_threads for c in out.counters.by_line.values() if c.opcode.startswith("cp.async.cg"))
    operations = out.counters.flops["tensor"]
    print(f"causal={causal!s:5}  {copies * 16 / 1024:4.0f} KiB copied, {operations / 1e6:5.1f} million operations")

# %% [markdown]
# A quarter of the operations is saved with 256 rows in blocks of 128, and as much of the keys (the queries are
# copied in any case); with long sequences it goes to one half.
#
# ## See it happen
#
# The debugger has `mirrored` without its barrier. Step warp 0 to its end, then look at the shared memory by bank:
# which half has not been written by anybody that warp 0 waited for? In the version with the barrier, warp 0 stops
# there until warp 1 has come.

# %%
pl.debug(mirrored(meets=False), 1, 64, x[:256], np.zeros(64, np.float32))

# %% [markdown]
# And in the explorer: change `stages` and `tile_kv`. Which of them changes the PTX, and which only numbers in it?
# Where does the assembler run out of shared memory?

# %%
pl.explore("pipelined", seq_q=64, seq_k=128, head_dim=32)

# %% [markdown]
# # Exercises
#
# Four of them have the same job: a block of threads brings tiles of 16 bytes a thread, and each thread adds up the
# four numbers that its *mirror image* has copied.

# %%
from ptxlab.course import check

# %% [exercise] 07-arrived

# %% [exercise] 07-wait

# %% [exercise] 07-tail

# %% [exercise] 07-free

# %% [exercise] 07-pipeline

# %% [markdown]
# Stuck? `ptxlab.course.solution("07-pipeline")` prints one answer. Read the feedback twice before you ask for it.
#
# # What have you seen?
#
# - `cp.async` starts a copy and goes on. **In flight is what was started and not yet waited for**; no register
#   guards it, so that reading too early is a silent mistake.
# - `wait_group n` leaves the $n$ youngest groups of *this thread* on their way. Then a barrier, so that everybody's
#   have arrived.
# - **A buffer is free when everybody has read it.** One barrier a round keeps both promises, if the next copy
#   starts behind it.
# - Short tiles: a copy with fewer source bytes fills up with zeros and reads nothing past the end.
# - Stages cost shared memory. Two are enough where copies take equally long.
#
# Next comes the other half of a model's life, in which there is one query and nothing but copying:
# [08 · Decode](08-decode.ipynb)
#
# ## Further reading
#
# - NVIDIA: [*Parallel Thread Execution ISA*](https://docs.nvidia.com/cuda/parallel-thread-execution/), "Data
#   Movement and Conversion Instructions: Asynchronous copy": `cp.async`, `cp.async.commit_group`,
#   `cp.async.wait_group`.
# - NVIDIA: [*CUDA C++ Programming Guide*](https://docs.nvidia.com/cuda/cuda-c-programming-guide/), "Asynchronous
#   Data Copies". The same with pipelines as objects.
# - M. Bauer, H. Cook, B. Khailany: *CudaDMA: Optimizing GPU Memory Bandwidth via Warp Specialization*. SC 2011.
#   Overlap before there was an instruction for it.
# - T. Dao: *FlashAttention-2: Faster Attention with Better Parallelism and Work Partitioning*. ICLR 2024,
#   [arXiv:2307.08691](https://arxiv.org/abs/2307.08691).
# - J. Shah et al.: *FlashAttention-3: Fast and Accurate Attention with Asynchrony and Low-precision*. NeurIPS 2024,
#   [arXiv:2407.08608](https://arxiv.org/abs/2407.08608). What becomes of pipelines on the next generation of GPUs.
