# %% [markdown]
# # 01 · Online softmax: one row, one pass
#
# Attention looks as if every row of the output needed all its scores at once: softmax divides by a sum over all of them.
# Every fast attention kernel sees each key *once* and never stores a score.
#
# **Why is one pass over the keys enough, and what must be rescaled?** You find the answer in numpy, then meet it again in
# PTX, where you can watch each thread do it.

# %%
import math

import matplotlib.pyplot as plt
import numpy as np

import ptxlab as pl
from ptxlab import reference

# %load_ext ptxlab

# %% [markdown]
# ## What is one row of attention?
#
# One query $q$ meets $n$ keys $k_j$, each with its value $v_j$ (vectors of $D$ numbers). A *score* says how well query and
# key fit, softmax turns the scores into weights that add up to 1, and the output is the weighted mean of the values:
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
# A 32-bit float ends at about $3.4 \cdot 10^{38}$, which is $e^{88.7}$. Scores beyond that are nothing unusual in a trained
# network.

# %%
with np.errstate(over="ignore", invalid="ignore"):
    print(naive(40 * q, keys, values)[:4])


# %% [markdown]
# Infinity over infinity. The cure is old: subtract the largest score $m$ first. Numerator and denominator both shrink by
# $e^{-m}$, so the quotient stays what it was, and no exponent is above 0.

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
# The price: two passes. The maximum is known only after the last key, and only then may the summing begin. In between you
# store all scores or compute them twice.
#
# ## Can the sum begin before the maximum is known?
#
# Yes: sum with the largest score *so far*, and repair the sum when a larger one turns up. Suppose that up to now
# $l = \sum_j e^{s_j - m}$. The new key has the score $s$, so the maximum becomes $m' = \max(m, s)$, and
#
# $$ l' = \sum_j e^{s_j - m'} + e^{s - m'} = l \cdot \underbrace{e^{m - m'}}_{\text{rescale}} + e^{s - m'} $$
#
# One factor repairs all that was summed, however much it was. The sum for the output has the same weights in it, so the
# same factor repairs that one too.

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
# So what must be rescaled? **Everything that was summed under the old maximum**: $l$ and the whole row $o$. Nothing else
# remembers $m$.
#
# Look at the state, key by key.

# %%
figure, axes = plt.subplots(3, 1, figsize=(7, 4.6), sharex=True, layout="constrained")
scores = keys @ q * scale
axes[0].plot(scores, "o", color="0.7", markersize=3, label="score")
for axis, column, name, colour in zip(axes, state.T, ("m", "l", "rescale"), ("C0", "C1", "C2"), strict=True):
    axis.step(range(n), column, where="mid", color=colour, label=name)
    axis.legend(loc="center right", fontsize="small")
    axis.grid(alpha=0.25)
axes[-1].set_xlabel("key");

# %% [markdown]
# $m$ climbs stairs. Each step of the stairs is a dip of rescale: what was summed before is multiplied by it, and the new
# key adds exactly 1. So $l$ goes from $l$ to $l \cdot \text{rescale} + 1$. Where $l$ was large, it falls; where it was
# small, it rises all the same:

# %%
for key in np.flatnonzero(state[1:, 2] < 1) + 1:
    print(f"key {key:2}: rescale {state[key, 2]:.3f}, l from {state[key - 1, 1]:.3f} to {state[key, 1]:.3f}")

# %% [markdown]
#
# ## How often does it rescale?
#
# Less and less. If the keys come in random order, key $j$ is the largest so far with probability $1/j$, so that after $n$
# keys there have been $1 + \frac12 + \dots + \frac1n \approx \ln n + 0.58$ new maxima.

# %%
random = np.random.default_rng(0)
for count in (16, 256, 4096):
    rows = np.maximum.accumulate(random.standard_normal((200, count)), axis=1)
    records = 1 + (np.diff(rows, axis=1) > 0).sum(axis=1).mean()
    print(f"{count:5} keys: {records:.1f} new maxima on average, ln n + 0.58 = {math.log(count) + 0.58:.1f}")

# %% [markdown]
# Our kernel multiplies by rescale at every key all the same. It could skip the $D$ multiplications where rescale is 1, but
# the 32 threads of a warp execute in step, and it saves time only when none of them has found a new maximum.
#
# ## What does the kernel look like?
#
# `scalar` is the first rung of ptxlab's attention library: one thread computes one row of the output. This is the Python
# that writes it. Find your `online` in it.

# %%
spec = pl.kernels.get("scalar")
source = spec.source
print(source[source.index("        scale_log2e") : source.index("    return scalar()")])

