# %% [markdown]
# # 08 · Decode: one query, one warp
#
# So far there were many queries at once, a whole prompt: **prefill**. Then the model writes one token after the other:
# **decode**. Each new token is one query for all keys so far.
#
# **Why is decode a bandwidth problem?** Count. A pair of query and key takes $4D$ operations. Keys, values, queries and
# outputs are moved once.

# %%
import math

import matplotlib.pyplot as plt
import numpy as np

import ptxlab as pl
from ptxlab import reference
from ptxlab.builder import Builder, Ptr, f32, kernel, s32, u32
from ptxlab.course import check, scoreboard

LOG2E, LN2 = math.log2(math.e), math.log(2)

# %load_ext ptxlab
scoreboard.show()


# %%
def work(queries, keys, D=128, size=2):
    """(FLOPs, bytes) of one head; `size` bytes per element."""
    return 4 * queries * keys * D, size * D * (2 * keys + 2 * queries)


keys, queries = 4096, 1
flops, bytes_ = work(queries, keys)
print(f"{queries} of {keys}: {flops:,} FLOPs, {bytes_:,} bytes, {flops / bytes_:.1f} FLOPs per byte")

# %% [markdown]
# While its memory delivers one byte, an H200 can do 206 operations (989 TFLOP/s of f16 products, 4.8 TB/s: its data
# sheet). With one query there is one to do.
#
# **Your turn.** Change `queries`: from which number on are there 206?
#
# ## What changes when there is one query?
#
# Operations per byte are the *arithmetic intensity*: two thousand in prefill, **one** in decode. The *roofline* plot
# shows the consequence: a processor computes at most at its peak rate, and at most as fast as memory delivers data.

# %% jupyter={"source_hidden": true}
PEAK, BANDWIDTH = 989e12, 4.8e12
intensity = np.logspace(-1, 4, 200)
figure, axis = plt.subplots(figsize=(7, 3.4), layout="constrained")
axis.loglog(intensity, np.minimum(PEAK, BANDWIDTH * intensity) / 1e12, color="0.3")
for rows, marker in ((4096, "o"), (217, "s"), (16, "^"), (1, "D")):
    flops, bytes_ = work(rows, keys)
    x = flops / bytes_
    axis.plot(x, min(PEAK, BANDWIDTH * x) / 1e12, marker, markersize=9, label=f"queries: {rows}")
axis.axvline(PEAK / BANDWIDTH, color="0.7", linestyle=":")
axis.set_xlabel("FLOPs per byte")
axis.set_ylabel("TFLOP/s at most")
axis.legend()
axis.grid(alpha=0.25)
print(f"the roof bends at {PEAK / BANDWIDTH:.0f} FLOPs per byte; decode may use {BANDWIDTH / PEAK:.1%} of the arithmetic")

# %% [markdown]
# From 217 queries on the tensor cores are the limit. Decode is far down the slope: it can use at most half a percent of
# them, so faster arithmetic does not help. What matters is **bytes per second**: a perfect kernel takes as long as it takes to read the KV cache once.
#
# ## Can we use `scalar`?
#
# `scalar` from notebook 01 computes each query row in one thread. With one query, a single thread works. The emulator
# counts the lanes that are busy.

# %%
D, n = 64, 64
q4, k4, v4 = reference.random_inputs(1, 1, 1, 1, n, D, seed=1)  # batch, heads, KV heads, rows, keys, D
out = pl.attention(q4, k4, v4, kernel="scalar", device="cpu", counters=True)
c = out.counters
LOADS = "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum"
SECTORS = "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"
print(f"lanes busy: {c.thread_instructions / c.warp_instructions / 32:.1%}")
print(f"{c[LOADS]} load instructions bring {c[SECTORS]} sectors of 32 bytes: {c[SECTORS] * 32 / (2 * n * D * 4):.1f} "
      "times the bytes of K and V")

# %% [markdown]
# Three percent. And global memory moves *sectors* of 32 bytes: a single thread that loads 4 bytes moves 32, and
# (without a cache) seven eighths of them are wasted.
#
# ## How can a warp share a row?
#
# Let the warp take one key at a time, and distribute the *elements* of its row over the lanes: lane $i$ multiplies
# the elements $i, i+32, \dots$ of query and key. Neighbouring lanes load neighbouring elements, so a load of the warp
# is 128 consecutive bytes, 4 sectors, all used: it is *coalesced*. Then every lane holds a part of the dot product,
# and the 32 parts must be added: a *reduction*.
#
# You know how from notebook 03: `shfl.sync.bfly` lets lane $i$ receive a register of lane $i \oplus d$. Five
# exchanges with $d = 16, 8, 4, 2, 1$ are enough for a warp. (The mask -1 has all 32 bits set, like `0xFFFFFFFF`.)


# %%
@kernel
def warp_sum(k: Builder, x: Ptr[f32], y: Ptr[f32]):
    """y[lane] = the sum of the 32 numbers of x, in every lane."""
    lane = k.tid.x
    total = k.var(f32, x[lane])
    for distance in (16, 8, 4, 2, 1):
        total += k.shfl(total, distance, 31, -1, mode="bfly")
    y[lane] = total


