# %% [markdown]
# # 11 · Split-KV: one answer, the whole card
#
# One person reads a long document with a model: one sequence, 32 query heads on eight key/value heads, a hundred
# thousand keys. The kernels of the last notebooks start a block per *query* head. That is 32 blocks, and an H100 SXM has
# 132 multiprocessors (NVIDIA H100 whitepaper). Three quarters of it have nothing to do.
#
# Since softmax can be cut anywhere (notebook 09), the keys can be cut as well, and each part can be a block. **How
# many splits?** Too few leave the card empty, too many cost more than they bring.

# %%
import math

import matplotlib.pyplot as plt
import numpy as np

import ptxlab as pl
from ptxlab.builder import Builder, Ptr, f32, kernel, u32

# %load_ext ptxlab

# %% [markdown]
# ## What is the plan?
#
# Two kernels. The first gets a third grid dimension, `z`: block `(head, sequence, split)` goes through its part of
# the keys and stores what a merge needs. The second merges all parts of a row. It is the first time in this course
# that one launch must wait for another: blocks of one grid cannot wait for each other, but launches run in order.
#
# Where does a part begin and end?

# %%
spec = pl.kernels.get("decode_split")
source = spec.source
print(source[source.index("def part(") : source.index("def one_block_a_part")].strip())

# %% [markdown]
# Rounded *up*: with 10 keys and 4 splits a part has 3, and the last one 1. (Rounded down, a part would have 2, and
# two keys would belong to nobody. That bug is one of the exercises.) The `min` keeps the ends of the last parts
# from running past the keys:


# %%
def part(keys, splits, split):
    """The same in Python."""
    size = (keys + splits - 1) // splits
    first = min(split * size, keys)
    return first, min(first + size, keys)


for keys, splits in ((10, 4), (9, 4), (3, 4)):
    parts = [part(keys, splits, s) for s in range(splits)]
    print(f"{keys:2} keys, {splits} splits:", *(f"[{first}, {last})" for first, last in parts))

# %% [markdown]
# With 3 keys the last part is empty, and with 9 as well. That is no special case: a part without keys stores the
# neutral element, as in notebook 09.
#
# ## What does a part leave behind?

# %%
print(source[source.index("        result = partial") : source.index("    return decode_split(")].rstrip())

# %% [markdown]
# $D + 2$ numbers in f32: the row of sums, *not divided*, the maximum, the sum. Run it with one to eight splits. The
# results must agree, and the traffic must grow by the partial results.

# %%
random = np.random.default_rng(0)
D, n = 64, 512
q = random.standard_normal((1, 2, D), np.float32)
cache_k, cache_v = (random.standard_normal((1, 1, n, D), np.float32) for _ in range(2))
LOAD = "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"
STORE = "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum"


def split(count, keys=n):
    """A run in `count` parts, counted."""
    return pl.decode(q, cache_k, cache_v, keys, kernel="decode_split", splits=count, device="cpu", counters=True)


print("splits   first kernel: instructions, sectors    second: instructions, sectors    error")
runs = {count: split(count) for count in (1, 2, 4, 8, 16)}
for count, out in runs.items():
    first, second = (run.counters for run in out.runs)
    print(f"{count:6} {first.warp_instructions:24,} {first[LOAD] + first[STORE]:9,} "
          f"{second.warp_instructions:22,} {second[LOAD] + second[STORE]:9,}    {out.error.max:.1e}")  # fmt: skip

# %% [markdown]
# Up to 8 splits the traffic hardly changes. From 8 to 16 it jumps, and not because of the partial results. A block
# has 8 warps, each holds two keys at once and asks for four of them together: 64 keys a round. Sixteen splits of
# 512 keys are 32 keys each. Half a round costs a whole one; the lanes without a key load the last one again. **A
# part should not be smaller than a round.**
#
# ## What does each part know?
#
# The plot shows the state of each part before the merge, and what the merge multiplied it with. Circles are numpy
# in float64.

# %%
out = pl.decode(q, cache_k, cache_v, n, kernel="decode_split", splits=8, state=True)
pl.plot_state(out)

