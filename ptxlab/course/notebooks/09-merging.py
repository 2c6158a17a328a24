# %% [markdown]
# # 09 · Merging softmaxes
#
# Notebook 08 asked for more warps per head. But a softmax is over *all* keys, and each warp sees only some of them. A
# part of the keys has a maximum $m$, a sum $l = \sum_j e^{s_j - m}$ and a row $o = \sum_j e^{s_j - m} v_j$ that is not yet
# divided: call the three a **state**. **What is the algebra of merging two softmaxes?** Begin with `+`:

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
D, n = 16, 48
random = np.random.default_rng(3)
scores, values = 3 * random.standard_normal(n), random.standard_normal((n, D))


def state(scores, values):
    """(m, l, o) of some keys."""
    if len(scores) == 0:
        return -np.inf, 0.0, np.zeros(D)
    m = scores.max()
    weights = np.exp(scores - m)
    return m, weights.sum(), weights @ values


whole = state(scores, values)
left, right = state(scores[:20], values[:20]), state(scores[20:], values[20:])
for name, (m, l, o) in (("left", left), ("right", right), ("whole", whole)):
    print(f"{name:5}  m = {m:.4f}  l = {l:.4f}  o = {o[:3].round(4)} ...")
factors = {"left": 1.0, "right": 1.0}
print(f"l by +: {left[1] * factors['left'] + right[1] * factors['right']:.4f}, and it is {whole[1]:.4f}")

# %% [markdown]
# **Your turn.** Which two factors make the sum right? Write them as formulas of `left[0]`, `right[0]` and `whole[0]`.
#
# ## What does a part of the keys know?
#
# $m$ of the whole is the larger of the two. The sums cannot simply be added, because each was computed with its own
# maximum. You know from notebook 01 what to do when a maximum changes: multiply by $e^{\text{old} - \text{new}}$.
#
# $$ m = \max(m_1, m_2), \qquad l = l_1 e^{m_1 - m} + l_2 e^{m_2 - m}, \qquad o = o_1 e^{m_1 - m} + o_2 e^{m_2 - m} $$


# %%
def merge(a, b):
    """The state of the keys of a and of b."""
    m = max(a[0], b[0])
    if m == -np.inf:
        return a  # neither has a key
    x, y = np.exp(a[0] - m), np.exp(b[0] - m)
    return m, a[1] * x + b[1] * y, a[2] * x + b[2] * y


m, l, o = merge(left, right)
print(f"m = {m:.4f}  l = {l:.4f}  o = {o[:3].round(4)} ...   {np.abs(o - whole[2]).max():.1e} apart")

# %% [exercise] 09-share

# %% [markdown]
# ## Which rules does it obey?
#
# - **The order does not matter**: `merge(a, b)` and `merge(b, a)` are the same formula.
# - **Nor does the grouping**: $m$ is a maximum, and $l$ and $o$ are sums "in units of $e^m$". Merging converts them
#   to a common unit and adds.
# - **There is a neutral element**: the state of no keys, $(-\infty, 0, 0)$.
#
# In mathematics this is a *commutative monoid*, as addition is. Try it: divide the keys at random places, with empty
# parts, and merge the parts in random order.

# %%
worst = 0.0
for _ in range(500):
    cuts = np.sort(random.integers(0, n + 1, random.integers(0, 9)))
    pieces = [state(s, v) for s, v in zip(np.split(scores, cuts), np.split(values, cuts), strict=True)]
    while len(pieces) > 1:
        a = pieces.pop(random.integers(len(pieces)))
        b = pieces.pop(random.integers(len(pieces)))
        pieces.append(merge(a, b))
    m, l, o = pieces[0]
    worst = max(worst, np.abs(o / l - whole[2] / whole[1]).max())
print(f"500 ways to divide and merge: at most {worst:.1e} apart")

# %% [markdown]
# The online softmax of notebook 01 is one of these ways. A single key has the state $(s, 1, v)$. Put that into the
# formula for $b$, and you get the loop with its `rescale` and `weight`.
#
# ## What goes wrong without keys?
#
# Two parts without keys have $m = -\infty$, and $-\infty - (-\infty)$ is NaN. `merge` above has an `if` for it; a
# kernel avoids the branch. The library's kernels subtract a maximum that is never $-\infty$:

