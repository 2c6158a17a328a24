"""The checks of scattered accesses: in several allocations, or atomic ones, or the pieces of a matrix.

`each` goes lane by lane, which is always right. Before that `at_once` tries to look at all lanes together: where they
lie in one allocation, and there is nothing to report, it leaves the same records.
"""

from __future__ import annotations

from ptxlab.emulate.jit.checks.scattered_races import CODE_FIELD, recorded_as_one, recorded_reads, recorded_writes
from ptxlab.emulate.language import *
from ptxlab.emulate.program.addresses import SHARED_WINDOW
from ptxlab.emulate.rules import initcheck, race_accesses, race_numbered_accesses
from ptxlab.emulate.rules.accesses import CHANGES, IN_ONE_ALLOCATION, READS, WRITES
from ptxlab.emulate.rules.memcheck import FAR, resolve
from ptxlab.emulate.rules.note_kinds import OVERRUN, UNINITIALISED
from ptxlab.emulate.rules.notes import note, serial, taking_part
from ptxlab.emulate.rules.race_numbers import is_numbered, mistaken
from ptxlab.emulate.rules.records import ATOMIC, CODE, LAST_CODE, STRONG, WARP, WRITTEN, Block, Launch
from ptxlab.emulate.runtime.state import GLOBAL, SHARED, Context, Cta, Site, Warp

PIECES = 3 + 128 + 16
"""Room for the table of an access of up to 128 bytes, each of them a word."""


@rule
def at_once(
    context: Context,
    cta: Cta,
    warp: Warp,
    mask: u32,
    addresses: Pointer[u64],
    extra: u64,
    size: u64,
    log2: u64,
    space: u32,
    action: u32,
    me: u64,
) -> boolean:
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
    every = load_lanes(addresses)
    if not any_of(lanes(mask) & (every != addresses[lane])):
        place = u64(addresses[lane] + extra - base)
        if place & (size - 1) != 0 or place >> log2 >= site.places:
            return False
        return at_one_place(launch, block, warp.warp_id, site, place, mask, size, action, me)
    offset = every + u64(extra - base)
    if any_of(lanes(mask) & ((offset & (size - 1) != 0) | (offset >> log2 >= site.places))):
        return False  # in several allocations, out of range, or in local memory, which no site knows
    if site.places << log2 > FAR:
        return False
    at = narrow(offset)
    if launch.initcheck and action != WRITES and site.written is not None and not written(site, at, size, mask):
        return False
    if launch.racecheck and site.accesses is not None and is_numbered(site.accesses, site.stride):
        numbered(launch, block, warp.warp_id, site.accesses, site.stride, at, mask, size, action)
    elif launch.racecheck and site.accesses is not None and write:
        if not recorded_writes(launch, block, site.accesses, site.stride, addresses, u64(extra - base), mask, size, me):
            return False
    elif launch.racecheck and site.accesses is not None:
        backwards = reversed_lanes(at)
        chosen = lanes(reversed_bits(mask))
        if not recorded_reads(launch, block, site.accesses, site.stride, backwards, chosen, size, me):
            offsets = local(u32, 32)
            store_lanes(offsets, at)
            recorded(launch, block, warp, mask, site.accesses, site.stride, offsets, 0, base, size, me, write)
    if write and site.written is not None and (action == WRITES or not launch.initcheck):  # else all has been written
        mark(site, at, size, mask)
    return True


@rule
def at_one_place(
    launch: Launch, block: Block, warp: u32, site: Site, offset: u64, mask: u32, size: u64, action: u32, me: u64
) -> boolean:
    """The same of lanes that all access one place in an allocation."""
    write = action != READS
    if launch.initcheck and action != WRITES and site.written is not None:
        if initcheck.first_unwritten(site.written + offset, size) != size:
            return False
    if launch.racecheck and site.accesses is not None and is_numbered(site.accesses, site.stride):
        numbered(launch, block, warp, site.accesses, site.stride, narrow(splat(offset)), mask, size, action)
    elif launch.racecheck and site.accesses is not None:
        if not write:
            chosen = lanes(reversed_bits(mask))
            at = narrow(splat(offset))
            if not recorded_reads(launch, block, site.accesses, site.stride, at, chosen, size, me):
                return False
        elif not recorded_as_one(launch, block, site.accesses, site.stride, offset, mask, size, me):
            return False
    if write and site.written is not None and (action == WRITES or not launch.initcheck):  # else it has been written
        fill_bytes(site.written + offset, WRITTEN, size)
    return True


