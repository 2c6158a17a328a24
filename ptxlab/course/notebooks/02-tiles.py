# %% [markdown]
# # 02 · Tiles, barriers, tails
#
# In notebook 01 one thread computed one row of attention and fetched every key by itself. But all rows need the same
# keys. The threads of a block can fetch them together, put them into memory that they share, and read them there. Now
# each thread depends on what others have done, and that is where parallel programs break.
#
# **What does a barrier promise, and who loads the row of an idle thread?** You find both answers by breaking a small
# kernel, then meet them again in `tiled`, the second rung of the attention library.

# %%
import math

import matplotlib.pyplot as plt
import numpy as np

import ptxlab as pl
from ptxlab import reference
from ptxlab.builder import Builder, Ptr, f32, kernel, u32
from ptxlab.course import check, passage
from ptxlab.course.writers import stores

# %load_ext ptxlab

# %% [markdown]
# ## How much does `scalar` read?
#
# Global memory is moved in *sectors* of 32 bytes: who wants one float gets its seven neighbours as well. The CPU
# machine counts, for each instruction of each warp, how many sectors its 32 lanes touch. Here are the loads of keys
# and values in `scalar`, for 128 rows that meet 128 keys with $D = 32$.

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
# Where does the factor come from? All 32 lanes of a warp are at the same key, so they ask for the same four bytes,
# and one sector serves them all. That is fine. But the next instruction asks for the next four bytes, so each sector
# is asked for eight times, and each of the four warps does so: $8 \cdot 4 = 32$.
#
# A GPU has caches that catch much of this. They are shared with everything else that runs, though, and every request
# costs a trip through the load unit. (The count is of what instructions *ask for*, before any cache.)
#
# ## What would sharing look like?
#
# A block has some memory of its own, on the chip, beside its arithmetic units: *shared memory*. Its threads can all
# read and write it; it is fast; it is gone when the block ends. The plan:
#
# 1. the threads of the block copy a *tile*, a few rows of K and V, into shared memory, each thread a part of it;
# 2. every thread goes through the whole tile for its own row;
# 3. next tile.
#
# The smallest kernel that does steps 1 and 2 turns an array around. Thread $t$ writes element $t$ into the tile and
# reads element $63 - t$, which another thread has written. Or has it?

# %%
x = np.arange(64, dtype=np.float32)


@kernel
def reverse(k: Builder, x: Ptr[f32], y: Ptr[f32]):
    """y = x backwards, by one block of 64 threads."""
    tile = k.shared(f32, 64)
    t = k.tid.x
    tile[t] = x[t]
    y[t] = tile[63 - t]


y = np.zeros_like(x)
pl.launch(reverse, 1, 64, x, y)
print(y)

# %% [markdown]
# Half of it is right, and half of it is `nan`: the CPU machine fills fresh shared memory with NaN, so that you see what
# was read before it was written. (A GPU leaves there what the block before left, which is worse: it may look right.)
#
# 64 threads are two warps. Nothing makes warp 0 wait for warp 1. Here warp 0 went
# first and read what warp 1 had not written yet. On a GPU the order changes from run to run. The CPU machine shuffles
# it when you give it a `seed`, and the same seed gives the same order again.

# %%
for seed in range(6):
    y = np.zeros_like(x)
    pl.launch(reverse, 1, 64, x, y, seed=seed)
    right = y == x[::-1]
    says = ["right" if part.all() else "wrong" for part in (right[:32], right[32:])]
    print(f"seed {seed}: warp 0 {says[0]}, warp 1 {says[1]}")

# %% [markdown]
# Whoever goes first is wrong. A kernel whose result depends on who goes first has a *race*. Testing finds races by
# luck; `racecheck` finds them by bookkeeping: it remembers who touched each byte since the last barrier, and reports
# a pair of accesses that nothing has put in order, *even when the result came out right*.

# %%
pl.launch(reverse, 1, 64, x, y, checks=("memcheck", "racecheck"))

# %% [markdown]
# Read the second report. *RAW* is "read after write": thread 32 reads byte 124 of the tile, thread 31 wrote it, and
# it is luck that it has already done so. Both lines are named, in PTX and in Python, and the cure as well.
#
# ## What does a barrier promise?
#
# `k.barrier()` is the instruction `bar.sync 0`, and it promises two things:
#
# - **Nobody passes before everybody has arrived.** Everybody: all threads of the block.
# - **What was written before is visible after.** What any thread wrote before it, every thread reads behind it.


