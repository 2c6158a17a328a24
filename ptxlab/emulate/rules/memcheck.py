"""memcheck: which memory an address leads to, and whether the access is valid. Every access is checked.

`judge` is the rule. Each load and store of the code, a site, caches the allocation that it found last; the engines
call `judge` when an access leaves that allocation. `ptxlab.emulate.rules.faults` puts the verdict on an invalid access
into words. The rules below `judge` are the JIT's: they turn a valid address into a pointer and cache the allocation.
"""

from __future__ import annotations

from ptxlab.emulate.language import *
from ptxlab.emulate.program.addresses import LOCAL_WINDOW, PARAM_WINDOW, SHARED_WINDOW, WINDOW_SIZE
from ptxlab.emulate.rules.records import GAP, WRITTEN
from ptxlab.emulate.runtime.state import (
    CLUSTER,
    CONST,
    GENERIC,
    GLOBAL,
    LOCAL,
    OUT_OF_MEMORY_RANGE,
    PARAM,
    SHARED,
    Context,
    Cta,
    MemoryMap,
    Place,
    Site,
    Warp,
)
from ptxlab.isa.convert import PEER

LOG_PEER = PEER.bit_length() - 1
VALID, OUTSIDE, MISALIGNED, READ_ONLY, FREED = 0, 1, 2, 3, 4
"""Verdicts of `judge` on an access."""


# -- what is right -----------------------------------------------------------------------------------------------------


@rule(inline=True)
def space_of(space: u32, address: u64) -> tuple[u32, u64]:
    """The space that an address of a space leads to, and the address there: a generic one may lie in a window. CLUSTER
    stays only of addresses that name a block by its rank."""
    if space == GENERIC:
        if u64(address - SHARED_WINDOW) < PEER:
            return SHARED, u64(address - SHARED_WINDOW)
        if u64(address - SHARED_WINDOW) < WINDOW_SIZE:
            return CLUSTER, u64(address - SHARED_WINDOW)
        if u64(address - LOCAL_WINDOW) < WINDOW_SIZE:
            return LOCAL, u64(address - LOCAL_WINDOW)
        if u64(address - PARAM_WINDOW) < WINDOW_SIZE:
            return PARAM, u64(address - PARAM_WINDOW)
        return GLOBAL, address
    if space == CLUSTER and address < PEER:
        return SHARED, address
    return space, address


@rule(inline=True)
def in_shared(space: u32, address: u64) -> u64:
    """The address in the block's shared memory of an operand that must lie there; any other stays as it is."""
    where, offset = space_of(space, address)
    return offset if where == SHARED else address


@rule(inline=True)
def fits(offset: u64, size: u64, room: u64) -> boolean:
    """Whether `size` bytes from an offset on lie within `room` bytes."""
    return size <= room and offset <= room - size


@rule(inline=True)
def in_heap(memory: MemoryMap, address: u64) -> boolean:
    """Whether an address lies in the heap of a program that frees: what is valid there changes while it runs."""
    return u64(address - memory.heap) < memory.heap_size


@rule(inline=True)
def allocation_before(memory: MemoryMap, address: u64) -> u64:
    """How many allocations begin at or below an address: the last of them may contain it."""
    low = u64(0)
    high = memory.count
    while low < high:
        middle = (low + high) >> 1
        if memory.allocations[middle].base <= address:
            low = middle + 1
        else:
            high = middle
    return low