# %%
print(pl.kernels.decode_lanes.LOWEST, "and", np.exp2(np.float32(-np.inf) - np.float32(pl.kernels.decode_lanes.LOWEST)))

# %% [markdown]
# $2^{-\infty - (-3 \cdot 10^{38})} = 2^{-\infty} = 0$, so such a part counts 0. It takes one more `max`, and no
# branch.

# %% [exercise] 09-empty

# %% [markdown]
# ## How do lanes merge?
#
# `decode_multiwarp` is the eleventh kernel. A key is short: with loads of 16 bytes, 16 lanes load a whole row of 64
# floats. So a warp works on several keys at once, each in a *group* of lanes with a state of its own. At the end the
# groups merge, by the butterflies of notebook 08:

# %%
spec = pl.kernels.get("decode_multiwarp")
source = spec.source
print(source[source.index("def merge_lanes") : source.index("@dataclass(frozen=True)\nclass Merged")].strip())

# %% [markdown]
# `mine` and `theirs` are $e^{m_1 - m}$ and $e^{m_2 - m}$ (in powers of two), and the rest is the formula. Every lane
# receives its partner's state and computes the merge. Both get the same result, because the order does not matter.

# %% [exercise] 09-lanes

# %% [markdown]
# ## How do warps merge?
#
# Shuffles work only within a warp. Warps use shared memory: each stores its state there, all wait, and each reads all
# states.

# %%
print(source[source.index("def merge_warps") : source.index("def store_row")].strip())

# %% [markdown]
# This time there are two passes: first all maxima, then the sums. With eight states that is simpler than seven
# merges, and by the rules above the result is the same.
#
# ## What does the barrier do there?
#
# Here is this step in its smallest form. Each warp has a maximum and a sum of its scores and stores them in shared
# memory; every thread computes the log-sum-exp of all. `waits` is Python: it decides whether the barrier is in the
# PTX.


# %%
@kernel
def meeting(k: Builder, x: Ptr[f32], lse: Ptr[f32], *, W: int = 2, waits: bool = True):
    """One block of W warps: lse[thread] = log2 of the sum of 2^x over all threads."""
    thread = k.tid.x
    lane, warp = thread & 31, thread >> 5
    maxima, sums = k.shared(f32, W), k.shared(f32, W)

    score = x[thread]
    row_max = k.var(f32, score)
    for distance in (16, 8, 4, 2, 1):
        row_max.set(k.max(row_max, k.shfl(row_max, distance, 31, -1, mode="bfly")))
    row_sum = k.var(f32, k.exp2(score - row_max))
    for distance in (16, 8, 4, 2, 1):
        row_sum += k.shfl(row_sum, distance, 31, -1, mode="bfly")

    with k.guard(lane == 0):
        maxima[warp] = row_max
        sums[warp] = row_sum
    if waits:
        k.barrier()

    all_maxima, all_sums = k.load(maxima, W), k.load(sums, W)
    m = k.var(f32, all_maxima[0])
    for other in all_maxima[1:]:
        m.set(k.max(m, other))
    total = k.var(f32, 0.0)
    for other_max, other_sum in zip(all_maxima, all_sums, strict=True):
        total.set(k.fma(other_sum, k.exp2(other_max - m), total))
    lse[thread] = m + k.log2(total)


x = (4 * random.standard_normal(64)).astype(np.float32)
y = np.zeros(64, np.float32)
pl.launch(meeting, 1, 64, x, y)
print(f"all threads agree: {len(set(y)) == 1}; off by {abs(y[0] - np.log2(np.exp2(x.astype(float)).sum())):.1e}")

# %% [markdown]
# Now without the barrier, with `racecheck`:

# %%
y = np.zeros(64, np.float32)
pl.launch(meeting(waits=False), 1, 64, x, y, checks=("racecheck",))

# %% [markdown]
# The finding names both accesses: a thread that reads a warp's sum, and lane 0, which writes it. On a GPU the result
# of such a kernel may be right in every test, and wrong when the warps run in another order.
#
# In the debugger, choose warp 1 and step to the barrier (it has a tick on the time line). Look at shared memory by
# bank: which words are written? Then step over the barrier.

# %%
pl.debug(meeting, 1, 64, x, y)

# %% [exercise] 09-meeting

# %% [markdown]
# ## What does the whole kernel gain?

