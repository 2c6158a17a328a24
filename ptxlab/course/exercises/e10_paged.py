"""The exercises of notebook 10: where a key lies, slots past the end, appending to a page, one look at the table."""

from __future__ import annotations

from typing import Any

import numpy as np

from ptxlab import reference
from ptxlab.attention.paged import PagedCache
from ptxlab.builder import Builder, Ptr, f32, kernel, s32, u32
from ptxlab.course.causes import Known
from ptxlab.course.exercise import Exercise
from ptxlab.course.exercise_checks import Grading
from ptxlab.launch.run import launch


@kernel
def _find(
    k: Builder,
    pool: Ptr[f32],
    table: Ptr[s32],
    found: Ptr[f32],
    j: u32,
    head: u32,
    *,
    P: int = 4,
    H: int = 1,
    D: int = 8,
) -> None:
    """found[0] = the first element of key j of a head: in a pool that is numbered through, its place."""
    page = k.bitcast(u32, table[j // P])
    slot = page * P + j % P
    found[0] = pool[(slot * H + head) * D]


def _offset(g: Grading, answer: Any) -> None:
    def draw(rng: np.random.Generator) -> tuple[list[int], int, int, int, int, int]:
        pages = [int(p) for p in rng.permutation(12)[:4]]
        size, heads, dim = int(rng.choice([2, 4, 5, 8])), int(rng.integers(1, 5)), int(rng.choice([8, 16, 32]))
        return pages, size, heads, dim, int(rng.integers(4 * size)), int(rng.integers(heads))

    shown = (([3, 7, 1], 4, 1, 8, 5, 0), ([3, 7, 1], 4, 2, 8, 9, 1), ([5], 16, 4, 64, 15, 2))
    for pages, size, heads, dim, j, head in g.vary(shown, hidden=draw, count=3, edges=(([2, 0], 3, 3, 5, 5, 1),)):
        pool = np.arange(12 * size * heads * dim, dtype=np.float32)
        found = np.zeros(1, np.float32)
        built = _find(P=size, H=heads, D=dim)
        launch(built, 1, 1, pool, np.array(pages, np.int32), found, j, head, device="step")
        truth = int(found[0])
        page, rest = divmod(truth, size * heads * dim)
        says = (
            f"A kernel read key {j} of head {head} from a pool whose elements are numbered, and found the number "
            f"{truth}: it is "
            f"in page {page} of the pool, {rest} elements from its beginning."
        )
        slot = pages[j // size] * size + j % size
        known = (
            ((j * heads + head) * dim, f"You say where key {j} would lie in one piece. Which page is it in?"),
            (slot * dim, "You leave out the heads. How many rows has a slot, and which is the head's?"),
            (slot * heads * dim, "You say where its slot begins. Which head is it?"),
            (slot * heads + head, "You count rows. How many elements has each?"),
            (slot * heads * dim + head, "You put the heads of a slot one element apart. How many has a head's row?"),
            (
                (pages[j // size] * dim + (j % size * heads + head) * dim),
                "You count one row for a page. How many has it?",
            ),
            ((pages[j // size] * heads + head) * dim, "You say where its page begins. Which slot is it in?"),
            (
                ((pages[j // size] * heads + head) * size + j % size) * dim,
                "You put the slots of a head side by side. Which index of the pool runs faster?",
            ),
        )
        g.predict(answer, (pages, size, heads, dim, j, head), truth, says, known=known)
    g.note("Page, slot, head, element: one multiplication for each step down.")


OFFSET = Exercise(
    name="10-offset",
    title="Where does a key lie?",
    kind="predict",
    level=1,
    prompt="""
A pool of keys is `[num_pages, page_size, heads, D]`, the last index runs fastest. `pages` lists the pages of one
sequence. At which **element of the pool** (counted from its beginning) does the row of key `j` of head `head`
start?

The check runs a kernel that reads from a pool in which every element holds its own number.
""",
    starter='''
def offset(pages, page_size, heads, D, j, head):
    """The place in the pool of the first element of key j of a head."""
    return j * D
''',
    solution='''
def offset(pages, page_size, heads, D, j, head):
    """The place in the pool of the first element of key j of a head."""
    slot = pages[j // page_size] * page_size + j % page_size
    return (slot * heads + head) * D
''',
    answer="offset",
    hints=(
        "In which entry of `pages` is key j, and in which slot of that page?",
        "Count slots over the whole pool first: page * page_size + slot in the page. Each slot holds `heads` rows "
        "of D.",
    ),
    graded=("the place, for other tables, page sizes, numbers of heads and D",),
    grade=_offset,
)

# -- the kernel of two exercises ---------------------------------------------------------------------------------------

_ATTEND = '''
@kernel
def attend(
    k: Builder, q: Ptr[f32], key: Ptr[f32], value: Ptr[f32], table: Ptr[s32], lengths: Ptr[s32], o: Ptr[f32],
    width: u32, scale: f32, *, P: int = 4, D: int = 32,
):
    """One warp = one sequence; lane d holds element d. P keys per page, `width` entries per row of the table."""
    lane, b = k.tid.x, k.ctaid.x
    keys = k.cvt(u32, lengths[b], sat=True)
    pages = table + b * width
    query = (q + b * D)[lane] * (scale * LOG2E)
    acc, row_max, row_sum = k.var(f32, 0.0), k.var(f32, -math.inf), k.var(f32, 0.0)
'''
_STEP = """        score = k.var(f32, query * (key + row)[lane])
        for distance in (16, 8, 4, 2, 1):
            score += k.shfl(score, distance, 31, -1, mode="bfly")
"""
_SOFTMAX = """        new_max = k.max(row_max, score)
        rescale = k.exp2(row_max - new_max)
        weight = k.exp2(score - new_max)
        row_sum.set(k.fma(row_sum, rescale, weight))
        acc *= rescale
        acc.set(k.fma(weight, (value + row)[lane], acc))
        row_max.set(new_max)
"""
_END = "    (o + b * D)[lane] = acc / row_sum\n"


def _cache(g: Grading, lengths: tuple[int, ...], size: int, spoil: float) -> PagedCache:
    """A pool of rows of 32 with sequences of these lengths, their pages in any order, everything else `spoil`."""
    needed = [-(-n // size) for n in lengths]
    cache = PagedCache(sum(needed) + 3, size, 1, 32)
    cache.k[:], cache.v[:] = spoil, spoil
    cache._free = [int(p) for p in g.rng.permutation(cache.num_pages)]
    for n in lengths:
        rows = (g.rng.standard_normal((n, 1, 32)).astype(np.float32) for _ in range(2))
        cache.append(cache.new(), *rows)
    return cache


def _known(q: Any, cache: PagedCache) -> Known:
    """The output of each sequence in float64, and then what the usual mistakes make of it."""
    keys, values = (pool.reshape(-1, 32) for pool in (cache.k, cache.v))
    size, lengths = cache.page_size, [cache.length(sequence) for sequence in cache.sequences]
    pages = [np.array(cache.pages(sequence))[:, None] for sequence in cache.sequences]
    right = [(page * size + np.arange(size)).reshape(-1)[:n] for page, n in zip(pages, lengths, strict=True)]
    straight = [np.arange(n) for n in lengths]
    of_last = [(p * size + np.arange(n % size)).reshape(-1) for p, n in zip(pages, lengths, strict=True)]
    whole = [row[: n // size * size] for row, n in zip(right, lengths, strict=True)]
    short = [row[:-1] for row in right]
    for rows, others, says in (
        (right, right, ""),
        (straight, straight, "What came out is attention to the first rows of the pool. What does the table say?"),
        (right, straight, "The keys are those of the table, and the values are the first rows of the pool."),
        (straight, right, "The values are those of the table, and the keys are the first rows of the pool."),
        (short, short, "The last key of each sequence is missing."),
        (whole, whole, "The keys of a last page that is not full are missing. How is the number of pages rounded?"),
        (of_last, of_last, "Of each page as many keys count as the last one has. How many has a page before it?"),
    ):
        three = ((x[None, None, None], keys[k][None, None], values[v][None, None])
                 for x, k, v in zip(q, rows, others, strict=True))  # fmt: skip
        nothing = np.full(q.shape[1], np.nan)  # no key: 0 / 0
        yield np.array([reference.attention(*one).o[0, 0, 0] if one[1].size else nothing for one in three]), says


def _lengths(rng: np.random.Generator) -> tuple[tuple[int, ...], int, int]:
    """Keys of each sequence, keys in a page, and the standard deviation of the queries' elements."""
    return tuple(int(n) for n in rng.integers(1, 30, 3)), int(rng.choice([3, 4, 8])), 2


def _last(g: Grading, answer: Any) -> None:
    spoils = iter((0.0, np.nan, np.inf, np.inf, np.nan))
    for lengths, size, sigma in g.vary((((8, 4), 4, 2), ((6, 1), 4, 2)), hidden=_lengths, edges=(((5, 9), 4, 90),)):
        spoil = next(spoils)
        cache = _cache(g, lengths, size, spoil)
        q = sigma * g.rng.standard_normal((len(lengths), 32)).astype(np.float32)
        o, table = np.full_like(q, np.nan), cache.block_table()
        run = g.launch(
            answer, len(lengths), 32, q, cache.k, cache.v, table, cache.lengths(), o, table.shape[1], 32**-0.5,
            build={"P": size}
        )  # fmt: skip
        if run is None:
            continue
        (want, _), *known = _known(q, cache)
        lost = ~np.isfinite(o).all(axis=1)
        b = int(lost.argmax()) if lost.any() and np.allclose(o[~lost], want[~lost], rtol=1e-3, atol=1e-4) else None
        says = f"Sequences of {lengths} keys in pages of {size}; unused slots hold {spoil}."
        if b is not None:
            past = -lengths[b] % size
            says += (
                f" Sequence {b} leaves {past} slots of its last page unused, and they were multiplied: "
                f"0 * {spoil} is not 0."
            )
        g.close(f"lengths {lengths}, pages of {size}", o, want, rtol=1e-3, atol=1e-4, says=says, known=known)
    g.note("Slots past the end held NaN and infinities, and none of them reached the sum.")


_BY_PAGES = """    with k.loop((keys + (P - 1)) // P * P) as j:  # whole pages, so that all of them are alike
        row = (k.bitcast(u32, pages[j // P]) * P + j % P) * D
"""
LAST = Exercise(
    name="10-last",
    title="The last page",
    kind="fix",
    level=2,
    prompt="""
This kernel goes through *whole* pages, and gives slots past the end a score of $-\\infty$, so the weight 0.
Every test with a new pool passes. In a pool that has been used for a while, rows become NaN.

Fix it. A slot past the end must not count, whatever it holds. (The loop may go through whole pages or stop at
the last key.)
""",
    starter=_ATTEND
    + _BY_PAGES
    + _STEP
    + "        score.set(k.select(j < keys, score, -math.inf))  # past the end: weight 0\n"
    + _SOFTMAX
    + _END,
    solution=_ATTEND
    + "    with k.loop(keys) as j:  # the keys there are, and no slot more\n"
    + _BY_PAGES.splitlines(keepends=True)[1]
    + _STEP
    + _SOFTMAX
    + _END,
    answer="attend",
    hints=(
        "The weight of such a slot is 0. What is 0 times NaN? And 0 times infinity?",
        "Either the slot is never read, or what was read of V is replaced by 0 before it is multiplied.",
    ),
    graded=("all rows, with NaN and infinities in all unused slots", "any page size and lengths"),
    grade=_last,
)


def _append(g: Grading, answer: Any) -> None:
    for lengths, size, _ in g.vary((((6, 3), 4, 2), ((4, 8), 4, 2)), hidden=_lengths):
        cache = _cache(g, tuple(n + 1 for n in lengths), size, -7.0)
        batch, table = len(lengths), cache.block_table()
        new = g.rng.standard_normal((batch, 32)).astype(np.float32)
        pool = cache.k.copy()
        want = pool.copy()
        for b, n in enumerate(lengths):
            want[table[b, n // size], n % size, 0] = new[b]
        counts = np.array(lengths, np.int32)
        run = g.launch(answer, batch, 32, new, pool, table, counts, table.shape[1], build={"P": size}, counters=True)
        if run is None:
            continue

        def tell() -> list[str]:
            places = [(int(table[b, n // size]), n % size) for b, n in enumerate(lengths)]
            wrong = [(int(page), int(slot)) for page, slot in np.argwhere((pool != want).any(axis=(2, 3)))]
            return [
                *(
                    f"Slot {slot} of page {page} is not the place of a new key, and it was changed."
                    for page, slot in [place for place in wrong if place not in places][:1]
                ),
                *(
                    f"Sequence {b} has {lengths[b]} keys: the new one belongs in slot {slot} of page {page}, "
                    f"entry {lengths[b] // size} of its row of the table."
                    for b, (page, slot) in [one for one in enumerate(places) if one[1] in wrong][:1]
                ),
            ]

        if g.equal(f"lengths {lengths}, pages of {size}", pool, want, says=tell):
            g.at_most("one store a sequence", run, "global stores", batch)
    g.note("One store of 128 bytes per sequence; everything else in the pool is unchanged.")


_APPEND = '''
@kernel
def append(
    k: Builder, new: Ptr[f32], pool: Ptr[f32], table: Ptr[s32], lengths: Ptr[s32], width: u32,
    *, P: int = 4, D: int = 32,
):
    """One warp = one sequence: its new key goes to the slot after its last one."""
    lane, b = k.tid.x, k.ctaid.x
    element = (new + b * D)[lane]
{body}
'''
APPEND = Exercise(
    name="10-append",
    title="One more key",
    kind="write",
    level=2,
    prompt="""
After each token, each sequence has one new key. Write the kernel that puts them into the pool: `new` is `[B, D]`
with `D` = 32, `pool` is `[num_pages, P, 1, D]`, and sequence `b` has `lengths[b]` keys *before* this one. Its
table row has the page for the new key already, even if that page is new.

One block of 32 threads is one sequence. Nothing else in the pool may change.
""",
    starter=_APPEND.format(body="    (pool + b * D)[lane] = element  # not there"),
    solution=_APPEND.format(
        body="""    n = k.bitcast(u32, lengths[b])
    page = k.bitcast(u32, (table + b * width)[n // P])
    (pool + (page * P + n % P) * D)[lane] = element"""
    ),
    answer="append",
    hints=(
        "Keys are counted from 0. What is the number of the new key, if there are n?",
        "Its page is entry n // P of the sequence's row of the table, its slot n % P. A row of the table has "
        "`width` entries.",
    ),
    graded=("the whole pool, also where a page is just full", "one store instruction per sequence"),
    grade=_append,
)


def _lookup(g: Grading, answer: Any) -> None:
    for lengths, size, sigma in g.vary((((13, 8), 4, 2),), hidden=_lengths, edges=(((5, 9), 4, 90),)):
        cache = _cache(g, lengths, size, float("nan"))
        q = sigma * g.rng.standard_normal((len(lengths), 32)).astype(np.float32)
        o, table = np.full_like(q, np.nan), cache.block_table()
        run = g.launch(
            answer, len(lengths), 32, q, cache.k, cache.v, table, cache.lengths(), o, table.shape[1], 32**-0.5,
            build={"P": size}, counters=True
        )  # fmt: skip
        if run is None:
            continue
        past = np.array(lengths) % size > 0  # rows that have slots without a key
        read = past.any() and (np.isnan(o).any(axis=1) == past).all()
        says = "All slots without a key hold NaN, and one of them was read." if read else ""
        (want, _), *known = _known(q, cache)
        if g.close(f"lengths {lengths}, pages of {size}", o, want, rtol=1e-3, atol=1e-4, says=says, known=known):
            pages = sum(-(-n // size) for n in lengths)
            g.at_most(
                "one load of the table a page", run, "global loads", 2 * len(lengths) + 2 * sum(lengths) + pages,
                f"Needed are a length and a query for each of {len(lengths)} sequences, a key and a value for each of "
                f"{sum(lengths)} keys, and {pages} entries of the table."
            )  # fmt: skip
    g.note("The table was read once per page: the dependent load has become rare.")


LOOKUP = Exercise(
    name="10-lookup",
    title="Look up each page once",
    kind="optimise",
    level=3,
    prompt="""
This kernel is right, and it looks up the page of every key. With pages of 16 keys, fifteen of sixteen lookups give
a page that is known already, and each is a load that the load of the key waits for.

Load each entry of the table **once**: an outer loop over pages, an inner one over the keys in a page. The last
page is shorter.
""",
    starter=_ATTEND
    + "    with k.loop(keys) as j:\n"
    + _BY_PAGES.splitlines(keepends=True)[1]
    + _STEP
    + _SOFTMAX
    + _END,
    solution=_ATTEND
    + """    with k.loop((keys + (P - 1)) // P) as n:
        first = k.bitcast(u32, pages[n]) * P
        here = k.min(keys - n * P, P)  # keys in this page
        with k.loop(here) as slot:
            row = (first + slot) * D
"""
    + "".join("    " + line for line in (_STEP + _SOFTMAX).splitlines(keepends=True))
    + _END,
    answer="attend",
    hints=(
        "How many pages has a sequence of `keys` keys? How many keys are in its last one?",
        "An outer loop over pages loads the table; an inner one goes over the slots. How many slots has the last page?",
    ),
    graded=("all rows, for other lengths and page sizes", "global loads: one of the table for each page"),
    grade=_lookup,
)

EXERCISES = (OFFSET, LAST, APPEND, LOOKUP)
