# %% [markdown]
# # 05 · P stays in registers
#
# WMMA does not say which lane holds which element. That cost more than half of the traffic through shared memory.
# `mma.sync` uses the same tensor cores, and its layouts are documented: each lane holds a *fragment* of each matrix.
#
# **Why is the C fragment of $Q K^T$ the A fragment of $P V$?** Begin with C, 16 × 8 numbers in 4 registers of each lane.
# Number the lanes as $4 g + t$: eight *groups* $g$ of four lanes $t$. Registers 0 and 1 hold row $g$, columns $2t$ and
# $2t + 1$; registers 2 and 3 hold row $g + 8$, the same columns.

# %%
import inspect
import math

import matplotlib.pyplot as plt
import numpy as np

import ptxlab as pl
from ptxlab import reference
from ptxlab.builder import Builder, Ptr, b32, f16, f32, kernel
from ptxlab.course import check, passage, pictures, scoreboard
from ptxlab.isa import fragments
from ptxlab.kernels import softmax

# %load_ext ptxlab
scoreboard.show()

# %% [markdown]
# **Your turn.** Which lane has element (3, 5) of C, row 3 and column 5, and in which register? Then set `mine` to that
# lane, and see.

# %%
mine = 5
fragment = fragments.accumulator(16, 8, "f32")
for register in range(4):
    print(f"lane {mine}, register {register}: element {fragment.element(mine, register)} of C")

# %% [markdown]
# ## Who holds what?
#
# `mma.sync.aligned.m16n8k16` multiplies a 16 × 16 matrix A by a 16 × 8 matrix B and adds the product to C, 16 × 8.
# The manual says:
#
# | matrix | registers per lane | what is in them |
# |---|---|---|
# | A, 16 × 16, 16 bits | 4, two elements each | rows $g$ and $g + 8$; columns $2t, 2t + 1$ and $2t + 8, 2t + 9$ |
# | B, 16 × 8, 16 bits | 2, two elements each | column $g$; rows $2t, 2t + 1$ and $2t + 8, 2t + 9$ |
# | C, 16 × 8, 32 bits | 4, one element each | rows $g$ and $g + 8$; columns $2t, 2t + 1$ |
#
# `ptxlab.isa.fragments` has the table that the emulator uses. In the pictures each element shows its lane. The
# elements of lane 5 ($g = 1$, $t = 1$) are framed and also show their register.

# %% jupyter={"source_hidden": true}
layouts = {
    "A": fragments.operand_a(16, 16, "f16"),
    "B": fragments.operand_b(16, 8, "f16"),
    "C": fragments.accumulator(16, 8, "f32"),
}


