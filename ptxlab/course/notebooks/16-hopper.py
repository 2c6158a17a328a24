# %% [markdown]
# # 16 · Hopper: everyone has a role
#
# In notebook 15 a product runs by itself, and its threads wait. Copies can run by themselves, too: one thread tells the
# **tensor memory accelerator** (TMA) which tile it wants, and goes on. So on Hopper (sm_90a) attention becomes a small
# group of machines that work at the same time: copies, products, exponentials.
#
# Machines that run at the same time have to wait for each other. **Who waits for whom, and how does one know that the
# other is ready?**

# %%
import numpy as np

import ptxlab as pl
from ptxlab import reference
from ptxlab.builder import Builder, Ptr, TensorMap, f32, kernel, u32
from ptxlab.course import check
from ptxlab.errors import DeviceFault, PtxlabError

# %load_ext ptxlab

# %% [markdown]
# ## How does one thread fetch a whole tile?
#
# It names a **tensor map** and the coordinates of a box. The map says where the tensor lies and how large it is; a launch
# makes it from the numpy array. No thread computes an address, and what lies outside of the tensor comes as zeros.
#
# The copy tells an **mbarrier** in shared memory how many bytes it has brought. An mbarrier counts two things, arrivals
# and bytes. When all that it expects have come, its **phase** ends, and the threads that wait for this phase go on.


# %%
@kernel(arch="sm_90a")
def fetched(k: Builder, x: TensorMap, y: Ptr[f32], *, nbytes: int = 8 * 32 * 4):
    """y = a tile of 8 rows and 32 columns of x, which begins at row 4."""
    x.box(8, 32)
    tile = k.shared(f32, 8 * 32, align=128)
    lane = k.tid.x
    arrived = k.pipeline(stages=1)  # one mbarrier, which expects one arrival
    k.barrier()
    turn = arrived.producer()
    with k.if_(lane == 0):
        turn.expect(nbytes)  # the arrival; and so many bytes will come
        x.load(tile, turn.full, 4, 0)
    arrived.consumer().wait()
    for row in range(8):
        y[row * 32 + lane] = tile[row * 32 + lane]


CHECKS = ("memcheck", "synccheck", "racecheck", "initcheck")
x = np.arange(10 * 32, dtype=np.float32).reshape(10, 32)
y = np.full((8, 32), np.nan, np.float32)
print(pl.launch(fetched, 1, 32, x, y, checks=CHECKS))
print("column 1:", y[:, 1])

# %% [markdown]
# `x` has ten rows, and rows 10 and 11 came as zeros. Notebook 07 needed a computed size for that.
#
# What if the announced bytes are not those that come? Announce one row more:

# %%
try:
    pl.launch(fetched(nbytes=9 * 32 * 4), 1, 32, x, y, checks=CHECKS)
except DeviceFault as fault:
    print(fault)

# %% [markdown]
# A GPU would hang here and say nothing. The CPU machine sees that no thread can go on, and says for what each one waits.
#
# ## What is a phase, and why does it have a parity?
#
# An mbarrier is used again and again, a phase for each tile. A wait must say *which* phase it means, and one bit is
# enough, since in a ring nobody gets two phases ahead. The phases have parity 0, 1, 0, 1, ... A wait for parity $p$ passes when the
# phase of that parity is over. So with one forgotten flip a wait names an *old* phase and passes at once. The builder
# keeps the parity in a variable, and it notices when a loop stays where it is:


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
# ## Who has which role?
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
# starts two copies, then it waits for the first release. Below stands a row for each mbarrier: what is on its way to
# it, and who waits. In the PTX, point at the register of the tensor map (`%x` in `cp.async.bulk.tensor`): its fields.

# %%
pl.debug(columns, 1, 96, x, y, 44, at="cp.async.bulk.tensor")

# %% [markdown]
# The same in numbers. Here is when each copy begins, counted in the steps of all warps, and when the mbarrier has its
# bytes. (The steps are those of the CPU machine, which decides by itself how long a copy takes. The *order* is what counts.)

# %%
for stages in (1, 2):
    trace = pl.launch(columns(stages=stages), 1, 96, x, y, 44, device="step", trace=pl.Trace(blocks=None)).trace
    print(f"{stages} stage{'s' if stages > 1 else ' '}:", [(copy.begun, copy.ended) for copy in trace.copies])

