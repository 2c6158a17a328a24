# %% [markdown]
# # 16 · Hopper: one thread fetches a tile
#
# Copies can run by themselves: one thread tells the **tensor memory accelerator** (TMA) which box of a tensor it wants,
# and goes on. A **tensor map** says where the tensor lies and how large it is. The copy tells an **mbarrier** in shared
# memory how many bytes it has brought, and when all that it expects have come, the threads that wait for it go on.
#
# **How does one know that the other is ready?** Here `x` has ten rows, and a box has eight.

# %%
import numpy as np

import ptxlab as pl
from ptxlab.builder import Builder, Ptr, TensorMap, f32, kernel, u32
from ptxlab.course import check, scoreboard
from ptxlab.errors import DeviceFault, PtxlabError

# %load_ext ptxlab
scoreboard.show()


# %%
@kernel(arch="sm_90a")
def fetched(k: Builder, x: TensorMap, y: Ptr[f32], *, first: int = 2, nbytes: int = 8 * 32 * 4):
    """y = a tile of 8 rows and 32 columns of x, which begins at row `first`."""
    x.box(8, 32)
    tile = k.shared(f32, 8 * 32, align=128)
    lane = k.tid.x
    arrived = k.pipeline(stages=1)  # one mbarrier, which expects one arrival
    k.barrier()
    turn = arrived.producer()
    with k.if_(lane == 0):
        turn.expect(nbytes)  # the arrival; and so many bytes will come
        x.load(tile, turn.full, first, 0)
    arrived.consumer().wait()
    for row in range(8):
        y[row * 32 + lane] = tile[row * 32 + lane]


CHECKS = ("memcheck", "synccheck", "racecheck", "initcheck")
x = np.arange(10 * 32, dtype=np.float32).reshape(10, 32)
y = np.full((8, 32), np.nan, np.float32)
print(pl.launch(fetched(first=2), 1, 32, x, y, checks=CHECKS))
print("column 1:", y[:, 1])

# %% [markdown]
# **Your turn.** Move the box to row 7: what comes for the rows that `x` does not have?
#
# ## How does one thread fetch a whole tile?
#
# It names the map and the coordinates of a box. A launch makes the map from the numpy array. No thread computes an
# address, and what lies outside of the tensor comes as zeros. Notebook 07 needed a computed size for that.
#
# An mbarrier counts two things, arrivals and bytes. When all that it expects have come, its **phase** ends. What if the
# announced bytes are not those that come? Announce one row more:

# %%
try:
    pl.launch(fetched(nbytes=9 * 32 * 4), 1, 32, x, y, checks=CHECKS)
except DeviceFault as fault:
    print(fault)

# %% [markdown]
# A GPU would hang here and say nothing. The emulator sees that no thread can go on, and says for what each one waits.
#
# ## What is a phase, and why does it have a parity?
#
# An mbarrier is used again and again, a phase for each tile. A wait must say *which* phase it means, and one bit is
# enough, since in a ring nobody gets two phases ahead. The phases have parity 0, 1, 0, 1, ... A wait for parity $p$ passes
# when the phase of that parity is over. A new mbarrier is in phase 0. The phase before it, of parity 1, counts as over, so
# the producer's first wait, for parity 1, passes. With one forgotten flip a wait names an *old* phase and passes at once.
# The builder keeps the parity in a variable, and it notices when a loop stays where it is:


# %%
@kernel(arch="sm_90a")
def stuck(k: Builder, n: u32):
    """A consumer that never goes on to the next phase."""
    ring = k.pipeline(stages=2)
    k.barrier()
    turn = ring.consumer()
    with k.loop(n):
        turn.wait()


try:
    print(stuck.ptx)
except PtxlabError as error:
    print(error)

# %% [markdown]
# A ring of stages has two mbarriers for each stage. `full` ends a phase when the bytes are there: the consumers wait
# for it. `empty` ends one when the consumers have released the stage: the producer waits for it.

# %% [exercise] 16-phase

# %% [markdown]
# ## How many bytes are expected?
#
# Several copies may report to one mbarrier. Then the sum of their bytes is announced, at once or one after the other.
# If it is too small, the phase ends before all bytes are there, or the count is wrong for ever; if it is too large, the
# phase never ends.