# %% [markdown]
# ## How does the merge look?
#
# One block for a row. Every warp finds the maximum over the splits, then each thread adds up one element of the
# row, scaled.

# %%
source = pl.kernels.get("decode_reduce").source
print(source[source.index("        # The elements.") : source.index("        divisor =")].rstrip())

# %% [markdown]
# Notebook 01 went to some length to need only one pass. Here there are two: maximum first, then sums. Why is it
# good enough? The splits are few, and what the first pass reads is 8 bytes a split. The lesson of notebook 08 is in
# the inner loop: several splits are *asked for* before the first is used.
#
# Watch it. The debugger has the second kernel, after three splits. `%row_max` is different in each lane at first
# (lane $i$ has the splits $i, i + 32, \dots$, so that lanes from 3 on have none and keep $-\infty$), and after the
# butterflies it is the same everywhere.

# %%
few = [np.ascontiguousarray(x[:, :, :96, :32]) for x in (cache_k, cache_v)]
out = pl.decode(np.ascontiguousarray(q[:, :1, :32]), *few, 96, kernel="decode_split", splits=3, trace=pl.Trace())
pl.debug(out.runs[1])

# %% [markdown]
# ## When is the card full?
#
# Blocks are handed to the multiprocessors in *waves*. With room for one block at a time on each of 132, a grid of
# 132 blocks takes one wave, a grid of 133 takes two, and the second keeps one multiprocessor busy. How much of the
# card is busy on average?

# %%
PROCESSORS = 132


def busy(blocks):
    """The share of the multiprocessors that have work, on average over the waves."""
    waves = blocks / PROCESSORS
    return waves / math.ceil(waves)


figure, axis = plt.subplots(figsize=(8, 3.2), layout="constrained")
splits = np.arange(1, 67)
for blocks, style in ((8, "o-"), (20, "s-"), (100, "^-")):
    axis.plot(splits, [busy(blocks * s) for s in splits], style, markersize=3, linewidth=0.8, label=f"{blocks} heads")
axis.set_xlabel("splits")
axis.set_ylabel("busy")
axis.set_ylim(0, 1.03)
axis.legend()
axis.grid(alpha=0.25)

# %% [markdown]
# A saw. For 8 heads, 16 splits are 128 blocks, 97 % of one wave; one split more, and it falls to a half. For 100
# heads no split at all keeps 76 % busy; two, three and four keep no more, and five are the first that are better.
#
# So "fill the card" is no sufficient rule, and "as many as possible" none at all. The library's rule: do not split
# if 80 % of the multiprocessors have a block anyway; otherwise, of the numbers that make one or two waves, take the
# **smallest** that reaches 95 % of the best, and give no part fewer than 64 keys.

# %%
from ptxlab.attention.heuristics import split_count

for blocks in (1, 8, 20, 64, 100, 110):
    found = [split_count(blocks, PROCESSORS, keys) for keys in (100, 1000, 10000, 100000)]
    print(f"{blocks:4} blocks: splits for 100, 1,000, 10,000, 100,000 keys: {found}")

# %% [markdown]
# ## What does a split cost, then?
#
# Put the pieces together in a model: each multiprocessor goes through its parts key by key, a fixed time a round of
# 64 keys; a wave lasts as long as its longest part; starting a grid costs time, and the second kernel goes through
# the splits. The constants are round numbers, for the shape and not for the microsecond.

# %%
ROUND, LAUNCH, MERGE = 1.0, 3.0, 0.02  # microseconds: 64 keys, a launch, one split in the merge


def time(blocks, keys, splits):
    """Microseconds, by the model."""
    waves = math.ceil(blocks * splits / PROCESSORS)
    rounds = math.ceil(math.ceil(keys / splits) / 64)
    merge = LAUNCH + MERGE * splits if splits > 1 else 0
    return LAUNCH + waves * rounds * ROUND + merge


figure, axis = plt.subplots(figsize=(8, 3.4), layout="constrained")
for keys, colour in ((2000, "C0"), (16000, "C1"), (128000, "C2")):
    times = [time(8, keys, int(s)) for s in splits]
    axis.semilogy(splits, times, color=colour, label=f"{keys:,} keys")
    chosen = split_count(8, PROCESSORS, keys)
    axis.plot(chosen, time(8, keys, chosen), "o", color=colour, markersize=8)
