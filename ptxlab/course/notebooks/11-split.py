# %% [markdown]
# # 11 · Split-KV: one answer on the whole GPU
#
# One user asks about a long document. The kernels of the last notebooks start a block per query head: 32 blocks, and an
# H100 SXM has 132 SMs (NVIDIA H100 whitepaper). Softmax can be divided anywhere (notebook 09), so the keys can be split
# over blocks. This is **Flash-Decoding**. **How many splits?** With too few the GPU is idle; with too many they cost more
# than they gain.

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

# %% [markdown]
# **Your turn.** Cut 100 keys for 3 blocks: no key is lost, and no part is longer than the first. Where does the third part
# begin, and how many keys has it? And with 3 keys and 4 parts, where does the last one begin?

# %% [exercise] 11-part

# %% [markdown]
# These are the kernel's lines. Do they say what yours say?

# %%
spec = pl.kernels.get("decode_split")
source = spec.source
print(source[source.index("def part(") : source.index("def one_block_a_part")].strip())

# %% [markdown]
# ## What is the plan?
#
# Two kernels. The first has a third grid dimension, `z`: block `(head, sequence, split)` goes through its part of the
# keys and stores what a merge needs. The second merges all parts of a row. It must wait for all blocks of the first.
# An ordinary launch does not promise that its blocks run at the same time, so a block that waits for another may wait
# forever. Launches of one stream run in order.
#
# A part is rounded *up*: with 10 keys and 4 splits a part has 3, and the last one 1. (Rounded down, a part would have 2
# keys, and two keys would be lost. One of the exercises has that bug.) The `min` keeps the last parts from going past
# the keys:


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
# With 3 keys the last part is empty, and also with 9. That is not a special case: a part without keys stores the
# neutral element of notebook 09.
#
# ## What does a part store?

# %%
print(source[source.index("        result = partial") : source.index("    return decode_split(")].rstrip())

# %% [markdown]
# $D + 2$ numbers in f32: the row of sums, *not divided*, the maximum, and the sum. Run it with 1 to 16 splits. The
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
          f"{second.warp_instructions:22,} {second[LOAD] + second[STORE]:9,}    {out.error.max:.1e}")

# %% [markdown]
# Up to 8 splits the traffic hardly changes. From 8 to 16 it jumps, and not because of the partial results. A block
# has 8 warps; each works on two keys at once and requests four such pairs together: 64 keys per round. Sixteen splits
# of 512 keys are 32 keys each, half a round. It costs as much as a whole one, because the lanes without a key load
# the last one again. **A part should not be smaller than a round.**

# %% [exercise] 11-tail

# %% [markdown]
# ## What does each part know?
#
# The plot shows the state of each part before the merge, and its factor in the merge. Rings are numpy in float64.

# %%
out = pl.decode(q, cache_k, cache_v, n, kernel="decode_split", splits=8, state=True)
pl.plot_state(out)

# %% [markdown]
# ## How does the merge look?
#
# There is one block per row. Every warp finds the maximum over the splits; then each thread adds up one element of
# the row, scaled.

# %%
source = pl.kernels.get("decode_reduce").source
print(source[source.index("        # The elements.") : source.index("        divisor =")].rstrip())

# %% [markdown]
# Online softmax needs only one pass. Here there are two: first the maximum, then the sums. Why is that good enough?
# There are few splits, and the first pass reads only 8 bytes per split. The inner loop requests several splits before
# it uses the first, as notebook 08 taught.

# %% [exercise] 11-merge

# %% [markdown]
# Watch it. The debugger has the second kernel, after three splits. `%row_max` is different in each lane at first
# (lane $i$ has the splits $i, i + 32, \dots$, so that lanes from 3 on have none and keep $-\infty$), and after the
# butterflies it is the same everywhere.

# %%
few = [np.ascontiguousarray(x[:, :, :96, :32]) for x in (cache_k, cache_v)]
out = pl.decode(np.ascontiguousarray(q[:, :1, :32]), *few, 96, kernel="decode_split", splits=3, trace=pl.Trace())
pl.debug(out.runs[1])

