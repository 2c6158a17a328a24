# %% [markdown]
# # 15 · wgmma: the tensor core reads shared memory
#
# In notebooks 05 to 07 `ldmatrix` brought pieces of matrices into registers, then `mma` multiplied them. On sm_90a (Hopper:
# H100, H200), and only there, four warps give one instruction, `wgmma`, and it takes both matrices from shared memory. (Blackwell
# has `tcgen05` instead.)
#
# **Why does the instruction read shared memory itself?** Count what the warps of `pipelined` (notebook 07) and `wgmma`
# issue for the same attention.

# %%
import numpy as np

import ptxlab as pl
from ptxlab import reference
from ptxlab.builder import Builder, Ptr, TensorMap, b32, f16, f32, kernel, u32, u64
from ptxlab.course import check, scoreboard
from ptxlab.errors import PtxlabError

# %load_ext ptxlab
scoreboard.show()

# %%
q, k, v = reference.random_inputs(1, 1, 1, 128, 128, 64, dtype=np.float16, seed=1)
for name, wanted in (("pipelined", ("ldmatrix", "mma.")), ("wgmma", ("ldmatrix", "wgmma.mma_async"))):
    out = pl.attention(q, k, v, kernel=name, device="cpu", counters=True)
    lines = out.counters.by_line.values()
    counts = {what: sum(line.warps for line in lines if line.opcode.startswith(what)) for what in wanted}
    operations = out.counters.flops["tensor"]
    print(f"{name:9}  {sum(line.warps for line in lines):6,} warp-instructions, {operations:,} operations, {counts}")

# %% [markdown]
# The arithmetic is the same, but 96 instructions take the place of 1,312, and no `ldmatrix` is left. Where are the sums?

# %% [exercise] 15-holds

# %% [markdown]
# ## What is there to win?
#
# The other instructions are softmax, addresses, and the copies of the tiles. Few instructions are one half of the answer
# to our question. The other half is room: a matrix that stays in shared memory takes no registers, and all four warps use
# the same K. With `mma` every warp loads its own copy of it.
#
# ## What does the smallest one look like?
#
# A product of 64 queries and 16 keys, with 64 elements each. The four warps are a **warpgroup**, 128 threads in a row.
# One `wgmma` of shape `m64n16k16` sums over 16 elements, so there are four.


# %%
def put(k, tile, source, rows):
    """Stores rows of 128 bytes to shared memory: 16 bytes per thread at a time, chunk c of row r at place c ^ (r & 7)."""
    thread = k.tid.x
    for first in range(0, rows, 16):
        row, chunk = (thread >> 3) + first, thread & 7
        four = k.load(source + row * 32 + chunk * 4, 4, vector=4)
        k.store(tile + row * 32 + (chunk ^ (row & 7)) * 4, four, vector=4)


def descriptor_of(k, tile):
    """The descriptor of such a tile; explained below."""
    return k.op("or.b64", k.cvt(u64, k.address(tile)) >> 4, 1 << 62 | 64 << 32 | 1 << 16)


@kernel(arch="sm_90a")
def scores(k: Builder, q: Ptr[f16], key: Ptr[f16], s: Ptr[f32], *, fence: bool = True, wait: bool = True):
    """S = Q K' of 64 queries and 16 keys; s[thread, register], as the sums lie in registers."""
    query_tile = k.shared(b32, 64 * 32, align=1024)
    key_tile = k.shared(b32, 16 * 32, align=1024)
    thread = k.tid.x
    put(k, query_tile, q.cast(b32), 64)
    put(k, key_tile, key.cast(b32), 16)
    if fence:
        k.op("fence.proxy.async.shared::cta")
    k.barrier()
    a, b = descriptor_of(k, query_tile), descriptor_of(k, key_tile)
    d = k.vars(f32, 8, 0.0)
    k.op("wgmma.fence.sync.aligned")
    for step in range(4):  # 16 elements further along a row: 32 bytes, two units of 16
        opcode = "wgmma.mma_async.sync.aligned.m64n16k16.f32.f16.f16"
        k.op(opcode, a + 2 * step, b + 2 * step, thread < 128, 1, 1, 0, 0, into=d)
    k.op("wgmma.commit_group.sync.aligned")
    if wait:
        k.op("wgmma.wait_group.sync.aligned", 0)
    for n in range(8):
        s[thread * 8 + n] = d[n]