axis.set_xlabel("splits (8 heads; the dots are the library's choice)")
axis.set_ylabel("µs (a model)")
axis.legend()
axis.grid(alpha=0.25)
for keys in (2000, 16000, 128000):
    best = min(range(1, 67), key=lambda s: time(8, keys, s))
    chosen = split_count(8, PROCESSORS, keys)
    print(f"{keys:7,} keys: the model's best {best:2} splits, {time(8, keys, best):7.1f} µs; the rule's {chosen:2}, "
          f"{time(8, keys, chosen):7.1f} µs; without splitting {time(8, keys, 1):7.1f} µs")  # fmt: skip

# %% [markdown]
# The gain is an order of magnitude for long texts, and the choice need not be exact: the valley is flat, and its
# walls are saw teeth.
#
# ## Why not parts of a fixed size?
#
# An older design cuts the keys into chunks of 256, however many there are. Then the *grid* grows with the text, and
# a CUDA graph, which fixes the grid (notebook 08), would have to be recorded again and again. Here the number of
# parts is fixed and their size is computed in the kernel, from the length in memory. The same launch does for 3
# keys and for 512:

# %%
for keys in (3, 64, 511):
    out = split(8, keys)
    print(f"{keys:4} keys in 8 parts: error {out.error.max:.1e}, same grid {out.run.grid}")

# %% [markdown]
# The explorer takes `splits`, too. How do the counters change from 2 to 4, and from 4 to 16? Which of the parts is
# empty when there are 9 keys and 4 splits, and what does the plot show for it?

# %%
pl.explore("decode_split", seq_k=300, head_dim=32, splits=4)

# %% [markdown]
# # Exercises

# %%
from ptxlab.course import check

LOG2E, LN2 = math.log2(math.e), math.log(2)

# %% [exercise] 11-part

# %% [exercise] 11-tail

# %% [exercise] 11-merge

# %% [exercise] 11-factors

# %% [markdown]
# Stuck? `ptxlab.course.solution("11-factors")` prints one answer. Read the feedback twice before you ask for it.
#
# # What have you seen?
#
# - One sequence has too few heads to fill a card. **Cutting its keys over the grid fills it**, at the price of a
#   partial result of $D + 2$ numbers for each part and a second, small kernel.
# - Parts are rounded up, and the last ones may be short or empty; the neutral element makes that harmless.
# - How many? Enough that the last wave is nearly full, **the smallest number that does it**, and never so many that
#   a part is less than a round.
# - The number of parts is fixed by the launch and their size computed from the length, so that a recorded graph
#   fits a growing text.
#
# All that memory traffic, and each key is still read once for *every query head*, though four or eight of them
# share it: [12 · GQA](12-gqa.ipynb)
#
# ## Further reading
#
# - T. Dao, D. Haziza, F. Massa, G. Sizov: *Flash-Decoding for long-context inference*. 2023,
#   [crfm.stanford.edu](https://crfm.stanford.edu/2023/10/12/flashdecoding.html).
# - K. Hong, G. Dai, J. Xu, Q. Mao, X. Li, J. Liu, K. Chen, Y. Dong, Y. Wang: *FlashDecoding++: Faster Large
#   Language Model Inference on GPUs*. MLSys 2024, [arXiv:2311.01282](https://arxiv.org/abs/2311.01282). A merge
#   with a maximum that is agreed on beforehand.
# - M. Osama, D. Merrill, C. Cecka, M. Garland, J. D. Owens: *Stream-K: Work-centric Parallel Decomposition for
#   Dense Matrix-Matrix Multiplication on the GPU*. PPoPP 2023,
#   [arXiv:2301.03598](https://arxiv.org/abs/2301.03598). The saw, and a way to be rid of it.
# - T. Dao: *FlashAttention-2*. ICLR 2024, [arXiv:2307.08691](https://arxiv.org/abs/2307.08691). Section 3.2:
#   parallelism over the sequence.
