# %% [markdown]
# # 01 · Online softmax: one row, one pass
#
# Softmax subtracts the largest score of a row before it takes powers, so that none overflows; then it divides by their
# sum. So it needs the largest score before it can begin. **Or does it?** Here is one pass that does not wait:

# %%
import math

import matplotlib.pyplot as plt
import numpy as np

import ptxlab as pl
from ptxlab import reference
from ptxlab.builder import Builder, Ptr, f32, kernel, u32
from ptxlab.course import check, scoreboard

LOG2E, LN2 = math.log2(math.e), math.log(2)

# %load_ext ptxlab
scoreboard.show()


# %%
def one_pass(scores):
    """Prints (m, l, rescale) at each score: the largest so far, the sum measured from it, and what corrects the sum."""
    m, l = -math.inf, 0.0
    for s in scores:
        new_m = max(m, s)
        rescale = math.exp(m - new_m)
        m, l = new_m, l * rescale + math.exp(s - new_m)
        print(f"score {s:4}: m = {m:4}, l = {l:.3f}, rescale = {rescale:.3f}")
    return l


same = one_pass([1.0, 3.0, 2.0, 2.5]) == sum(math.exp(s - 3.0) for s in (1.0, 3.0, 2.0, 2.5))
print("the sum of two passes:", same)

# %% [markdown]
# **Your turn.** Change one of the four scores that `one_pass` gets. Which rows of $(m, l, \text{rescale})$ change, and
# which never do?

# %% [exercise] 01-predict

# %% [markdown]
# **Why is one pass over the keys enough, and what must be rescaled?** You find the answer in numpy, then see it in
# PTX, where you can watch each thread.
#
# ## What is one row of attention?
#
# There are one query $q$, $n$ keys $k_j$, and a value $v_j$ for each key (all are vectors of $D$ numbers). A *score*
# says how well query and key fit. Softmax turns the scores into weights that add up to 1. The output is the weighted
# mean of the values:
#
# $$ s_j = \frac{q \cdot k_j}{\sqrt D}, \qquad o = \frac{\sum_j e^{s_j} v_j}{\sum_j e^{s_j}} $$

# %%
D, n = 16, 48
q4, k4, v4 = reference.random_inputs(1, 1, 1, 1, n, D, sigma=4.0, seed=3)  # batch, heads, heads, rows, keys, D
q, keys, values = q4[0, 0, 0], k4[0, 0], v4[0, 0]
scale = 1 / math.sqrt(D)


def naive(q, keys, values):
    """Softmax as the formula has it."""
    weights = np.exp(keys @ q * scale)
    return weights @ values / weights.sum()


naive(q, keys, values)[:4]

# %% [markdown]
# ## What is wrong with the formula?
#
# The largest 32-bit float is about $3.4 \cdot 10^{38}$, which is $e^{88.7}$. What happens when a score is larger than
# 88.7?

# %%
with np.errstate(over="ignore", invalid="ignore"):
    print(naive(40 * q, keys, values)[:4])


# %% [markdown]
# Infinity divided by infinity is NaN. The remedy is to subtract the largest score $m$ first. Numerator and
# denominator are both multiplied by $e^{-m}$, so the quotient stays the same, and no exponent is above 0.

# %%
def safe(q, keys, values):
    """Softmax with the maximum subtracted."""
    scores = keys @ q * scale
    m = scores.max()  # first pass over the keys
    weights = np.exp(scores - m)  # second pass
    return weights @ values / weights.sum()


print(safe(40 * q, keys, values)[:4])
print(f"{np.abs(safe(q, keys, values) - naive(q, keys, values)).max():.1e} apart where both work")


# %% [markdown]
# The price is two passes. The maximum is known only after the last key, and the sum can begin only then. So you store
# all scores, or compute them twice.
#
# ## Can the sum begin before the maximum is known?
#
# Yes, as `one_pass` does: use the largest score *so far*, and correct the sum when a larger one comes. This is **online
# softmax**.
# Suppose that the sum up to now is $l = \sum_j e^{s_j - m}$. The new key has the score $s$, so the maximum becomes
# $m' = \max(m, s)$, and
#
# $$ l' = \sum_j e^{s_j - m'} + e^{s - m'} = l \cdot \underbrace{e^{m - m'}}_{\text{rescale}} + e^{s - m'} $$
#
# One factor corrects the whole sum, however many terms it has. The sum for the output has the same weights, so the
# same factor also corrects it.

