"""synccheck: shared memory that threads write and the async proxy (`wgmma`, bulk copies) reads.

The async proxy sees what threads have stored only after a `fence.proxy.async` on the way from the store to the product
or copy: by a thread that is ordered after the store and before the instruction that begins them. A store that is not
ordered before that instruction is a race, and nothing else. And no thread may overwrite a tile before the warp whose
product reads it has waited. Each 16 bytes remember the last store, and of each warpgroup the last product that reads
them, in 64 bits, 0 for none:

    63..42  code index      41..37  warp      36..32  lane      31..0  of a store: the time; of a product: its number
"""

from __future__ import annotations

from ptxlab.emulate.language import *
from ptxlab.emulate.rules.copies_in_flight import BUT_TIME, LANES, flight, landed
from ptxlab.emulate.rules.notes import NO_PROXY_FENCE, TILE_OVERWRITTEN, TILE_UNORDERED, note, serial
from ptxlab.emulate.rules.race_order import known, published
from ptxlab.emulate.rules.races import ordered
from ptxlab.emulate.rules.records import *
from ptxlab.emulate.rules.warpgroup_products import Products, covered
from ptxlab.emulate.runtime.report import WARPGROUP
from ptxlab.targets import WARPS_PER_BLOCK

AT_CODE, AT_WARP, AT_LANE = 42, 37, 32
OF_WARPGROUP = WARPS_PER_BLOCK - WARPGROUP
"""The bits of a warp's number that are those of its warpgroup's first."""


@rule
def stored(
    launch: Launch, block: Block, warp: u32, mask: u32, offsets: Pointer[u32], members: Pointer[u64], start: u64
) -> None:
    """Lanes of a mask store to shared memory, which begins at `start`; members: as in `race_accesses.at_addresses`."""
    writes, reads = block.tile_writes, block.tile_reads
    if writes is None or reads is None:
        return
    layout, access = block.tile_layout, access_of(block, warp, 0)
    serial(launch, mask)
    for k in range(u32(members[0])):
        member = members + (3 * k + 1)
        written = (member[2] >> CODE & LAST_CODE) << AT_CODE | u64(warp) << AT_WARP | block.now >> TIME & LAST_TIME
        for lane in lanes_of(mask):
            if traits_of(launch, member[2]) & FLIES != 0:
                group = flight(LANES, block.committed[LANES, warp << 5 | lane] + 1)
                written = written >> AT_WARP << AT_WARP | group >> TIME | u64(lane) << AT_LANE
            low = offsets[lane] + u32(member[0])
            behind = min(u32(low + u32(member[1])), u32(block.shared_size))
            for place in range(low >> 4, (behind + 15) >> 4):
                writes[place] = written
                if layout is not None:
                    layout[place] = 0
                for group in range(0, block.warps, WARPGROUP):
                    at = reads_of(block, group) + u64(place)
                    wrong = overwrites(launch, block, block, reads[at], access)
                    if wrong != 0:
                        note(launch, block, wrong, access | member[2] | lane, party(block, reads[at]), start + low, 0)
                    reads[at] = 0


@rule
def fenced(launch: Launch, block: Block, warp: u32) -> None:
    ours, time = published(launch, block.now), tick(block)
    ours.proxied_all = u32(block.full >> TIME & LAST_TIME)
    ours.proxied[warp] = time
    k = block.proxy_fences[warp] % PROXY_FENCES
    block.proxy_fences[warp] += 1
    block.proxy_at[warp, k] = time
    store_lanes(block.proxy_saw.row(warp) + 32 * k, insert(known(block, warp), warp, time))


@rule
def unseen(block: Block, warp: u32, writer: u32, time: u32) -> boolean:
    """Whether a warp makes the async proxy read what warp `writer` of its block stored at a time, and no fence lies on
    the way. If the fences of a warp that were executed before this have been forgotten, one of them may."""
    knows = known(block, warp)
    if time == CLOCK_END or (warp != writer and time >= extract(knows, writer)):
        return False  # the clock has run out, or this is a race
    for u in range(block.warps):
        fences, before = block.proxy_fences[u], False
        for k in range(min(fences, PROXY_FENCES)):
            if u == warp or block.proxy_at[u, k] < extract(knows, u):
                before = True
                if block.proxy_saw[u, 32 * k + writer] > time:
                    return False
        if fences > PROXY_FENCES and not before:
            return False
    return True


@rule
def unseen_in_tile(launch: Launch, block: Block, warp: u32, written: u64) -> boolean:
    """The same of a store as it is remembered of a tile. One by `cp.async` is made when its thread waits for it."""
    writer, time = u32(written >> AT_WARP) & 31, u32(written)
    if time & IN_FLIGHT != 0:
        record = landed(launch, access_of(block, writer, 0) & BUT_TIME | u64(time) << TIME | written >> AT_LANE & 31)
        time = u32(record >> TIME & LAST_TIME)
    return time & IN_FLIGHT == 0 and unseen(block, warp, writer, time)


