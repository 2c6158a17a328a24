"""Checks of registers: initcheck of their first use, synccheck of those of a `wgmma` in flight.

initcheck keeps a mask for each warp and each register that is followed: the lanes that have a value in it.
`program.register_flow` defines which registers those are, and what counts as a use. `program.warpgroup_flow` says which
instructions synccheck looks at, and for which products.
"""

from __future__ import annotations

from ptxlab.emulate.language import *
from ptxlab.emulate.program.register_flow import FOLLOWED, SHUFFLED, USED, USED_BY_WARP
from ptxlab.emulate.rules.lane_masks import shuffle_source
from ptxlab.emulate.rules.notes import NO_VALUE, NOWHERE, TOUCHED_EARLY, UNFENCED, note, serial
from ptxlab.emulate.rules.records import CODE, WARP, Block, Launch
from ptxlab.emulate.rules.warpgroup_products import IN_FLIGHT, Products


@rule
def read_by_lanes(there: u32, mode: u32, by: u32, clamp: u32) -> u32:
    """The lanes of a shuffle that read a lane which has a value."""
    source, inside, _last = shuffle_source(mode, narrow(splat(by)), narrow(splat(clamp)))
    source = select(inside, source, lane_ids()) & 31
    return bits((narrow(splat(there)) >> source & 1) != 0)


@rule
def executed(launch: Launch, block: Block, warp: u32, mask: u32, code: u64, table: Pointer[u32]) -> None:
    """Lanes of the mask execute an instruction that the table describes: what it does with its sources, where in the
    table its results are, the groups that its source registers form, the results; of a shuffle three more numbers. A
    list is a count and its items."""
    if mask == 0:
        return
    values = block.values + u64(warp) * block.followed
    how = table[0]
    missing: u32 = 0
    at: u64 = 3
    for _ in range(table[2]):
        there: u32 = 0
        for k in range(table[at]):
            there |= values[table[at + 1 + k]]
        lacking = mask & ~there
        if lacking and (how == USED or (how == USED_BY_WARP and lacking == mask)):
            serial(launch, mask)
            access = block.now | code << CODE | u64(warp) << WARP | first(lacking)
            note(launch, block, NO_VALUE, access, 0, NOWHERE, table[at + 1])
            break
        if how == SHUFFLED:
            given = table + table[1] + table[table[1]] + 1
            lacking = mask & ~read_by_lanes(there, given[0], given[1], given[2])
        missing |= lacking
        at += table[at] + 1
    if how != FOLLOWED and how != SHUFFLED:
        missing = 0
    results = table + table[1]
    for k in range(results[0]):
        result = results[k + 1]
        values[result] = values[result] & ~mask | mask & ~missing


# -- registers of products in flight -----------------------------------------------------------------------------------


@rule
def touched(
    launch: Launch, block: Block, warp: u32, mask: u32, products: Products, code: u64, listed: Pointer[u32]
) -> None:
    """Lanes of a warp execute an instruction that must not come before any of the listed products is done. listed: how
    many, and their code indices."""
    if mask == 0:
        return
    for n in range(u32(products.begun - products.done)):
        product = products.entries[u32(products.done + n) % IN_FLIGHT].code
        for k in range(listed[0]):
            if listed[k + 1] == product:
                serial(launch, mask)
                where = block.now | u64(warp) << WARP | first(mask)
                note(launch, block, TOUCHED_EARLY, where | code << CODE, where | u64(product) << CODE, NOWHERE, 0)


@rule
def wrote(products: Products, mask: u32, number: u32) -> None:
    """A warp has executed the instruction of that number, which writes registers of a product."""
    if mask != 0:
        products.unfenced[number >> 6] |= u64(1) << (number & 63)


@rule
def fenced(products: Products, words: u32) -> None:
    """A warp has executed `wgmma.fence`."""
    for k in range(words):
        products.unfenced[k] = 0


@rule
def unfenced(
    launch: Launch, block: Block, warp: u32, mask: u32, products: Products, code: u64, listed: Pointer[u32]
) -> None:
    """A warp executes a product. listed: how many instructions write its registers in front of no fence, and for each
    its number and its code index."""
    if mask == 0:
        return
    for k in range(listed[0]):
        number = listed[2 * k + 1]
        if products.unfenced[number >> 6] >> (number & 63) & 1:
            serial(launch, mask)
            where = block.now | u64(warp) << WARP | first(mask)
            other = where | u64(listed[2 * k + 2]) << CODE
            note(launch, block, UNFENCED, where | code << CODE, other, NOWHERE, 0)
