# %% [markdown]
# # 02b · Tiles and tails
#
# Attention's threads share tiles of keys. The numbers of rows and keys need not fit: here 40 points meet a block of 64
# threads, and 24 threads have no point. In notebook 01 such threads exited at once.
#
# **Who loads the row of an idle thread?** Each of 64 threads loads one key into the tile; the picture shows who wrote
# each place.

# %%
import math

import matplotlib.pyplot as plt
import numpy as np

import ptxlab as pl
from ptxlab import reference
from ptxlab.builder import Builder, Ptr, f32, kernel, u32
from ptxlab.course import check, passage, pictures, scoreboard
from ptxlab.course.writers import stores

# %load_ext ptxlab
scoreboard.show()


# %%
@kernel
def nearest(k: Builder, x: Ptr[f32], key: Ptr[f32], y: Ptr[f32], n: u32, *, stay: bool):
    """y[i] = the distance from x[i] to the nearest of 64 keys; blocks of 64 threads."""
    tile = k.shared(f32, 64)
    i, t = k.thread_index(), k.tid.x
    if not stay:
        k.return_if(i >= n)  # a thread without a point leaves at once
    tile[t] = key[t]
    k.barrier()
    mine, best = x[k.min(i, n - 1)], k.var(f32, math.inf)
    with k.loop(64) as j:
        best.set(k.min(best, abs(mine - tile[j])))
    with k.if_(i < n):
        y[i] = best