# %%
@kernel
def reverse(k: Builder, x: Ptr[f32], y: Ptr[f32]):
    """y = x backwards, by one block of 64 threads."""
    tile = k.shared(f32, 64)
    t = k.tid.x
    tile[t] = x[t]
    k.barrier()  # everyone has written
    y[t] = tile[63 - t]


run = pl.launch(reverse, 1, 64, x, y, checks=("memcheck", "racecheck"), seed=1)
print("right:", np.array_equal(y, x[::-1]), "  findings:", len(run.findings))

# %% [markdown]
# It promises nothing else. It does not order blocks among each other, and it cannot: blocks may run one after the
# other, so one that waited for another might wait for ever.
#
# ## Is one barrier enough?
#
# `reverse` used its tile once. Attention goes through many tiles, and they all take the same place. As a small stand-in
# for attention we look for the nearest key: each thread has one point $x_i$ on a line, there are $m$ keys on it, and
#
# $$ y_i = \min_j |x_i - k_j| . $$
#
# It has attention's skeleton: every row sees every key, a running result, tiles of keys. Only arithmetic is missing.


# %%
@kernel
def nearest(k: Builder, x: Ptr[f32], key: Ptr[f32], y: Ptr[f32], n: u32, m: u32, *,
            T: int = 64, second: bool = True, stay: bool = True):  # fmt: skip
    """y[i] = the distance from x[i] to the nearest of m keys; blocks of T threads, tiles of T keys."""
    tile = k.shared(f32, T)
    i, t = k.thread_index(), k.tid.x
    if not stay:
        k.return_if(i >= n)  # a thread without a point leaves at once
    mine = x[k.min(i, n - 1)]
    best = k.var(f32, math.inf)

    with k.loop(m, step=T) as first:
        count = k.min(m - first, T)  # the last tile may be short
        if second:
            k.barrier()  # everyone has finished with the tile before
        with k.if_(t < count):
            tile[t] = key[first + t]
        k.barrier()  # the tile is complete
        with k.loop(count) as j:
            best.set(k.min(best, abs(mine - tile[j])))

    with k.if_(i < n):
        y[i] = best


