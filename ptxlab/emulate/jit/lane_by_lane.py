"""The checks of scattered accesses: in several allocations, or atomic ones, or the pieces of a matrix.

`each` goes lane by lane, which is always right. Before that `at_once` tries to look at all lanes together: where they
lie in one allocation, and there is nothing to report, it leaves the same records.
"""

from __future__ import annotations

from ptxlab.emulate.language import (
    Pointer,
    all_of,
    any_of,
    bits,
    boolean,
    extract,
    fill_bytes,
    first,
    gather,
    lane_ids,
    lanes,
    lanes_bool,
    lanes_of,
    lanes_u32,
    lanes_u64,
    load_lanes,
    local,
    narrow,
    reversed_bits,
    reversed_lanes,
    rule,
    scatter,
    select,
    splat,
    u32,
    u64,
    widen,
)
from ptxlab.emulate.program.addresses import SHARED_WINDOW
from ptxlab.emulate.rules import initcheck, race_order, races
from ptxlab.emulate.rules.accesses import READS, WRITES
from ptxlab.emulate.rules.findings import OVERRUN, UNINITIALISED
from ptxlab.emulate.rules.memcheck import FAR, resolve
from ptxlab.emulate.rules.notes import note, serial
from ptxlab.emulate.rules.race_lines import accessed, disturbed
from ptxlab.emulate.rules.race_rows import by_words
from ptxlab.emulate.rules.race_words import OF_MANY, lanes_fine, read
from ptxlab.emulate.rules.records import (
    BLOCK,
    CODE,
    LANE,
    LAST_CODE,
    MANY,
    STRONG,
    VOLATILE,
    WARP,
    WRITTEN,
    Block,
    Launch,
)
from ptxlab.emulate.runtime.state import GLOBAL, SHARED, Context, Cta, Site, Warp

OTHER_LANE = (1 << MANY) | (31 << LANE)
"""The bits in which the records of one instruction's lanes differ."""
SAME_ACCESS = ~OTHER_LANE & (1 << 64) - 1
CODE_FIELD = LAST_CODE << CODE


@rule
def at_once(
    context: Context, cta: Cta, warp: Warp, mask: u32, addresses: Pointer[u64], extra: u64, size: u64, log2: u64,
    space: u32, action: u32, me: u64,
) -> boolean:  # fmt: skip
    """Checks what `each` is given. False if it has to be done lane by lane; then nothing has changed."""
    launch, block = context.check.cast(Launch)[0], cta.checks.cast(Block)[0]
    if mask == 0:
        return True
    if launch.gaps and space != GLOBAL:
        return False
    site, write = local(Site, 1)[0], action != READS
    lane = first(mask)
    if resolve(context, cta, warp, lane, u64(addresses[lane] + extra), size, log2, space, u32(write), site) is None:
        return False
    base = u64(site.base - (SHARED_WINDOW if space == SHARED else 0))  # sites know it by its generic addresses
    offset = load_lanes(addresses) + u64(extra - base)
    if any_of(lanes(mask) & ((offset & (size - 1) != 0) | (offset >> log2 >= site.places))):
        return False  # in several allocations, out of range, or in local memory, which no site knows
    if site.places << log2 > FAR:
        return False
    at = narrow(offset)
    if launch.initcheck and action != WRITES and site.written is not None and not written(site, at, size, mask):
        return False
    if launch.racecheck and site.accesses is not None:
        backwards = reversed_lanes(at)
        chosen = lanes(reversed_bits(mask))
        if not recorded(launch, block, site.accesses, site.stride, backwards, chosen, size, me, write):
            return False
    if write and site.written is not None:
        mark(site, at, size, mask)
    return True


@rule
def written(site: Site, at: lanes_u32, size: u64, mask: u32) -> boolean:
    """Whether all that the lanes read has been written."""
    if site.written is None:
        return True
    if size < 4:
        for lane in lanes_of(mask):
            if initcheck.first_unwritten(site.written + extract(at, lane), size) != size:
                return False
        return True
    words, chosen = site.written.cast(u32), lanes(mask)
    for word in range(size >> 2):
        if any_of(chosen & (gather(words, (at >> 2) + u32(word), chosen) != initcheck.ALL_WRITTEN)):
            return False
    return True


@rule
def mark(site: Site, at: lanes_u32, size: u64, mask: u32) -> None:
    """Notes that the lanes have written."""
    if site.written is None:
        return
    if size < 4:
        for lane in lanes_of(mask):
            fill_bytes(site.written + extract(at, lane), WRITTEN, size)
        return
    words, chosen, full = site.written.cast(u32), lanes(mask), narrow(splat(initcheck.ALL_WRITTEN))
    for word in range(size >> 2):
        scatter(words, (at >> 2) + u32(word), full, chosen)


@rule(inline=True)
def calm(record: lanes_u64, now: lanes_u64, low: u64, span: u64, strong: boolean) -> lanes_bool:
    """Which records are no hazard for a write. strong: nor are those of the same instruction."""
    fine: lanes_bool = lanes_fine(record, now, low, span)
    if strong and not all_of(fine):
        fine |= (record ^ now) & CODE_FIELD == 0
    return fine