# %% [exercise] 16-bytes

# %% [markdown]
# ## Who fetches, who computes?
#
# In notebook 07 every thread copied its part, waited and multiplied. Now one thread fetches, and the others compute:
# **warp specialisation** (CudaDMA, SC 2011, did it in software; FlashAttention-3 does it on Hopper). In this kernel
# thread 0 is the producer, and warps 1 and 2 are consumers that add up columns. `stages` says how many tiles may be
# there or on their way.


# %%
@kernel(arch="sm_90a")
def columns(k: Builder, x: TensorMap, y: Ptr[f32], n: u32, *, stages: int = 2):
    """y[column] = the sum of the n rows of x, which has 64 columns."""
    x.box(8, 64)
    tile = k.shared(f32, stages * 512, align=128)
    ring = k.pipeline(stages, arrivals=64)
    tiles = (n + 7) // 8
    k.barrier()
    with k.if_(k.tid.x == 0):  # the producer
        turn = ring.producer()
        with k.loop(tiles) as t:
            turn.wait()  # until the stage is empty
            turn.expect(8 * 64 * 4)
            x.load(tile + turn.stage * 512, turn.full, t * 8, 0)
            turn.next()
    with k.if_(k.tid.x >= 32):  # the consumers
        column = k.tid.x - 32
        total = k.var(f32, 0.0)
        turn = ring.consumer()
        with k.loop(tiles):
            turn.wait()  # until the bytes are there
            here = tile + (turn.stage * 512 + column)
            for row in range(8):
                total.set(total + here[row * 64])
            turn.release()
            turn.next()
        y[column] = total


x, y = np.random.default_rng(16).integers(-9, 9, (44, 64)).astype(np.float32), np.zeros(64, np.float32)
print(pl.launch(columns, 1, 96, x, y, 44, checks=CHECKS))
print("right:", np.array_equal(y, x.sum(axis=0)))

# %% [exercise] 16-release

# %% [markdown]
# ## See who waits
#
# The debugger's timeline has a row for each role: copies in flight, and waits for mbarriers. Watch warp 0: the producer
# starts two copies, then it waits for the first release. Below is a row for each mbarrier: what is on its way to
# it, and who waits. In the PTX, point at the register of the tensor map (`%x` in `cp.async.bulk.tensor`): its fields.

# %%
pl.debug(columns, 1, 96, x, y, 44, at="cp.async.bulk.tensor")

# %% [markdown]
# The same in numbers. Here is when each copy begins, counted in the steps of all warps, and when the mbarrier has its
# bytes. (The steps are those of the emulator, which decides by itself how long a copy takes. The *order* is what counts.)

# %%
for stages in (1, 2):
    trace = pl.launch(columns(stages=stages), 1, 96, x, y, 44, device="step", trace=pl.Trace(blocks=None)).trace
    print(f"{stages} stage{'s' if stages > 1 else ' '}:", [(copy.begun, copy.ended) for copy in trace.copies])

# %% [markdown]
# With one stage no two copies are in flight at once: each begins after the tile before it was used. With two they begin
# in pairs: while one tile is read, or on its way, the next one is on its way as well.

# %% [exercise] 16-ring

# %% [markdown]
# Stuck in an exercise? `ptxlab.course.solution("16-ring")` prints one answer. Read the feedback twice before you ask for it.
#
# # What have you seen?
#
# - **One thread fetches a tile** with a tensor map and coordinates. Boxes are always whole; what is outside comes as zeros.
# - An **mbarrier** counts arrivals and bytes. When all have come, its phase ends. A wait names a phase by its parity.
# - A **ring** has `full` and `empty` for each stage; producer and consumers go around it with opposite parities.
# - Wrong counts do not give wrong numbers only: they hang, or they pass too early. The machine says who waits for what.
#
# [The second half](16b-roles.ipynb) has attention's roles. Your own kernel is here:

# %%
scoreboard.show()

# %% [markdown]
# ## Further reading
#
# - NVIDIA: [*Parallel Thread Execution ISA*](https://docs.nvidia.com/cuda/parallel-thread-execution/), "Parallel
#   Synchronization and Communication Instructions: mbarrier", "Tensors", `cp.async.bulk.tensor`.
