"""Rung 12: a batch of sequences of any length, whose keys lie in pages of one pool.

Nobody knows how long an answer will be. A cache of max_seq keys for each sequence wastes most of its memory, so servers
cut memory into pages of a few keys, as operating systems do, and give a sequence a page when it needs one. A block
table lists each sequence's pages: key j is slot j % page_size of page table[b, j // page_size].

What a page costs is a load that must come back before the key's own load can start, and a division, which is written
as a shift where page_size is a power of two: the assembler does not see to that, though page_size is a constant here.
The last page is partly empty. What lies in its unused slots is not zero but whatever was there before, possibly NaN,
and a weight of 0 does not help against NaN: the kernel checks every key against the length and never reads beyond the
last one. Pages that two sequences share, because their prompts begin alike, need nothing new.

The same kernel can be built for caches of their own (`cache="pointers"`): key and value are then lists of addresses,
one for each sequence. That is a block table with one page per sequence.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ptxlab.builder import Builder, Kernel, Ptr, f32, kernel, s32, u32
from ptxlab.kernels import decode_spec as spec
from ptxlab.kernels.decode_lanes import key_count
from ptxlab.kernels.decode_multiwarp import THREADS, attend, finish, warp_of
from ptxlab.kernels.decode_spec import Cache, DecodeConfig, DecodeSpec, Element, Sums, Table, entry_name
from ptxlab.kernels.mods import Here
from ptxlab.kernels.rung import Slots
from ptxlab.kernels.softmax import LOG2E


def make(config: DecodeConfig) -> Kernel:
    """The kernel for a configuration."""
    D = config.head_dim

    @kernel(name=entry_name("decode_paged", config), arch=config.arch, probes=config.probes, types=config.types())
    def decode_paged(
        k: Builder,
        q: Ptr[Element],
        key: Ptr[Cache],
        value: Ptr[Cache],
        table: Table,
        lengths: Ptr[s32],
        o: Ptr[Element],
        lse: Ptr[f32],
        Hq: u32,
        Hkv: u32,
        width: u32,
        scale: f32,
        slots: Slots,
        sums: Sums,
    ) -> None:
        """One block = one query head of one sequence, whose keys are found through the block table."""
        k.launch_bounds(config.threads, THREADS // config.threads)
        head, batch = k.ctaid.x, k.ctaid.y
        kv_head = head // (Hq // Hkv)  # GQA: several query heads share one key/value head
        keys = key_count(k, lengths, batch)
        row = batch * Hq + head
        row_start = k.mul(row, D, wide=True)

        where = rows_of(*places_of(k, config, key, value, table, batch, kv_head, Hkv, width))
        here = Here.decoding(k, config, batch, [head], keys, scale)
        first, last = here.span or (0, keys)
        state = attend(k, config, q + row_start, scale * LOG2E, first, last, where, here)
        finish(k, config, state, row, row_start, o, lse, slots, sums)

    return decode_paged(extra=config.extra)


Rows = tuple[Ptr[Any], Ptr[Any]]
"""The addresses of a key and a value."""


def rows_of(page_of: Callable[[u32], u32] | None, place: Callable[[u32 | None, u32], Rows]) -> Callable[[u32], Rows]:
    """The function that gives the addresses of key and value j of a sequence, from what `places_of` gives."""

    def where(j: u32) -> Rows:
        page = None if page_of is None else page_of(j)
        return place(page, j)

    return where


def places_of(
    k: Builder,
    config: DecodeConfig,
    key: Ptr[Any],
    value: Ptr[Any],
    table: Any,
    batch: u32,
    kv_head: u32,
    Hkv: u32,
    width: u32,
) -> tuple[Callable[[u32], u32] | None, Callable[[u32 | None, u32], Rows]]:
    """For any kind of cache the two halves of `rows_of`: the function that looks up the page of key j, None where there
    are no pages, and the one that gives addresses, from the page and j.

    `width` is max_pages of a paged cache, otherwise max_seq. Addresses have 64 bits: a pool can be larger than 4 GiB.
    """
    D, P = config.head_dim, config.page_size
    if config.cache == "paged":
        page_of = page_finder(k, config, table, batch, width)
        kv_start = kv_head * D
        k_head, v_head = key + kv_start, value + kv_start
        slot_size = Hkv * D  # elements from one slot of a page to the next

        def in_a_page(page: Any, j: u32) -> Rows:
            inside = j & (P - 1) if P & (P - 1) == 0 else j % P
            slot = k.mad(page, P, inside)  # counted over the pool
            offset = k.mul(slot, slot_size, wide=True)
            return k_head + offset, v_head + offset

        return page_of, in_a_page

    if config.cache == "pointers":
        element = config.element
        key, value = k.pointer(element, key[batch]), k.pointer(element, value[batch])
        cache_row = k.mul(kv_head, width, wide=True)
    else:
        cache_row = k.mul(batch * Hkv + kv_head, width, wide=True)
    cache_start = cache_row * D
    k_cache, v_cache = key + cache_start, value + cache_start

    def in_a_row(page: Any, j: u32) -> Rows:
        offset = k.mul(j, D, wide=True)
        return k_cache + offset, v_cache + offset

    return None, in_a_row


def page_finder(k: Builder, config: DecodeConfig, table: Any, batch: u32, width: u32) -> Callable[[u32], u32]:
    """The function that looks up in the block table in which page key j of a sequence is."""
    P = config.page_size
    shifts = P & (P - 1) == 0  # a power of two: the assembler would divide, ten instructions or more
    pages = table + batch * width

    def page_of(j: u32) -> u32:
        at = j >> P.bit_length() - 1 if shifts else j // P
        page = k.bitcast(u32, pages[at])
        return page

    return page_of


SPEC = DecodeSpec(
    name="decode_paged",
    rung=12,
    title="A paged cache, many sequences",
    question="What does a page cost, and who checks the last one?",
    idea="a block table",
    brings=("dependent loads", "64-bit addresses", "pointers in memory"),
    look=(
        "the load from the table, and the load after it that needs its result; the shift and the mask (a division if "
        "page_size is not a power of two); and the min that keeps every lane on keys that exist"
    ),
    opens="shr",
    make=make,
    takes=(
        spec.HEAD_DIM,
        spec.DTYPE,
        spec.ARCH,
        spec.PROBES,
        spec.WARPS,
        spec.cache_parameter("paged", "pointers"),
        spec.PAGE_SIZE,
    ),
    warp_of=warp_of,
)