def tried(kernel, n, m, **options):
    """Launches a kernel for n random points and m keys: gives the run, and how many points have a wrong answer."""
    random = np.random.default_rng(0)
    x, keys = random.standard_normal(n).astype(np.float32), 3 * random.standard_normal(m).astype(np.float32)
    y = np.zeros_like(x)
    run = pl.launch(kernel, -(-n // 64), 64, x, keys, y, n, m, **options)
    return run, int((y != np.abs(x[:, None] - keys).min(axis=1)).sum())


# %% [markdown]
# (`second` is a Python value: `if second:` decides while the kernel is written, `k.if_` decides in each thread.)
#
# Leave out the first of the two barriers in the loop. One tile, two tiles, sixteen tiles: what happens?

# %%
for m in (64, 128, 1024):
    wrong = [tried(nearest(second=False), 64, m, seed=seed)[1] for seed in range(8)]
    print(f"{m:4} keys: wrong rows with eight schedules: {wrong}")

# %% [markdown]
# With one tile all is well, and that is the input people test with first. With several, the faster warp comes round
# the loop and writes the next tile over what the slower warp reads. Which rows are wrong depends on the schedule.

# %%
for second in (False, True):
    run, _ = tried(nearest(second=second), 64, 128, checks=("memcheck", "racecheck"))
    print(f"second={second}: {sorted(f.kind or f.message.split(' hazard')[0] for f in run.findings)}")

# %% [markdown]
# So a loop over tiles needs two barriers, and each keeps another promise:
#
# | barrier | who waits for whom | without it |
# |---|---|---|
# | behind the copy | readers for writers: *the tile is complete* | RAW: a key that is not there yet |
# | before the copy | writers for readers: *everyone has finished* | WAR, write after read: a key of the next tile |
#
# ## Who loads the row of an idle thread?
#
# 40 points and blocks of 64 threads: 24 threads have no point. In notebook 01 they went home at once (`k.return_if`).
# Let ours do the same, with `stay=False`: one line more.

# %%
for n in (64, 128, 40, 100):
    run, wrong = tried(nearest(stay=False), n, 64, checks=("memcheck", "initcheck", "synccheck"))
    print(f"{n:3} points: {wrong:2} wrong, found by {sorted({f.check for f in run.findings}) or 'nobody'}")

# %% [markdown]
# When the last block is full, all is well: innocent inputs again. With 40 points, the 24 threads that left were needed.
# Each would have fetched a key for all the others. A trace of the run says who wrote which place of the tile:

# %%
figure, axes = plt.subplots(1, 2, figsize=(8, 2.6), sharey=True, layout="constrained")
for axis, stay in zip(axes, (False, True), strict=True):
    trace = tried(nearest(stay=stay), 40, 64, device="step", trace=pl.Trace())[0].trace
    address, thread = stores(trace)
    place = address // 4 % 64
    for who, colour, label in ((thread < 40, "C0", "a thread with a point"), (thread >= 40, "C2", "an idle thread")):
        axis.bar(place[who], thread[who] + 1, color=colour, label=f"written by {label}")
    axis.bar(np.setdiff1d(np.arange(64), place), 64, width=1, color="C3", alpha=0.3)
    axis.set(title=f"stay={stay}", xlabel="place in the tile", ylabel="thread")
axes[0].text(51.5, 30, "never written", ha="center", color="C3")
axes[1].legend(fontsize="small");

# %% [markdown]
# The answer to the second half of our question: **the idle thread itself**. It has no row, but it has hands. It stays,
# loads its part, arrives at the barriers, and stores nothing. `nearest` does it in two lines: `k.min(i, n - 1)` gives
# it somebody else's point, so that its own reads stay inside the array, and `k.if_(i < n)` keeps it from storing.
#
# `initcheck` saw the threads read what nobody had written. `synccheck` complained about something else: a warp
# arrived at a barrier after some of its lanes had exited. The kernel does not hang: `bar.sync` waits for all threads
# of the block that have *not exited* (PTX ISA, `bar`, for `sm_70` and later). Nobody waits for those that have; what
# is missing is their work.
#
# One relative of this bug is a barrier inside of a branch that not all threads take. There, the others have not
# exited: they are elsewhere. This is **divergence**: lanes of one warp at different instructions, here 32 to 39 at the
# first barrier and 40 to 63 on their way to the second. All threads of a warp must execute the same `bar.sync`:


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
# There is a second tail: the number of keys need not be a multiple of the tile. Two lines of `nearest` deal with it.
# `count` is what is left, at most $T$. The copy stops there, for behind it lies somebody else's memory. And the loop
# stops there, for the rest of the tile still holds keys of the tile *before*. (Here that would go unnoticed: a key
# seen twice does not change a minimum. In attention it would count double.) Exercise 02-copy lets you feel both.
#
# ## How does attention do it?
#
# This is the loop of `tiled`. You know every line of its first half, and the second half is `scalar`.

# %%
print(passage("tiled", "index = k.thread_index()", "head, batch"), end="\n\n")
print(passage("tiled", "with k.loop(needed", "# A row that saw no key"))

# %% [markdown]
# Three things to see:
#
# - **The copy has nothing to do with rows.** The tile is just `count * D` numbers, and thread $t$ copies numbers $t$,
#   $t + 128$, $t + 256$, ... Neighbouring threads load neighbouring elements: 32 lanes take 128 bytes, four whole
#   sectors. Loads that fill their sectors are called *coalesced*.
# - **`needed` is the same for all threads of the block, `seen` is not.** The barriers stand in the outer loop, and
#   all threads must go round it equally often. What differs from row to row (the causal limit) is in the inner loop.
# - `if slots is not None` are the probes, as in `scalar`.
#
# Watch it happen. The debugger below has its PTX with $D = 4$ and 8 keys a tile: find the two `bar.sync`, and the
# `ld.shared` between them and the end. The run has 12 rows, so 116 of the 128 threads are idle, and it is open at the
# first store to the tile: the memory view shows the banks that the lanes write to. *To barrier* takes you to the
# `bar.sync` behind the copy. Choose *block 0, warp 3*: its rows are past the end, and a tile of 8 keys of 4 numbers is
# copied by the 32 lanes of warp 0 alone. So warp 3 copies nothing, computes with the tile, stores nothing, and arrives
# at every barrier all the same.

# %%
pl.debug("tiled", head_dim=4, tile_kv=8, seq_len=12, at="st.shared")

# %% [markdown]
# ## What has it bought?
#
# The same count as at the beginning, for both kernels and for a growing number of rows and keys.

# %%
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
# `tiled` asks for each byte once *a block*. A block has 128 rows, so with 256 rows there are two blocks and each byte
# is read twice. More rows a block would mean less traffic: keep that thought for the next notebook.
#
# ## How large should a tile be?
#
# A tile does not change how much is read. It changes how often the block stops, and how much shared memory a block
# takes away from others that could run on the same multiprocessor (SM).

# %%
print("keys a tile   barriers a warp   warp-instructions   shared bytes   blocks on an SM of a T4")
for tile in (1, 2, 4, 8, 16, 32, 64, 128):
    built = pl.kernels.get("tiled").build(head_dim=D, tile_kv=tile, arch="sm_75")
    c = pl.attention(q, k, v, kernel=built, device="cpu", counters=True).counters
    look = pl.inspect(built, threads=128)
    print(f"{tile:11}   {c.opcodes['bar.sync'][0] // 4:15}   {c.warp_instructions:17,}   {look.shared:12,}"
          f"   {look.occupancy.blocks}, limited by {look.occupancy.limiter}")  # fmt: skip

# %% [markdown]
# A barrier is one instruction, but its cost is the waiting: the whole block goes at the pace of its slowest warp.
# Tiles of one key stop at every key. From 16 keys on there is little left to gain, and at 128 shared memory has
# become what limits the blocks on an SM, and it is other blocks that fill the gap while one waits. The default is 32.
#
# ## Which checks when?
#
# | check | finds | costs |
# |---|---|---|
# | `memcheck` | accesses outside of any array, misaligned, freed | always on |
# | `initcheck` | reads of memory that has not been written | some |
# | `racecheck` | two accesses, one of them a write, that no barrier orders | more |
# | `synccheck` | barriers that not all threads reach, wrong lane masks | little |
#
# Run a new kernel with all four, and with sizes that do not fit: a row too many, a key too few, one tile, three tiles.

# %%
run, wrong = tried(nearest, 100, 150, seed=3, checks=("memcheck", "initcheck", "racecheck", "synccheck"))
print("wrong:", wrong, "  findings:", len(run.findings))

# %% [markdown]
# ## Play with it
#
# In the explorer: what does `tile_kv` change in the PTX, and what does it not? Set `Sq` to 129: what does the second
# block do? Switch to `scalar` and pin it, then back: the diff between both kernels is the copy and the barriers.

# %%
pl.explore("tiled", head_dim=16, seq_len=64)

# %% [markdown]
# # Exercises
#
# Two to warm up, two to write, one to think about on the way home. `check` runs your kernel on sizes that fit and
# sizes that do not, with all checks on, and says what happened.

# %% [exercise] 02-sectors

# %% [exercise] 02-smooth

# %% [exercise] 02-copy

# %% [exercise] 02-blocksum

# %% [exercise] 02-one-barrier

# %% [markdown]
# Stuck? `ptxlab.course.solution("02-copy")` prints one answer. Read the feedback twice before you ask for it.
#
# # What have you seen?
#
# - A barrier promises that nobody passes before all have arrived, and that all see what was written before it.
# - A loop over tiles needs two: *the tile is complete*, *everyone has finished*. Innocent inputs hide the second.
# - An idle thread has no result, but the others need its hands: it loads its part, leaves last, and stores nothing.
# - Barriers stand where all threads of the block come by equally often; what differs between threads goes inside.
# - A tile makes a block read each byte of K and V once. Its size trades stops against shared memory.
#
# `tiled` still loads one number from shared memory for each multiplication. [The next notebook](03-rows.ipynb) makes
# a thread work on a 4 × 4 piece of the scores, so that each number loaded is used four times.
#
# ## Further reading
#
# - NVIDIA: [*Parallel Thread Execution ISA*](https://docs.nvidia.com/cuda/parallel-thread-execution/), sections "bar,
#   barrier" and "State Spaces: Shared". What `bar.sync` promises, word for word.
# - NVIDIA: [*Compute Sanitizer*](https://docs.nvidia.com/compute-sanitizer/), whose checks have the names used here.
# - M. Harris: *Optimizing Parallel Reduction in CUDA*. NVIDIA, 2007. A tree of barriers; good for 02-blocksum.
# - V. Volkov: *Better Performance at Lower Occupancy*. GPU Technology Conference 2010. The idea of the next notebook.
# - T. Dao, D. Y. Fu, S. Ermon, A. Rudra, C. Ré: *FlashAttention: Fast and Memory-Efficient Exact Attention with
#   IO-Awareness*. NeurIPS 2022, [arXiv:2205.14135](https://arxiv.org/abs/2205.14135). How tiles bound traffic.
