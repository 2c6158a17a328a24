"""synccheck: shared memory between threads and `wgmma`, which reads it by another way, the async proxy.

What threads have stored is seen there behind a `fence.proxy.async`, of the thread that stored or of the one that begins
the product. And nobody may overwrite a tile before the warp whose product reads it has waited. Each 16 bytes remember
the last store and the last product that reads them, in 64 bits, 0 for none:

    63..42  code index      41..37  warp      31..0  of a store: the fence that it waits for; of a product: its number

Of several warps that read a tile the last one is remembered. Stores by `cp.async` are not followed.
"""

from __future__ import annotations

from ptxlab.emulate.language import Pointer, lanes_of, rule, u32, u64
from ptxlab.emulate.rules.clock import me
from ptxlab.emulate.rules.findings import NO_PROXY_FENCE, TILE_OVERWRITTEN
from ptxlab.emulate.rules.notes import note, serial
from ptxlab.emulate.rules.records import CODE, LAST_CODE, WARP, Block, Launch
from ptxlab.emulate.rules.warpgroup_products import Products

AT_CODE, AT_WARP = 42, 37


@rule
def stored(
    launch: Launch, block: Block, warp: u32, mask: u32, offsets: Pointer[u32], members: Pointer[u64], start: u64,
) -> None:  # fmt: skip
    """Lanes of a mask store to shared memory, which begins at the address `start`; members: as in
    `copies_in_flight.touched`."""
    writes, reads = block.tile_writes, block.tile_reads
    if writes is None or reads is None:
        return
    serial(launch, mask)
    for k in range(u32(members[0])):
        member = members + (3 * k + 1)
        code = member[2] >> CODE & LAST_CODE
        written = code << AT_CODE | u64(warp) << AT_WARP | u64(block.proxy_clock + 1)
        for lane in lanes_of(mask):
            low = offsets[lane] + u32(member[0])
            behind = min(u32(low + u32(member[1])), u32(block.shared_size))
            for place in range(low >> 4, (behind + 15) >> 4):
                writes[place] = written
                read = reads[place]
                if read:
                    reader = u32(read >> AT_WARP) & 31
                    if u32(read) > block.products_done[reader]:
                        other = block.now | read >> AT_CODE << CODE | u64(reader) << WARP
                        mine = me(block, warp, 0) | member[2] | lane
                        note(launch, block, TILE_OVERWRITTEN, mine, other, start + low, 0)
                    reads[place] = 0


@rule
def fenced(block: Block, warp: u32) -> None:
    """A warp has executed `fence.proxy.async`."""
    block.proxy_clock += 1
    block.proxy_fenced[warp] = block.proxy_clock


@rule
def product_reads(
    launch: Launch, block: Block, warp: u32, mask: u32, offsets: Pointer[u32], members: Pointer[u64], start: u64,
    products: Products,
) -> None:  # fmt: skip
    """The product that a warp has just begun reads 16 bytes at the offset of each lane."""
    writes, reads = block.tile_writes, block.tile_reads
    if writes is None or reads is None:
        return
    code = members[3] >> CODE & LAST_CODE
    for lane in lanes_of(mask):
        place = offsets[lane] >> 4
        written = writes[place]
        writer = u32(written >> AT_WARP) & 31
        if written and block.proxy_fenced[writer] < u32(written) and block.proxy_fenced[warp] < u32(written):
            other = block.now | written >> AT_CODE << CODE | u64(writer) << WARP
            mine = me(block, warp, 0) | members[3] | lane
            note(launch, block, NO_PROXY_FENCE, mine, other, start + offsets[lane], 0)
        reads[place] = code << AT_CODE | u64(warp) << AT_WARP | u64(products.begun)


@rule
def waited(block: Block, warp: u32, products: Products) -> None:
    """A warp has waited for products."""
    block.products_done[warp] = products.done