CHECKS = ("memcheck", "synccheck", "racecheck", "initcheck")
rng = np.random.default_rng(15)
queries, keys = (rng.integers(-3, 4, (rows, 64)).astype(np.float16) for rows in (64, 16))
s = np.zeros((128, 8), np.float32)
print(pl.launch(scores, 1, 128, queries, keys, s, checks=CHECKS))
exact = queries.astype(np.float32) @ keys.astype(np.float32).T
print("the same 1,024 numbers:", np.array_equal(np.sort(s, axis=None), np.sort(exact, axis=None)))
print("in the same places:", np.array_equal(s.reshape(64, 16), exact))

# %% [markdown]
# ## Which element does a register hold?
#
# Every product is there, but `s` has the order of the registers. Only the *inputs* stay in shared memory; the sums
# are spread over the registers of the 128 threads, because a softmax, or the next product, is going to need them there.
#
# Compare with 15-holds: the accumulator of notebook 05, once for each eight columns, and each warp has 16 rows.
#
# The numbers behind the descriptors (`thread < 128, 1, 1, 0, 0`) are: whether to add to `d` or begin with 0; the signs
# of A and B; and whether A and B are transposed.
#
# ## Where does the tile lie?
#
# `put` has stored chunk $c$ of row $r$ at $c \oplus (r \bmod 8)$: the swizzle of notebook 06. There we chose it
# ourselves, because our own `ldmatrix` computed the addresses. Now the *hardware* computes them, so it must know the
# swizzle, and it knows three. The picture has 8 rows of K as a tensor copy (notebook 16) writes them: `3.5` is chunk 5 of
# row 3.

# %%
pl.plot_tile(pl.TensorMap(keys, box=(8, 64), swizzle=128))

# %% [markdown]
# Look for chunk 0 of each row: eight rows, eight different groups of banks. The tensor core takes the same chunk of
# eight rows at a time, as `ldmatrix` does, so this costs no bank conflict. With rows of 64 bytes two rows share a
# line, and the pattern has half the width:

# %%
pl.plot_tile(pl.TensorMap(keys, box=(8, 32), swizzle=64))

# %% [exercise] 15-byte

# %% [markdown]
# ## What does a descriptor say?
#
# An address in a register is not enough. The tensor core wants to know where the tile begins, how far it is from one
# group of eight rows to the next, and which swizzle was used. These are fields of one 64-bit number, the **matrix
# descriptor**. Here is that of `descriptor_of`, field by field, for a tile at byte 1024:

# %%
FIELDS = {"start address": (0, 14), "leading byte offset": (16, 14), "stride byte offset": (32, 14), "swizzle": (62, 2)}
descriptor = 1024 >> 4 | 1 << 62 | 64 << 32 | 1 << 16
for name, (first, bits) in FIELDS.items():
    value = descriptor >> first & (1 << bits) - 1
    in_bytes = "" if name == "swizzle" else f" = {16 * value:4} bytes"
    print(f"bits {first:2} to {first + bits - 1:2}  {name:20} {value:3}{in_bytes}")

# %% [markdown]
# Addresses and distances count units of 16 bytes. So the next 16 elements along a row, 32 bytes further, are the
# descriptor *plus 2*. The swizzle does not disturb this: it is applied to the final address, so a start within the row
# is found correctly as long as the tile begins where the pattern does: at a multiple of 1,024 bytes for the 128-byte
# swizzle, 512 for 64, 256 for 32. (Otherwise the descriptor's *base offset*, bits 49 to 51, must say where it begins: PTX
# ISA, `wgmma`, "Matrix Descriptor Format".)
#
# Does an H100 agree? 449 forms of `wgmma`, every width and every type among them, were run there and on the emulator.
# 300 gave the same bits, and the others were within what the order of additions can change.
#
# What if a descriptor is wrong? The hardware reads other bytes and says nothing. The emulator compares the
# descriptor with the layout in which a tensor copy has written the tile.

# %% [exercise] 15-descriptor