# %%
def online(q, keys, values, rescaling=True):
    """One pass over the keys; returns the output and the state (m, l, rescale) after each key."""
    m, l, o = -np.inf, 0.0, np.zeros(D)
    state = []
    for key, value in zip(keys, values, strict=True):
        s = key @ q * scale
        new_m = max(m, s)
        rescale = np.exp(m - new_m) if rescaling else 1.0
        weight = np.exp(s - new_m)
        l = l * rescale + weight
        o = o * rescale + weight * value
        m = new_m
        state.append((m, l, rescale))
    return o / l, np.array(state)


o, state = online(q, keys, values)
print(f"{np.abs(o - safe(q, keys, values)).max():.1e} apart")

# %% [markdown]
# So what must be rescaled? **Everything that was summed with the old maximum**: $l$ and the whole row $o$. Nothing
# else depends on $m$.
#
# Look at the state, key by key.

# %% jupyter={"source_hidden": true}
figure, axes = plt.subplots(3, 1, figsize=(7, 4.6), sharex=True, layout="constrained")
scores = keys @ q * scale
axes[0].plot(scores, "o", color="0.7", markersize=3, label="score")
for axis, column, name, colour in zip(axes, state.T, ("m", "l", "rescale"), ("C0", "C1", "C2"), strict=True):
    axis.step(range(n), column, where="mid", color=colour, label=name)
    axis.legend(loc="center left", bbox_to_anchor=(1, 0.5), fontsize="small")
    axis.grid(alpha=0.25)
axes[-1].set_xlabel("key");

# %% [markdown]
# $m$ rises in steps. At each step rescale is below 1: the old sum is multiplied by it, and the new key adds 1, no more
# and no less. So $l$ becomes $l \cdot \text{rescale} + 1$. Where $l$ was large it falls; where it was small it rises.
# (Key 0 is the first maximum: rescale is $e^{-\infty - s} = 0$ there. The list below begins after it.)

# %%
for key in np.flatnonzero(state[1:, 2] < 1) + 1:
    print(f"key {key:2}: rescale {state[key, 2]:.3f}, l from {state[key - 1, 1]:.3f} to {state[key, 1]:.3f}")

# %% [markdown]
# ## How often does it rescale?
#
# Less and less often. If the keys come in random order, the $j$-th is the largest so far with probability $1/j$, so
# after $n$ keys there have been $1 + \frac12 + \dots + \frac1n \approx \ln n + 0.58$ new maxima.

# %%
random = np.random.default_rng(0)
for count in (16, 256, 4096):
    rows = np.maximum.accumulate(random.standard_normal((200, count)), axis=1)
    records = 1 + (np.diff(rows, axis=1) > 0).sum(axis=1).mean()
    print(f"{count:5} keys: {records:.1f} new maxima on average, ln n + 0.58 = {math.log(count) + 0.58:.1f}")

# %% [markdown]
# Our kernel still multiplies by rescale at every key. It could skip the $D$ multiplications where rescale is 1. But
# the 32 threads of a warp execute together, so that would save time only when none of them has a new maximum.
#
# ## What does the kernel look like?
#
# `scalar` is the first kernel of ptxlab's attention library: one thread computes one row of the output. This Python
# writes it. Find your `online` in it.

# %%
spec = pl.kernels.get("scalar")
source = spec.source
print(source[source.index("        scale_log2e") : source.index("    return scalar(")])

# %% [markdown]
# Lines with `here`, `listed`, `mods` and `slots` emit nothing in this kernel: they are for probes and for the variants of
# notebook 19. Three things are new.
#
# - **Powers of two.** A GPU has an instruction for $2^x$ (`ex2`) and none for $e^x$. As $e^x = 2^{x \log_2 e}$, the
#   kernel multiplies $\log_2 e$ into the scale, once. So it keeps $m' = m \log_2 e$, in units of $\ln 2$. What it stores at
#   the end is multiplied by $\ln 2$, and is natural again.
# - **Two kinds of loop.** `with k.loop(...)` is a loop in the PTX. Python's own `for d in range(D)` runs while the kernel is
#   written, so its body appears $D$ times.
# - **Probes.** With `k.probe` the kernel itself stores $(m, l, \text{rescale})$ for rows that you choose. Without
#   `probes=True` no instruction of the probes is emitted.
#
# ## What PTX is it?
#
# Here it is with $D = 4$, short enough to read. In the loop, find the dot product (4 `ld` and 4 `fma`), the `max`,
# the two `ex2`, the rescaled sum, the rescaled row.