@rule
def recorded(
    launch: Launch, block: Block, records: Pointer[u64], stride: u64, at: lanes_u32, chosen: lanes_bool, size: u64,
    me: u64, write: boolean,
) -> boolean:  # fmt: skip
    """racecheck's part: the records of the words that the lanes access, where none of them may be a hazard. The vectors
    begin with lane 31, as in `race_accesses.scattered`. False if that is not so; then nothing has changed."""
    if launch.traits[me >> CODE & LAST_CODE] & VOLATILE != 0:
        return False
    by_words(launch, records, stride)
    low = block.now >> BLOCK << BLOCK
    span = u64(block.full - low)
    readers = records + stride
    others = readers + stride
    now = widen(reversed_lanes(lane_ids())) | me
    begin = widen(at) >> first(u32(launch.granule))
    words = size // launch.granule
    strong = write and me >> STRONG & 1 != 0 and not races.narrow(launch, me)
    for k in range(words):
        index = begin + k
        if not all_of(calm(gather(records, index, chosen), now, low, span, strong)):
            return False
        if write and not (
            all_of(calm(gather(readers, index, chosen), now, low, span, strong))
            and all_of(calm(gather(others, index, chosen), now, low, span, strong))
        ):
            return False
    # records of other blocks are ordered before nothing here if this block has acquired nothing
    apart = race_order.published(launch, block.now).acquired == 0 and block.mates is None and block.peers is None
    accessed(launch, block, records, stride, write)
    disturbed(launch, block, records, stride)
    for k in range(words):
        index = begin + k
        if write:
            before = gather(records, index, chosen)
            read(records, index, select((before ^ me) & SAME_ACCESS == 0, now | OF_MANY, now), chosen, False)
            continue
        reader = gather(readers, index, chosen)
        scatter(readers, index, now, chosen)
        if any_of(chosen & (gather(readers, index, chosen) != now)):  # two lanes read one word
            scatter(readers, index, reader, chosen)
            return False
        fine = lanes_fine(reader, now, low, span)
        if not all_of(fine):
            rest = chosen & ~fine
            scatter(readers, index, reader, rest)
            other = gather(others, index, rest)
            free = lanes_fine(other, now, low, span)
            known: lanes_bool = rest & (reader >> BLOCK != me >> BLOCK)
            kept: lanes_bool = free | (other >> BLOCK != me >> BLOCK)
            if not apart:
                known &= splat(0) != 0
            scatter(others, index, now, known & free)
            for one in lanes_of(bits(rest & ~(known & kept))):
                races.remember(launch, block, records + extract(index, one), stride, extract(now, one), False)
    return True


@rule
def each(
    context: Context, cta: Cta, warp: Warp, mask: u32, addresses: Pointer[u64], extra: u64, size: u64, log2: u64,
    space: u32, action: u32, access: u64,
) -> None:  # fmt: skip
    """Lanes access `addresses` plus `extra`. access: the code index and strength, as in the record of an access.
    Addresses out of range are left to the access itself, which faults."""
    launch, block = context.check.cast(Launch)[0], cta.checks.cast(Block)[0]
    serial(launch, mask)
    me = block.now | u64(warp.warp_id) << WARP | access
    if at_once(context, cta, warp, mask, addresses, extra, size, log2, space, action, me):
        return
    write = action != READS
    found, words = context.found, size // launch.granule
    for lane in lanes_of(mask):
        address = u64(addresses[lane] + extra)
        place = resolve(context, cta, warp, lane, address, size, log2, space, u32(write), None)
        if place is None:
            return
        if found.written is not None:
            past = size
            if launch.gaps:
                past = initcheck.first_in_gap(found.written, size)
            if past != size:
                note(launch, block, OVERRUN, me | lane, 0, address + past, 0)
            else:
                if launch.initcheck and action != WRITES:
                    missing = initcheck.first_unwritten(found.written, size)
                    if missing != size:
                        note(launch, block, UNINITIALISED, me | lane, 0, address + missing, 0)
                if write:
                    fill_bytes(found.written, WRITTEN, size)
        if launch.racecheck and found.accesses is not None:
            launch.store.memory, launch.store.memory_start = place, address
            by_words(launch, found.accesses, found.stride)
            accessed(launch, block, found.accesses, found.stride, write)
            disturbed(launch, block, found.accesses, found.stride)
            at = found.accesses + found.at // launch.granule
            for k in range(words):
                races.hazard(launch, block, at + k, found.stride, address + k * launch.granule, me | lane, write)
    if launch.racecheck:  # the lowest lane's record stays
        for opposite in lanes_of(reversed_bits(mask)):
            lane = 31 - opposite
            address = u64(addresses[lane] + extra)
            place = resolve(context, cta, warp, lane, address, size, log2, space, u32(write), None)
            if place is not None and found.accesses is not None:
                at = found.accesses + found.at // launch.granule
                for k in range(words):
                    mine = me | lane
                    if write and (at[k] ^ mine) & ~OTHER_LANE == 0:
                        mine |= 1 << MANY
                    races.remember(launch, block, at + k, found.stride, mine, write)
