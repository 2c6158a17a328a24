"""Checks of registers: initcheck of their first use, synccheck of those of a `wgmma` in flight.

initcheck keeps a mask for each warp and each register of `liveness.register_flow`: the lanes that have written it.
`program.warpgroup_flow` says which instructions synccheck looks at, and for which products.
"""

from __future__ import annotations

from ptxlab.emulate.language import *
from ptxlab.emulate.rules.notes import NO_VALUE, NOWHERE, TOUCHED_EARLY, UNFENCED, note, serial
from ptxlab.emulate.rules.records import CODE, WARP, Block, Launch
from ptxlab.emulate.rules.warpgroup_products import IN_FLIGHT, Products


@rule
def read(launch: Launch, block: Block, warp: u32, mask: u32, code: u64, count: u64, listed: Pointer[u32]) -> None:
    """Lanes of the mask read the listed registers, of which they may have written none."""
    values, missing = block.values + u64(warp) * block.followed, u32(0)
    for k in range(count):
        missing |= mask & ~values[listed[k]]
    if missing:
        serial(launch, mask)
        note(launch, block, NO_VALUE, block.now | code << CODE | u64(warp) << WARP | first(missing), 0, NOWHERE, 0)


@rule
def written(block: Block, warp: u32, mask: u32, count: u64, listed: Pointer[u32]) -> None:
    """Lanes of the mask write the listed registers."""
    values = block.values + u64(warp) * block.followed
    for k in range(count):
        values[listed[k]] |= mask


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
