# %% [markdown]
# # 19 · Your own attention
#
# Models change attention in small ways: a window, a cap on the scores, a penalty for distance. In PyTorch's
# FlexAttention such a change is a function of one line. Here you write the same function, and see which PTX it becomes.
#
# **What does a change cost, and when does it make attention cheaper?**

# %%
import matplotlib.pyplot as plt
import numpy as np

import ptxlab as pl
from ptxlab.course import check
from ptxlab.kernels import variants

random = np.random.default_rng(0)
q, k, v = (random.standard_normal((1, 1, 512, 64)).astype(np.float16) for _ in range(3))


def window(b, h, q_idx, kv_idx):
    """Which keys a row sees: its own and the 31 before it."""
    return (kv_idx <= q_idx) & (q_idx - kv_idx < 32)


result = pl.attention(q, k, v, kernel="mma", mask_mod=window, counters=True)
result

# %% [markdown]
# `q_idx` and `kv_idx` are the positions of a row and a key, `b` and `h` the sequence and the head. The function is
# called **once**, with numbers that have no value yet, and what it does with them is written down. The kernel gets PTX
# for it, and the result is compared with the same function in numpy.
#
# ## A hidden tile costs nothing
#
# From the mask alone, before any score is there, the host knows which tiles of keys a tile of rows needs.

# %%
print(result.tiles)
plt.imshow(result.tiles.kinds[0, 0], cmap="Greys")
plt.xlabel("tile of 64 keys")
plt.ylabel("tile of 64 rows")
plt.title("white: skipped   grey: seen in part   black: seen by all rows");

# %%
plain = pl.attention(q, k, v, kernel="mma", counters=True)
for name, found in (("all keys", plain), ("a window of 32", result)):
    print(f"{name:15} {found.counters.warp_instructions:8,} warp instructions")

# %% [exercise] 19-window

# %% [markdown]
# ## A score is changed before the softmax
#
# A `score_mod` gets the scaled score and returns another. Arrays and numbers come by name, and become parameters of the
# kernel.
#
# ALiBi is a bias that grows with the distance, with a slope for each head.

# %% [exercise] 19-alibi

# %% [markdown]
# ## What has it become?
#
# `scalar` computes one score at a time, so its text has the change once. The product of the slope and the distance is
# new, and the load of the slope is before the loop: it depends on the head alone.

# %%
slopes = np.float32([0.5])
spec = pl.kernels.get("scalar")
built = spec.build(head_dim=4), spec.build(head_dim=4, score_mod=variants.alibi(slopes))
pl.diff(*built, names=("plain", "alibi"))

# %% [markdown]
# In `mma` a lane holds 32 scores of a tile, and the same lines are there 32 times. That is the price on tensor cores:
# five or six instructions per element are much beside a few for the matrix product.

# %%
changes = {
    "plain": {},
    "alibi": {"score_mod": variants.alibi(slopes)},
    "softcap": {"score_mod": variants.softcap(50.0)},
    "window": {"mask_mod": variants.sliding_window(31)},
    "causal": {"causal": True},
}
for name, change in changes.items():
    found = pl.attention(q, k, v, kernel="mma", counters=True, **change)
    ratio = found.counters.warp_instructions / plain.counters.warp_instructions
    print(f"{name:8} {ratio:.2f} of the plain kernel's instructions, error {found.error.max:.1e}")

# %% [markdown]
# ## Soft-capping
#
# Gemma 2 keeps all scores between -50 and 50 by `cap * tanh(score / cap)`. In a `score_mod` it cannot be in the
# wrong place. In a kernel of your own it can.

# %% [exercise] 19-softcap

# %% [markdown]
# ## Sinks
#
# A softmax must give its whole weight to something. gpt-oss lets a head give some of it to nothing: a learned number,
# the *sink*, takes part in the sum, and has no value.

# %%
for sink in (-10.0, 0.0, 5.0, 20.0):
    found = pl.attention(q, k, v, kernel="mma", sinks=np.float32([sink]))
    length = np.linalg.norm(found.o[0, 0, 0].astype(float))
    print(f"sink {sink:5}: the output of row 0 has the length {length:.3f}, and its LSE is {found.lse[0, 0, 0]:6.2f}")

# %% [markdown]
# A split decode kernel has several states for one row, and the merge adds their sums.

# %% [exercise] 19-sinks

# %% [markdown]
# ## Documents
#
# Training packs short documents into one long sequence. An array of document numbers is all that a mask needs.

# %%
ids = np.sort(random.integers(0, 5, 512)).astype(np.int32)
for name, mask in (("documents", variants.document(ids)), ("causal in each", variants.document(ids) & variants.causal())):
    found = pl.attention(q, k, v, kernel="mma", mask_mod=mask, counters=True)
    ratio = found.counters.warp_instructions / plain.counters.warp_instructions
    print(f"{name:15} {found.tiles}, {ratio:.2f} of the plain kernel's instructions")

# %% [exercise] 19-documents

# %% [markdown]
# # What have you seen?
#
# - A change of attention is a function. It is called once, and its expression becomes PTX where its inputs are known:
#   once per kernel, once per row, once per key, or once per element.
# - A mask is known before the scores, so tiles that nobody sees are left out. A score of -inf is computed first.
# - What changes a score belongs before the maximum. What has no key, a sink, belongs to one part's state.
#
# ## Further reading
#
# - J. Dong, B. Feng, D. Guessous, Y. Liang, H. He: *Flex Attention: A Programming Model for Generating Optimized
#   Attention Kernels*. arXiv:2412.05496, 2024.
# - O. Press, N. A. Smith, M. Lewis: *Train Short, Test Long: Attention with Linear Biases Enables Input Length
#   Extrapolation*. arXiv:2108.12409, 2021.
# - Gemma Team: *Gemma 2: Improving Open Language Models at a Practical Size*. arXiv:2408.00118, 2024.
# - OpenAI: *gpt-oss-120b & gpt-oss-20b Model Card*. arXiv:2508.10925, 2025.