@rule(inline=True)
def judge(
    memory: MemoryMap, space: u32, address: u64, size: u64, align: u64, write: boolean
) -> tuple[u32, u32, u64, u64]:
    """Whether an access of `size` bytes is right, the space that it leads to, the allocation (for global memory its
    number, for CLUSTER the rank of the block), and the offset from where that begins. `align`: what the address must be
    a multiple of, a power of two. Whether a block of the cluster has exited the caller finds out."""
    where, offset = space_of(space, address)
    index = u64(0)
    writable = True
    if where == SHARED:
        room = memory.shared_size
        offset = u64(offset - memory.shared_start)
    elif where == CLUSTER:
        room = memory.shared_size
        index = (offset >> LOG_PEER) - 1
        offset = u64((offset & (PEER - 1)) - memory.shared_start)
        if index >= memory.cluster:
            return OUTSIDE, where, index, offset
    elif where == LOCAL:
        room = memory.local_size
    elif where == PARAM:
        room = memory.param_size
        writable = False
    else:
        before = allocation_before(memory, address)
        if before == 0:
            return OUTSIDE, where, index, offset
        index = before - 1
        room = memory.allocations[index].room
        writable = memory.allocations[index].writable != 0
        offset = address - memory.allocations[index].base
        held = u32(memory.allocations[index].space)
        if not write and space != GENERIC and held != GENERIC and held != space:
            return OUTSIDE, where, index, offset
        if not write and space == GENERIC and held == CONST:
            return OUTSIDE, where, index, offset
    if not fits(offset, size, room):
        return OUTSIDE, where, index, offset
    if address & (align - 1) != 0:
        return MISALIGNED, where, index, offset
    if write and not writable:
        return READ_ONLY, where, index, offset
    if in_heap(memory, address):
        begin = u64(address - memory.heap) >> 4
        end = u64(address + size - 1 - memory.heap) >> 4
        if memory.given[begin].freed != 0 or memory.given[end].freed != 0:
            return FREED, where, index, offset
    return VALID, where, index, offset


# -- where it is -------------------------------------------------------------------------------------------------------


@rule(symbol="record")
def stop(context: Context, warp: Warp, kind: u32, code: u32, lane: u32, address: u64) -> None:
    """Notes why the kernel must stop. The caller returns FAULT, and `jit.running.faults` puts it into words."""
    context.fault.kind = kind
    context.fault.code = code
    context.fault.lane = lane
    context.fault.warp = warp.warp_id
    context.fault.address = address


@rule(symbol="resolve")
def resolve(
    context: Context,
    cta: Cta,
    warp: Warp,
    lane: u32,
    address: u64,
    size: u64,
    log2: u64,
    space: u32,
    write: u32,
    site: Site | None,
) -> Pointer[u8] | None:
    """Where an address of a lane is in the host's memory; None if the access is invalid. Leaves in `context.found` what
    the checks need to know of the location, and in the site, if one is given, the allocation."""
    found = context.found
    memory = context.memory
    verdict, where, index, offset = judge(memory, space, address, size, u64(1) << log2, write != 0)
    if verdict != VALID:
        return None
    if where == LOCAL or where == PARAM:
        found.written = None
        found.accesses = None
        return context.params + offset if where == PARAM else warp.local + (lane * memory.local_stride + offset)
    if where == SHARED or where == CLUSTER:
        base = u64(address - offset)
        if space == SHARED:  # sites know shared memory by its generic addresses
            base = SHARED_WINDOW + memory.shared_start
        room = memory.shared_size
        owner = cta
        if where == CLUSTER:
            owner = context.slots[cta.cluster.first + index].cta
            if owner.active == 0:
                return None
        host = owner.shared
        written = owner.init_shared
        accesses = owner.race_shared
        stride = owner.race_shared_stride
    else:
        held = memory.allocations[index]
        base = held.base
        room = held.room
        host = held.host
        written = held.written
        accesses = held.accesses
        stride = held.stride
    found.written = written if written is None else written + offset
    found.accesses = accesses
    found.stride = stride
    found.at = offset
    if where == GLOBAL and u64(memory.heap - base) < room and memory.heap_size != 0:
        return host + offset  # each access to the heap is judged anew
    if site is not None:
        site.base = base
        site.places = ((room - size) >> log2) + 1
        site.host = host
        site.written = written
        site.accesses = accesses
        site.stride = stride
    return host + offset


