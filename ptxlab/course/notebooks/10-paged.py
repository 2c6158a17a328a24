# %% [markdown]
# # 10 · A paged cache
#
# Nobody knows how long an answer will be. A server that sets memory aside for the longest answer possible wastes
# most of it, and memory is what limits how many people it can serve. So servers do what operating systems have done
# since the sixties: they cut memory into pages and keep a table.
#
# **What does a page cost, and who checks the last one?** You count what is wasted, follow one key through a table,
# and find out that multiplying by zero is no protection.

# %%
import matplotlib.pyplot as plt
import numpy as np

import ptxlab as pl
from ptxlab.builder import Builder, Ptr, f32, kernel, s32, u32

# %load_ext ptxlab

# %% [markdown]
# ## How much memory is wasted?
#
# Draw a thousand answers. Their lengths are spread widely, as real ones are: most are short, a few very long. Give
# each the room for 2048 keys, or give it pages and let only its last page be partly empty.

# %%
random = np.random.default_rng(1)
answers = np.clip(random.lognormal(5.3, 0.9, 1000), 1, 2048).astype(int)
print(f"lengths: median {np.median(answers):.0f}, longest {answers.max()}")
print(f"room for 2048 keys each:   {answers.sum() / (2048 * len(answers)):5.1%} of the memory holds a key")
for page_size in (256, 64, 16, 1):
    pages = -(-answers // page_size)
    print(f"pages of {page_size:3} keys:         {answers.sum() / (pages.sum() * page_size):5.1%}")

# %% [markdown]
# With pages of 16 keys nearly all of the memory is put to use. The numbers depend on the lengths that were drawn;
# the paper that made this famous (vLLM, see the end) measured 20 to 38 % in systems of its time.
#
# ## Who keeps the books?
#
# `pl.PagedCache` is the host's side: a *pool* of pages, `[num_pages, page_size, Hkv, D]` for keys and for values,
# and a list of pages for each sequence. It is 180 lines of Python, and worth reading.

# %%
D, page_size = 32, 4
cache = pl.PagedCache(num_pages=12, page_size=page_size, heads_kv=1, head_dim=D)


def some(n):
    """n keys, or values."""
    return random.standard_normal((n, 1, D)).astype(np.float32)


first, second = cache.new(), cache.new()
cache.append(first, some(6), some(6))
cache.append(second, some(9), some(9))
cache.append(first, some(5), some(5))  # the first one goes on: its next page lies elsewhere
print(cache)
print(cache.lengths(), "keys, pages:")
print(cache.block_table())

# %% [markdown]
# The table is all that a kernel needs: **key $j$ of sequence $b$ is slot $j \bmod P$ of page `table[b, j // P]`**,
# with $P$ keys a page. The pages of a sequence need not be neighbours, and after a while they are not.
#
# This is the pool, one row a page. What no sequence has written is grey.


# %%
def draw(cache):
    """The pool: a colour for each sequence, one square for each slot."""
    owner = np.full((cache.num_pages, cache.page_size), np.nan)
    _, axis = plt.subplots(figsize=(7, 2.2), layout="constrained")
    for n, sequence in enumerate(cache.sequences):
        for at, page in enumerate(cache.pages(sequence)):
            used = min(cache.page_size, cache.length(sequence) - at * cache.page_size)
            for slot in range(used):
                shared = not np.isnan(owner[page, slot])
                owner[page, slot] = 8 if shared else n
                axis.text(page, slot, at * cache.page_size + slot, ha="center", va="center", color="w", fontsize=8)
    axis.imshow(owner.T, cmap="tab10", vmin=0, vmax=9, aspect="auto")
    axis.set_facecolor("0.93")
    axis.set_xlabel("page of the pool (the number in a square is the key's place in its sequence)")
    axis.set_yticks(range(cache.page_size))
    axis.set_ylabel("slot")


draw(cache)

# %% [markdown]
# ## How does the kernel find a key?
#
# `decode_paged` is rung 11 with one function exchanged: the one that says *where* key $j$ is.

# %%
spec = pl.kernels.get("decode_paged")
source = spec.source
print(source[source.index('    if config.cache == "paged":') : source.index('    if config.cache == "pointers":')])

# %% [markdown]
# Two costs can be read off.
#
# - **A dependent load.** `pages[...]` must come back from memory before the address of the key is known, and only
#   then can the key be asked for. Two latencies, one after the other, where there was one.
# - **A division and a remainder** for each key, or a shift and a mask, if the page size is a power of two.
#
# What does the machine count? One sequence of 256 keys, in pages of several sizes, and without pages.

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
                    counters=True)  # fmt: skip
    c = out.counters
    print(f"pages of {page_size:3}    {c.warp_instructions:6} instructions  {c[LOADS]:5} loads  {c[SECTORS]:6} sectors")