# %% [markdown]
# ## Who sees what was stored?
#
# The tensor core does not read shared memory as a thread does. It takes another path, the **async proxy**, and a
# barrier says nothing about that path. `fence.proxy.async` connects the two: what was stored before it is seen by
# the async proxy after it. Leave it out, and the numbers are still right, today, on this machine:

# %%
run = pl.launch(scores(fence=False), 1, 128, queries, keys, s, checks=CHECKS)
print("sum of the differences:", abs(np.sort(s, axis=None) - np.sort(exact, axis=None)).sum())
print(run.findings[0])

# %% [exercise] 15-fence

# %% [markdown]
# ## When is the result there?
#
# `wgmma` is asynchronous as `cp.async` is: it starts a product, and the threads go on. So it comes with three more
# instructions:
#
# | instruction | why |
# |---|---|
# | `wgmma.fence` | before the first product: registers that it adds to, or takes A from, have been written |
# | `wgmma.commit_group` | the products started since the last one are a group |
# | `wgmma.wait_group n` | at most the $n$ youngest groups are still in flight; the sums of the others are there |
#
# After the wait the sums may be read, and the tiles in shared memory may be overwritten: both belong to the product
# until then. The builder knows the registers that a product is writing. Leave the wait out, and it stops before anything
# runs:

# %%
try:
    print(scores(wait=False).ptx)
except PtxlabError as error:
    print(error)

# %% [markdown]
# In a loop this is harder to see; there the check finds it when the kernel runs. Exhibit 34 of
# [13 · The bug gallery](13-gallery.ipynb) is such a kernel.
#
# ## Where do two products of attention get their matrices?
#
# $S = Q K^T$ takes Q and K from shared memory. $O \mathrel{+}= P V$ takes V from there, but P is in
# registers: the sums of the first product, after the exponentials. `wgmma` accepts A in registers, too, and as in
# notebook 05 the layout of the sums fits, once they are rounded to 16 bits. And V need not be transposed in memory: the
# last operand of the instruction says that B is transposed. This is the loop:

# %%
source = pl.kernels.get("wgmma").source
start = source.index("            k.op(\"fence.proxy.async")
print(source[start : source.index("            if slots is not None", start)].rstrip())

# %% [markdown]
# `out` is still the result of that kernel, from the beginning of this notebook; its error is against float64:

# %%
print(out)

# %% [markdown]
# ## What is still slow?
#
# The debugger's timeline of `scores`: while the products are in flight, the four warps do nothing but wait. In the
# kernel it is the same on a larger scale: products, then exponentials, then products. Nothing overlaps. An H100
# makes 352 TFLOP/s of this kernel (bf16, $D = 128$, 4,096 keys), less than the 384 of `pipelined` in notebook 07, whose
# products are slower, but overlap. The next notebook repairs that. (In the PTX, point at the registers of the two
# descriptors, behind the braces: the mouse decodes them.)

# %%
pl.debug(scores, 1, 128, queries, keys, np.zeros((128, 8), np.float32), at="wgmma.mma_async")

# %% [markdown]
# Stuck in an exercise? `ptxlab.course.solution("15-fence")` prints one answer. Read the feedback twice before you ask for it.
#
# # What have you seen?
#
# - **The instruction reads shared memory itself, so that nobody has to load fragments**: fewer instructions, fewer
#   registers, and four warps share one tile.
# - A **descriptor** takes the place of an address: start, stride of eight rows, swizzle, in units of 16 bytes.
# - The **swizzle** is part of the contract: who writes the tile and the descriptor must name the same one.
# - The tensor core reads by the **async proxy**: `fence.proxy.async` must be between ordinary stores and the product.
# - Results and tiles belong to the product until `wgmma.wait_group`.
#
# ## Further reading
#
# - NVIDIA: [*Parallel Thread Execution ISA*](https://docs.nvidia.com/cuda/parallel-thread-execution/), "Asynchronous
#   Warpgroup Level Matrix Instructions": shapes, fragments, shared memory layouts, the matrix descriptor.
# - The same, "Memory Consistency Model: Proxies" and "Async proxy".
# - J. Shah et al.: *FlashAttention-3: Fast and Accurate Attention with Asynchrony and Low-precision*. NeurIPS 2024,
#   [arXiv:2407.08608](https://arxiv.org/abs/2407.08608).