# %% [markdown]
# Three things are new.
#
# - **Powers of two.** A GPU has an instruction for $2^x$ (`ex2`) and none for $e^x$. As $e^x = 2^{x \log_2 e}$, the kernel
#   multiplies $\log_2 e$ into the scale, once, and keeps $m$ in units of $\log_2$. Only what leaves the kernel goes back to
#   natural logarithms.
# - **Two kinds of loop.** `with k.loop(...)` is a loop in the PTX. Python's own `for d in range(D)` runs while the kernel is
#   written, so its body appears $D$ times.
# - **Probes.** With `k.probe` the kernel itself stores $(m, l, \text{rescale})$ for rows that you choose. Without
#   `probes=True` the probes, and their cost, are gone.
#
# ## What PTX is it?
#
# Here with $D = 4$, short enough to read. In the loop, find the dot product (4 `ld` and 4 `fma`), the `max`, the two
# `ex2`, the rescaled sum, the rescaled row.

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
# And on the inside? The lines are what the kernel's probes stored, the rings are numpy in float64. It is the same picture
# as above, but this time a thread drew it.

# %%
pl.plot_state(out)

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
# beside them stands the mistake of forgetting to rescale, in numpy.

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
axis.legend(loc="center left")
axis.grid(alpha=0.25);

# %% [markdown]
# Two lessons in one figure.
#
# - The kernel's error stays near the precision of its type at every scale: rescaling costs no accuracy worth mentioning.
# - With small logits, who never rescales is off by less than one hundredth: all weights are near 1, so a wrong factor
#   hides, and a careless tolerance lets it pass. **Test with large logits.**
#
# ## What does double precision cost?
#
# PTX has no `ex2` for f64. The kernel must spell it out: reduce the range, evaluate a polynomial, put the exponent in.

# %%
for dtype in ("f32", "f64"):
    built = spec.build(head_dim=32, dtype=dtype)
    inputs = reference.random_inputs(1, 1, 1, 64, 64, 32, dtype=f"float{dtype[1:]}", seed=1)
    counters = pl.attention(*inputs, kernel=built, device="cpu", counters=True).counters
    print(f"{dtype}: {counters.thread_instructions / 64 / 64:.0f} instructions a row and key, "
          f"{counters.opcodes.get('ex2.approx.f32', (0, 0))[1]} times ex2")  # fmt: skip

# %% [markdown]
# On a GPU the gap is wider than this count: gaming cards run f64 at a small fraction of the rate of f32.
#
# ## What changes when a row may not look ahead?
#
# In a *causal* model, row $i$ sees the keys up to its own place. In the kernel that is one line: the loop ends earlier.

# %%
pl.diff(spec.build(head_dim=4), spec.build(head_dim=4, causal=True))

# %% [markdown]
# Half of the scores, so half of the time?

# %%
for causal in (False, True):
    out = pl.attention(q4, k4, v4, kernel="scalar", causal=causal, device="cpu", counters=True)
    c = out.counters
    print(f"causal={causal!s:5}  executed by threads: {c.thread_instructions:7}   issued for warps: {c.warp_instructions:6}"
          f"   lanes busy: {c.thread_instructions / c.warp_instructions / 32:.0%}")  # fmt: skip

# %% [markdown]
# Not quite. Threads run in *warps* of 32 that execute together. A warp goes on until its longest row is done, while the
# lanes with shorter rows wait. The threads do half of the work; the machine saves less.
#
# ## What else would you like to try?
#
# The explorer has all of this in one view: change a parameter and see the PTX, what changed, the assembler's verdict, the
# error and the state. Click a row in the error map to see its softmax. Questions to take along:
#
# - At which `head_dim` does the kernel *spill* (run out of registers)?
# - What does `sigma` do to the staircase of $m$?
# - `Sq` = 33: what do the other 95 threads of the block do?

# %%
pl.explore("scalar", head_dim=32, seq_len=64)

# %% [markdown]
# # Exercises
#
# `check` runs your answer on the CPU machine, where every register of every thread can be watched, and tells you what
# happened there. Ask it as often as you like: each time it fails you get one hint more, three in all. Besides the cases
# that you are shown it tries others, so that a rule is wanted and not a list of results.

# %%
from ptxlab.builder import Builder, Ptr, f32, kernel, u32
from ptxlab.course import check

LOG2E, LN2 = math.log2(math.e), math.log(2)

# %% [exercise] 01-predict

# %% [exercise] 01-lse

# %% [exercise] 01-rescale

# %% [exercise] 01-thrift

# %% [exercise] 01-window

# %% [markdown]
# Stuck? `ptxlab.course.solution("01-window")` prints one answer. Read the feedback twice before you ask for it.
#
# # What have you seen?
#
# - Softmax needs the maximum only to stay in range, so a *provisional* maximum will do.
# - When it grows by $m' - m$, everything summed under it shrinks by $e^{m - m'}$: $l$ and the whole output row.
# - After $n$ random keys that has happened about $\ln n$ times; large logits are what makes it matter.
# - A kernel is a text: `ld`, `fma`, `max`, `ex2`, a loop, a guard. The probes show that it did what the algebra says.
#
# `scalar` reads every key and value from global memory, once for each row: row 0 and row 1 fetch the same numbers. The next
# rung, `tiled`, lets the threads of a block share them: `pl.explore("tiled")`.
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