# %%
heads, D, n = 2, 64, 320
q = random.standard_normal((1, heads, D), np.float32)
cache_k, cache_v = (random.standard_normal((1, heads, n, D), np.float32) for _ in range(2))
LOADS = "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum"
SECTORS = "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"
for name in ("decode", "decode_multiwarp"):
    out = pl.decode(q, cache_k, cache_v, n, kernel=name, device="cpu", counters=True)
    c = out.counters
    print(f"{name:17} {out.kernel.config.threads:4} threads per head, {c.warp_instructions:6} warp-instructions, "
          f"{c[LOADS]:5} loads, {c[SECTORS]} sectors, error {out.error.max:.1e}")

# %% [markdown]
# The sectors are the same but for 1 %, with a quarter of the load instructions. And how much is in flight? A lane loads 16
# registers of keys before it uses the first, and as many of values:

# %%
from ptxlab.kernels.decode_multiwarp import AT_ONCE

before = 2 * D * 4
now = 8 * 32 * 2 * AT_ONCE * 4
print(f"decode: {before} bytes in flight for a head; decode_multiwarp: {now:,}, {now // before} times as many")
print(f"heads that fill an H200's memory pipe: {4.8e12 * 600e-9 / now:.0f}")
print(pl.occupancy(spec.build(head_dim=D), 256, arch="sm_90"))

# %% [markdown]
# That is the gain, more than the count of instructions. By the estimate of notebook 08, 2.9 MB must be in flight on
# an H200. 88 blocks of this kernel have that, one block per head; `decode` could not reach it with any number of
# blocks. An H100, which has 3.0 TB/s where it copies, confirms the order: for 16 sequences of 4,096 keys, with 32 query
# and 8 KV heads of 128 numbers in bf16, `decode` takes 2,155 µs and `decode_multiwarp` 149.5.
#
# The plot shows what each of the eight warps held before the merge, and its factor in the merge; below, what each
# contributed to the output row, column by column. The dashed line is the whole; rings are numpy in float64.

# %%
out = pl.decode(q, cache_k, cache_v, n, kernel="decode_multiwarp", state=True)
m, l, factor = out.state[0].T
print(f"m + ln l = {m.max() + math.log((l * factor).sum()):.5f}, the kernel's log-sum-exp is {out.lse[0, 0]:.5f}")
pl.plot_state(out)

# %% [markdown]
# ## What must be kept for a merge later on?
#
# Sometimes two results are already divided and stored, and must be merged *afterwards*. $m$ and $l$ are not needed:
# the log-sum-exp $\mathrm{lse} = m + \ln l$ has the weight of a part, since $e^{\mathrm{lse}}$ is the sum of its
# weights. So
#
# $$ o = \frac{e^{\mathrm{lse}_1} o_1 + e^{\mathrm{lse}_2} o_2}{e^{\mathrm{lse}_1} + e^{\mathrm{lse}_2}} $$
#
# (computed, of course, with the larger log-sum-exp subtracted). So every attention kernel of this library returns an
# LSE, and `pl.merge_states` is a kernel for this formula.
#
# An application: four users ask about the same long document. Its keys are the same for all four, so their queries
# are four rows of *one* attention. Then each query has its own few keys, and the two results are merged.

# %%
shared_k, shared_v = (random.standard_normal((1, 1, 200, D), np.float32) for _ in range(2))
own_k, own_v = (random.standard_normal((4, 1, 24, D), np.float32) for _ in range(2))
users = random.standard_normal((4, 1, D), np.float32)  # one query each

together = pl.attention(users.transpose(1, 0, 2)[None], shared_k, shared_v, kernel="tiled")  # 4 rows, 1 head
alone = pl.decode(users, own_k, own_v, [24, 3, 0, 17])
o, lse = pl.merge_states(together.o[0].transpose(1, 0, 2).copy(), together.lse[0].T.copy(), alone.o, alone.lse)

for user, length in enumerate((24, 3, 0, 17)):
    k_all = np.concatenate([shared_k[0, 0], own_k[user, 0, :length]])
    v_all = np.concatenate([shared_v[0, 0], own_v[user, 0, :length]])
    exact = reference.attention(users[user][None, None], k_all[None, None], v_all[None, None])
    print(f"user {user}: {length:2} keys of its own, off by {np.abs(o[user, 0] - exact.o[0, 0, 0]).max():.1e}")