# %%
spec.build(head_dim=4)

# %% [markdown]
# ## Does it compute the same?
#
# `pl.attention` builds a kernel, runs it, and compares it with numpy in float64. `state=True` turns the probes on.

# %%
out = pl.attention(q4, k4, v4, kernel="scalar", state=True)
out

# %% [markdown]
# And inside? The lines are what the kernel's probes stored; the rings are numpy in float64. The plot is the one above
# without the scores, and its numbers come from a thread.

# %%
pl.plot_state(out)

# %% [exercise] 01-lse

# %% [markdown]
# ## Where is the error, and how large?
#
# Every operation rounds to 24 bits, so small errors are unavoidable. The question is whether they stay small. First 64
# rows at once, element by element:

# %%
q4, k4, v4 = reference.random_inputs(1, 1, 1, 64, 64, 32, seed=1)
out = pl.attention(q4, k4, v4, kernel="scalar")
pl.plot_error(out)

# %% [markdown]
# Now make the logits larger, step by step. $\sigma$ is their standard deviation. The kernel runs in f32 and in f64, and
# beside them is the mistake of forgetting to rescale, in numpy.

# %%
sigmas = [0.1, 0.3, 1, 3, 8, 16]
errors = {"kernel, f32": [], "kernel, f64": [], "without rescaling (numpy)": []}
for sigma in sigmas:
    for name, dtype in (("kernel, f32", np.float32), ("kernel, f64", np.float64)):
        inputs = reference.random_inputs(1, 1, 1, 64, 64, 32, sigma=sigma, dtype=dtype, seed=1)
        errors[name].append(pl.attention(*inputs, kernel="scalar").error.mean)
    q_, k_, v_ = reference.random_inputs(1, 1, 1, 64, n, D, sigma=sigma, seed=1)
    wrong = np.stack([online(row, k_[0, 0], v_[0, 0], rescaling=False)[0] for row in q_[0, 0]])
    errors["without rescaling (numpy)"].append(np.abs(wrong - reference.attention(q_, k_, v_).o[0, 0]).mean())

figure, axis = plt.subplots(figsize=(7, 3.4), layout="constrained")
for (name, values_), marker in zip(errors.items(), "osx", strict=True):
    axis.loglog(sigmas, values_, marker=marker, label=name)
axis.set_xlabel("standard deviation of the logits")
axis.set_ylabel("mean error")
axis.legend(loc=(0.02, 0.2))
axis.grid(alpha=0.25);

# %% [markdown]
# The figure shows two things.
#
# - The kernel's error stays near the precision of its type at every scale: rescaling costs hardly any accuracy.
# - With small logits, a kernel that never rescales is wrong by less than 0.01. The factors would all be close to 1,
#   so it hardly matters that they are missing, and a loose tolerance accepts the result. **Test with large logits.**

# %% [exercise] 01-rescale

# %% [markdown]
# ## What does double precision cost?
#
# PTX has no `ex2` for f64. The kernel needs several instructions instead: reduce the range, evaluate a polynomial,
# insert the exponent.

# %%
for dtype in ("f32", "f64"):
    built = spec.build(head_dim=32, dtype=dtype)
    inputs = reference.random_inputs(1, 1, 1, 64, 64, 32, dtype=f"float{dtype[1:]}", seed=1)
    counters = pl.attention(*inputs, kernel=built, device="cpu", counters=True).counters
    print(f"{dtype}: {counters.thread_instructions / 64 / 64:.0f} instructions per row and key, "
          f"{counters.opcodes.get('ex2.approx.f32', (0, 0))[1]} times ex2")

# %% [markdown]
# On most GPUs that are not made for data centers the difference in time is larger than this count. An SM of a GeForce RTX 4090 has 2 units for f64 and 128
# for f32, and its f64 rate is 1/64 of its f32 rate (NVIDIA Ada GPU architecture whitepaper, note to the figure of AD102).

# %% [exercise] 01-thrift

# %% [markdown]
# ## What changes when a row may not look ahead?
#
# In a *causal* model, row $i$ sees only the keys up to its own position. In the kernel's Python that is one line: the loop
# ends earlier, and four instructions say where.

# %%
pl.diff(spec.build(head_dim=4), spec.build(head_dim=4, causal=True))