x, y = np.arange(32, dtype=np.float32), np.zeros(32, np.float32)
run = pl.launch(warp_sum, 1, 32, x, y, device="step", trace=pl.Trace())
print(y)

# %% [markdown]
# 496 is in every lane, not in one only, so no lane has to tell the others. The trace has each register of each lane
# at each step. This is how the sum develops: a row per `add`, a column per lane.

# %%
walker = run.trace.walk(block=0, warp=0)
rows = [x]
for _ in range(len(walker)):
    if walker.forward().opcode.startswith("add"):
        rows.append(walker.registers["%total"].view(np.float32).copy())

figure, axis = plt.subplots(figsize=(9, 2.6), layout="constrained")
axis.imshow(np.array(rows), aspect="auto", cmap="Blues")
for r, row in enumerate(rows):
    for lane, value in enumerate(row):
        axis.text(lane, r, f"{value:.0f}", ha="center", va="center", fontsize=6, color="k" if value < 300 else "w")
axis.set_yticks(range(6), ["before", "d = 16", "d = 8", "d = 4", "d = 2", "d = 1"])
axis.set_xlabel("lane");

# %% [markdown]
# After the first exchange lanes $i$ and $i \oplus 16$ agree, after the second four lanes agree, and so on, until all
# 32 do.

# %% [exercise] 08-reach

# %% [exercise] 08-maximum

# %% [markdown]
# ## What does the kernel look like?
#
# `decode` is the tenth kernel of the library. Grid (query heads, sequences), block 32: one warp for one query head.

# %%
spec = pl.kernels.get("decode")
source = spec.source
print(source[source.index("        with k.loop(here.span") : source.index("        # Without keys")])

# %% [markdown]
# It is the loop of notebook 01, line by line. `row_max`, `row_sum`, `rescale` and `weight` have the same value in all
# 32 lanes: each lane computes the softmax itself. Only `acc` differs: lane $i$ keeps the elements $i, i + 32, \dots$
# of the output row. So V is read as K is, and no lane needs the accumulator of another.
#
# Does it compute the same?

# %%
random = np.random.default_rng(0)
heads, heads_kv, max_seq = 4, 2, 96
q = random.standard_normal((3, heads, D), np.float32)
cache_k, cache_v = (random.standard_normal((3, heads_kv, max_seq, D), np.float32) for _ in range(2))
lengths = [96, 17, 0]
out = pl.decode(q, cache_k, cache_v, lengths, kernel="decode", state=True)
out

# %% [markdown]
# Three sequences of 96, 17 and 0 keys in one launch, with four query heads that share two key/value heads. The
# sequence without keys is not a special case: its output is 0 and its log-sum-exp $-\infty$.

# %%
print(out.o[2, 0, :4], out.lse[2])

# %% [markdown]
# And inside? `state` has $m$, $l$ and rescale after every key, as the kernel's own lane 0 stored them. The rings are
# numpy in float64.

# %%
pl.plot_state(out)

# %% [exercise] 08-empty

# %% [markdown]
# ## What is gained by sharing?

# %%
one = pl.decode(q4[:, :, 0], k4, v4, n, kernel="decode", device="cpu", counters=True)
c = one.counters
print(f"lanes busy: {c.thread_instructions / c.warp_instructions / 32:.1%}")
share = c[SECTORS] * 32 / (2 * n * D * 4)
print(f"{c[LOADS]} load instructions bring {c[SECTORS]} sectors: {share:.2f} times the bytes of K and V")

# %% [markdown]
# Every byte that is moved is used, and each is read once: the least traffic possible. By the roofline we are done.
# Yet this kernel cannot reach the bandwidth of a GPU. Why?

# %% [exercise] 08-coalesce

# %% [markdown]
# ## What is in flight?
#
# Look at the PTX of the loop, here for $D = 32$. What does each line wait for?

# %%
lines = spec.build(head_dim=32, length="value").ptx.splitlines()
start, end = (next(i for i, line in enumerate(lines) if line.startswith(mark)) for mark in ("loop_j", "end_j"))
print("\n".join(lines[start:end]))

# %% [markdown]
# The `fma` cannot start before the key has been loaded, which takes several hundred nanoseconds. Each of the five
# shuffles waits for the `add` before it, and `ex2` for the last of them. Then the next key is loaded, and the warp
# waits again. So at any time a warp has **one key in flight, and one value, if the assembler moves the load of V
# up.**
#
# Little's law (for queues of any kind) says what that costs:
#
# $$ \text{bytes in flight} = \text{bandwidth} \times \text{latency} $$
#
# With a latency of 600 ns, 4.8 TB/s need 2.9 MB in flight at all times. How much do our warps have in flight? (The
# latency is a round number for an estimate, not a measurement.)

# %%
LATENCY = 600e-9
target = pl.targets.get("sm_90")
multiprocessors = dict(target.gpus)["H200"]
needed = BANDWIDTH * LATENCY
full = pl.occupancy(spec.build(head_dim=D), 32, arch="sm_90")
print(f"{needed / 1e6:.2f} MB must be in flight")
print(f"an SM holds {full.blocks} blocks of one warp, limited by {full.limiter}: {full.share:.0%} of its warps")

