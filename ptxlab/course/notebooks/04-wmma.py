# %% [markdown]
# # 04 · Tensor cores, by WMMA
#
# A modern GPU has units that multiply many times faster than its FMA units: *tensor cores*, which multiply whole
# matrices in one instruction. WMMA ("warp matrix multiply-accumulate") was the first way to use them in PTX. It is
# easy to read, but it does not say which lane holds which element of a matrix.
#
# **What does an opaque fragment cost?** Softmax works on rows, and WMMA does not say where they are.

# %%
import matplotlib.pyplot as plt
import numpy as np

import ptxlab as pl
from ptxlab import reference
from ptxlab.builder import Builder, Ptr, f16, f32, kernel, u32
from ptxlab.course import check, passage, scoreboard

# %load_ext ptxlab
scoreboard.show()

# %% [markdown]
# ## What does a tensor core do?
#
# One instruction of a warp: $D = A B + C$, where all of them are 16 × 16 matrices. A and B have 16-bit elements, C
# and D 32-bit ones. This is the smallest kernel that uses it: load, load, multiply, store. The 16 behind an address is the
# *stride*: so many elements further the next row begins.

# %%
SHAPE = "m16n16k16"  # rows of A, columns of B, and what they have in common


@kernel
def product(k: Builder, a: Ptr[f16], b: Ptr[f16], c: Ptr[f32]):
    """C = A B, all 16 x 16 and row-major, by one warp."""
    left = k.op(f"wmma.load.a.sync.aligned.row.{SHAPE}.global.f16", a, 16)
    right = k.op(f"wmma.load.b.sync.aligned.row.{SHAPE}.global.f16", b, 16)
    total = k.vars(f32, 8, 0.0)
    k.op(f"wmma.mma.sync.aligned.row.row.{SHAPE}.f32.f32", left, right, total, into=total)
    k.op(f"wmma.store.d.sync.aligned.row.{SHAPE}.global.f32", c, total, 16)


random = np.random.default_rng(0)
a, b = (random.integers(-4, 5, (16, 16)).astype(np.float16) for _ in range(2))
c = np.zeros((16, 16), np.float32)
run = pl.launch(product, 1, 32, a, b, c, counters=True)
print("right:", np.array_equal(c, a.astype(np.float32) @ b.astype(np.float32)))
print(f"{run.counters.flops['tensor']:,} floating-point operations in one instruction; an FMA of a warp is {2 * 32}")

# %% [markdown]
# **Your turn.** Exchange `a` and `b` in the launch and run the cell again. What is wrong now?

# %% [exercise] 04-deep

# %% [markdown]
# One instruction did as much as 128 FMA instructions. Here is the PTX of `product`:

# %%
product

# %% [markdown]
# | word | meaning |
# |---|---|
# | `wmma.load.a` | load a matrix that will be the left factor |
# | `sync.aligned` | all 32 lanes execute it, converged |
# | `row` | in memory its rows lie one after the other (`col`: its columns) |
# | `m16n16k16` | the shapes: A is 16 × 16 (m × k), B is 16 × 16 (k × n) |
# | `{%left0, ...}` | eight registers of *each* lane: together they hold the matrix, a **fragment** |
# | `[%a], 16` | where the matrix begins, and how many elements further the next row does (the *stride*) |
#
# ## Which lane has which element?
#
# 256 floats of C in 8 registers of 32 lanes: each lane has eight of them. Which? Ask the machine: load a matrix whose
# elements are numbered, and let each lane store what it got.


# %%
@kernel
def who(k: Builder, c: Ptr[f32], held: Ptr[f32]):
    """held[lane, register]: the element of c that a lane has in a register."""
    fragment = k.op(f"wmma.load.c.sync.aligned.row.{SHAPE}.global.f32", c, 16)
    for n, x in enumerate(fragment):
        held[k.tid.x * 8 + n] = x


numbers = np.arange(256, dtype=np.float32).reshape(16, 16)
held = np.zeros((32, 8), np.float32)
pl.launch(who, 1, 32, numbers, held, device="cpu")

