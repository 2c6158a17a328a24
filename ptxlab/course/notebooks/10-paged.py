# %% [markdown]
# # 10 · A paged cache
#
# Nobody knows in advance how long an answer will be, and a server that reserves memory for the longest possible one wastes
# most of it. So servers do what operating systems do: they divide memory into pages and keep a table, an array of numbers.
#
# **What does a page cost, and who checks the last one?** Two sequences share a *pool* of pages with 4 keys each; a page
# per row, slots without a key are grey.

# %%
import math

import matplotlib.pyplot as plt
import numpy as np

import ptxlab as pl
from ptxlab.builder import Builder, Ptr, f32, kernel, s32, u32
from ptxlab.course import check, pictures, scoreboard

LOG2E, LN2 = math.log2(math.e), math.log(2)

# %load_ext ptxlab
scoreboard.show()

# %%
random = np.random.default_rng(1)
D, page_size = 32, 4
cache = pl.PagedCache(num_pages=14, page_size=page_size, heads_kv=1, head_dim=D)


def some(n):
    """n keys, or values."""
    return random.standard_normal((n, 1, D)).astype(np.float32)


first, second = cache.new(), cache.new()
cache.append(first, some(22), some(22))
cache.append(second, some(9), some(9))
cache.append(first, some(18), some(18))  # the first one goes on: its next pages lie elsewhere
pictures.pages(cache)

# %% [markdown]
# **Your turn.** In which page and slot is key 37 of sequence 0? Find it by hand, from the table. And key 20?

# %% [exercise] 10-offset

# %% [markdown]
# ## Who keeps the table?
#
# `pl.PagedCache` is the host's side: the pool, `[num_pages, page_size, Hkv, D]` for keys and for values, and a list of
# pages for each sequence.

# %%
print(cache)
print(cache.lengths(), "keys, pages:")
print(cache.block_table())

# %% [markdown]
# The table is all that a kernel needs: **key $j$ of sequence $b$ is slot $j \bmod P$ of page `table[b, j // P]`**,
# with $P$ keys per page. The pages of a sequence need not be neighbours.
#
# ## How much memory is wasted?
#
# Take a thousand answers of random lengths: most are short, a few very long. Reserve memory for 2048 keys per answer,
# or give each answer pages, of which only the last is partly empty.

