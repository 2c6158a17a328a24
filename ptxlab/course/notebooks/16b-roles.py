# %% [markdown]
# # 16b · Roles: who waits for whom?
#
# The library's `hopper` has three warpgroups of 128 threads. Warpgroup 0 fetches tiles; 1 and 2 compute, 64 query rows
# each. Copies, products and exponentials run at the same time, so they have to wait for each other.
#
# **Who waits for whom, and with what?** Four instructions make it work. For each, write down the warpgroups that execute
# it. The debugger has recorded a run, and says which of your rows are right.

# %%
import re

import numpy as np

import ptxlab as pl
from ptxlab import reference
from ptxlab.course import scoreboard

# %load_ext ptxlab
scoreboard.show()

# %%
opened = pl.debug("hopper", seq_len=128, head_dim=64, at="mbarrier.try_wait")


def executed(opcode):
    """The warpgroups that have executed an instruction."""
    recording = opened.recording
    lines = {n for n, text in enumerate(recording.text.splitlines(), 1) if re.search(rf"^\W*(\S+ )?{opcode}", text)}
    walks = ((warp // 4, recording.walk(block, warp)) for block, warp in recording.warps)
    return {group for group, walk in walks if any(walk.moment(step).line in lines for step in range(len(walk)))}


waits = {  # your answer: warpgroups 0, 1, 2
    "mbarrier.try_wait": {0},  # until a stage is full, or empty
    "wgmma.wait_group": {0},  # until one's own products are there
    "bar.arrive": {0},  # now the other one may begin its products
    "cp.async.bulk.wait_group": {0},  # until the copy of O has read shared memory
}
for opcode, groups in waits.items():
    print(f"{opcode:25} {'right' if groups == executed(opcode) else 'not yet'}")

# %% [markdown]
# **Your turn.** Change the four sets. Then look at the waits themselves:

# %%
opened

# %% [markdown]
# ## How does attention do it?
#
# This is all that the producer does:

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
# Both are right, and the emulator cannot say which is faster: it executes one thing after the other. What the machine
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
# At 4,096 positions `hopper` keeps the tensor cores busy for 73 % of the time, and `pipelined`, with 384 TFLOP/s, for 63 %.
# "Busy" is time, not work: the same product by `mma.sync` keeps the pipe busy 1.48 times as long. At 512 positions it is
# 49 %: there are fewer products for each byte, and warps wait more for memory.
#
# | who | waits for whom | with what |
# |---|---|---|
# | producer | consumers that release a stage | mbarrier `empty` |
# | consumer | the bytes of a copy | mbarrier `full` |
# | consumer | its own products | `wgmma.wait_group` |
# | consumer | the other consumer's turn | named barrier |
# | the block's end | the copy of O that reads shared memory | `cp.async.bulk.wait_group.read` |
#
# ## Your own kernel gets roles
#
# 16-ring has the producer and the consumers, 16-bytes has two boxes for one stage, 01-rescale the rest: one row per
# consumer. Here are 256 rows and 256 keys with D = 64, and a kernel may take `key: TensorMap` (four dimensions, so its
# box is `key.box(1, 1, T, 64)`). Costs are no target on this rung, and it has three stars of its own: the result is right;
# K and V come by bulk copies only; products are issued while a copy is in flight. `scoreboard.borrow("roles")` goes on
# from ours.

# %%
print(scoreboard.source("roles"))
mine = scoreboard.latest("roles")
scoreboard.enter("roles", mine, block=64)

# %% [markdown]
# # What have you seen?
#
# - **Roles**: who fetches does not compute. Each waits only for what it needs.
# - Registers go where they are needed: the producer gives them up, the consumers take them.
# - A named barrier lets two consumers take turns, so that one exponentiates while the other multiplies.
#
# ## Further reading
#
# - NVIDIA: [*Parallel Thread Execution ISA*](https://docs.nvidia.com/cuda/parallel-thread-execution/), `setmaxnreg`,
#   `bar`, `mbarrier`.
# - J. Shah et al.: *FlashAttention-3: Fast and Accurate Attention with Asynchrony and Low-precision*. NeurIPS 2024,
#   [arXiv:2407.08608](https://arxiv.org/abs/2407.08608). Warp specialisation, ping-pong, products of two tiles at once.
# - M. Bauer, H. Cook, B. Khailany: *CudaDMA: Optimizing GPU Memory Bandwidth via Warp Specialization*. SC 2011.
