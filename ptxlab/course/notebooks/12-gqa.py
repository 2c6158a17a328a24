# %% [markdown]
# # 12 · GQA: the heads of a group are the rows of a matrix
#
# Most of today's models have fewer key/value heads than query heads: *grouped-query attention* (GQA). 8 query heads and 2
# KV heads are two groups of four heads, and a group shares its keys.
#
# The kernel of this notebook reads them once for a group, and computes sixteen rows where four are needed. **Why is
# reading K and V once worth wasting most of a matrix product?**
#
# **Your turn.** Query heads 0 to 7, KV heads 0 and 1: whose keys does head 5 read?

# %%
import math

import matplotlib.pyplot as plt
import numpy as np

import ptxlab as pl
from ptxlab.builder import Builder, Ptr, f32, kernel, u32
from ptxlab.course import check, scoreboard

LOG2E, LN2 = math.log2(math.e), math.log(2)

# %load_ext ptxlab
scoreboard.show()

# %% [exercise] 12-head

# %% [markdown]
# ## What does a token cost?
#
# With fewer KV heads the KV cache is smaller, and the traffic should also be smaller. In the kernels so far it is not: each query
# head has its own block, and each block reads the keys again.
#
# A model with 32 layers, 32 query heads and $D = 128$ in f16, and an answer of 8,000 tokens:

# %%
layers, heads, D, tokens = 32, 32, 128, 8000
for kv_heads, name in ((32, "one for each query head (MHA)"), (8, "one for four (GQA)"), (1, "one for all (MQA)")):
    token = layers * kv_heads * 2 * D * 2
    print(f"{kv_heads:2} KV heads, {name:30} {token // 1024:4} KiB per token, {token * tokens / 2**30:.2f} GiB per answer")

# %% [markdown]
# Every decode step reads the whole KV cache. A quarter of the cache takes a quarter of the time, if the kernel reads
# it once.
#
# ## Who reads what?
#
# There are two key/value heads, and 2 to 32 query heads that share them. How much does each kernel read from global
# memory? (The keys and values stay the same; only the number of queries grows.)

# %%
random = np.random.default_rng(0)
D, n = 64, 512
cache_k, cache_v = (random.standard_normal((1, 2, n, D)).astype(np.float16) for _ in range(2))
SECTORS = "memory_l2_theoretical_sectors_global"
least = 2 * 2 * n * D * 2 / 32  # sectors of K and V of both heads


def counted(kernel, heads):
    """One decode step of so many query heads."""
    q = random.standard_normal((1, heads, D)).astype(np.float16)
    more = {"splits": 1} if kernel == "decode_gqa" else {}
    return pl.decode(q, cache_k, cache_v, n, kernel=kernel, device="cpu", counters=True, **more)


groups = (2, 4, 8, 16, 32)
found = {name: [counted(name, heads) for heads in groups] for name in ("decode_multiwarp", "decode_gqa")}
figure, axes = plt.subplots(1, 2, figsize=(9, 3.2), layout="constrained")
for (name, outs), marker in zip(found.items(), "os", strict=True):
    axes[0].loglog(groups, [out.counters[SECTORS] / least for out in outs], marker=marker, label=name)
    axes[1].loglog(groups, [out.counters.warp_instructions for out in outs], marker=marker, label=name)
axes[0].set_ylabel("K and V are read ... times")
axes[1].set_ylabel("warp-instructions")
for axis in axes:
    axis.set_xticks(groups, groups)
    axis.minorticks_off()
    axis.set_xlabel("query heads (2 KV heads)")
    axis.grid(alpha=0.25)
axes[0].set_yticks((1, 2, 4, 8, 16), (1, 2, 4, 8, 16))
axes[1].set_yticks((20_000, 50_000, 100_000, 300_000), ("20k", "50k", "100k", "300k"))
axes[0].legend()
for heads, a, b in zip(groups, *found.values(), strict=True):
    print(f"{heads:2} query heads: {a.counters[SECTORS] / least:5.1f} times with a block for each, "
          f"{b.counters[SECTORS] / least:.2f} times with a block for the group; error {b.error.max:.0e}")

# %% [markdown]
# `decode_gqa` reads them once, whatever the size of the group. And the *instructions* hardly grow either: sixteen
# heads cost as much as one. How?
#
# ## Where are the heads?
#
# A tensor core multiplies a 16-row matrix by another (notebook 05: `mma.m16n8k16`). In prefill the sixteen rows are
# sixteen queries of one head. In decode there is one query per head, but all query heads of a group use **the same
# keys**. So let the heads be the rows:
#
# $$ S_{\text{group} \times \text{keys}} = Q_{\text{group} \times D} \; K^\top_{D \times \text{keys}} $$
#
# A product of a matrix and a vector has become a product of two matrices. With a group of four, four rows of sixteen
# are used:

# %% jupyter={"source_hidden": true}
figure, axes = plt.subplots(1, 4, figsize=(9, 2.4), layout="constrained")
for axis, group in zip(axes, (1, 4, 8, 16), strict=True):
    rows = np.full((16, 16), np.nan)
    rows[:group] = np.arange(group)[:, None]
    axis.imshow(rows, cmap="tab20", vmin=0, vmax=19, aspect="auto")
    axis.set_facecolor("0.93")
    axis.set_title(f"group of {group}: {group / 16:.0%}", fontsize=9)
    axis.set_xticks([])
    axis.set_yticks((0, 4, 8, 12, 15))
axes[0].set_ylabel("row of the tile");

# %% [exercise] 12-modulo

# %% [markdown]
# ## What is wasted?
#
# The machine counts all operations of the matrix products. $4D$ per pair of query and key are useful.

# %%
for kv_heads, heads in ((2, 2), (2, 8), (2, 16), (2, 32), (2, 34)):
    out = counted("decode_gqa", heads)
    useful = 4 * D * heads * n
    print(f"groups of {heads // kv_heads:2}: grid {out.run.grid}, {useful / out.counters.flops['tensor']:6.1%} of the "
          "matrix products are useful")

# %% [markdown]
# A group of 4 wastes three quarters. A group of 17 needs a second tile of sixteen for one head, and a second block,
# which reads the keys again.

# %% [exercise] 12-useful

# %% [markdown]
# Does the waste cost time? For one key of one KV head, a tile takes $4 \cdot 16 \cdot D$ operations, and memory
# must deliver $2 \cdot 2 \cdot D$ bytes. The rates are an H200's data sheet again:

# %%
PEAK, ORDINARY, BANDWIDTH = 989e12, 67e12, 4.8e12  # f16 matrix products, f32 fma, bytes per second
D = 128
compute, deliver = 4 * 16 * D / PEAK, 2 * 2 * D / BANDWIDTH
print(f"matrix products {compute * 1e12:.1f} ps, memory {deliver * 1e12:.0f} ps: busy {compute / deliver:.0%}")
for group in (1, 4, 8, 16):
    print(f"group of {group:2}: {group:2} useful FLOPs per byte, {group * BANDWIDTH / ORDINARY:4.0%} of what fma can do")

# %% [markdown]
# Even with all sixteen rows computed, used or not, the tensor cores are busy for 8 % of the time. **The
# products cost no time, because the kernel waits for memory; bytes do.** So it pays to waste products and save bytes.
# (Nsight Compute on an H100, for 16 sequences of 4,096 keys and groups of four: tensor cores busy 8 %, memory 88 %.)
#
# And the ordinary FMA units? With `fma`, four query heads take four times the instructions of one (see the right
# plot). By the last column a group of eight would need more than half of the peak rate of `fma`, and a group of
# sixteen more than the peak, without any instruction for addresses or weights.
#
# ## What is new in the kernel?
#
# The queries of a group are copied to shared memory; rows past the group are zeros. Then each warp goes through tiles
# of 16 keys *of its own*:

# %%
source = pl.kernels.get("decode_gqa").source
start = source.index("        with k.while_(lambda: k.vote(start < last")
print(source[start : source.index("            with k.if_(start + KEYS > last)")].rstrip())

# %% [markdown]
# You know the parts from the prefill kernels: `cp.async` and `wait_group` from notebook 07, `ldmatrix` and `mma` from
# 05. One thing is new. **There is no barrier of the block in the loop.** Each warp has its own ring of stages, which
# no other warp reads. After `wait_group` the copies of this lane have arrived, after `bar.warp.sync` those of the
# other 31, and that is enough. The warps do not wait for each other, so their requests are spread over time.
#
# ## How much is in flight now?

# %%
built = pl.kernels.get("decode_gqa").build(head_dim=128)
grid, block, shared = built.launch_shape(1, 32, 8)
tile = 2 * 16 * 128 * 2  # 16 keys and 16 values of 128 f16
flying = built.config.warps * (built.config.stages - 1) * tile
print(f"{built.config.warps} warps, {built.config.stages} stages: {shared:,} bytes of shared memory per block")
print(f"{flying:,} bytes in flight per block; one block on each of 132 multiprocessors: {132 * flying / 1e6:.1f} MB")
print(pl.occupancy(built, block[0], shared, arch="sm_90"))

