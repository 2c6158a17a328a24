# %% [markdown]
# # 03 · A 2-D tile, and a row that nobody owns
#
# In `tiled` a thread loads a number from shared memory for every multiplication, and these loads limit it. The remedy is
# **register tiling**: a thread computes a *piece* of the scores, $h$ rows by $w$ keys. It loads $h + w$ numbers and does
# $h \cdot w$ multiply-adds (FMA) with them, because each number of a row meets each number of a key:
#
# $$ \frac{\text{loads}}{\text{FMA}} = \frac{h + w}{h \cdot w} $$
#
# Then a row no longer belongs to one thread. **How many loads does that save, and how do 16 threads agree on a row?**

# %%
import math

import matplotlib.pyplot as plt
import numpy as np

import ptxlab as pl
from ptxlab import reference
from ptxlab.builder import Builder, Ptr, f32, kernel, u32
from ptxlab.course import check, passage, scoreboard

LOG2E, LN2 = math.log2(math.e), math.log(2)

# %load_ext ptxlab
scoreboard.show()

# %% [markdown]
# This kernel computes $S = Q K^T$ for a tile of $16h$ rows and $16w$ keys. 256 threads form a square, 16 by 16, and
# each takes a piece of $h \times w$. One instruction loads `vector` numbers.


# %%
@kernel
def scores(
    k: Builder, q: Ptr[f32], key: Ptr[f32], s: Ptr[f32],
    *, high: int = 4, wide: int = 4, D: int = 16, vector: int = 4, pad: int = 4,
):
    """S = Q K' for 16*high rows and 16*wide keys of D numbers; one block of 256 threads."""
    stride = D + pad
    q_tile, k_tile = k.shared(f32, 16 * high * stride), k.shared(f32, 16 * wide * stride)
    t = k.tid.x
    ty, tx = t // 16, t % 16
    for tile, source, rows in ((q_tile, q, 16 * high), (k_tile, key, 16 * wide)):
        with k.loop(rows * D, start=t, step=256) as e:
            tile[e // D * stride + e % D] = source[e]
    k.barrier()

    my_rows, my_keys = q_tile + ty * (high * stride), k_tile + tx * stride
    total = [k.vars(f32, wide, 0.0) for _ in range(high)]
    with k.loop(D, step=vector) as d:
        a = [k.load(my_rows + d + i * stride, vector, vector=vector) for i in range(high)]
        b = [k.load(my_keys + d + 16 * j * stride, vector, vector=vector) for j in range(wide)]
        for i in range(high):
            for j in range(wide):
                for x, y in zip(a[i], b[j], strict=True):
                    total[i][j].set(k.fma(x, y, total[i][j]))

    mine = s + (ty * high) * (16 * wide) + tx
    for i in range(high):
        for j in range(wide):
            mine[i * 16 * wide + 16 * j] = total[i][j]


def measured(**parameters):
    """Runs `scores`: (wavefronts per FMA, registers per thread, largest error)."""
    built = scores(**parameters)
    high, wide = parameters["high"], parameters["wide"]
    random = np.random.default_rng(0)
    rows, keys = (random.standard_normal((16 * n, 16)).astype(np.float32) for n in (high, wide))
    s = np.zeros((16 * high, 16 * wide), np.float32)
    c = pl.launch(built, 1, 256, rows, keys, s, device="cpu", counters=True).counters
    loads = sum(line.wavefronts for line in c.by_line.values() if line.opcode.startswith("ld.shared"))
    return loads / c.opcodes["fma.rn.f32"][0], pl.inspect(built, 256).registers, np.abs(s - rows @ keys.T).max()


for side in (1, 4):
    print(f"{side} x {side}: {measured(high=side, wide=side, vector=1, pad=1)[0]:.2f} loads for each FMA")

# %% [markdown]
# **Your turn.** What do 2 × 8 and 8 × 2 need? Say it, then measure it.

# %% [exercise] 03-loads

# %% [markdown]
# ## What runs out first?
#
# An SM of an A100 can start 64 multiply-adds (FMA) in a clock cycle: two warps' worth. In the same cycle, shared
# memory can serve *one* warp: 32 banks of 4 bytes, 128 bytes. One pass through shared memory is called a *wavefront*,
# and the emulator counts them. With one wavefront per FMA of a warp, shared memory needs twice as many cycles as
# the multipliers. So the multipliers are busy for at most half of the time, and the loads decide how fast the kernel
# is. (64 FMA and 128 bytes in a cycle: NVIDIA A100 whitepaper, and CUDA C++ Programming Guide, arithmetic
# instructions and shared memory for compute capability 8.0.)

# %%
q, k, v = reference.random_inputs(1, 1, 1, 128, 128, 64, seed=1)
WAVEFRONTS = "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum"


def per_fma(counters):
    """Wavefronts of shared memory for each FMA of a warp."""
    return counters[WAVEFRONTS] / counters.opcodes["fma.rn.f32"][0]


c = pl.attention(q, k, v, kernel="tiled", device="cpu", counters=True).counters
print(f"tiled: {per_fma(c):.2f} wavefronts for each FMA of a warp")

# %% [markdown]
# Nearly one wavefront per FMA: each number is loaded, used once and lost, and the next row, in the next thread, loads
# the same number again.
#
# ## How can a number be used more than once?
#
# By keeping it in a register. These are pieces of four sizes, with `scores` from the beginning:

# %%
print("piece   (h+w)/hw   one at a time   four at a time   registers   error")
for side in (1, 2, 4, 8):
    one, _, _ = measured(high=side, wide=side, vector=1, pad=1)
    four, registers, error = measured(high=side, wide=side)
    print(f"{side} x {side} {2 / side:10.3f} {one:15.3f} {four:16.3f} {registers:11} {error:9.1e}")

# %% [markdown]
# The second and the third column agree: the formula is right. The fourth is better still: a load of 16 bytes
# (`ld.shared.v4`) brings four numbers in one instruction, and lanes that read the same address share one access. (The
# 16 threads of a row of the square all read the same rows of Q.)
#
# The price is in the fifth column. 4 × 4 scores and their inputs take about 60 registers, 8 × 8 twice as many, and
# attention also needs registers for the output. `tiled2d` uses 4 × 4.
#
# ## Whose row is it now?
#
# Thread 0 of the square has rows 0 to 3 and keys 0, 16, 32, 48. So it has four of the 64 scores of row 0; the other
# 15 threads with `ty` = 0 have the rest. Softmax divides by the sum over the *whole* row. What if each thread used
# only its own scores?

# %%
row = np.random.default_rng(3).standard_normal(64) * 2  # 64 scores of one row
values = np.random.default_rng(4).standard_normal(64)  # one column of V
weights = np.exp(row - row.max())
print(f"right:               {weights @ values / weights.sum():+.4f}")

parts = [np.arange(64) % 16 == tx for tx in range(16)]  # the keys of each of the 16 threads
own = [np.exp(row[part] - row[part].max()) for part in parts]
shares = [(w @ values[part], w.sum()) for w, part in zip(own, parts, strict=True)]  # numerator and denominator of each
print(f"own maximum and sum: {np.mean([a / b for a, b in shares]):+.4f}")
print(f"own maximum:         {sum(a for a, _ in shares) / sum(b for _, b in shares):+.4f}")

# %% [markdown]
# Both are wrong, and neither crashes (`pl.gallery(2)` has a kernel with this bug). Weights that were computed with
# different maxima have different units and must not be added. **Softmax is per row because one maximum must serve the
# whole row.** So before any thread computes a weight, all 16 must know the largest of their 64 scores.
#
# ## How do 16 threads agree?
#
# To make one value of many is a **reduction**. The threads could write their maxima to shared memory, wait at a
# barrier, and read 16 numbers. Then the whole block waits, in each tile. But the 16 threads are half of a warp, and
# lanes of a warp can exchange *registers*: `shfl`, shuffle.
#
# In the mode `bfly` (butterfly), lane $i$ gets the value of lane $i \oplus b$ (exclusive or). Each lane exchanges
# with its partner and keeps the larger value, four times, with $b$ = 1, 2, 4, 8:

# %%
ALL = 0xFFFFFFFF


@kernel
def agree(k: Builder, x: Ptr[f32], y: Ptr[f32]):
    """Lanes 0 to 15 and lanes 16 to 31 each find their maximum; y[s] is what the 32 lanes have after step s."""
    lane = k.tid.x
    best = k.var(f32, x[lane])
    y[lane] = best
    for step, bit in enumerate((1, 2, 4, 8)):
        other = k.shfl(best, bit, 31, ALL, mode="bfly")
        best.set(k.max(best, other))
        y[lane + 32 * (step + 1)] = best


x = np.random.default_rng(1).permutation(32).astype(np.float32)
y = np.zeros((5, 32), np.float32)
pl.launch(agree, 1, 32, x, y)

figure, axis = plt.subplots(figsize=(9, 3.4), layout="constrained")
axis.imshow(y, cmap="Blues", aspect="auto", vmin=0, vmax=70)
for step in range(5):
    for lane in range(32):
        axis.text(lane, step, f"{y[step, lane]:.0f}", ha="center", va="center", fontsize=8)
        if step:
            partner = lane ^ (1, 2, 4, 8)[step - 1]
            axis.annotate("", (lane, step - 0.28), (partner, step - 0.72), arrowprops={"arrowstyle": "->", "lw": 0.5})
axis.set(xticks=range(0, 32, 4), yticks=range(5), yticklabels=["start", "⊕ 1", "⊕ 2", "⊕ 4", "⊕ 8"], xlabel="lane")
axis.axvline(15.5, color="k", lw=1);
# %% [markdown]
# After the first step 2 lanes agree, after the second 4, then 8, then 16: each step doubles the number, so 16 lanes
# need $\log_2 16 = 4$ steps. No barrier and no memory is needed. The two halves never mix, because no $b$ has the bit
# 16. Lanes 0 to 15 work for one row and lanes 16 to 31 for another, with the same instructions.

# %% [exercise] 03-hears

# %% [markdown]
# The other two numbers of a `shfl` are easily confused. The 31 limits the exchange: lanes may read from lanes up to
# 31, that is from the whole warp. The mask names the lanes that take part: a thread waits until all of them that have not
# exited execute the shuffle. Reading from a lane that is inactive or not in the mask gives an undefined value; so does a
# shuffle by a thread that is not in its own mask (PTX ISA, `shfl.sync`). `synccheck` reports these.
#
# The debugger is open at the first `shfl`: the arrows show which lane reads from which. Press *Step* and watch
# `%best`; then go to the next `shfl`.

# %%
pl.debug(agree, 1, 32, x, y, at="shfl")

# %% [exercise] 03-share

# %% [markdown]
# ## Must the lanes agree on everything?
#
# No, only on what the next instruction needs.
#
# - **The maximum**: in each tile, because the next line computes weights with it.
# - **The sum**: once, after the last tile. Each thread adds up its own weights and rescales its own sum. The factor
#   $e^{m - m'}$ depends only on maxima, which all 16 know, so all 16 rescale by the same factor and their partial
#   sums keep the same unit.
#
# Check it in numpy: 16 threads, 4 tiles of 64 keys, each thread with its own sum.

# %%
tiles = np.random.default_rng(5).standard_normal((4, 64)) * 3
maximum, sums = -np.inf, np.zeros(16)
for tile in tiles:
    new = max(maximum, tile.max())  # agreed by shuffles
    sums = sums * np.exp(maximum - new) + np.exp(tile - new).reshape(4, 16).sum(axis=0)  # each for itself
    maximum = new
print(sums.sum(), np.exp(tiles - tiles.max()).sum())

# %% [markdown]
# Here is the same in the kernel, for row `i` of the thread's four. `wide` is 4 keys; `_other` is the shuffle.

# %%
print(passage("tiled2d", "new_max = k.var(f32", "if slots is not None"))

# %% [exercise] 03-logsumexp

# %% [markdown]
# ## And the weights themselves?
#
# For $O = P V$ the same square of threads is used: a thread takes the same four rows, and four *columns* of O. For
# them it needs the weights of all 64 keys, but it has only four. So P goes through shared memory. Which threads must
# wait? The weights of a row are written and read by its 16 threads, which are in one warp. So no barrier of the block
# is needed: `bar.warp.sync` makes the lanes of one *warp* wait for each other, which is much cheaper.

# %%
print(passage("tiled2d", 'k.op("bar.warp.sync"'))

# %% [markdown]
# ## Why does each row have four floats more?
#
# In `tiled2d`, and in our `scores` with `pad=4`, the rows of a tile are $D + 4$ floats apart. Remove the padding from
# `scores`, and look at the wavefronts.

# %%
for pad in (0, 4):
    wavefronts, _, _ = measured(high=4, wide=4, pad=pad)
    print(f"rows {16 + pad} floats apart: {wavefronts:.3f} wavefronts for each FMA")

# %% [markdown]
# The 16 threads of a row of the square read 16 rows of K at the same place in the row. Shared memory has 32 banks,
# and each serves one word at a time. If rows are 16 floats apart, the same columns of rows 0, 2, 4, ... are in the
# same bank, and the accesses are served one after the other: a **bank conflict**. With four more floats, each row
# begins four banks further. Notebook 06 is about this; here it is enough to know that the padding has a purpose.

# %% [exercise] 03-piece

# %% [markdown]
# ## What has it bought?

# %%
pl.compare(q, k, v, kernels=["scalar", "tiled", "tiled2d"], device="cpu")

# %% [markdown]
# (The last column is the time of the emulator, which says nothing about a GPU.)

# %%
for name in ("tiled", "tiled2d"):
    c = pl.attention(q, k, v, kernel=name, device="cpu", counters=True).counters
    print(f"{name:8} {per_fma(c):.2f} wavefronts for each FMA, {c.opcodes['fma.rn.f32'][0]:,} FMA,"
          f" {c.opcodes.get('shfl.sync.bfly.b32', (0, 0))[0]:,} shuffles")

# %% [markdown]
# There are fewer than half as many wavefronts per FMA, and the shuffles are few beside that. `tiled2d` also has fewer
# instructions in all: a row is rescaled once per tile instead of once per key, twice instead of 128 times. The
# weights still need one exponential per score:

# %%
for name in ("scalar", "tiled2d"):
    opcodes = pl.attention(q, k, v, kernel=name, device="cpu", counters=True).counters.opcodes
    count = sum(threads for opcode, (_, threads) in opcodes.items() if opcode.startswith("ex2"))
    print(f"{name:8} {count / (128 * 128):.2f} exponentials per score")

# %% [markdown]
# Two per score have become 1.25: one for the weight, and a quarter for the factors, which each thread of a row
# computes.

# %%
inputs = reference.random_inputs(1, 1, 1, 40, 300, 32, sigma=4.0, seed=2)
out = pl.attention(*inputs, kernel="tiled2d", causal=True, state=True)
print(f"largest error {out.error.max:.1e}, tolerance {out.error.tolerance:.1e}")
pl.plot_state(out)

# %% [markdown]
# The state of row 0, from the kernel's probes: one point per tile of 64 keys, with rings from numpy in float64.
#
# In the explorer: how do registers and occupancy change with `head_dim`? What does `tile_kv` do to the shared memory?
# Compare the assembler's view with that of `tiled`.

# %%
pl.explore("tiled2d", head_dim=32, seq_len=64)

# %% [markdown]
# ## Your own kernel takes pieces
#
# Give each thread 4 rows by 4 keys: 03-piece has the products, 03-share the softmax of a row that 16 threads hold. With
# 256 threads, 16 by 16, a block has 64 rows: enter it with `block=256, rows_per_block=64`. (Without `rows_per_block` a
# block has a row per thread.) `scoreboard.borrow("pieces")` goes on from ours.

# %%
print(scoreboard.source("pieces"))
mine = scoreboard.latest("pieces")
scoreboard.enter("pieces", mine, block=64)

# %% [markdown]
# Stuck in an exercise? `ptxlab.course.solution("03-share")` prints one answer. Read the feedback twice before you ask for it.
#
# # What have you seen?
#
# - Loads per FMA limit a kernel that works from shared memory. With $h \times w$ scores per thread they are $(h + w)
#   / hw$.
# - Softmax is per row, because weights can be added only if they were computed with the same maximum.
# - 16 lanes agree on a maximum in four butterfly shuffles, without memory and without a barrier.
# - Only the maximum is needed at once. The sums stay in their lanes until the end, since all lanes rescale by the
#   same factor.
# - What only one warp writes and reads needs `bar.warp.sync`, not a barrier of the block.
#
# Next come other units: [tensor cores](04-wmma.ipynb) multiply whole matrices in one instruction. But WMMA does not
# say which lane holds which element, and softmax must know its rows.
#
# ## Further reading
#
# - NVIDIA: [*Parallel Thread Execution ISA*](https://docs.nvidia.com/cuda/parallel-thread-execution/), sections
#   "shfl.sync" and "bar.warp.sync".
# - V. Volkov, J. W. Demmel: *Benchmarking GPUs to Tune Dense Linear Algebra*. Supercomputing 2008. Why registers, not
#   shared memory, should hold what is used most.
# - NVIDIA: [*Efficient GEMM in CUDA*](https://github.com/NVIDIA/cutlass/blob/main/media/docs/cpp/efficient_gemm.md),
#   CUTLASS documentation. Tiles of blocks, warps and threads.
# - M. Milakov, N. Gimelshein: *Online normalizer calculation for softmax*. 2018,
#   [arXiv:1805.02867](https://arxiv.org/abs/1805.02867). Its section on parallel evaluation is the merge of partial
#   sums.
# - T. Dao: *FlashAttention-2: Faster Attention with Better Parallelism and Work Partitioning*. ICLR 2024,
#   [arXiv:2307.08691](https://arxiv.org/abs/2307.08691). Which threads should share a row, and which should not.