# %% [markdown]
# The keys of the document were read once instead of four times. User 2 has no keys of its own: that part is the
# neutral element.

# %% [exercise] 09-many

# %% [markdown]
# ## Does rounding add up?
#
# In exact arithmetic the order does not matter. Floats are rounded: does the number of parts matter then? Merge $P$
# parts one after the other, with outputs that are stored in f32, or in f16.

# %%
n = 512
q1 = random.standard_normal((1, 1, 1, D), np.float32)
k1, v1 = (random.standard_normal((1, 1, n, D), np.float32) for _ in range(2))
exact = reference.attention(q1, k1, v1)
counts = [1, 2, 4, 8, 16, 32, 64]
figure, axis = plt.subplots(figsize=(7, 3), layout="constrained")
for dtype, marker in ((np.float32, "o"), (np.float16, "s")):
    errors = []
    for parts in counts:
        pieces = zip(np.split(k1, parts, 2), np.split(v1, parts, 2), strict=True)
        done = [reference.attention(q1, k_part, v_part) for k_part, v_part in pieces]
        o, lse = done[0].o.astype(dtype), done[0].lse.astype(np.float32)
        for part in done[1:]:
            o, lse = reference.merge_states(o, lse, part.o.astype(dtype), part.lse.astype(np.float32))
        errors.append(np.abs(o - exact.o).max())
    axis.loglog(counts, errors, marker=marker, label=f"partial results in {np.dtype(dtype).name}")
axis.set_xticks(counts, counts)
axis.minorticks_off()
axis.set_xlabel("parts")
axis.set_ylabel("largest error")
axis.legend()
axis.grid(alpha=0.25);

# %% [markdown]
# The error grows slowly with the number of roundings. What matters most is the type in which partial results are
# *stored*. So they are stored in f32, even where the output is f16.
#
# ## What else would you like to try?
#
# In the explorer the state plot shows the parts and their merge. Change `warps`, and the same softmax is divided
# differently: what changes in the plot, and what in the error? With how many keys does a warp hold $(-\infty, 0)$?

# %%
pl.explore("decode_multiwarp", seq_k=200, head_dim=32, warps=4)

# %% [markdown]
# Stuck in an exercise? `ptxlab.course.solution("09-many")` prints one answer. Read the feedback twice before you ask for it.
#
# # What have you seen?
#
# - The state $(m, l, o)$ of a set of keys is all that softmax needs of them. Two states merge by one formula: **bring
#   both to the larger maximum, then add**.
# - Merging is associative and commutative, with the neutral element $(-\infty, 0, 0)$. So attention can be divided
#   anywhere and merged in any order: lanes by shuffles, warps through shared memory.
# - $-\infty - (-\infty)$ is NaN; a lower bound for the maximum avoids it without a branch.
# - Between writing states to shared memory and reading them there must be a barrier.
# - A finished output and its log-sum-exp are enough to merge later.
#
# Next: not which warp works on which keys, but where the keys are stored. [10 · A paged cache](10-paged.ipynb)
#
# ## Further reading
#
# - M. Milakov, N. Gimelshein: *Online normalizer calculation for softmax*. 2018,
#   [arXiv:1805.02867](https://arxiv.org/abs/1805.02867). Section 3.1 states the merge, and that it is associative.
# - M. N. Rabe, C. Staats: *Self-attention Does Not Need O(n²) Memory*. 2021,
#   [arXiv:2112.05682](https://arxiv.org/abs/2112.05682).
# - J. Juravsky, B. Brown, R. Ehrlich, D. Y. Fu, C. Ré, A. Mirhoseini: *Hydragen: High-Throughput LLM Inference with
#   Shared Prefixes*. 2024, [arXiv:2402.05099](https://arxiv.org/abs/2402.05099). The shared document.
# - H. Liu, M. Zaharia, P. Abbeel: *Ring Attention with Blockwise Transformers for Near-Infinite Context*. 2023,
#   [arXiv:2310.01889](https://arxiv.org/abs/2310.01889). Keys spread over machines.
# - Z. Ye et al.: *FlashInfer: Efficient and Customizable Attention Engine for LLM Inference Serving*. MLSys 2025,
#   [arXiv:2501.01005](https://arxiv.org/abs/2501.01005). Attention states and their merge as the basis of a library.