lane_of = np.zeros((16, 16), int)
for lane, elements in enumerate(held.astype(int)):
    for element in elements:
        lane_of[element // 16, element % 16] = lane
figure, axis = plt.subplots(figsize=(6.4, 4.6), layout="constrained")
axis.imshow(lane_of, cmap="turbo", alpha=0.6)
for (row, column), lane in np.ndenumerate(lane_of):
    axis.text(column, row, lane, ha="center", va="center", fontsize=7)
axis.set(title="the lane that has each element of C, on this machine", xlabel="column", ylabel="row");

# %% [markdown]
# It is a regular pattern, but you must not use it. The PTX manual says that the layout of a WMMA fragment is
# *unspecified* and may differ between architectures. What you see is what ptxlab's emulator does. A kernel that
# relies on it may be wrong on another GPU, without any error.
#
# So a fragment is *opaque*. What may you do with it?
#
# - give it to another `wmma` instruction;
# - store it with `wmma.store`, which knows the layout;
# - do **the same to every element**, wherever it is: double a matrix, or take `max(x, 0)`.
#
# You may not do anything that treats rows or columns differently.


# %%
@kernel
def product_relu(k: Builder, a: Ptr[f16], b: Ptr[f16], c: Ptr[f32]):
    """C = max(A B, 0): element by element, so wherever they lie."""
    left = k.op(f"wmma.load.a.sync.aligned.row.{SHAPE}.global.f16", a, 16)
    right = k.op(f"wmma.load.b.sync.aligned.row.{SHAPE}.global.f16", b, 16)
    total = k.vars(f32, 8, 0.0)
    k.op(f"wmma.mma.sync.aligned.row.row.{SHAPE}.f32.f32", left, right, total, into=total)
    for x in total:
        x.set(k.max(x, 0.0))
    k.op(f"wmma.store.d.sync.aligned.row.{SHAPE}.global.f32", c, total, 16)


pl.launch(product_relu, 1, 32, a, b, c)
np.array_equal(c, np.maximum(a.astype(np.float32) @ b.astype(np.float32), 0))

# %% [markdown]
# ## How do you multiply by a transpose?
#
# Attention wants $S = Q K^T$, and K is stored key by key: a row of K is a *column* of $K^T$. Nothing needs to be
# transposed: with `col`, the instruction reads consecutive elements as a column.


# %%
@kernel
def scores(k: Builder, q: Ptr[f16], key: Ptr[f16], s: Ptr[f32]):
    """S = Q K' for 16 rows and 16 keys of 16 numbers."""
    left = k.op(f"wmma.load.a.sync.aligned.row.{SHAPE}.global.f16", q, 16)
    right = k.op(f"wmma.load.b.sync.aligned.col.{SHAPE}.global.f16", key, 16)
    total = k.vars(f32, 8, 0.0)
    k.op(f"wmma.mma.sync.aligned.row.col.{SHAPE}.f32.f32", left, right, total, into=total)
    k.op(f"wmma.store.d.sync.aligned.row.{SHAPE}.global.f32", s, total, 16)


pl.launch(scores, 1, 32, a, b, c)
np.array_equal(c, a.astype(np.float32) @ b.astype(np.float32).T)

# %% [markdown]
# The debugger knows the layout of every matrix instruction. It is open at the `wmma.mma`, and shows which lane owns
# which element of the matrices; point at one.

# %%
pl.debug(scores, 1, 32, a, b, c, at="wmma.mma")

# %% [exercise] 04-keys

# %% [markdown]
# ## How precise is it?
#
# A and B have 16 bits. An f16 has 11 significant bits, so each input is rounded by up to one part in 2048, and from
# 65,520 on it becomes infinite. The products and their sum are not rounded to 16 bits: a product of two f16 fits into an
# f32, and the sums are kept in f32. `wmma` in our library also takes f32 inputs and rounds them to f16 on their way
# into shared memory. Compare it with `tiled2d`, which does not round.

# %%
for sigma in (0.3, 1.0, 3.0):
    inputs = reference.random_inputs(1, 1, 1, 64, 64, 64, sigma=sigma, seed=1)
    exact = reference.attention(*inputs).o
    errors = {}
    for name in ("tiled2d", "wmma"):
        errors[name] = np.abs(pl.attention(*inputs, kernel=name, device="cpu").o - exact).mean()
    times = errors["wmma"] / errors["tiled2d"]
    print(f"sigma {sigma}: mean error {errors['tiled2d']:.1e}, with wmma {errors['wmma']:.1e}, {times:,.0f} times as large")

# %% [markdown]
# The error is 1,000 to 2,200 times as large, and it grows with the logits: a relative error of $2^{-11}$ in a score of 20
# is 0.01 in the exponent. For neural networks that is mostly good enough. But think of your *tests*: a tolerance wide
# enough for f16 hides mistakes that f32 would show.

# %% [exercise] 04-reuse

# %% [markdown]
# ## What must happen between the two products?
#
# $S = Q K^T$ comes out of a tensor core as a fragment. Softmax needs rows. $O = P V$ wants P as a fragment again, of
# *another* kind (a left factor, of 16-bit elements). And when there is a new maximum, each row of O must be
# multiplied by its own factor. None of this can be done with an opaque fragment, so everything goes through shared
# memory:
#
# ```text
#     Q, K --wmma--> S --softmax--> P --wmma, with V--> O
# ```
#
# | matrix | its way through shared memory |
# |---|---|
# | S | stored as f32, loaded row by row |
# | P | stored as f16, loaded as a left factor |
# | O | loaded, rescaled row by row, stored; then loaded as a sum, added to, stored |
#
# Find these steps in the kernel. A warp owns 16 rows; for the softmax, lanes $r$ and $r + 16$ take the two halves of
# row $r$.

# %%
print(passage("wmma", "sums = [", "if slots is not None"))

# %% [markdown]
# `bar.warp.sync` is enough here, because no other warp reads these rows of S, P and O. The block waits only where K
# and V are loaded, as before.

# %% [exercise] 04-products

# %% [markdown]
# ## What does that cost?
#
# Count the bytes that go in and out of shared memory, and sort them by what they are. For comparison there is `mma`,
# the kernel of the next notebook: the same algorithm on the same tensor cores, with fragments whose layout is
# documented.

# %%
q, k, v = reference.random_inputs(1, 1, 1, 128, 128, 64, dtype="float16", seed=1)


def traffic(name):
    """Bytes in and out of shared memory, by what they are."""
    out = pl.attention(q, k, v, kernel=name, device="cpu", counters=True)
    text, found = out.kernel.ptx.splitlines(), {"Q, K, V": 0, "S": 0, "P": 0, "O": 0}
    for line, counts in out.counters.by_line.items():
        if ".shared" not in counts.opcode:
            continue
        address = text[line - 1][text[line - 1].index("[") :]
        kind = next(
            (kind for word, kind in (("scores", "S"), ("weights", "P"), ("out", "O")) if word in address), "Q, K, V"
        )
        if counts.opcode in ("st.shared.b32", "ld.shared.v4.b32"):  # how `mma` brings O out at the end
            kind = "O"
        found[kind] += counts.bytes
    return found


found = {name: traffic(name) for name in ("wmma", "mma")}
figure, axis = plt.subplots(figsize=(7, 2.4), layout="constrained")
for n, kinds in enumerate(found.values()):
    left = 0
    for colour, (kind, size) in zip(("0.7", "C0", "C1", "C3"), kinds.items(), strict=True):
        axis.barh(n, size / 1024, left=left / 1024, color=colour, label=kind if n == 0 else None)
        left += size
axis.set(yticks=range(len(found)), yticklabels=list(found), xlabel="KiB in and out of shared memory")
axis.invert_yaxis()
axis.legend()
for name, kinds in found.items():
    total = sum(kinds.values())
    print(f"{name:5} {total / 1024:5.0f} KiB, of which S, P and O {1 - kinds['Q, K, V'] / total:.0%}")

# %% [markdown]
# This answers our question. More than half of the traffic through shared memory is S, P and O. Most of it is O, which
# is stored and loaded twice for every tile: once to rescale it, once to add to it. In `mma` O is stored only once, at
# the end.
#
# The second cost is space: S, P and O need shared memory.

# %%
for name in ("wmma", "mma"):
    built = pl.kernels.get(name).build(head_dim=64)
    _, block, shared = built.launch_shape(1, 1, 1, 128, 128)
    look = pl.inspect(built, block[0], shared)
    print(f"{name:5} {shared:6} bytes of shared memory per block, {look.registers} registers per thread: {look.occupancy}")

# %% [exercise] 04-rows

# %% [markdown]
# ## Was it worth it?
#
# Here are the kernels so far, on the same f32 inputs, as far as counts can tell:

# %%
inputs = reference.random_inputs(1, 1, 1, 128, 128, 64, seed=1)
pl.compare(*inputs, kernels=["tiled", "tiled2d", "wmma"], device="cpu")

# %% [markdown]
# Count the instructions: a tenth of those of `tiled`, less than a fifth of those of `tiled2d`. That is not yet a
# time: one `wmma.mma` keeps a tensor core busy for longer than an FMA keeps its unit. (The times are those of the emulator.
# The bank conflicts come from a model of how `wmma.load` accesses memory, which the manual does not
# specify.)
#
# In the explorer: what do `dtype` and `tile_kv` do to the shared memory? Where in the PTX are the eight registers of
# each fragment? Compare the error map of f32 inputs with that of `tiled2d`.

# %%
pl.explore("wmma", head_dim=32, seq_len=64)

# %% [markdown]
# ## Your own kernel gets tensor cores
#
# `q`, `key` and `value` now have 16 bits. 04-deep has the products, 04-rows the softmax in shared memory. A warp takes 16
# rows: say `rows_per_block`. `scoreboard.borrow("tensor cores")` goes on from ours.

# %%
print(scoreboard.source("tensor cores"))
mine = scoreboard.latest("tensor cores")
scoreboard.enter("tensor cores", mine, block=64, rows_per_block=64)

# %% [markdown]
# Stuck in an exercise? `ptxlab.course.solution("04-keys")` prints one answer. Read the feedback twice before you ask for it.
#
# # What have you seen?
#
# - One `wmma.mma` does the work of 128 FMA instructions of a warp: 16 × 16 × 16.
# - A WMMA fragment is opaque. You may load it, multiply it, store it, and do the same to all its elements.
# - Everything that works on rows goes through shared memory: S, P, and O twice. That was more than half of the
#   traffic.
# - Inputs of 16 bits, sums of 32: the error comes from the inputs, $2^{-11}$ of their size.
#
# `mma.sync` multiplies on the same tensor cores, and its layout is documented. In that layout P need not be moved at
# all: [notebook 05](05-mma.ipynb).
#
# ## Further reading
#
# - NVIDIA: [*Parallel Thread Execution ISA*](https://docs.nvidia.com/cuda/parallel-thread-execution/), sections
#   "Warp-level Matrix Instructions" and "Matrix Fragments for WMMA".
# - NVIDIA: *NVIDIA Tesla V100 GPU Architecture*, white paper, 2017. The first tensor cores.
# - Z. Jia, M. Maggioni, B. Staiger, D. P. Scarpazza: *Dissecting the NVIDIA Volta GPU Architecture via
#   Microbenchmarking*. 2018, [arXiv:1804.06826](https://arxiv.org/abs/1804.06826). Where the elements of a fragment
#   really lie on a V100.
# - S. Markidis, S. W. D. Chien, E. Laure, I. B. Peng, J. S. Vetter: *NVIDIA Tensor Core Programmability, Performance
#   & Precision*. 2018, [arXiv:1803.04014](https://arxiv.org/abs/1803.04014). What 16 bits cost, and how to get some
#   of it back.
# - M. Fasi, N. J. Higham, M. Mikaitis, S. Pranesh: *Numerical behavior of NVIDIA tensor cores*. PeerJ Computer
#   Science 7:e330 (2021). How the sums are rounded.
