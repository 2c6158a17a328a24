# %% [markdown]
# # 07 · Pipelines: copies that nobody waits for
#
# The kernel of notebook 06 loads a tile, waits, multiplies, and loads the next. `cp.async` starts a copy from global to
# shared memory, and the thread goes on at once. **What is in flight then, and when is a buffer free again?**

# %%
import inspect

import numpy as np

import ptxlab as pl
from ptxlab import reference
from ptxlab.builder import Builder, Ptr, f32, kernel, u32
from ptxlab.course import check, pictures, scoreboard

# %load_ext ptxlab
scoreboard.show()

# %% [markdown]
# Each lane copies 16 bytes, the most that one `cp.async` takes. Then it *commits* the copies that it has started as a
# *group*. It could wait for the group now; with `wait_for=None` it does not.


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
print(pl.launch(copied(wait_for=None), 1, 32, x, y, checks=CHECKS))
print(y[:6])

# %% [markdown]
# The numbers are right, and only by luck: the copy happened to be ready. `synccheck` does not look at numbers. It knows
# which bytes are still in flight.
#
# **Your turn.** Set `wait_for=0` in the launch and run the cell again.
#
# ## Why does nothing wait by itself?
#
# A load writes a register, and the hardware makes the instructions that need this register wait for it. `cp.async`
# writes no register, so nothing waits for it: on a GPU, a read that comes too early may see the old contents.
#
# ## What does the number behind `wait_group` mean?
#
# Not *which* group, but **how many of the youngest groups may still be in flight**. Here the thread starts four
# groups, waits with $n$, and reads all four. The machine says which reads came too early.


# %%
@kernel
def groups(k: Builder, x: Ptr[f32], y: Ptr[f32], *, count: int = 4, n: int = 0):
    """Starts `count` groups, waits until at most n of them are in flight, and reads all of them."""
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
    early = sum(finding.count for finding in run.findings)
    print(f"wait_group {n}: groups {list(range(4 - early))} have arrived, {list(range(4 - early, 4))} perhaps not")

# %% [markdown]
# The wait counts in the order in which groups were committed: all older ones are complete then. (The copies themselves may
# arrive in any order; PTX promises none.) To wait for the oldest of $s$ groups, write $s - 1$. The number in the
# instruction is a constant. So a pipeline commits a group in *every* round, even an empty one at the
# end, and the count stays the same.

# %% [exercise] 07-arrived

# %% [markdown]
# ## What could be won?
#
# While a block loads, its tensor cores are idle; while it multiplies, it requests nothing from memory. Other resident
# blocks can use these gaps (**latency hiding**), but a kernel with large tiles leaves room for few blocks.
#
# A model first: copying a tile takes 3 units of time, multiplying it 2. With one buffer each waits for the other.
# With two (**double buffering**), tile $j + 1$ can be copied while tile $j$ is used, but not before tile $j - 1$ is
# finished, because it has the same buffer.


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


pictures.pipeline({stages: schedule(6, stages) for stages in (1, 2, 3)})

# %% [markdown]
# With two buffers, a copy is always under way. A third buffer gains nothing *here*, where every copy takes the same
# time; it helps when some copies take longer.
#
# ## Whose copies have arrived?
#
# **Only those of this thread.** `wait_group` waits for what *this thread* has started. But in a tile each thread
# copies a part and reads the parts of all others. So a barrier is also needed.


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
# So: **first `wait_group`, then the barrier.** After the barrier all parts have arrived, because each thread waited
# for its own copies before it. The other order would not work: a thread could pass the barrier while its copies are
# still in flight.
#
# The next four exercises have the same job: a block of threads copies tiles, 16 bytes per thread, and each thread adds up
# the four numbers that its *mirror image* has copied.

# %% [exercise] 07-wait

# %% [markdown]
# ## When may a buffer be filled again?
#
# When all threads have read it. In the loop this costs nothing more. Look at the order in the kernel:

# %%
source = pl.kernels.get("pipelined").source
start = source.index("        def arrive(")
print(source[start : source.index("        def multiplied(", start)].rstrip())

# %% [markdown]
# There is one barrier per round, and it serves both purposes. After it
#
# - all parts of tile $j$ **have arrived** (each thread waited before the barrier), and
# - all threads **have finished with tile $j - 1$** (they used it before they came to the barrier), so its buffer may
#   be filled with tile $j + 1$.
#
# If the copy comes before the barrier, the second is no longer true: a fast warp fills the buffer from which a slow
# one still reads. That is the next exercise.

# %% [exercise] 07-free

# %% [markdown]
# ## What about a tile that is too short?
#
# Keys past the end must not be read. But the buffer must hold *numbers*: old contents may be NaN. `cp.async` can be
# told that its source has fewer bytes than 16; the rest is filled with zeros. With 0 bytes nothing is read at all, so
# the address does not matter:

# %%
from ptxlab.kernels.tiles import Share

print(inspect.getsource(Share.fetch))

# %% [exercise] 07-tail

# %% [markdown]
# ## Does the whole kernel compute the same, and what does it cost?

# %%
q, k, v = reference.random_inputs(1, 1, 1, 128, 256, 32, dtype=np.float16, seed=1)
pl.compare(q, k, v, kernels=["swizzle", "pipelined"], device="cpu")

# %% [markdown]
# `pipelined` also has fewer instructions and sectors, for another reason: a warp takes 32 query rows instead of 16,
# so each part of K and V that it loads is used twice. (The times are those of the emulator, which executes one
# thing after the other, so nothing overlaps there. An H100 makes 253 TFLOP/s of `swizzle` and 384 of `pipelined`, at
# $D = 128$ and 4,096 keys in bf16. FlashAttention-2 as it is in PyTorch makes 350.)
#
# The cost is in the last columns: more registers, so fewer warps per SM. And each stage takes shared memory:

# %%
registers = pl.inspect(pl.kernels.get("pipelined").build(head_dim=128)).registers
for stages in (2, 3):
    built = pl.kernels.get("pipelined").build(head_dim=128, stages=stages)
    grid, block, shared = built.launch_shape(1, 1, 1, 128, 256)
    for arch in ("sm_80", "sm_89"):
        fits = pl.occupancy(registers, block[0], shared, arch=arch)
        print(f"{stages} stages, {shared:6,} bytes of shared memory: {fits}")

# %% [markdown]
# On an A100 (sm_80) registers are the limit, so a third stage costs no occupancy. A GPU with 100 KB of shared memory
# (sm_89) has room for one block either way, and shared memory is its limit.

# %% [exercise] 07-pipeline

# %% [markdown]
# ## Which tiles need not be copied at all?
#
# With a causal mask, a block of rows sees the keys up to its last row. Later tiles are not masked: they are never
# copied. Blocks near the end of the sequence have the most work, so they are started first, and no long block is left
# when all others have finished.

# %%
q, k, v = reference.random_inputs(1, 1, 1, 256, 256, 32, dtype=np.float16, seed=1)
for causal in (False, True):
    out = pl.attention(q, k, v, kernel="pipelined", causal=causal, device="cpu", counters=True)
    copies = sum(c.on_threads for c in out.counters.by_line.values() if c.opcode.startswith("cp.async.cg"))
    operations = out.counters.flops["tensor"]
    print(f"causal={causal!s:5}  {copies * 16 / 1024:4.0f} KiB copied, {operations / 1e6:5.1f} million operations")

# %% [markdown]
# With 256 rows in blocks of 128 this saves a quarter of the operations and of the copied keys (the queries are always
# copied). For long sequences it approaches one half.
#
# ## See it happen
#
# The debugger shows `mirrored` without its barrier. Step warp 0 to its end, then look at shared memory by bank: which
# half was written by a thread for which warp 0 did not wait? With the barrier, warp 0 waits there until warp 1
# arrives.

# %%
pl.debug(mirrored(meets=False), 1, 64, x[:256], np.zeros(64, np.float32))

# %% [markdown]
# And in the explorer: change `stages` and `tile_kv`. Which of them changes the PTX, and which only numbers in it?
# Where does the assembler run out of shared memory?

# %%
pl.explore("pipelined", seq_q=64, seq_k=128, head_dim=32)

# %% [markdown]
# ## Your own kernel copies ahead
#
# 07-pipeline has the two buffers, 07-tail the last tile. `scoreboard.borrow("copies")` goes on from ours.

# %%
print(scoreboard.source("copies"))
mine = scoreboard.latest("copies")
scoreboard.enter("copies", mine, block=64, rows_per_block=64)

# %% [markdown]
# Stuck in an exercise? `ptxlab.course.solution("07-pipeline")` prints one answer. Read the feedback twice before you ask for it.
#
# # What have you seen?
#
# - `cp.async` starts a copy, and the thread continues. **In flight is what was started and not yet waited for.** No
#   register makes the reader wait, so a read that comes too early is a silent mistake.
# - `wait_group n` lets the $n$ youngest groups of *this thread* be in flight. Then a barrier, so that the copies of
#   all threads have arrived.
# - **A buffer is free when all threads have read it.** One barrier per round is enough for both, if the next copy
#   starts after it.
# - Short tiles: a copy with fewer source bytes fills the rest with zeros and reads nothing past the end.
# - Stages cost shared memory. Two are enough where all copies take the same time.
#
# Next comes decode, where there is one query and almost all time goes into reading memory: [08 ·
# Decode](08-decode.ipynb)
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