# %% [markdown]
# Half as many loads again, a few percent more sectors, an eighth more instructions; and in these counts the size of a
# page makes no difference at all. The table is small, each entry is read by many lanes, and a cache next to the
# multiprocessor will hold it. What the counts do not show is the waiting, and what a division costs: PTX has one
# instruction for it, the GPU has none.

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
# Both texts have the same number of PTX instructions, and where the disassembler is installed you see what became
# of them: a power of two is a shift and a mask, anything else some ten machine instructions more for each key. (The
# shift stands in the PTX already. This assembler does not make one of a division by 8; the Python that writes the
# kernel must.)
#
# ## Who checks the last page?
#
# The last page of a sequence is partly empty, and "empty" is a manner of speaking: whatever was there before is
# still there. `PagedCache` fills new pages with NaN, so that a mistake shows. Now suppose that a kernel goes
# through whole pages and gives keys past the end the weight 0:

# %%
print(0.0 * np.nan, 0.0 * np.inf)

# %% [markdown]
# **Zero times NaN is NaN.** One slot that was never written, and the whole row is lost, with a weight of zero. In a
# test the pool is zero at first, and all is well. In a server, after a week, an old page holds an infinity.
#
# So it is the *length* that decides, not the weight: the library's kernel asks for a key that exists, and adds
# nothing for one that does not.

# %%
source = pl.kernels.get("decode_multiwarp").source
start = source.index("    with k.loop(last, start=first")
print(source[start : source.index("        scores = []", start)].rstrip(), "\n        ...")
print(source[source.index("        for exists, score, words") : source.index("        row_max.set(new_max)")])

# %% [markdown]
# `k.min(j, last - 1)` loads the last key again, where there is none, and the guard `exists` stands before each
# `fma`. Does it hold? Fill everything that belongs to nobody with NaN and infinities, and ask the machine to check
# every read:

# %%
cache = pl.PagedCache(num_pages=40, page_size=16, heads_kv=2, head_dim=D)
for length in (40, 1, 16, 33):
    k, v = (random.standard_normal((length, 2, D)).astype(np.float32) for _ in range(2))
    cache.append(cache.new(), k, v)
cache.k[np.isnan(cache.k)] = np.inf
queries = random.standard_normal((4, 8, D)).astype(np.float32)
pl.decode(queries, cache.k, cache.v, cache.lengths(), cache.block_table(), kernel="decode_paged",
          checks=("memcheck", "initcheck", "racecheck", "synccheck"))  # fmt: skip

# %% [markdown]
# ## Can two sequences have the same page?
#
# Nothing in the kernel forbids it. Two answers to the same question begin with the same keys; `fork` makes a second
# sequence of a first by copying its *list* of pages. No key is copied. (The shared squares are the ones in
# yellow-green.)

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
draw(cache)

# %% [markdown]
# And when one of them goes on? Its next key belongs into slot 2 of the page that both have. Writing there would put
# a word into the other's mouth. So the page is copied first, and only that one: *copy on write*.

# %%
more(answer, 3)
more(question, 1)
print(cache.block_table(), cache)
draw(cache)

