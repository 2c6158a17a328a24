# %% [markdown]
# # 06 · Thirty-two banks
#
# Some accesses of `mma` to shared memory take eight times as long as necessary: *bank conflicts*. `swizzle` stores its
# tiles in another arrangement, and they are gone. **Where do 8-way conflicts come from, and why does xor avoid them?**
#
# Shared memory is 32 *banks* side by side: word $w$ (4 bytes) lies in bank $w \bmod 32$. Each bank serves one word at a
# time. Lanes that read words of different banks are served at once, in one *wavefront*; different words of the same bank
# come one after the other. Here each lane reads one float, `stride` floats from its neighbour's.

# %%
import inspect
import math

import matplotlib.pyplot as plt
import numpy as np

import ptxlab as pl
from ptxlab import reference
from ptxlab.builder import Builder, Ptr, b32, f32, kernel
from ptxlab.course import check, scoreboard
from ptxlab.kernels import tiles

# %load_ext ptxlab
scoreboard.show()


# %%
@kernel
def read(k: Builder, out: Ptr[f32], *, stride: int = 1, width: int = 1):
    """Each lane loads `width` floats (1, 2 or 4) at once; those of neighbours begin `stride` floats apart."""
    tile = k.shared(f32, 32 * 64 + 4)
    got = k.load(tile + k.tid.x * stride, width, vector=width)
    for n, x in enumerate(got):
        out[k.tid.x * width + n] = x


def wavefronts(built, opcode, *args):
    """Wavefronts of one instruction of one warp."""
    counters = pl.launch(built, 1, 32, *args, device="step", counters=True).counters
    return next(line.wavefronts for line in counters.by_line.values() if line.opcode.startswith(opcode))


stride = 1
print(f"stride {stride}: {wavefronts(read(stride=stride), 'ld.shared', np.zeros(32, np.float32))} wavefronts")

# %% [markdown]
# **Your turn.** Change `stride`: which of 1 to 33 is the worst, and is 12 good?
#
# ## What is a bank?
#
# Here are all of them. (Lanes that read the *same* word share it, a broadcast: stride 0.)

# %%
strides = np.arange(34)
measured = [wavefronts(read(stride=int(s)), "ld.shared", np.zeros(32, np.float32)) for s in strides]
figure, axis = plt.subplots(figsize=(8, 2.8), layout="constrained")
axis.bar(strides, measured)
axis.set(xlabel="stride in floats", ylabel="wavefronts", xticks=strides[::2], yscale="log", yticks=(1, 2, 4, 8, 16, 32))
axis.set_yticklabels((1, 2, 4, 8, 16, 32))
print("the greatest common divisor of stride and 32:", measured[1:] == [math.gcd(int(s), 32) for s in strides[1:]])

# %% [markdown]
# With every odd stride the 32 lanes are in 32 different banks. With stride 2 they are in the 16 even banks, two lanes
# in each: two wavefronts. With stride 32 all lanes are in bank 0, and the load takes 32 wavefronts. In general it is
# $\gcd(\text{stride}, 32)$. (Stride 0 is the broadcast.)
#
# So take odd strides: 6, 12 and 24 also conflict. But the number of columns of a matrix is usually even.
#
# ## What changes with 16 bytes per lane?
#
# One wavefront delivers at most 128 bytes. When every lane reads 16 bytes, that is 512 bytes, so at least four
# wavefronts, eight lanes in each. Within such a *quarter* of a warp the same rule holds for eight groups of four
# banks.
#
# `ldmatrix` is such an access: the eight rows of an 8 × 8 matrix, 16 bytes each, are a quarter. Vary the distance
# between the rows:


# %%
@kernel
def matrix(k: Builder, out: Ptr[b32], *, row_bytes: int = 128):
    """ldmatrix of four 8 x 8 matrices that lie side by side: chunks 0 to 3 of eight rows."""
    tile = k.shared(b32, 8 * row_bytes // 4 + 16)
    row, chunk = k.tid.x % 8, k.tid.x // 8
    got = k.op("ldmatrix.sync.aligned.m8n8.x4.shared.b16", tile + row * (row_bytes // 4) + chunk * 4)
    for n, x in enumerate(got):
        out[k.tid.x * 4 + n] = x


sizes = np.arange(64, 289, 16)
measured = [wavefronts(matrix(row_bytes=int(s)), "ldmatrix", np.zeros(128, np.uint32)) for s in sizes]
figure, axis = plt.subplots(figsize=(8, 2.8), layout="constrained")
axis.bar(sizes, measured, width=11, color=["C3" if s in (128, 256) else "C0" for s in sizes])
axis.axhline(4, color="k", lw=1, ls=":")
axis.set(xlabel="bytes from row to row", ylabel="wavefronts", xticks=sizes);
# %% [markdown]
# Four is the least possible (dotted). It is reached when a row is an *odd* number of chunks of 16 bytes. The red bars
# are rows of 64 and of 128 elements of 16 bits, the most common head dimensions: **32 wavefronts, eight times as
# many.** 128 bytes are one word in each of the 32 banks, so the same chunk of all eight rows is in the same group of
# banks.
#
# The debugger shows the banks:

# %%
pl.debug(matrix(row_bytes=128), 1, 32, np.zeros(128, np.uint32), at="ldmatrix")

# %% [exercise] 06-wavefronts

# %% [markdown]
# ## Where is it in `mma`?

# %%
inputs = reference.random_inputs(1, 1, 1, 128, 128, 64, dtype="float16", seed=1)


def by_opcode(name):
    """opcode -> (wavefronts, wavefronts without conflicts) of a kernel's accesses to shared memory."""
    counters = pl.attention(*inputs, kernel=name, device="cpu", counters=True).counters
    found = {}
    for line in counters.by_line.values():
        if line.wavefronts:
            words = line.opcode.split(".")
            short = "ldmatrix.trans" if "trans" in words else "ldmatrix" if words[0] == "ldmatrix" else line.opcode
            before = found.get(short, (0, 0))
            found[short] = before[0] + line.wavefronts, before[1] + line.ideal_wavefronts
    return found


def show(names):
    """Bars of the wavefronts that are needed, and of those that conflicts add."""
    _, axes = plt.subplots(1, len(names), figsize=(9, 2.4), sharex=True, sharey=True, layout="constrained")
    for axis, name in zip(np.atleast_1d(axes), names, strict=True):
        found = by_opcode(name)
        needed, all_of_them = [f[1] for f in found.values()], [f[0] for f in found.values()]
        axis.barh(list(found), all_of_them, color="C3", label="conflicts")
        axis.barh(list(found), needed, color="C0", label="needed")
        axis.set(title=f"{name}: {sum(all_of_them):,} wavefronts", xlabel="wavefronts")
    axis.invert_yaxis()
    axis.legend()


show(["mma"])

# %% [markdown]
# Every `ldmatrix` of K, V and Q has conflicts. So has the store of O at the end, where each lane of a warp writes 4
# bytes and the warp covers eight rows. The stores of the tiles (`st.shared.v4`) have none: eight neighbouring threads
# write all chunks of one row.
#
# ## Remedy 1: padding
#
# Let each row be 16 bytes longer than its contents: 144 instead of 128. By the bars above this has no conflicts, and
# `tiled2d` and `wmma` do it. What does it cost?

# %%
for D in (64, 128):
    plain, padded = 2 * 64 * 2 * D, 2 * 64 * (2 * D + 16)
    print(f"D = {D:3}: tiles of K and V of 64 keys take {plain} bytes, padded {padded}: {padded / plain - 1:.1%} more")

# %% [markdown]
# It costs some memory, which may mean fewer stages of a pipeline (notebook 07). And rows are no longer 128 bytes apart,
# as the 128-byte swizzle of TMA and `wgmma` on newer GPUs wants them: its pattern repeats every 1,024 bytes, eight rows
# (PTX ISA, `wgmma`, matrix descriptor). It is better to keep the size and to change only the *place of a chunk in its
# row*.

# %% [exercise] 06-pad

# %% [markdown]
# ## Remedy 2: what do we want?
#
# Number the chunks of a row 0 to 7, and store chunk $c$ of row $r$ at place $p(r, c)$ of that row. The place decides
# the group of banks. Two things must be true:
#
# 1. **reading**: for every chunk $c$, the places of eight rows are all different (`ldmatrix`);
# 2. **writing**: for every row $r$, the places of its eight chunks are all different (otherwise two chunks would be
#    in the same place).
#
# Every place occurs exactly once in each row and in each column: a *Latin square*. Three candidates:

# %% jupyter={"source_hidden": true}
rows, chunks = np.indices((8, 8))
candidates = {"c": chunks, "(c + r) % 8": (chunks + rows) % 8, "c ^ r": chunks ^ rows}
figure, axes = plt.subplots(1, 3, figsize=(9, 3.2), layout="constrained")
for axis, (name, place) in zip(axes, candidates.items(), strict=True):
    read_ok = all(len(set(place[:, c])) == 8 for c in range(8))
    write_ok = all(len(set(place[r])) == 8 for r in range(8))
    axis.imshow(place, cmap="tab10", vmax=9, alpha=0.7)
    for (r, c), p in np.ndenumerate(place):
        axis.text(c, r, p, ha="center", va="center", fontsize=8)
    axis.set(
        title=f"place = {name}\nreads {'✓' if read_ok else '✗'}  writes {'✓' if write_ok else '✗'}", xlabel="chunk"
    )
axes[0].set_ylabel("row");
# %% [markdown]
# A column of a square is what one `ldmatrix` reads. A row is what eight threads write.
#
# Plain storage fails for reads. Rotating each row by its number works for both. So does **xor**, and here is why: for
# a fixed $c$, $r \mapsto c \oplus r$ is one-to-one, because xor with $c$ again undoes it. The same for a fixed $r$.
# This answers the second half of our question: *xor is its own inverse in either argument, so it gives a Latin
# square.* Such an arrangement is called a **swizzle**.

# %% [exercise] 06-xor

# %% [markdown]
# Why xor, and not the sum? Because of the *addresses*. A lane goes along its row: chunk $c$, then $c \oplus 2$, then
# $c \oplus 4$. And
#
# $$ (c \oplus d) \oplus r = (c \oplus r) \oplus d , $$
#
# so the place changes by the same xor as the chunk, for every $r$. A lane needs one register for its first address,
# and one xor with a constant per step. With a sum modulo 8 each step would be an addition and an `and`.
#
# A tile has more than eight rows, so use $r \mathbin{\&} 7$: the pattern repeats every eight rows, and a quarter of
# an `ldmatrix` reads eight rows.

# %% [exercise] 06-walk

# %% [markdown]
# ## What is it in the kernel?
#
# The whole difference between `mma` and `swizzle` is in one small class. `spot` gives the place of a chunk, `moved`
# the next place.

# %%
print(inspect.getsource(tiles.Layout.spot))
print(inspect.getsource(tiles.Spot.moved))

# %% [markdown]
# This is all that `swizzle` changes in the PTX, for $D = 32$ and small tiles. Look for `xor`.

# %%
small = {"head_dim": 32, "tile_q": 16, "tile_kv": 16}
before, after = (pl.kernels.get(name).build(**small) for name in ("mma", "swizzle"))
pl.diff(before, after)

# %% [markdown]
# ## Does it work?

# %%
show(["mma", "swizzle"])

# %%
pl.compare(*inputs, kernels=["mma", "swizzle"], device="cpu")

# %% [markdown]
# There are no conflicts left, neither in reads nor in writes, with the same amount of shared memory. The cost is some
# arithmetic on addresses: 4 % more instructions. (The time is that of the emulator, which has no banks; it counts
# the wavefronts that a GPU would need.) On a GPU it is a large step: at $D = 128$ and 4,096 keys in bf16 an H100 makes 54
# TFLOP/s of `mma`, and 253 of `swizzle` (`benchmarks/results/gpu/` in the repository).
#
# What if a row is not 128 bytes? Then eight rows do not all begin in the same group of banks, which already helps.
# Rows of 64 bytes begin in two groups in turn, rows of 160 bytes ($D = 80$) in four, so fewer bits of the row's
# number have to be mixed in. That is the shift in `spot` above, and no row needs padding:

# %%
for D in (32, 64, 80, 128):
    conflicts = {}
    for name in ("mma", "swizzle"):
        out = pl.attention(*reference.random_inputs(1, 1, 1, 64, 64, D, dtype="float16", seed=1), kernel=name,
                           device="cpu", counters=True)
        conflicts[name] = out.counters["l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum"]
    shared = {name: pl.kernels.get(name).build(head_dim=D).launch_shape(1, 1, 1, 64, 64)[2] for name in conflicts}
    print(f"D = {D:3}: conflicts {conflicts['mma']:5} -> {conflicts['swizzle']:2}, "
          f"shared memory {shared['mma']:5} -> {shared['swizzle']:5} bytes")

# %% [markdown]
# Why just those bits? Find it out for rows of 64 bytes:

# %% [exercise] 06-half

# %% [markdown]
# In the explorer, open *Counters* and switch between `mma` and `swizzle`: watch the bank conflicts, and pin one to
# see the difference in the diff. Then change `head_dim` and watch the conflicts of `mma`. Why is 80 better than 64?

# %%
pl.explore("swizzle", head_dim=64, seq_len=64)

# %% [markdown]
# ## Your own kernel loses its conflicts
#
# Two addresses change, as in 06-xor. `scoreboard.borrow("banks")` goes on from ours.

# %%
print(scoreboard.source("banks"))
mine = scoreboard.latest("banks")
scoreboard.enter("banks", mine, block=64, rows_per_block=64)

# %% [markdown]
# Stuck in an exercise? `ptxlab.course.solution("06-xor")` prints one answer. Read the feedback twice before you ask for it.
#
# # What have you seen?
#
# - Shared memory is 32 banks of 4 bytes. Different words of one bank are served one after the other; a stride takes
#   $\gcd(\text{stride}, 32)$ wavefronts.
# - With 16 bytes per lane, eight lanes are served at once, by eight groups of banks. With rows of 128 bytes the same
#   chunk of eight rows is in one group: 8-way conflicts in every `ldmatrix`.
# - Padding removes them and costs memory and alignment.
# - Place $c \oplus (r \mathbin{\&} 7)$ is a Latin square: each place once in each row (writes) and in each column
#   (reads).
# - Xor changes places and chunks alike, so the next chunk of a row takes one xor with a constant.
#
# What is left is *waiting* for K and V from global memory. In [notebook 07](07-pipelines.ipynb) the next tile is
# copied while this one is used.
#
# ## Further reading
#
# - NVIDIA: [*CUDA C++ Programming Guide*](https://docs.nvidia.com/cuda/cuda-c-programming-guide/), section "Shared
#   Memory" of the chapter on performance and of the appendix on compute capabilities.
# - NVIDIA: [*Kernel Profiling Guide*](https://docs.nvidia.com/nsight-compute/ProfilingGuide/) of Nsight Compute. What
#   a wavefront is, and the counters whose names are used here.
# - A. Kerr, D. Merrill, J. Demouth, J. Tran: [*CUTLASS: Fast Linear Algebra in CUDA
#   C++*](https://developer.nvidia.com/blog/cutlass-linear-algebra-cuda/). NVIDIA Technical Blog, 2017.
# - NVIDIA: [*CuTe, layout algebra*](https://github.com/NVIDIA/cutlass/tree/main/media/docs/cpp/cute), CUTLASS
#   documentation. Swizzles as functions that can be composed.