# %% [exercise] 11-factors

# %% [markdown]
# ## When is the GPU full?
#
# Blocks run in *waves*. With one block at a time on each of 132 SMs, a grid of 132 blocks takes one wave. A grid of
# 133 takes two, and in the second only one SM is busy. This is **wave quantisation**. How many SMs are busy on
# average?

# %% jupyter={"source_hidden": true}
PROCESSORS = 132


def busy(blocks):
    """The share of the SMs that have work, on average over the waves."""
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
# The curves are saw-toothed. With 8 heads, 16 splits are 128 blocks, 97 % of one wave; with one split more it falls
# to a half. With 100 heads and no split, 76 % of the SMs are busy. Two, three or four splits are no better; five is
# the first number that is.
#
# So neither "fill the GPU" nor "as many as possible" is a good rule. The library's rule: do not split if 80 % of the
# SMs have a block anyway. Otherwise take, of the numbers that make one or two waves, the **smallest** that reaches 95
# % of the best, and give no part fewer than 64 keys.

# %%
from ptxlab.attention.heuristics import split_count

for blocks in (1, 8, 20, 64, 100, 110):
    found = [split_count(blocks, PROCESSORS, keys) for keys in (100, 1000, 10000, 100000)]
    print(f"{blocks:4} blocks: splits for 100, 1,000, 10,000, 100,000 keys: {found}")

# %% [markdown]
# ## What does a split cost, then?
#
# Use a model: an SM takes a fixed time per round of 64 keys; a wave lasts as long as its longest part; each launch
# costs time, and so does each split in the merge. The constants are round numbers: look at the shape of the curves,
# not at the microseconds.

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
          f"{time(8, keys, chosen):7.1f} µs; without splitting {time(8, keys, 1):7.1f} µs")

# %% [markdown]
# For long texts the gain is a factor of ten or more, and the number need not be exact: around the minimum the curves
# are flat.
#
# A GPU agrees with the second half. An H100 was given 8 blocks, the KV heads of `decode_gqa` in notebook 12, with 16,384
# keys of 128 numbers in bf16. Without splitting it takes 117 µs, with 8 splits 27.9, with 16, the rule's choice, 27.7, and
# with 32 28.6. That is a factor of four, not of ten: with 8 splits memory already delivers 2.4 TB/s, and about 3.0 is all
# that this card has. **The model has no such limit.**
#
# ## Why not parts of a fixed size?
#
# With parts of, say, 256 keys, the *grid* grows with the text, and a CUDA graph, which fixes the grid (notebook 08),
# must be recorded or updated again and again. Here the number of parts is fixed, and their size is computed in the kernel from
# the length in memory. The same launch works for 3 keys and for 512:

# %%
for keys in (3, 64, 511):
    out = split(8, keys)
    print(f"{keys:4} keys in 8 parts: error {out.error.max:.1e}, same grid {out.run.grid}")

# %% [markdown]
# The explorer also takes `splits`. How do the counters change from 2 to 4, and from 4 to 16? Which of the parts is
# empty when there are 9 keys and 4 splits, and what does the plot show for it?

# %%
pl.explore("decode_split", seq_k=300, head_dim=32, splits=4)

# %% [markdown]
# Stuck in an exercise? `ptxlab.course.solution("11-factors")` prints one answer. Read the feedback twice before you ask for it.
#
# # What have you seen?
#
# - One sequence has too few heads for all SMs. **Splitting its keys over the grid uses them**, at the cost of a
#   partial result of $D + 2$ numbers per part and a second, small kernel.
# - The size of a part is rounded up, so the last parts may be short or empty; with the neutral element that is no
#   problem.
# - How many? **The smallest number** with which the last wave is nearly full, and never so many that a part is less
#   than a round.
# - The launch fixes the number of parts, and the kernel computes their size from the length, so a recorded graph fits
#   a growing text.
#
# Each key is still read once for *every query head*, though four or eight of them share it: [12 · GQA](12-gqa.ipynb)
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
