"""racecheck on the accesses of a warp: compares them with the records of memory, and records them.

Both engines call `at_addresses`. Two accesses of one word are judged by `races`.
The table `members` describes an instruction, or several that are checked at once: a count, and a `Member` for each. If
two of them read one word, both are checked, and the second is recorded. For most accesses the three records
of each word suffice: there is none, or it lies before the last barrier of the whole block, or it is the same thread's.
`check_words` tests that for the words of 32 lanes at once, and leaves the rest to `hazard` and `remember` of `races`.
"""

from __future__ import annotations

from ptxlab.emulate.language import *
from ptxlab.emulate.program.addresses import GLOBALS_BASE, PARAM_WINDOW
from ptxlab.emulate.rules.copies_in_flight import departed, landed_lanes
from ptxlab.emulate.rules.notes import SAME, note, serial, taking_part
from ptxlab.emulate.rules.race_order import whole_before
from ptxlab.emulate.rules.races import OF_WARP, hazard, in_mate, remember
from ptxlab.emulate.rules.records import *

OF_MANY = 1 << MANY


@rule
def at_addresses(
    launch: Launch,
    block: Block,
    warp: u32,
    mask: u32,
    records: Pointer[u64] | None,
    stride: u64,
    offsets: Pointer[u32],
    start: u64,
    members: Pointer[u64],
    write: boolean,
) -> None:
    """Lanes of a warp access an allocation, each at an offset of its own. Lanes that read one word in one instruction
    count as one; lanes that write it do not, since each may overwrite what another has read."""
    if records is None or mask == 0:
        return
    serial(launch, mask)
    taking_part(launch, warp, mask, members)
    access, at, lane = access_of(block, warp, 0), load_lanes(offsets), first(mask)
    if block.mates is not None:
        in_mate(launch, block, access | members[3] | lane, start + extract(at, lane) + members[1])
    if write and traits_of(launch, members[3]) & ATOMIC != 0:
        keep_stores(launch, mask, records, stride, offsets, start, members)
    chosen = mask
    if not write and mask & (mask - 1) != 0 and bits(at == offsets[lane]) & mask == mask:
        chosen, access = u32(1 << lane), access | OF_MANY
    lost = check_words(launch, block, records, stride, at, start, members, access, chosen, write)
    if lost != 0:
        collided(launch, block, warp, mask, lost, records, at, start, members)
    if traits_of(launch, members[3]) & FLIES != 0:
        departed(launch, block, warp, mask, records, stride, offsets, members, write)