def draw(axis, layout, title, mine=5):
    """A matrix with the lane of each element."""
    lanes = np.zeros((layout.rows, layout.columns), int)
    for register, position, lane in np.ndindex(layout.row.shape):
        row, column = layout.element(lane, register, position)
        lanes[row, column] = lane
        if lane == mine:
            axis.add_patch(plt.Rectangle((column - 0.5, row - 0.5), 1, 1, fill=False, lw=1.5, zorder=2))
            axis.text(column + 0.46, row - 0.42, register, ha="right", va="top", fontsize=6, color="C3", weight="bold")
    axis.imshow(lanes // 4, cmap="Pastel1")
    for (row, column), lane in np.ndenumerate(lanes):
        axis.text(column, row, lane, ha="center", va="center", fontsize=6)
    axis.set(title=title, xticks=range(0, layout.columns, 4), yticks=range(0, layout.rows, 4))


figure, axes = plt.subplots(1, 3, figsize=(9, 4), width_ratios=[2, 1, 1], layout="constrained")
for axis, (name, layout) in zip(axes, layouts.items(), strict=True):
    draw(axis, layout, f"{name}, {layout.rows} × {layout.columns}")

# %% [markdown]
# A row of A or C belongs to the four lanes of a group (each colour is a group). In B it is a *column*.

# %% [exercise] 05-holder

# %% [markdown]
# ## Can you multiply by hand?
#
# Yes: each lane loads its own elements by the formulas of the table. Two neighbours of 16 bits are one load of 32
# bits. B is stored column by column, so that its pairs are also neighbours.

# %%
MMA = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"


@kernel
def product(k: Builder, a: Ptr[f16], b: Ptr[f16], c: Ptr[f32]):
    """C = A B, A 16 x 16 row by row, B 16 x 8 column by column; one warp, every lane for itself."""
    lane = k.tid.x
    g, t = lane // 4, lane % 4
    a_pairs, b_pairs = a.cast(b32), b.cast(b32)  # 8 pairs a row of A, and a column of B
    left = [a_pairs[(g + down) * 8 + t + right] for right in (0, 4) for down in (0, 8)]
    right = [b_pairs[g * 8 + t + down] for down in (0, 4)]
    total = k.vars(f32, 4, 0.0)
    k.op(MMA, left, right, total, into=total)
    for i, (down, odd) in enumerate(((0, 0), (0, 1), (8, 0), (8, 1))):
        c[(g + down) * 8 + t * 2 + odd] = total[i]


random = np.random.default_rng(0)
a, b = random.integers(-4, 5, (16, 16)).astype(np.float16), random.integers(-4, 5, (8, 16)).astype(np.float16)
c = np.zeros((16, 8), np.float32)
pl.launch(product, 1, 32, a, b, c)
np.array_equal(c, a.astype(np.float32) @ b.astype(np.float32).T)

# %% [markdown]
# (Mind the order of A's registers: `a[0]` is top left, `a[1]` is *below* it, `a[2]` is top right, `a[3]` is below
# that. To exchange `a[1]` and `a[2]` is a common mistake.)
#
# ## What is the coincidence?
#
# $S = Q K^T$ comes out as C fragments, each 16 rows by 8 keys. $O = P V$ wants P as an A fragment: 16 rows by 16
# keys. Two C fragments side by side are 16 × 16. Which lane has which element?

# %%
side_by_side = np.zeros((16, 16), int)
needed = np.zeros((16, 16), int)
for lane in range(32):
    for register in range(4):
        row, column = layouts["C"].element(lane, register)
        side_by_side[row, column] = side_by_side[row, column + 8] = lane
        for position in range(2):
            needed[layouts["A"].element(lane, register, position)] = lane
print("every element lies in the lane that needs it:", np.array_equal(side_by_side, needed))

# %% [markdown]
# **All 256 of them.** The lane that computed the scores $S_{g,2t}$ and $S_{g,2t+1}$ is the lane that needs the
# weights $P_{g,2t}$ and $P_{g,2t+1}$, as a pair in one register. It only has to round two floats to 16 bits and pack
# them into one register. One instruction does that: `cvt.rn.f16x2.f32`.
#
# This is useful beyond attention: often the result of one product is an input of the next, and layouts that fit save
# a way through memory.
#
# Two products, chained: $O = (A B) V$ for 16 × 16 matrices A and B and a 16 × 8 matrix V. Notice what is *not* there.


# %%
@kernel
def chain(k: Builder, a: Ptr[f16], b: Ptr[f16], v: Ptr[f16], o: Ptr[f32]):
    """O = (A B) V; A 16 x 16 row by row, B 16 x 16 and V 16 x 8 column by column."""
    lane = k.tid.x
    g, t = lane // 4, lane % 4
    a_pairs, b_pairs, v_pairs = a.cast(b32), b.cast(b32), v.cast(b32)
    left = [a_pairs[(g + down) * 8 + t + right] for right in (0, 4) for down in (0, 8)]
    halves = []
    for side in (0, 8):  # columns 0 to 7 of A B, then 8 to 15
        right = [b_pairs[(side + g) * 8 + t + down] for down in (0, 4)]
        s = k.vars(f32, 4, 0.0)
        k.op(MMA, left, right, s, into=s)
        halves.append(s)

    p = [k.op("cvt.rn.f16x2.f32", s[row + 1], s[row]) for s in halves for row in (0, 2)]  # C, C -> A

    right = [v_pairs[g * 8 + t + down] for down in (0, 4)]
    out = k.vars(f32, 4, 0.0)
    k.op(MMA, p, right, out, into=out)
    for i, (down, odd) in enumerate(((0, 0), (0, 1), (8, 0), (8, 1))):
        o[(g + down) * 8 + t * 2 + odd] = out[i]


b2, v = random.integers(-2, 3, (16, 16)).astype(np.float16), random.integers(-2, 3, (8, 16)).astype(np.float16)
run = pl.launch(chain, 1, 32, a, b2, v, c, counters=True)
print("right:", np.array_equal(c, a.astype(np.float32) @ b2.astype(np.float32).T @ v.astype(np.float32).T))
print("bytes of shared memory moved:", run.counters["smsp__sass_data_bytes_mem_shared.sum"])

# %% [markdown]
# No shared memory, no shuffle, no barrier between the two products. The debugger is open at the first `mma`: its
# result D is the left half of $AB$. Then go to the last `mma` (click on its line for a breakpoint, then *Continue*)
# and look at its A: the elements are in the same lanes.

# %%
pl.debug(chain, 1, 32, a, b2, v, c, at="mma.sync")

# %% [markdown]
# ## How do fragments get into registers?
#
# Loading pair by pair, as above, takes an instruction and an address per 4 bytes. From shared memory, `ldmatrix.x4`
# loads four 8 × 8 matrices at once, which is an A fragment or two B fragments. It separates two things:
#
# - **addresses**: lanes 0 to 7 give the addresses of the eight rows of matrix 0, lanes 8 to 15 those of matrix 1, and
#   so on. A row is 16 consecutive bytes;
# - **data**: every lane *receives*, from each of the four matrices, the pair that its fragment needs.
#
# So a lane does not receive the row whose address it gives. This is the whole way of a tile, as a trace shows it:

# %% jupyter={"source_hidden": true}
pictures.way_of_a_tile()

# %% [markdown]
# The same in code: here `ldmatrix` loads a 16 × 16 matrix whose elements are
# numbered.


# %%
@kernel
def fetch(k: Builder, matrix: Ptr[b32], held: Ptr[b32], *, trans: bool = False):
    """held[lane, register]: the pair of elements that ldmatrix.x4 gives to a lane, of a 16 x 16 matrix."""
    tile = k.shared(b32, 128)
    lane = k.tid.x
    for n in range(0, 128, 32):
        tile[lane + n] = matrix[lane + n]
    k.op("bar.warp.sync", 0xFFFFFFFF)
    row, half = lane % 16, lane // 16  # whose address this lane gives: matrices 0 and 1 left, 2 and 3 right
    address = tile + row * 8 + half * 4
    got = k.op(f"ldmatrix.sync.aligned.m8n8.x4{'.trans' if trans else ''}.shared.b16", address)
    for n in range(4):
        held[lane * 4 + n] = got[n]


numbers = np.arange(256, dtype=np.uint16).reshape(16, 16)
held = np.zeros((32, 4, 2), np.uint16)
pl.launch(fetch, 1, 32, numbers.view(np.uint32), held.reshape(-1).view(np.uint32))
wanted = layouts["A"].row * 16 + layouts["A"].column  # register, position, lane
print("an A fragment:", np.array_equal(held.transpose(1, 2, 0), wanted))
print("lane 5 holds", [f"({x // 16},{x % 16}) ({y // 16},{y % 16})" for x, y in held[5].tolist()])

# %% [exercise] 05-address

# %% [markdown]
# ## Why does V need `.trans` and K not?
#
# In both products the right factor must come in pairs that are neighbours *along the sum*. In $Q K^T$ the sum goes
# over the elements $d$ of a key, and a key is a row in memory: $K_{j,d}$ and $K_{j,d+1}$ are neighbours. `ldmatrix`
# fits as it is.
#
# In $P V$ the sum goes over the keys, and $V_{j,d}$ and $V_{j+1,d}$ are a whole row apart. With `.trans`, each 8 × 8
# matrix is delivered transposed, and the two come as a pair:

# %%
pl.launch(fetch(trans=True), 1, 32, numbers.view(np.uint32), held.reshape(-1).view(np.uint32))
print("lane 5 holds", [f"({x // 16},{x % 16}) ({y // 16},{y % 16})" for x, y in held[5].tolist()])

# %% [markdown]
# Each pair is now of one column and two neighbouring rows. Nothing was moved in memory, and there is no additional
# instruction.

# %% [exercise] 05-trans

# %% [markdown]
# ## And softmax?
#
# Softmax now works on C fragments. A row belongs to four lanes, and each lane has two rows ($g$ and $g + 8$). A lane
# finds the maximum of its own scores in its registers; then two shuffles compare it with the other three lanes of the
# row. (`tiled2d` needed four.) The lanes add their sums only at the end, as before. O consists of C fragments, too,
# so its rows can be rescaled in their registers. These lines take the scores of a tile into the maxima and the sums;
# `across` is the two shuffles, and a weight is $2^{\text{factor} \cdot \text{score} + \text{low}}$.

# %%
print(inspect.getsource(softmax.advance))

# %% [exercise] 05-rowmax

# %% [markdown]
# This is the loop over the keys of `mma`, the fifth kernel. `multiply` is the `mma` instruction, `matrix` is
# `ldmatrix`, `rounded` makes an A fragment of two C fragments.

# %%
spec = pl.kernels.get("mma")
print(passage("mma", "scores = [k.vars", "if slots is not None"))

# %% [exercise] 05-chain

# %% [markdown]
# ## What is gained?

# %%
inputs = reference.random_inputs(1, 1, 1, 128, 128, 64, dtype="float16", seed=1)
for name in ("wmma", "mma"):
    counters = pl.attention(*inputs, kernel=name, device="cpu", counters=True).counters
    print(f"{name:5} {counters.warp_instructions:7,} instructions, {counters.flops['tensor']:,} operations on tensor cores, "
          f"{counters['smsp__sass_data_bytes_mem_shared.sum'] // 1024:4} KiB through shared memory")

# %% [markdown]
# The products are the same. The traffic is 41 %, and the instructions are 59 %.
#
# ## What does it cost?
#
# What is not in memory is in registers. How many are alive at each line of the PTX?

# %% jupyter={"source_hidden": true}
figure, axis = plt.subplots(figsize=(8, 3), layout="constrained")
for D in (32, 64, 128):
    built = spec.build(head_dim=D)
    _, block, shared = built.launch_shape(1, 1, 1, 64, 64)
    look = pl.inspect(built, block[0], shared)
    pressure = np.array(list(look.pressure.items()))
    axis.plot((pressure[:, 0] - pressure[0, 0]) / np.ptp(pressure[:, 0]), pressure[:, 1], label=f"D = {D}")
    print(f"D = {D:3}: O takes {D // 2:2} registers, S {64 // 2}, Q {D // 4:2}, and {look.pressure[look.peak]} are alive at most;"
          f" {look.occupancy.blocks} blocks per SM")
axis.axhline(255, color="k", lw=1, ls=":")
axis.text(0, 250, "255, all that a thread can have", va="top", fontsize="small")
axis.set(xlabel="place in the PTX, from the first line to the last", ylabel="registers alive")
axis.legend()
axis.grid(alpha=0.25)

# %% [markdown]
# A warp of 16 rows holds $16 D$ floats of O, that is $D / 2$ registers per lane. S takes $T / 2$, and Q as A
# fragments $D / 4$. At $D = 128$ these are half of the 255 registers that a thread can have. At $D = 256$ they would
# not fit, so there `mma` leaves Q in shared memory, loads its fragments again for each tile (`query_in_registers` in
# the source), and halves the tile.
#
# Fewer blocks fit on an SM: the **occupancy** is low. That need not be slow. Latency can be hidden by other warps, or
# by independent instructions of the same warp, and this kernel has many of those. (Measured on an H100: `pipelined` of
# notebook 07 has 12 % of the warps that fit on an SM, and keeps the tensor cores busy for 63 % of the time.)
#
# ## What about bfloat16?
#
# `mma` takes both 16-bit types. bf16 has the range of an f32 and 8 significant bits; f16 has 11 bits and ends at
# 65504.

# %%
for dtype in ("float16", "bfloat16"):
    out = pl.attention(*reference.random_inputs(1, 1, 1, 64, 64, 64, dtype=dtype, seed=1), kernel="mma")
    print(f"{dtype:8} mean error {out.error.mean:.1e}")

# %% [markdown]
# The errors differ by a factor of eight: three bits.
#
# One thing in `mma` is still slow: look at its bank conflicts in the explorer. Every `ldmatrix` has them. Switch to
# `swizzle`, and they are gone; the next notebook explains it.

# %%
pl.explore("mma", head_dim=64, seq_len=64)

# %% [markdown]
# ## Your own kernel keeps P in registers
#
# Replace its products by `mma.sync`, as in 05-chain, with the maximum of 05-rowmax: a warp takes 16 rows.
# `scoreboard.borrow("registers")` goes on from ours.

# %%
print(scoreboard.source("registers"))
mine = scoreboard.latest("registers")
scoreboard.enter("registers", mine, block=64, rows_per_block=64)

# %% [markdown]
# Stuck in an exercise? `ptxlab.course.solution("05-trans")` prints one answer. Read the feedback twice before you ask for it.
#
# # What have you seen?
#
# - The fragments of `mma.sync` are documented: a row of A or C, or a column of B, belongs to a group of four lanes.
# - Two C fragments side by side, rounded in pairs, are exactly an A fragment. So P never leaves the registers.
# - With `ldmatrix`, the lane that gives an address and the lane that receives the data are different. `.trans`
#   delivers 8 × 8 matrices transposed. V needs it, because its rows lie across the sum.
# - Softmax on fragments: two shuffles for a maximum, and O is rescaled in registers.
# - The cost is registers: $D/2 + T/2 + D/4$, and addresses.
#
# ## Further reading
#
# - NVIDIA: [*Parallel Thread Execution ISA*](https://docs.nvidia.com/cuda/parallel-thread-execution/), sections
#   "Matrix Fragments for mma.m16n8k16 with floating point type" and "ldmatrix". Keep them open.
# - T. Dao: *FlashAttention-2: Faster Attention with Better Parallelism and Work Partitioning*. ICLR 2024,
#   [arXiv:2307.08691](https://arxiv.org/abs/2307.08691). Rows split over warps, so that no row has to be put together
#   again.
# - W. Sun, A. Li, T. Geng, S. Stuijk, H. Corporaal: *Dissecting Tensor Cores via Microbenchmarks: Latency, Throughput
#   and Numeric Behaviors*. IEEE TPDS 2023, [arXiv:2206.02874](https://arxiv.org/abs/2206.02874). How fast `mma` and
#   `ldmatrix` really are.
# - NVIDIA: [*CUTLASS*](https://github.com/NVIDIA/cutlass), the headers `arch/mma_sm80.h` and `arch/memory_sm75.h`.
#   The same instructions in C++.