@rule(inline=True)
def known(site: Site, address: u64, log2: u64) -> boolean:
    """Whether an access is valid within the allocation cached at its site: the test in front of `miss`."""
    offset = u64(address - site.base)
    return offset & ((u64(1) << log2) - 1) == 0 and offset >> log2 < site.places


REMEMBERED, WRONG, SCATTERED = 0, 1, 2
"""Results of `miss`: the site now caches the allocation; a fault is noted; the access is valid, but not cached."""
FAR = (1 << 31) - 1
"""Bytes of an allocation from which on offsets in it may not fit the 32 bits that code keeps them in."""


@rule(symbol="miss")
def miss(
    context: Context, cta: Cta, warp: Warp, mask: u32, address: u64, size: u64, log2: u64, space: u32, write: u32,
    site: Site, code: u32,
) -> u32:  # fmt: skip
    """An access of all lanes at one address that is not in the cached allocation: finds another, or notes a fault."""
    lane = first(mask)
    if resolve(context, cta, warp, lane, address, size, log2, space, write, site) is None:
        stop(context, warp, OUT_OF_MEMORY_RANGE, code, lane, address)
        return WRONG
    return u32(REMEMBERED if known(site, address, log2) else SCATTERED)


@rule
def found_by(
    site: Site, context: Context, cta: Cta, warp: Warp, lane: u32, address: u64, size: u64, log2: u64, space: u32,
    write: u32,
) -> Pointer[u8] | None:  # fmt: skip
    """Where an address is in the host's memory: from the site if it caches the allocation, else from `resolve`. Leaves
    `context.found.written` in both cases, and the rest of `context.found` only in the second."""
    at = u64(address + SHARED_WINDOW if space == SHARED else address)  # as sites know shared memory
    if not known(site, at, log2):
        return resolve(context, cta, warp, lane, address, size, log2, space, write, site)
    context.found.written = None if site.written is None else site.written + u64(at - site.base)
    return site.host + u64(at - site.base)


@rule(cold=True)
def note_lanes(context: Context, mask: u32, addresses: Pointer[u64]) -> None:
    """Notes beside a fault where all lanes access memory: of several instructions that are checked at once the first
    that faults is reported, whichever lane that is."""
    context.fault.lanes = mask
    for lane in lanes_of(mask):
        context.fault.addresses[lane] = addresses[lane]


@rule(symbol="miss.lanes")
def miss_lanes(
    context: Context, cta: Cta, warp: Warp, mask: u32, addresses: Pointer[u64], size: u64, log2: u64, space: u32,
    write: u32, site: Site, code: u32,
) -> u32:  # fmt: skip
    """An access at 32 addresses that are not all in the cached allocation: caches that of the first lane, or notes the
    fault of the lowest lane that is invalid."""
    lane = first(mask)
    result = miss(context, cta, warp, mask, addresses[lane], size, log2, space, write, site, code)
    if result == WRONG:
        note_lanes(context, mask, addresses)
        return WRONG
    other = local(Site, 1)[0]
    for lane in lanes_of(mask & (mask - 1)):
        address = addresses[lane]
        if not known(site, address, log2):
            if found_by(other, context, cta, warp, lane, address, size, log2, space, write) is None:
                stop(context, warp, OUT_OF_MEMORY_RANGE, code, lane, address)
                note_lanes(context, mask, addresses)
                return WRONG
            result = SCATTERED
    if site.places << log2 > FAR:
        site.places = 0
        return SCATTERED
    return result


