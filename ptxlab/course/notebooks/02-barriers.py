# %% [markdown]
# # 02 · Barriers: what they promise
#
# In notebook 01 each thread loaded every key by itself, though all rows need the same keys. The threads of a block can
# load them together into *shared memory*, which all of them read. Then each thread depends on what others have done,
# and there parallel programs go wrong.
#
# **What does a barrier promise?** Break a small kernel first. It turns 64 numbers around: thread $t$ writes place $t$ and
# reads place $63 - t$, which another thread writes.

# %%
import math

import numpy as np

import ptxlab as pl
from ptxlab.builder import Builder, Ptr, f32, kernel, u32
from ptxlab.course import check, scoreboard

# %load_ext ptxlab
scoreboard.show()

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
# Half of it is `nan`: 64 threads are two warps, the first did not wait for the second, and new shared memory holds NaN
# here, so that you see it.
#
# **Your turn.** One line makes it right: `k.barrier()`. Where? Then move it one line down and run again.

# %% [markdown]
# ## What is a race?
#
# Shared memory belongs to a block and is lost when the block ends. (On a GPU, new shared memory holds what an earlier
# block left, which is worse than NaN: that may look right.) Nothing makes warp 0 wait for warp 1, and on a GPU the order
# may change from run to run. With a `seed`, the emulator runs warps in a random order, the same for the same seed.


# %%
@kernel
def turned(k: Builder, x: Ptr[f32], y: Ptr[f32], *, barrier: bool = False):
    """y = x backwards, by one block of 64 threads."""
    tile = k.shared(f32, 64)
    t = k.tid.x
    tile[t] = x[t]
    if barrier:
        k.barrier()  # everyone has written
    y[t] = tile[63 - t]


for seed in range(6):
    y = np.zeros_like(x)
    pl.launch(turned, 1, 64, x, y, seed=seed)
    right = y == x[::-1]
    says = ["right" if part.all() else "wrong" for part in (right[:32], right[32:])]
    print(f"seed {seed}: warp 0 {says[0]}, warp 1 {says[1]}")

# %% [markdown]
# The warp that runs first is wrong. A kernel whose result depends on the order of its threads has a *race*. Tests
# find races by luck. `racecheck` keeps a record of who accessed each byte since the last barrier, and reports pairs
# of accesses that nothing orders, *even when the result is right*.

# %%
pl.launch(turned, 1, 64, x, y, checks=("memcheck", "racecheck"))

# %% [markdown]
# Read the report. *RAW* is "read after write": thread 32 reads byte 124 of the tile, thread 31 wrote it, and nothing
# makes sure that the write comes first. The report names both lines, in PTX and in Python, and the remedy.
#
# ## What does a barrier promise?
#
# `k.barrier()` is the instruction `bar.sync 0`, and it promises two things:
#
# - **No thread passes before all have arrived**, all threads of the block that have not exited.
# - **What was written before it is visible after it.** What any thread wrote before the barrier, every thread reads
#   after it.

# %%
run = pl.launch(turned(barrier=True), 1, 64, x, y, checks=("memcheck", "racecheck"), seed=1)
print("right:", np.array_equal(y, x[::-1]), "  findings:", len(run.findings))

# %% [markdown]
# It promises nothing else. It does not order blocks. An ordinary launch does not promise that the blocks of a grid run at
# the same time, so a block that waits for another may wait forever. (Cooperative launches and clusters promise it.)
#
# ## Is one barrier enough?
#
# `turned` used its tile once. Attention goes through many tiles, all in the same place of shared memory. Instead of
# attention, take a smaller problem, the nearest key: each thread has one point $x_i$ on a line, there are $m$ keys on
# it, and
#
# $$ y_i = \min_j |x_i - k_j| . $$
#
# It has the structure of attention: every row sees every key, there is a running result, and keys come in tiles.


# %%
@kernel
def nearest(k: Builder, x: Ptr[f32], key: Ptr[f32], y: Ptr[f32], n: u32, m: u32, *,
            T: int = 64, second: bool = True):
    """y[i] = the distance from x[i] to the nearest of m keys; blocks of T threads, tiles of T keys."""
    tile = k.shared(f32, T)
    i, t = k.thread_index(), k.tid.x
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
# (`second` is a Python value: `if second:` decides while the kernel is written; `k.if_` decides in each thread.)
#
# Global memory is moved in *sectors* of 32 bytes: a load of one float also brings its seven neighbours. The emulator
# counts, for each instruction of each warp, how many sectors its 32 lanes touch.

# %% [exercise] 02-sectors

# %% [markdown]
# Leave out the first of the two barriers in the loop. One tile, two tiles, sixteen tiles: what happens?

# %%
for m in (64, 128, 1024):
    wrong = [tried(nearest(second=False), 64, m, seed=seed)[1] for seed in range(8)]
    print(f"{m:4} keys: wrong rows with eight schedules: {wrong}")

# %% [markdown]
# With one tile the result is right, and one tile is what people test first. With several tiles, the faster warp
# begins the next round and overwrites what the slower warp still reads. Which rows are wrong depends on the order.

# %%
for second in (False, True):
    run, _ = tried(nearest(second=second), 64, 128, checks=("memcheck", "racecheck"))
    print(f"second={second}: {sorted(f.kind or f.message.split(' hazard')[0] for f in run.findings)}")

# %% [markdown]
# So a loop over tiles needs two barriers, for two reasons:
#
# | barrier | who waits for whom | without it |
# |---|---|---|
# | behind the copy | readers for writers: *the tile is complete* | RAW: a key that is not there yet |
# | before the copy | writers for readers: *everyone has finished* | WAR, write after read: a key of the next tile |
#
# Both stand where every thread of the block comes by. In `nearest` a thread without a point comes by, too: it takes the
# last point, and only the store at the end is in a branch.

# %% [exercise] 02-smooth

# %% [markdown]
# ## Which checks when?
#
# | check | finds | costs |
# |---|---|---|
# | `memcheck` | accesses outside of any array, misaligned, freed | always on |
# | `initcheck` | uses of values that were never written | some |
# | `racecheck` | two accesses, one of them a write, that nothing orders | more |
# | `synccheck` | barriers that not all threads reach, wrong lane masks | little |
#
# Run a new kernel with all four, and with sizes that are not multiples: one row more, one key less, one tile, three
# tiles.

# %%
run, wrong = tried(nearest, 100, 150, seed=3, checks=("memcheck", "initcheck", "racecheck", "synccheck"))
print("wrong:", wrong, "  findings:", len(run.findings))

# %% [exercise] 02-one-barrier

# %% [markdown]
# Stuck in an exercise? `ptxlab.course.solution("02-smooth")` prints one answer. Read the feedback twice before you ask for it.
#
# # What have you seen?
#
# - A barrier promises that no thread passes before all have arrived, and that all see what was written before it.
# - A loop over tiles needs two: *the tile is complete*, *everyone has finished*. With one tile, nobody notices that
#   the second is missing.
# - A test finds a race by luck; `racecheck` looks for accesses that nothing orders.
#
# Your own kernel gets tiles in [the second half](02b-tiles.ipynb), with 02-smooth as one of its parts. This is where it
# stands:

# %%
scoreboard.show()

# %% [markdown]
# ## Further reading
#
# - NVIDIA: [*Parallel Thread Execution ISA*](https://docs.nvidia.com/cuda/parallel-thread-execution/), sections "bar,
#   barrier" and "State Spaces: Shared". What `bar.sync` promises, word for word.
# - NVIDIA: [*Compute Sanitizer*](https://docs.nvidia.com/compute-sanitizer/), whose checks have the names used here.