# %%
queries = random.standard_normal((2, 4, D)).astype(np.float32)
out = pl.decode(queries, cache.k, cache.v, cache.lengths(), cache.block_table(), kernel="decode_paged")
used = cache.num_pages - cache.free_pages
print(f"{cache.lengths().sum()} keys of two sequences in {used} pages; error {out.error.max:.1e}")

# %% [markdown]
# When the pool is full, the host hears of it before the kernel does:

# %%
try:
    more(question, 40)
except MemoryError as full:
    print(full)

# %% [markdown]
# ## Follow one key
#
# The debugger has the launch above with the first sequence only. Find the `ld` of the table (it reads `s32`): which
# lanes ask for which entry? The next instructions turn the entry into an address; in the view of global memory the
# sectors of a row are next to each other, and those of the next key, a page on, are somewhere else.

# %%
small = pl.kernels.get("decode_paged").build(head_dim=D, page_size=4, warps=2)
o, lse = np.zeros((1, 4, D), np.float32), np.zeros((1, 4), np.float32)
arguments = small.arguments(
    q=queries[:1].copy(), key=cache.k, value=cache.v, table=cache.block_table()[:1].copy(),
    lengths=cache.lengths()[:1].copy(), o=o, lse=lse, scale=D**-0.5,
)  # fmt: skip
grid, block, shared = small.launch_shape(1, 4, 1)
pl.debug(small, grid, block, *arguments)

# %% [markdown]
# ## How long may the way to a key be?
#
# Put latencies to it. A key's load can be in flight only when the table's has come back, so a warp that goes
# through its keys one round after the other waits twice a round. The library's kernel asks for four keys at once:
# the waits of the four overlap. Here is the time of one warp for 64 keys in a model that has nothing but a latency
# of 600 ns for memory, 200 ns for a table entry that a cache holds, and 50 ns of arithmetic a key.

# %%
memory, table, work = 600, 200, 50
together = np.array([1, 2, 4, 8, 16])
rounds = 64 / together
figure, axis = plt.subplots(figsize=(7, 3), layout="constrained")
for label, wait, style in (("no table", memory, "o-"), ("table in a cache", memory + table, "s-"),
                           ("table in memory", 2 * memory, "^-")):  # fmt: skip
    axis.plot(together, rounds * (wait + work * together) / 1000, style, label=label)
axis.set_xscale("log", base=2)
axis.set_xticks(together, together)
axis.set_xlabel("keys that a warp asks for together")
axis.set_ylabel("µs for 64 keys (a model)")
axis.legend()
axis.grid(alpha=0.25)

# %% [markdown]
# A page's price is latency, and latency is hidden by asking early: with one key at a time the table nearly doubles
# the time, with sixteen at once the three curves lie close together.
#
# In the explorer, change `page_size` from 8 to 7 and look at the diff: which instructions have changed, and how
# many more are there in the machine code? Then change it to 16. What else is different?

# %%
pl.explore("decode_paged", seq_k=50, head_dim=32, page_size=8)

# %% [markdown]
# # Exercises

# %%
import math

from ptxlab.course import check

LOG2E, LN2 = math.log2(math.e), math.log(2)

# %% [exercise] 10-offset

# %% [exercise] 10-last

# %% [exercise] 10-append

# %% [exercise] 10-lookup

# %% [markdown]
# Stuck? `ptxlab.course.solution("10-lookup")` prints one answer. Read the feedback twice before you ask for it.
#
# # What have you seen?
#
# - Room for the longest answer wastes most of the memory; pages waste less than one page a sequence.
# - Key $j$ is slot $j \bmod P$ of page `table[b, j // P]`. A page costs **one dependent load**, which many lanes
#   share, and a division, which is free where $P$ is a power of two.
# - Empty slots hold anything, and $0 \cdot \mathrm{NaN} = \mathrm{NaN}$. **The kernel checks each key against the
#   length**; a weight of zero is no protection.
# - Pages can be shared, and a shared page is copied before it is written to. The kernel need not know.
#
# A batch of many sequences fills a GPU. A single one does not, however long it is:
# [11 · Split-KV](11-split.ipynb)
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