# %% [markdown]
# Notebook 08 asked for 2.9 MB on an H200. Here it is several times that, with one block of four warps per SM: an
# *occupancy* of a few percent (6 % on an H100, which gives this kernel 2.9 of its 3.0 TB/s). Many resident warps are
# one way to have bytes in flight. Asynchronous copies are another, which needs no registers and few warps.
#
# With 8 KV heads there are only eight blocks per sequence, so the keys are split over the grid as well (notebook 11).
# The algebra is the same:

# %%
q = random.standard_normal((1, 8, 64)).astype(np.float16)
for splits in (1, 4):
    out = pl.decode(q, cache_k, cache_v, n, kernel="decode_gqa", splits=splits)
    print(f"{splits} splits: {' + '.join(k.name for k in out.kernels)}, error {out.error.max:.1e}")

# %% [exercise] 12-once

# %% [markdown]
# ## Look at the fragments
#
# The debugger is open at the first `mma` of warp 0. In the view of the fragments: which lane holds which row of A?
# Lanes 0 to 3 hold row 0, that is query head 0. With a group of four, lanes 16 to 31 hold nothing but zeros. Then
# look at the scores after it: rows 4 to 15 are also 0. Their softmax is computed with the rest, and not stored.

# %%
pl.debug("decode_gqa", seq_len=16, head_dim=32, heads=4, kv_heads=1, splits=1, warps=0, at="mma.sync")

# %% [markdown]
# ## All decode kernels, side by side
#
# One sequence, eight query heads on two KV heads, 256 keys in f16: every kernel of this half of the course that
# takes them.

# %%
q = random.standard_normal((1, 8, 64)).astype(np.float16)
pl.compare_decode(q, cache_k[:, :, :256].copy(), cache_v[:, :, :256].copy(), 256, device="cpu")

# %% [markdown]
# `decode_gqa` has the fewest instructions and the fewest sectors. (The second part of `decode_split` and `decode_gqa`
# is the merge; 256 keys are too few to be split, as its numbers show. Times are those of the emulator.)
#
# In the explorer, change `heads` from 2 to 8 to 32 and watch the instructions and the sectors. At which number do
# they jump?

# %%
pl.explore("decode_gqa", seq_k=100, head_dim=32, heads=8, kv_heads=2)

# %% [markdown]
# ## Your own kernel reads once for a group
#
# Eight query heads share the keys. Say with `rows_per_block` how many heads a block has: 12-once has the idea. `scoreboard.borrow("group")` goes on from ours.

# %%
print(scoreboard.source("group"))
mine = scoreboard.latest("group")
scoreboard.enter("group", mine, block=32, rows_per_block=1)

# %% [markdown]
# Stuck in an exercise? `ptxlab.course.solution("12-once")` prints one answer. Read the feedback twice before you ask for it.
#
# # What have you seen?
#
# - Query heads of a group share their keys, so a kernel can read each key once for all of them: **the traffic is
#   divided by the size of the group**.
# - As rows of a matrix product, up to sixteen heads cost as much as one. Most rows may be empty: the tensor cores are
#   mostly idle, and memory is not. **Waste what is idle to save what is scarce.**
# - A ring of stages per warp needs no barrier of the block; asynchronous copies keep megabytes in flight with few
#   warps.
# - Merging, pages, splits and groups are independent ideas: this kernel has all four.
#
# This was the last decode kernel of the library; 15 and 16 come back to prefill, on Hopper. In
# [13 · The bug gallery](13-gallery.ipynb) the kernels are wrong.
#
# ## Further reading
#
# - J. Ainslie, J. Lee-Thorp, M. de Jong, Y. Zemlyanskiy, F. Lebrón, S. Sanghai: *GQA: Training Generalized
#   Multi-Query Transformer Models from Multi-Head Checkpoints*. EMNLP 2023,
#   [arXiv:2305.13245](https://arxiv.org/abs/2305.13245).
# - N. Shazeer: *Fast Transformer Decoding: One Write-Head is All You Need*. 2019,
#   [arXiv:1911.02150](https://arxiv.org/abs/1911.02150).
# - DeepSeek-AI: *DeepSeek-V2: A Strong, Economical, and Efficient Mixture-of-Experts Language Model*. 2024,
#   [arXiv:2405.04434](https://arxiv.org/abs/2405.04434). Latent attention: in decode, one group of 128 heads.
# - T. Zadouri, H. Strauss, T. Dao: *Hardware-Efficient Attention for Fast Decoding*. 2025,
#   [arXiv:2505.21487](https://arxiv.org/abs/2505.21487). Attention designed for arithmetic intensity.
# - V. Volkov: *Better Performance at Lower Occupancy*. GPU Technology Conference, 2010.