@rule(symbol="access.lanes")
def access_lanes(
    context: Context, cta: Cta, warp: Warp, mask: u32, addresses: Pointer[u64], extra: u64, data: Pointer[u8],
    width: u64, parts: u64, log2: u64, space: u32, write: u32, code: u32,
) -> u32:  # fmt: skip
    """A load or store lane by lane, at 32 scattered addresses. `data` holds `parts` values of `width` bytes for each
    lane: the first of all lanes, then the second of all. The two allocations that were found last are cached."""
    size = width * parts
    sites, latest = local(Site, 2), u32(0)
    for lane in lanes_of(mask):
        address = u64(addresses[lane] + extra)
        if not known(sites[latest], address, log2):
            latest ^= 1
        place = found_by(sites[latest], context, cta, warp, lane, address, size, log2, space, write)
        if place is None:
            stop(context, warp, OUT_OF_MEMORY_RANGE, code, lane, address)
            return WRONG
        for k in range(parts):
            value = data + (k * 32 + lane) * width
            if write != 0:
                copy_value(place + k * width, value, width)
            else:
                copy_value(value, place + k * width, width)
        if write != 0 and context.found.written is not None:
            mark(context.found.written, size)
    return REMEMBERED


@rule(inline=True)
def mark(written: Pointer[u8], size: u64) -> None:
    """Notes that bytes have been written, but for those of a gap between two arrays, which is larger than an access."""
    if written[0] != GAP and written[size - 1] != GAP:
        fill_bytes(written, WRITTEN, size)


@rule
def find_together(
    context: Context, cta: Cta, warp: Warp, mask: u32, addresses: Pointer[u64], size: u64, log2: u64, space: u32,
    site: Site,
) -> Pointer[u8] | None:  # fmt: skip
    """Finds the host addresses of an atomic access at once, from the first lane's and the distances to it. None if they
    are not all in one allocation, or an access is not valid."""
    if mask == 0:
        return None
    lane = first(mask)
    window = u64(SHARED_WINDOW if space == SHARED else 0)  # sites know shared memory by its generic addresses
    if not known(site, u64(addresses[lane] + window), log2):
        place = resolve(context, cta, warp, lane, addresses[lane], size, log2, space, 1, site)
        if place is None or not known(site, u64(addresses[lane] + window), log2):
            return None  # in local memory, for example, each lane has a place of its own
    base = u64(site.base - window)
    offset = load_lanes(addresses) - base
    if any_of(lanes(mask) & ((offset & (size - 1) != 0) | (offset >> log2 >= site.places))):
        return None
    if site.written is not None and space != SHARED:  # of that only initcheck keeps a record, and has noted it
        for k in lanes_of(mask):
            mark(site.written + u64(addresses[k] - base), size)
    return site.host + u64(addresses[lane] - base)


@rule
def find_lanes(
    context: Context, cta: Cta, warp: Warp, mask: u32, addresses: Pointer[u64], size: u64, log2: u64, space: u32,
    code: u32, places: Pointer[Place],
) -> boolean:  # fmt: skip
    """Finds an atomic's addresses before a lane changes memory; whether the kernel must stop, with the fault noted."""
    site = local(Site, 1)[0]
    for lane in lanes_of(mask):
        place = found_by(site, context, cta, warp, lane, addresses[lane], size, log2, space, 1)
        if place is None:
            stop(context, warp, OUT_OF_MEMORY_RANGE, code, lane, addresses[lane])
            return True
        places[lane].host = place
        places[lane].written = context.found.written
    for lane in lanes_of(mask):
        written = places[lane].written
        if written is not None:
            mark(written, size)
    return False


@rule(inline=True)
def copy_value(to: Pointer[u8], source: Pointer[u8], width: u64) -> None:
    if width == 8:
        to.cast(u64)[0] = source.cast(u64)[0]
    elif width == 4:
        to.cast(u32)[0] = source.cast(u32)[0]
    elif width == 2:
        to.cast(u16)[0] = source.cast(u16)[0]
    else:
        to[0] = source[0]


@rule(symbol="mark.lanes")
def mark_lanes(written: Pointer[u8], offsets: Pointer[u32], extra: u64, mask: u32, size: u64) -> None:
    """Notes in the record of written bytes what the lanes have stored, at 32 offsets."""
    for lane in lanes_of(mask):
        mark(written + (extra + offsets[lane]), size)


@rule(symbol="forget")
def forget(context: Context) -> None:
    """Clears the allocation cached at every site."""
    for k in range(context.site_count):
        context.sites[k].places = 0