# %%
answers = np.clip(random.lognormal(5.3, 0.9, 1000), 1, 2048).astype(int)
print(f"lengths: median {np.median(answers):.0f}, longest {answers.max()}")
print(f"room for 2048 keys each:   {answers.sum() / (2048 * len(answers)):5.1%} of the memory holds a key")
for page_size in (256, 64, 16, 1):
    pages = -(-answers // page_size)
    print(f"pages of {page_size:3} keys:         {answers.sum() / (pages.sum() * page_size):5.1%}")

# %% [markdown]
# With pages of 16 keys nearly all of the memory is used. The numbers depend on the random lengths; the paper on vLLM
# (see the end) measured 20 to 38 % in systems of its time, without pages.
#
# ## How does the kernel find a key?
#
# `decode_paged` is `decode_multiwarp` with one function replaced: the one that says *where* key $j$ is.

# %%
spec = pl.kernels.get("decode_paged")
source = spec.source
print(source[source.index('    if config.cache == "paged":') : source.index('    if config.cache == "pointers":')])

# %% [markdown]
# You can see two costs.
#
# - **A dependent load.** `pages[...]` must be loaded before the address of the key is known, and only then can the
#   key be requested: two latencies, one after the other, instead of one.
# - **A division and a remainder** for each key, or a shift and a mask, if the page size is a power of two.
#
# What does the machine count? Take one sequence of 256 keys, in pages of two sizes, and without pages.

# %%
n, D = 256, 64
q = random.standard_normal((1, 4, D), np.float32)
keys, values = (random.standard_normal((n, 1, D), np.float32) for _ in range(2))
LOADS = "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum"
SECTORS = "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"


def paged(page_size):
    """A cache with these keys in it."""
    cache = pl.PagedCache(-(-n // page_size), page_size, 1, D)
    cache.append(cache.new(), keys, values)
    return cache


dense = [x.transpose(1, 0, 2)[None].copy() for x in (keys, values)]
out = pl.decode(q, *dense, n, kernel="decode_multiwarp", device="cpu", counters=True)
c = out.counters
print(f"no      {c.warp_instructions:6} instructions  {c[LOADS]:5} loads  {c[SECTORS]:6} sectors")
for page_size in (4, 64):
    cache = paged(page_size)
    out = pl.decode(q, cache.k, cache.v, cache.lengths(), cache.block_table(), kernel="decode_paged", device="cpu",
                    counters=True)
    c = out.counters
    print(f"pages of {page_size:3}    {c.warp_instructions:6} instructions  {c[LOADS]:5} loads  {c[SECTORS]:6} sectors")

# %% [markdown]
# There are 50 % more loads, a few percent more sectors and an eighth more instructions. In these counts the size of a
# page makes no difference. The table is small and each entry is read by many lanes, so L1 will hold it. The counts do
# not show the latency, nor the cost of a division: PTX has one instruction for it, the GPU has none.

# %%
for page_size in (7, 8):
    k = spec.build(head_dim=D, page_size=page_size)
    seen = f"{len(list(k.module.kernels[0].instructions()))} PTX instructions"
    try:
        seen += f", {len(pl.sass(k, 'sm_90').functions[-1].instructions)} machine instructions"
    except pl.UnavailableError as missing:
        seen += f" ({missing})"
    print(f"pages of {page_size}: {seen}")

# %% [markdown]
# Both kernels have the same number of PTX instructions. Where the disassembler is installed you see their SASS: a
# power of two is a shift and a mask; anything else takes some ten instructions more per key. (The shift is already in
# the PTX: the Python that writes the kernel replaces the division by 8, because this assembler does not.)

# %% [exercise] 10-append

# %% [markdown]
# ## Who checks the last page?
#
# The last page of a sequence is partly "empty": it holds whatever was there before. `PagedCache` fills new pages with
# NaN, so that a mistake shows. Suppose that a kernel goes through whole pages and gives keys past the end the weight
# 0:

# %%
print(0.0 * np.nan, 0.0 * np.inf)

# %% [markdown]
# **Zero times NaN is NaN.** One slot that was never written makes the whole row NaN, even with weight zero. In a test
# the pool is zero at first, so the test passes. In a server an old page may hold an infinity.
#
# So the *length* must decide, not the weight: the library's kernel loads only keys that exist, and adds nothing for
# others.

# %%
source = pl.kernels.get("decode_multiwarp").source
start = source.index("    with k.loop(last, start=first")
print(source[start : source.index("        scores = []", start)].rstrip(), "\n        ...")
print(source[source.index("        for exists, score, words") : source.index("        row_max.set(new_max)")])

# %% [markdown]
# Where there is no key, `k.min(j, last - 1)` loads the last key again, and the guard `exists` is before each `fma`.
# Is that enough? Fill all slots without a key with NaN and infinities, and let the machine check every read:

# %%
cache = pl.PagedCache(num_pages=40, page_size=16, heads_kv=2, head_dim=D)
for length in (40, 1, 16, 33):
    k, v = (random.standard_normal((length, 2, D)).astype(np.float32) for _ in range(2))
    cache.append(cache.new(), k, v)
cache.k[np.isnan(cache.k)] = np.inf
queries = random.standard_normal((4, 8, D)).astype(np.float32)
pl.decode(queries, cache.k, cache.v, cache.lengths(), cache.block_table(), kernel="decode_paged",
          checks=("memcheck", "initcheck", "racecheck", "synccheck"))

# %% [exercise] 10-last

# %% [markdown]
# ## Can two sequences have the same page?
#
# The kernel does not mind. Two answers to the same question begin with the same keys. `fork` makes a second sequence
# by copying the *list* of pages; no key is copied.

# %%
cache = pl.PagedCache(num_pages=12, page_size=4, heads_kv=1, head_dim=D)


def more(sequence, count):
    """Appends keys to a sequence."""
    k, v = (random.standard_normal((count, 1, D)).astype(np.float32) for _ in range(2))
    cache.append(sequence, k, v)


question = cache.new()
more(question, 10)
answer = cache.fork(question)
print(cache.block_table(), cache)
pictures.pages(cache)

# %% [markdown]
# What if one of them grows? Its next key belongs in slot 2 of a page that both have. Writing there would change the
# other sequence. So first that one page is copied: *copy on write*.

# %%
more(answer, 3)
more(question, 1)
print(cache.block_table(), cache)
pictures.pages(cache)

# %%
queries = random.standard_normal((2, 4, D)).astype(np.float32)
out = pl.decode(queries, cache.k, cache.v, cache.lengths(), cache.block_table(), kernel="decode_paged")
used = cache.num_pages - cache.free_pages
print(f"{cache.lengths().sum()} keys of two sequences in {used} pages; error {out.error.max:.1e}")

# %% [markdown]
# When the pool is full, the host gets an error before any kernel runs:

# %%
try:
    more(question, 40)
except MemoryError as full:
    print(full)

# %% [markdown]
# ## Follow one key
#
# The debugger shows the launch above, with the first sequence only. Find the `ld` of the table (it reads `s32`):
# which lanes load which entry? The next instructions compute an address from the entry. In the view of global memory
# the sectors of one row are neighbours; those of a key in another page are elsewhere.

# %%
small = pl.kernels.get("decode_paged").build(head_dim=D, page_size=4, warps=2)
o, lse = np.zeros((1, 4, D), np.float32), np.zeros((1, 4), np.float32)
arguments = small.arguments(
    q=queries[:1].copy(), key=cache.k, value=cache.v, table=cache.block_table()[:1].copy(),
    lengths=cache.lengths()[:1].copy(), o=o, lse=lse, scale=D**-0.5,
)
grid, block, shared = small.launch_shape(1, 4, 1)
pl.debug(small, grid, block, *arguments)

# %% [markdown]
# ## How is the latency hidden?
#
# A key can be requested only when the entry of the table is there, so a warp waits twice per round. The library's
# kernel requests four keys at once, and their latencies overlap. Here is the time of one warp for 64 keys in a simple
# model: 600 ns of latency for memory, 200 ns for a table entry in a cache, and 50 ns of arithmetic per key.

# %% jupyter={"source_hidden": true}
memory, table, work = 600, 200, 50
together = np.array([1, 2, 4, 8, 16])
rounds = 64 / together
figure, axis = plt.subplots(figsize=(7, 3), layout="constrained")
for label, wait, style in (("no table", memory, "o-"), ("table in a cache", memory + table, "s-"),
                           ("table in memory", 2 * memory, "^-")):
    axis.plot(together, rounds * (wait + work * together) / 1000, style, label=label)
axis.set_xscale("log", base=2)
axis.set_xticks(together, together)
axis.set_xlabel("keys that a warp requests together")
axis.set_ylabel("µs for 64 keys (a model)")
axis.legend()
axis.grid(alpha=0.25)

# %% [markdown]
# Pages cost latency, and latency is hidden by requesting early (**latency hiding**). With one key at a time a table
# in memory nearly doubles the time: 38 µs more. With sixteen at once it is 2.4 µs more.

# %% [exercise] 10-lookup

# %% [markdown]
# In the explorer, change `page_size` from 8 to 7 and look at the diff: which instructions have changed, and how many
# more are there in the SASS? Then change it to 16. What else is different?

# %%
pl.explore("decode_paged", seq_k=50, head_dim=32, page_size=8)

# %% [markdown]
# ## Your own kernel gets pages
#
# This one decodes from a paged cache. It looks up the page of every key, twice, and has one warp per head. It needs 2.5
# times our instructions and 1.5 times our sectors. Make it one pass, then give it several keys at a time. `scoreboard.borrow("pages")` goes on from ours.

# %%
print(scoreboard.source("pages"))
mine = scoreboard.latest("pages")
scoreboard.enter("pages", mine, block=32)

# %% [markdown]
# Stuck in an exercise? `ptxlab.course.solution("10-lookup")` prints one answer. Read the feedback twice before you ask for it.
#
# # What have you seen?
#
# - Memory for the longest answer is mostly wasted; with pages, less than one page per sequence is.
# - Key $j$ is slot $j \bmod P$ of page `table[b, j // P]`. It costs **one dependent load**, which many lanes share,
#   and a division, which is a shift where $P$ is a power of two.
# - Empty slots hold anything, and $0 \cdot \mathrm{NaN} = \mathrm{NaN}$. **The kernel checks each key against the
#   length**; a weight of zero does not protect.
# - Pages can be shared, and a shared page is copied before it is written. The kernel needs no change for that.
#
# A batch of many sequences occupies a whole GPU. A single sequence does not, however long it is: [11 ·
# Split-KV](11-split.ipynb)
#
# ## Further reading
#
# - W. Kwon, Z. Li, S. Zhuang, Y. Sheng, L. Zheng, C. H. Yu, J. E. Gonzalez, H. Zhang, I. Stoica: *Efficient Memory
#   Management for Large Language Model Serving with PagedAttention*. SOSP 2023,
#   [arXiv:2309.06180](https://arxiv.org/abs/2309.06180).
# - T. Kilburn, D. B. G. Edwards, M. J. Lanigan, F. H. Sumner: *One-Level Storage System*. IRE Transactions on
#   Electronic Computers EC-11(2), 1962. The paper that introduced paging.
# - R. Prabhu, A. Nayak, J. Mohan, R. Ramjee, A. Panwar: *vAttention: Dynamic Memory Management for Serving LLMs
#   without PagedAttention*. ASPLOS 2025, [arXiv:2405.04437](https://arxiv.org/abs/2405.04437). The opposite view:
#   let the hardware's own page tables do it.
# - T. Granlund, P. L. Montgomery: *Division by Invariant Integers using Multiplication*. PLDI 1994. What an
#   assembler makes of a division by a constant.