# %% [markdown]
# There are about half as many scores. Does it take half the time?

# %%
for causal in (False, True):
    out = pl.attention(q4, k4, v4, kernel="scalar", causal=causal, device="cpu", counters=True)
    c = out.counters
    print(f"causal={causal!s:5}  executed by threads: {c.thread_instructions:7}   issued for warps: {c.warp_instructions:6}"
          f"   lanes busy: {c.thread_instructions / c.warp_instructions / 32:.0%}")

# %% [markdown]
# Not quite. Threads run in *warps* of 32 that execute together. A warp continues until its longest row is done, while
# the lanes with shorter rows are inactive. This is **divergence**. The threads do about half of the work, but the number of
# instructions that are issued falls by a quarter only.

# %% [exercise] 01-window

# %% [markdown]
# ## What else would you like to try?
#
# The explorer shows all of this in one view: change a parameter and see the PTX, what changed in it, what the
# assembler says, the error and the state. Click a row in the error map to see its softmax. Some questions:
#
# - At which `head_dim` does the kernel *spill* (run out of registers)?
# - How does `sigma` change the steps of $m$?
# - `Sq` = 33: what do the other 95 threads of the block do?

# %%
pl.explore("scalar", head_dim=32, seq_len=64)

# %% [markdown]
# ## Your own attention kernel
#
# From here on you have a kernel of your own. It begins as the one below: right, and slow, because it goes over the keys
# twice and computes every score twice. Each notebook gives it one idea, a *rung*, and the board shows what it costs. Each
# metric can have three stars, and the rung has as many as its weakest metric.

# %%
print(scoreboard.source("rows"))

# %% [markdown]
# The next cell tries to enter it as it is. Then copy the kernel into a new cell, give the copy the online softmax of
# 01-rescale and the addresses of 01-thrift, and enter it with `scoreboard.enter("rows", YOUR_KERNEL, block=64)`. Stuck?
# `scoreboard.borrow("rows")` goes on from our kernel, without stars.

# %%
mine = scoreboard.latest("rows")
scoreboard.enter("rows", mine, block=64)

# %% [markdown]
# Stuck in an exercise? `ptxlab.course.solution("01-window")` prints one answer. Read the feedback twice before you ask for it.
#
# # What have you seen?
#
# - Softmax needs the maximum only to keep the exponents in range, so the maximum *so far* is enough.
# - When it grows to $m'$, everything that was summed with $m$ is multiplied by $e^{m - m'}$: $l$ and the whole output
#   row.
# - After $n$ random keys that has happened about $\ln n$ times. It matters when logits are large.
# - A kernel is a text: `ld`, `fma`, `max`, `ex2`, a loop, a guard. The probes show that it does what the formulas
#   say.
#
# `scalar` reads every key and value from global memory once per row: row 0 and row 1 load the same numbers. In [the
# next notebook](02-barriers.ipynb) the threads of a block share them.
#
# ## Further reading
#
# - M. Milakov, N. Gimelshein: *Online normalizer calculation for softmax*. 2018,
#   [arXiv:1805.02867](https://arxiv.org/abs/1805.02867). The one-pass sum with its rescale.
# - M. N. Rabe, C. Staats: *Self-attention Does Not Need O(n²) Memory*. 2021,
#   [arXiv:2112.05682](https://arxiv.org/abs/2112.05682). The same for the output row.
# - T. Dao, D. Y. Fu, S. Ermon, A. Rudra, C. Ré: *FlashAttention: Fast and Memory-Efficient Exact Attention with
#   IO-Awareness*. NeurIPS 2022, [arXiv:2205.14135](https://arxiv.org/abs/2205.14135). Tiles, and why memory traffic decides.
# - T. Dao: *FlashAttention-2: Faster Attention with Better Parallelism and Work Partitioning*. ICLR 2024,
#   [arXiv:2307.08691](https://arxiv.org/abs/2307.08691).
# - J. Shah, G. Bikshandi, Y. Zhang, V. Thakkar, P. Ramani, T. Dao: *FlashAttention-3: Fast and Accurate Attention with
#   Asynchrony and Low-precision*. NeurIPS 2024, [arXiv:2407.08608](https://arxiv.org/abs/2407.08608).
# - NVIDIA: [*Parallel Thread Execution ISA*](https://docs.nvidia.com/cuda/parallel-thread-execution/). The manual of PTX.