def tried(n, stay, **options):
    """Launches it for n random points: gives the run, and how many points have a wrong answer."""
    random = np.random.default_rng(0)
    x, keys = random.standard_normal(n).astype(np.float32), 3 * random.standard_normal(64).astype(np.float32)
    y = np.zeros_like(x)
    run = pl.launch(nearest(stay=stay), -(-n // 64), 64, x, keys, y, n, **options)
    return run, int((y != np.abs(x[:, None] - keys).min(axis=1)).sum())


# %%
stay = False
run, wrong = tried(40, stay, device="step", trace=pl.Trace())
address, thread = stores(run.trace)
place = address // 4 % 64
figure, axis = plt.subplots(figsize=(7, 2.6), layout="constrained")
for who, colour, label in ((thread < 40, "C0", "a thread with a point"), (thread >= 40, "C2", "an idle thread")):
    if who.any():
        axis.bar(place[who], thread[who] + 1, color=colour, label=f"written by {label}")
axis.bar(np.setdiff1d(np.arange(64), place), 64, width=1, color="C3", alpha=0.3, label="never written")
axis.set(title=f"stay={stay}: {wrong} of 40 points are wrong", xlabel="place in the tile", ylabel="thread")
axis.legend(fontsize="small");

# %% [markdown]
# **Your turn.** Set `stay = True` and run the cell again: who fills the red gap?
#
# ## Who loads the row of an idle thread?
#
# **The idle thread itself.** It has no row of its own, but it helps. It stays, loads its part, arrives at the barriers,
# and stores nothing. `nearest` does this in two lines: `k.min(i, n - 1)` gives it another thread's point, so that its
# loads stay inside the array, and `k.if_(i < n)` keeps it from storing.
#
# What if it leaves? When the last block is full nobody notices:

# %%
for n in (64, 128, 40, 100):
    run, wrong = tried(n, stay=False, checks=("memcheck", "initcheck", "synccheck"))
    print(f"{n:3} points: {wrong:2} wrong, found by {sorted({f.check for f in run.findings}) or 'nobody'}")

# %% [markdown]
# `initcheck` reports that threads use what nobody has written. `synccheck` reports something else: a warp arrived at
# a barrier after some of its lanes had exited. The kernel does not hang: `bar.sync` waits for all threads of the
# block that have *not exited* (PTX ISA, `bar`). It does not wait for those that have; their part of the tile is
# missing.
#
# A similar bug is a barrier in a branch that not all threads take. There, the others have not exited: they are at
# another instruction. This is **divergence**: lanes of one warp at different instructions, here 32 to 39 at the first
# barrier and 40 to 63 on their way to the second. All threads of the block must execute the same `bar.sync`; if not, the
# manual says, "behavior is undefined". (Read the first finding; the others follow from it.)


# %%
@kernel
def branch(k: Builder, x: Ptr[u32], n: u32):
    """A barrier that only some threads reach, while the others go on to the next."""
    thread = k.tid.x
    with k.if_(thread < n):
        k.barrier()
    x[thread] = thread
    k.barrier()


pl.launch(branch, 1, 64, np.zeros(64, np.uint32), 40, checks=("memcheck", "synccheck"))

# %% [markdown]
# ## And the tail of the keys?
#
# The number of keys need not be a multiple of the tile either. In the loop of notebook 02, `count` is how many are left,
# at most $T$. The copy stops there, because other arrays may follow in memory. The loop stops there too, because the
# rest of the tile still holds keys of the tile *before*. (There nobody would notice: a key seen twice does not change a
# minimum. In attention it would count twice.) In the next exercise both matter.

# %% [exercise] 02-copy

# %% [markdown]
# ## How much does `scalar` read?
#
# Now attention. Here are the sectors of the loads of keys and values in `scalar`, for 128 rows and 128 keys with
# $D = 32$.

# %%
D = 32
q, k, v = reference.random_inputs(1, 1, 1, 128, 128, D, seed=1)


def kv_sectors(kernel, *inputs):
    """Sectors that a kernel's loads of keys and values ask for: all loads of global memory but those of q."""
    out = pl.attention(*inputs, kernel=kernel, device="cpu", counters=True)
    text = out.kernel.ptx.splitlines()
    loads = {n: c for n, c in out.counters.by_line.items() if c.opcode.startswith("ld.global")}
    return sum(c.sectors for n, c in loads.items() if "%q_row" not in text[n - 1])


once = (k.nbytes + v.nbytes) // 32
asked = kv_sectors("scalar", q, k, v)
print(f"K and V have {once} sectors; scalar asks for {asked}: for each of them {asked // once} times")

# %% [markdown]
# Where does the factor come from? All 32 lanes of a warp are at the same key, so they load the same four bytes, and
# one sector serves them all. But the next instruction loads the next four bytes, so each sector is requested eight
# times, by each of the four warps: $8 \cdot 4 = 32$.
#
# A GPU has caches, **L1** in each SM and **L2** for all SMs, which serve many of these requests. But they are shared
# with everything else that runs, and every request occupies the load unit. (The machine counts what instructions
# *request*, before any cache.) This is how far away each memory is:

# %% jupyter={"source_hidden": true}
pictures.memory()

# %% [markdown]
# ## How does attention do it?
#
# This is the loop of `tiled`. You know every line of its first half; the second half is that of `scalar`.

# %%
print(passage("tiled", "index = k.thread_index()", "head, batch"), end="\n\n")
print(passage("tiled", "with listed.loop()", "# A row that saw no key"))

# %% [markdown]
# Note three things:
#
# - **The copy is independent of the rows.** The tile is `count * D` numbers, and thread $t$ copies numbers $t$, $t +
#   128$, $t + 256$, ... Neighbouring threads load neighbouring elements: 32 lanes take 128 bytes, four whole sectors.
#   Such loads are called *coalesced*.
# - **`needed` is the same for all threads of the block, `seen` is not.** The barriers are in the outer loop, which
#   all threads must execute equally often. What differs between rows (the causal limit) is in the inner loop.
# - `if slots is not None` are the probes, as in `scalar`; `here` and `listed` are for the variants of notebook 19.
#
# Watch it. The debugger below shows its PTX with $D = 4$ and 8 keys per tile: find the two `bar.sync`, and the
# `ld.shared` between them and the end. The run has 12 rows, so 116 of the 128 threads are idle, and it is open at the
# first store to the tile: the memory view shows the banks that the lanes write to. *To barrier* takes you to the
# `bar.sync` behind the copy. Choose *block 0, warp 3*: its rows are past the end, and a tile of 8 keys of 4 numbers
# is copied by the 32 lanes of warp 0 alone. So warp 3 copies nothing, computes with the tile, stores nothing, and
# still arrives at every barrier.

# %%
pl.debug("tiled", head_dim=4, tile_kv=8, seq_len=12, at="st.shared")

# %% [exercise] 02-blocksum

# %% [markdown]
# ## What has it bought?
#
# The same count as at the beginning, for both kernels and for a growing number of rows and keys.

# %% jupyter={"source_hidden": true}
sizes = [32, 64, 128, 256]
inputs = [reference.random_inputs(1, 1, 1, size, size, D, seed=1) for size in sizes]
counts = {name: [kv_sectors(name, *given) for given in inputs] for name in ("scalar", "tiled")}
counts["K and V, each byte once"] = [(k.nbytes + v.nbytes) // 32 for _, k, v in inputs]

figure, axis = plt.subplots(figsize=(7, 3.2), layout="constrained")
for (name, values), style in zip(counts.items(), ("o-", "s-", "k:"), strict=True):
    axis.loglog(sizes, values, style, base=2, label=f"{name}: {values[-1]:,} with 256 rows")
axis.set(xlabel="rows and keys", ylabel="sectors of K and V", xticks=sizes, xticklabels=sizes)
axis.legend()
axis.grid(alpha=0.25);

# %% [markdown]
# `tiled` requests each byte once *per block*. A block has 128 rows, so with 256 rows there are two blocks and each
# byte is read twice. More rows per block would mean less traffic; the next notebook comes back to that.
#
# ## How large should a tile be?
#
# The size of a tile does not change how much is read. It changes how often the block waits, and how much shared
# memory is left for other blocks on the same multiprocessor (SM). The warps that are resident there, as a share of those
# that an SM can hold, are its **occupancy**.

# %%
print("keys per tile   barriers per warp   warp-instructions   shared bytes   blocks on an SM of a T4")
for tile in (1, 2, 4, 8, 16, 32, 64, 128):
    built = pl.kernels.get("tiled").build(head_dim=D, tile_kv=tile, arch="sm_75")
    c = pl.attention(q, k, v, kernel=built, device="cpu", counters=True).counters
    look = pl.inspect(built, block=128)
    print(f"{tile:13}   {c.opcodes['bar.sync'][0] // 4:17}   {c.warp_instructions:17,}   {look.shared:12,}"
          f"   {look.occupancy.blocks}, limited by {look.occupancy.limiter}")

# %% [markdown]
# A barrier is one instruction, but its cost is waiting: the whole block is as slow as its slowest warp. With tiles of
# one key it waits at every key. From 16 keys on there is little left to gain. From 64 keys on shared memory limits
# the blocks on an SM, and while one block waits, only other resident blocks can use the SM (**latency hiding**). The
# default is 32.
#
# ## Play with it
#
# In the explorer: what does `tile_kv` change in the PTX, and what does it not? Set `Sq` to 129: what does the second
# block do? Switch to `scalar` and pin it, then back: the diff between both kernels is the copy and the barriers.

# %%
pl.explore("tiled", head_dim=16, seq_len=64)

# %% [markdown]
# ## Your own kernel gets tiles
#
# `scoreboard.source("rows")` prints the kernel that you entered in notebook 01. Give it tiles of K and V in shared memory,
# with two barriers, and threads past the last row that help to load (02-copy). Then enter yours. How many sectors are
# left? (70 rows and 100 keys: both tails are there. Each block reads all keys, so `block` matters, too.)
# `scoreboard.borrow("tiles")` goes on from ours.

# %%
mine = scoreboard.latest("tiles")
scoreboard.enter("tiles", mine, block=64)

# %% [markdown]
# Stuck in an exercise? `ptxlab.course.solution("02-copy")` prints one answer. Read the feedback twice before you ask for it.
#
# # What have you seen?
#
# - An idle thread has no result, but the others need it: it loads its part, stays to the end, and stores nothing.
# - Barriers belong where all threads of the block come equally often; what differs between threads belongs between
#   them.
# - With tiles, a block reads each byte of K and V once. A larger tile means fewer barriers and more shared memory.
#
# `tiled` still loads one number from shared memory per multiplication. In [the next notebook](03-rows.ipynb) a thread
# computes a 4 × 4 piece of the scores, so that each number that it loads is used four times.
#
# ## Further reading
#
# - M. Harris: *Optimizing Parallel Reduction in CUDA*. NVIDIA, 2007. A tree of barriers; good for 02-blocksum.
# - V. Volkov: *Better Performance at Lower Occupancy*. GPU Technology Conference 2010. The idea of the next notebook.
# - T. Dao, D. Y. Fu, S. Ermon, A. Rudra, C. Ré: *FlashAttention: Fast and Memory-Efficient Exact Attention with
#   IO-Awareness*. NeurIPS 2022, [arXiv:2205.14135](https://arxiv.org/abs/2205.14135). How tiles bound traffic.