@rule(cold=True)
def keep_stores(
    launch: Launch,
    mask: u32,
    records: Pointer[u64],
    stride: u64,
    offsets: Pointer[u32],
    start: u64,
    members: Pointer[u64],
) -> None:
    """Plain stores to the words of an atomic operation are remembered in place of readers: see `races`."""
    if start < GLOBALS_BASE or start >= PARAM_WINDOW:  # shared memory: it has no other blocks' stores
        return
    for lane in lanes_of(mask):
        begin = u64(offsets[lane]) + members[1]
        for word in range(begin // launch.granule, (begin + members[2]) // launch.granule):
            writer = records[word]
            plain = writer >> STRONG & 1 == 0 and traits_of(launch, writer) & (ONLY_STORES | ASYNC) == ONLY_STORES
            if writer != 0 and plain:
                for third in range(1, 3):  # in place of no reader, or of one by the same warp at an earlier time
                    reader = records[third * stride + word]
                    if reader == 0 or ((reader ^ writer) & OF_WARP == 0 and reader >> TIME < writer >> TIME):
                        records[third * stride + word] = writer
                        break


@rule(cold=True)
def collided(
    launch: Launch,
    block: Block,
    warp: u32,
    mask: u32,
    lost: u32,
    records: Pointer[u64],
    offsets: lanes_u32,
    start: u64,
    members: Pointer[u64],
) -> None:
    """Lanes of one store have stored where another lane has: a hazard if the values differ, else one store of many
    lanes. There is only one member."""
    access = access_of(block, warp, u32(members[3] >> CODE & LAST_CODE))
    for lane in lanes_of(lost):
        other = first(bits(offsets == extract(offsets, lane)) & mask)
        if other == lane:
            continue
        begin = u64(extract(offsets, lane)) + members[1]
        if same_values(launch, lane, other):
            for word in range(begin // launch.granule, (begin + members[2]) // launch.granule):
                records[word] |= OF_MANY
        else:
            note(launch, block, SAME, access | lane, access | other, start + begin, 0)


@rule(cold=True)
def same_values(launch: Launch, lane: u32, other: u32) -> boolean:
    """Whether two lanes store the same value. It is taken to be so for all but plain stores, whose values are known."""
    store = launch.store
    for component in range(store.components):
        for k in range(store.width):
            row = component * 32
            if store.values[(row + lane) * store.width + k] != store.values[(row + other) * store.width + k]:
                return False
    return True


@rule
def settled(launch: Launch, block: Block, record: lanes_u64, access: lanes_u64) -> tuple[u32, u32]:
    """The lanes whose record surely comes before their access, a bit for each: there is no record, or it lies before
    the last barrier of the whole block, or it is the same thread's. Where mbarriers, or barriers of some warps, have
    ordered warps, also those that lie before it because its warp has waited, if they are of one other warp of the
    block. Second result: the lanes for which `ordered` need not be asked."""
    begin = block.now >> BLOCK << BLOCK
    before: lanes_bool = record - begin < u64(block.full - begin)
    if not all_of(before):
        before |= (record == 0) | ((record ^ access) & ID == 0)
    found = bits(before)
    if block.simple != 0 or found == ALL_LANES:
        return found, found
    lane = first(~found)
    one, now = u64(extract(record, lane)), u64(extract(access, lane))
    if (one ^ now) >> BLOCK != 0 or (one ^ now) & OF_WARP == 0 or block.peers is not None:
        return found, found
    warp, other = now >> WARP & 31, one >> WARP & 31
    since, compared = max(block.sync[warp, other], block.acquired[warp, other]), u64(OF_WARP)
    since = whole_before(block, u32(other), since)
    if since < block.landed[warp, other] and traits_of(launch, one) & ASYNC != 0:
        since, compared = block.landed[warp, other], u64(OF_WARP | LAST_CODE << CODE)
    of_warp = bits((record ^ one) & compared == 0) & bits(record & IN_FLIGHT << TIME == 0)
    return found | of_warp & bits(record - begin < u64(since) << TIME), found | of_warp


@rule
def check_words(
    launch: Launch,
    block: Block,
    records: Pointer[u64],
    stride: u64,
    offsets: lanes_u32,
    start: u64,
    members: Pointer[u64],
    access: u64,
    mask: u32,
    write: boolean,
) -> u32:
    """Checks and records the words that lanes access. Returns the lanes that have stored where another lane has stored
    as well.

    The vectors begin with lane 31: of lanes scattered to one place the last remains, and it must be the lowest.
    """
    group, grain = (members + 1).cast(Member), launch.granule
    chosen, lane = lanes(reversed_bits(mask)), widen(reversed_lanes(lane_ids()))
    base = widen(reversed_lanes(offsets)) >> first(u32(grain))
    distinct = known_distinct(offsets, mask)
    readers = records + stride
    others = readers + stride
    collided: u32 = 0
    for k in range(members[0]):
        now = lane | (access | group[k].access)
        for word in range(group[k].at // grain, (group[k].at + group[k].bytes + grain - 1) // grain):
            index = base + word
            writer = gather(records, index, chosen)  # 0 for lanes that do not take part
            w_settled, _w = settled(launch, block, writer, now)
            if w_settled != ALL_LANES and any_of(writer & IN_FLIGHT << TIME != 0):
                writer = landed_lanes(launch, writer)
                scatter(records, index, writer, chosen)
                w_settled, _w = settled(launch, block, writer, now)
            reader = gather(readers, index, chosen)
            r_settled, r_known = settled(launch, block, reader, now)
            if not write and w_settled & r_settled == ALL_LANES:  # the usual case of a read
                if any_of(chosen & (reader != now)):
                    read(readers, index, now, chosen, distinct)
                continue
            other = gather(others, index, chosen)
            q_settled, q_known = settled(launch, block, other, now)
            doubtful = u32(~w_settled)
            if write:
                doubtful |= u32(~(r_settled & q_settled))
            elif block.simple == 0:
                doubtful |= u32(~(r_settled | r_known & q_known))
            for one in lanes_of(reversed_bits(doubtful)):  # hazards are noted from lane 0 on
                at = extract(index, 31 - one)
                hazard(launch, block, records + at, stride, start + at * grain, extract(now, 31 - one), write)
            if write:
                if any_of(chosen & (writer != now)):
                    scatter(records, index, now, chosen)
                if not distinct:
                    collided |= bits(chosen & (gather(records, index, chosen) != now))
                continue
            read(readers, index, now, chosen & lanes(~doubtful & r_settled), distinct)
            read(others, index, now, chosen & lanes(~doubtful & ~r_settled & q_settled), distinct)
            for one in lanes_of(doubtful):
                remember(launch, block, records + extract(index, one), stride, extract(now, one), False)
    return reversed_bits(collided)


@rule(inline=True)
def known_distinct(offsets: lanes_u32, mask: u32) -> boolean:
    """Whether it is plain that no two lanes have the same offset: neighbouring lanes are equally far apart."""
    step = u32(extract(offsets, 1) - extract(offsets, 0))
    if step == 0 or u32(step + (1 << 26)) >> 27 != 0:
        return False
    return mask & ~bits(offsets == lane_ids() * step + extract(offsets, 0)) == 0


@rule(inline=True)
def read(readers: Pointer[u64], index: lanes_u64, now: lanes_u64, chosen: lanes_bool, distinct: boolean) -> None:
    """Records lanes as readers; of lanes that read one word the lowest, marked as many. distinct: no two lanes do."""
    if any_of(chosen):
        scatter(readers, index, now, chosen)
        if distinct:
            return
        stored = gather(readers, index, chosen)
        again = chosen & (stored != now)
        if any_of(again):
            scatter(readers, index, stored | OF_MANY, again)