row_bytes = 2 * D * 4  # a key and a value, f32
print("\n sequences x heads   warps   bytes in flight   share of the bandwidth, at most")
for sequences in (1, 8, 32, 128, 512):
    warps = min(sequences * 32, multiprocessors * full.blocks)
    print(f"{sequences:9} x 32   {warps:7}   {warps * row_bytes:15,}   {min(1, warps * row_bytes / needed):8.1%}")

# %% [markdown]
# A single sequence with 32 heads reaches less than one percent. Even a GPU with as many of these blocks as it can
# hold does not reach the bandwidth. More warps per block would help. So would more bytes per warp: 16 bytes per load
# instead of 4, and several keys requested before the first is used. The next kernel does both.
#
# ## Where do 32 lanes wait for each other?
#
# The debugger has the first warp of a launch with 5 keys. Step to the first `shfl` (click its line) and look at
# `%score`: 32 different numbers. Continue, and watch them become equal. Then find a *new maximum* among the event
# ticks: what is `%rescale` there, and what is it after a key that is not a maximum?

# %%
built = spec.build(head_dim=32, length="value")
few = random.standard_normal((1, 1, 5, 32), np.float32)
o, lse = np.zeros((1, 1, 32), np.float32), np.zeros((1, 1), np.float32)
arguments = built.arguments(q=q[:1, :1, :32].copy(), key=few, value=few.copy(), o=o, lse=lse, length=5, scale=32**-0.5)
pl.debug(built, 1, 32, *arguments)

# %% [markdown]
# ## Why may the length be a pointer?
#
# A server launches the same kernels for every token. Each launch costs microseconds, so servers record the launches
# once, as a *CUDA graph*, and replay it. A graph replays with the parameters that were recorded, but the sequence grows
# by one key per token. So the length is in memory, and the kernel gets its address:

# %%
pl.diff(spec.build(head_dim=32, length="value"), spec.build(head_dim=32, length="pointer"))

# %% [markdown]
# There are three more instructions: the address, the load, and a conversion that makes a negative number 0. This load
# is *dependent*: no key can be requested before it is back. In notebook 10 every key has such a load.

# %% [exercise] 08-sinks

# %% [markdown]
# ## What else would you like to try?
#
# The explorer shows kernel, counters and softmax in one view. Some questions:
#
# - `head_dim` = 40: what do the lanes without an element in the last part of a row do?
# - `dtype` = f16: half the bytes. How many sectors does a load of the warp touch now?
# - Click a step of the staircase of $m$. Which line of PTX made it?
# - Choose `scalar` as the kernel and one query (`seq_q` = 1), and compare the counters.

# %%
pl.explore("decode", seq_k=64, head_dim=32)

# %% [markdown]
# ## Your own kernel decodes
#
# One block per head, and 256 keys. Give it one pass, and no conversion twice. `scoreboard.borrow("one query")` goes on from ours.

# %%
print(scoreboard.source("one query"))
mine = scoreboard.latest("one query")
scoreboard.enter("one query", mine, block=32)

# %% [markdown]
# Stuck in an exercise? `ptxlab.course.solution("08-sinks")` prints one answer. Read the feedback twice before you ask for it.
#
# # What have you seen?
#
# - One query uses every key once: one operation per byte. **Decode is bound by bandwidth**; tensor cores do not
#   matter.
# - The lanes of a warp share a row: each load is 128 consecutive bytes, and five butterfly shuffles add up the parts,
#   so that every lane has the score.
# - The least traffic is not yet the full bandwidth. By Little's law megabytes must be in flight, and **a warp that
#   requests one key at a time has only some hundred bytes in flight**. So this kernel cannot reach the bandwidth.
# - The remedy is more bytes in flight: more warps per head, wider loads, several keys at once.
#
# With several warps per head, each sees only some of the keys. How do they combine their softmaxes? [09 · Merging
# softmaxes](09-merging.ipynb)
#
# ## Further reading
#
# - S. Williams, A. Waterman, D. Patterson: *Roofline: an insightful visual performance model for multicore
#   architectures*. Communications of the ACM 52(4), 2009.
# - J. D. C. Little: *A Proof for the Queuing Formula: L = λW*. Operations Research 9(3), 1961.
# - V. Volkov: *Understanding Latency Hiding on GPUs*. PhD thesis, UC Berkeley, 2016. Little's law, applied to warps.
# - R. Pope et al.: *Efficiently Scaling Transformer Inference*. MLSys 2023,
#   [arXiv:2211.05102](https://arxiv.org/abs/2211.05102). Why generating text waits for memory.
# - G. Xiao, Y. Tian, B. Chen, S. Han, M. Lewis: *Efficient Streaming Language Models with Attention Sinks*. ICLR
#   2024, [arXiv:2309.17453](https://arxiv.org/abs/2309.17453). The last exercise.
# - NVIDIA: [*Parallel Thread Execution ISA*](https://docs.nvidia.com/cuda/parallel-thread-execution/), "Data
#   Movement and Conversion Instructions: shfl.sync".