@rule
def numbered(
    launch: Launch,
    block: Block,
    warp: u32,
    records: Pointer[u64],
    stride: u64,
    at: lanes_u32,
    mask: u32,
    size: u64,
    action: u32,
) -> None:
    """Notes who accesses the words of the lanes, which have numbers."""
    if action == CHANGES:
        mistaken(launch)
        return
    offsets, table = local(u32, 32), local(u64, race_numbered_accesses.ENTRIES + 2)
    store_lanes(offsets, at)
    table[0], table[1], table[race_numbered_accesses.ENTRIES + 1] = 1, size, u64(action == WRITES)
    race_numbered_accesses.each(launch, block, warp, mask, records, stride, offsets, table)


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


@rule
def each(
    context: Context,
    cta: Cta,
    warp: Warp,
    mask: u32,
    addresses: Pointer[u64],
    extra: u64,
    size: u64,
    log2: u64,
    space: u32,
    action: u32,
    access: u64,
) -> None:
    """Lanes access `addresses` plus `extra`. access: the code index and strength, as in the record of an access.
    Addresses out of range are left to the access itself, which faults."""
    launch, block = context.check.cast(Launch)[0], cta.checks.cast(Block)[0]
    serial(launch, mask)
    me = block.now | u64(warp.warp_id) << WARP | access
    if at_once(context, cta, warp, mask, addresses, extra, size, log2, space, action, me):
        return
    write, found = action != READS, context.found
    if launch.traits[access >> CODE & LAST_CODE] & ATOMIC != 0:  # where one lane faults, no lane has access
        for lane in lanes_of(mask):
            address = u64(addresses[lane] + extra)
            if resolve(context, cta, warp, lane, address, size, log2, space, u32(write), None) is None:
                return
    noted = False  # of what is read in shared memory only the first lane, as in `initcheck.report`
    for lane in lanes_of(mask):
        address = u64(addresses[lane] + extra)
        place = resolve(context, cta, warp, lane, address, size, log2, space, u32(write), None)
        if place is not None and found.written is not None:
            past = size
            if launch.gaps:
                past = initcheck.first_in_gap(found.written, size)
            if past != size:
                if not noted:
                    note(launch, block, OVERRUN, me | lane, 0, address + past, 0)
                    noted = space == SHARED and action != WRITES
            else:
                if launch.initcheck and action != WRITES and not noted:
                    missing = initcheck.lacking(launch, found.written, size, access)
                    if missing != size:
                        noted = space == SHARED
                        note(launch, block, UNINITIALISED, me | lane, 0, address + missing, 0)
                if write:
                    fill_bytes(found.written, WRITTEN, size)
    if launch.racecheck:
        raced(context, cta, warp, mask, addresses, extra, size, log2, space, write, access)


@rule(cold=True)
def raced(
    context: Context,
    cta: Cta,
    warp: Warp,
    mask: u32,
    addresses: Pointer[u64],
    extra: u64,
    size: u64,
    log2: u64,
    space: u32,
    write: boolean,
    access: u64,
) -> None:
    """racecheck's part: for each allocation the lanes that access it, as if these were all."""
    launch, block, found = context.check.cast(Launch)[0], cta.checks.cast(Block)[0], context.found
    offsets, left = local(u32, 32), mask
    while left != 0:
        lane = first(left)
        place = resolve(context, cta, warp, lane, u64(addresses[lane] + extra), size, log2, space, u32(write), None)
        if place is None or found.accesses is None:
            left &= left - 1
            continue
        records, stride, start, here = found.accesses, found.stride, u64(addresses[lane] + extra - found.at), u32(0)
        launch.store.memory, launch.store.memory_start = place, u64(addresses[lane] + extra)
        far = found.at >> 32 << 32  # offsets have 32 bits
        for other in lanes_of(left):
            address = u64(addresses[other] + extra)
            there = resolve(context, cta, warp, other, address, size, log2, space, u32(write), None)
            if there is not None and u64(address - found.at) == start and found.at >> 32 << 32 == far:
                here |= u32(1 << other)
                offsets[other] = u32(found.at)
        left &= ~here
        serial(launch, here)
        recorded(launch, block, warp, here, records, stride, offsets, far, start, size, access, write)


@rule
def recorded(
    launch: Launch,
    block: Block,
    warp: Warp,
    mask: u32,
    records: Pointer[u64],
    stride: u64,
    offsets: Pointer[u32],
    far: u64,
    start: u64,
    size: u64,
    access: u64,
    write: boolean,
) -> None:
    """The same for lanes in one allocation, whose address is `start`: `far` and `offsets` beyond it."""
    pieces, members = local(u64, PIECES), local(u64, 4)
    words, what = size // launch.granule, access & (CODE_FIELD | 1 << STRONG)
    members[0], members[1], members[2], members[3] = 1, far, size, what
    pieces[0], pieces[1], pieces[2] = 1, far, words
    for k in range(words):
        pieces[3 + k] = what
    taking_part(launch, warp.warp_id, mask, members)
    race_accesses.recorded_at_addresses(
        launch, block, warp.warp_id, mask, records, stride, offsets, IN_ONE_ALLOCATION, start, pieces, members, write
    )