# %% [markdown]
# With one stage no two copies are in flight at once: each begins after the tile before it was used. With two, from the
# second copy on, each begins before the one before it has ended.

# %% [exercise] 16-ring

# %% [markdown]
# ## How does attention do it?
#
# The library's `hopper` has one warpgroup as producer and one for each 64 query rows as consumer. This is all that the
# producer does:

# %%
source = pl.kernels.get("hopper").source
start = source.index("        with k.warpgroup(0, registers=few)")
print(source[start : source.index("        with k.warpgroup(*range", start)].rstrip())

# %% [markdown]
# It needs few registers and the consumers many, so `setmaxnreg` moves them when the roles begin. And this is the
# loop of a consumer: the products of $Q K^T$ of a tile and $P V$ of the tile before are started together, and the
# exponentials are computed while the second is still in flight.

# %%
start = source.index("                with listed.loop(listed.start + 1) if listed else")
end = source.index("                value_turn.wait()\n                begin_output()  # of the last", start)
print(source[start:end].rstrip())

# %% [markdown]
# The two consumers also take turns (**ping-pong**): a named barrier lets one begin its products when the other
# has begun its own, so that one exponentiates while the other multiplies.

# %%
q, k, v = reference.random_inputs(1, 1, 1, 128, 256, 64, dtype=np.float16, seed=1)
for name in ("wgmma", "hopper"):
    out = pl.attention(q, k, v, kernel=name, device="cpu")
    print(out, end="\n\n")

# %% [markdown]
# Both are right, and the CPU machine cannot say which is faster: it executes one thing after the other. What the machine
# can say is that nobody reads too early, and that nobody waits for ever.
#
# An H100 says the rest. In bf16 at $D = 128$ without a mask it makes of these, in TFLOP/s:
#
# | positions | `wgmma` | `hopper` | PyTorch with cuDNN |
# |---:|---:|---:|---:|
# | 512 | | 439 | 527 |
# | 4,096 | 352 | 657 | 667 |
# | 16,384 | | 690 | 685 |
#
# At 4,096 positions `hopper` keeps the tensor cores busy for 73 % of the time, where `pipelined` has 63 %. At 512 it is 49 %:
# there are fewer products for each byte, and warps wait more for memory.
#
# | who | waits for whom | with what |
# |---|---|---|
# | producer | consumers that release a stage | mbarrier `empty` |
# | consumer | the bytes of a copy | mbarrier `full` |
# | consumer | its own products | `wgmma.wait_group` |
# | consumer | the other consumer's turn | named barrier |
# | the block's end | the copy of O that reads shared memory | `cp.async.bulk.wait_group.read` |
#
# Stuck in an exercise? `ptxlab.course.solution("16-ring")` prints one answer. Read the feedback twice before you ask for it.
#
# # What have you seen?
#
# - **One thread fetches a tile** with a tensor map and coordinates. Boxes are always whole; what is outside comes as zeros.
# - An **mbarrier** counts arrivals and bytes. When all have come, its phase ends. A wait names a phase by its parity.
# - A **ring** has `full` and `empty` for each stage; producer and consumers go around it with opposite parities.
# - **Roles**: who fetches does not compute. Each waits only for what it needs.
# - Wrong counts do not give wrong numbers only: they hang, or they pass too early. The machine says who waits for what.
#
# ## Further reading
#
# - NVIDIA: [*Parallel Thread Execution ISA*](https://docs.nvidia.com/cuda/parallel-thread-execution/), "Parallel
#   Synchronization and Communication Instructions: mbarrier", "Tensors", `cp.async.bulk.tensor`, `setmaxnreg`.
# - J. Shah et al.: *FlashAttention-3: Fast and Accurate Attention with Asynchrony and Low-precision*. NeurIPS 2024,
#   [arXiv:2407.08608](https://arxiv.org/abs/2407.08608). Warp specialisation, ping-pong, products of two tiles at once.
# - M. Bauer, H. Cook, B. Khailany: *CudaDMA: Optimizing GPU Memory Bandwidth via Warp Specialization*. SC 2011.