@rule
def unseen_in_global(launch: Launch, block: Block, warp: u32, writer: u64) -> boolean:
    """Whether the async proxy does not see a store to global memory. writer: its record as an access."""
    theirs, time = published(launch, writer), u32(writer >> TIME & LAST_TIME)
    if writer >> BLOCK == block.now >> BLOCK:
        return unseen(block, warp, u32(writer >> WARP & 31), time)
    if max(theirs.proxied[writer >> WARP & 31], theirs.proxied_all) > time:
        return False
    return published(launch, block.now).proxied[warp] == 0


@rule
def in_flight(launch: Launch, block: Block, read: u64, access: u64) -> boolean:
    """Whether a product that reads a tile, as it is remembered there, has not been waited for by any warp of the
    warpgroup: whoever waits for it waits for all four. racecheck asks whether an access comes after such a wait;
    without it, a thread of the warpgroup must have waited itself."""
    first, warp = u32(read >> AT_WARP) & OF_WARPGROUP, u32(access >> WARP & 31)
    if not launch.racecheck and access >> BLOCK == block.now >> BLOCK and warp & OF_WARPGROUP == first:
        return block.products_done[warp] < u32(read)
    for warp in range(first, first + WARPGROUP):
        if block.products_done[warp] >= u32(read):
            return False
    return True


@rule
def overwrites(launch: Launch, block: Block, at: Block, read: u64, access: u64) -> u64:
    """The kind of finding if an access of `block` overwrites what a product in the block `at` reads; 0: it may."""
    if in_flight(launch, at, read, access):
        return TILE_OVERWRITTEN
    comes_after = read == 0 or not launch.racecheck or read_before(launch, block, at, read, access)
    return u64(0) if comes_after else u64(TILE_UNORDERED)


@rule
def party(block: Block, remembered: u64) -> u64:
    """The instruction and warp of a remembered store or product, as in the record of an access."""
    return block.now | remembered >> AT_CODE << CODE | (remembered >> AT_WARP & 31) << WARP


@rule
def product_reads(
    launch: Launch,
    block: Block,
    warp: u32,
    mask: u32,
    offsets: Pointer[u32],
    members: Pointer[u64],
    start: u64,
    products: Products,
) -> None:
    """The product that a warp has just begun reads 16 bytes at the offset of each lane."""
    writes, reads = block.tile_writes, block.tile_reads
    if writes is None or reads is None:
        return
    code, seen = members[3] >> CODE & LAST_CODE, u64(0)
    for lane in lanes_of(mask):
        place = offsets[lane] >> 4
        written = writes[place]
        if written and written != seen:
            if unseen_in_tile(launch, block, warp, written):
                access = access_of(block, warp, 0) | members[3] | lane
                note(launch, block, NO_PROXY_FENCE, access, party(block, written), start + offsets[lane], 0)
            else:
                seen = written
        reads[reads_of(block, u64(warp)) + place] = code << AT_CODE | u64(warp) << AT_WARP | u64(products.begun)
    block.products_begun[warp] = products.begun


@rule
def waited(block: Block, warp: u32, code: u32, products: Products, left: u32) -> None:
    """A warp has waited for products of all but `left` groups."""
    done = covered(products, left)
    if block.products_done[warp] < done:
        block.product_waited = 1
        block.products_done[warp] = done
        k = block.product_waits[warp] % WAITS
        block.waited_up_to[warp, k] = done
        block.waited_at[warp, k] = access_of(block, warp, code)
        block.product_waits[warp] += 1


@rule
def waited_since(block: Block, warp: u32, begun: u32, released: Pointer[u32]) -> boolean:
    """Whether a warp of the warpgroup of this one has waited for a product that this warp began when it had begun so
    many, before the time in `released` of the one that has waited."""
    first = warp & OF_WARPGROUP
    for one in range(first, first + WARPGROUP):
        waits = block.product_waits[one]
        if waits > WAITS and block.waited_up_to[one, waits % WAITS] > begun:
            return True  # an earlier wait may have been forgotten
        for k in range(min(waits, WAITS)):
            time = u32(block.waited_at[one, k] >> TIME & LAST_TIME)
            if block.waited_up_to[one, k] > begun and time < released[one]:
                return True
    return False


@rule
def read_before(launch: Launch, block: Block, at: Block, read: u64, access: u64) -> boolean:
    """Whether an access of `block` comes after a product that reads a tile of the block `at`: after a wait for
    it by a warp of the warpgroup that reads it. read: as remembered of the product, which is not in flight."""
    first = u32(read >> AT_WARP) & OF_WARPGROUP
    for warp in range(first, first + WARPGROUP):
        waits = at.product_waits[warp]
        if waits > WAITS and at.waited_up_to[warp, waits % WAITS] >= u32(read):
            return True  # a wait for it may have been forgotten
        for k in range(min(waits, WAITS)):
            for lane in range(32 if at.partial_releases[warp] != 0 else 1):  # all lanes wait, one may release
                ends = at.waited_up_to[warp, k] >= u32(read)
                if ends and ordered(launch, block, at.waited_at[warp, k] | u64(lane), access, True):
                    return True
    return False
