"""The checks of bulk copies: the bytes in flight, the writers of what they read, and what arrivals order.

Both engines call `issued` and `completed` for each transfer. For racecheck a copy is an access of the thread that
issued it: it must be ordered after earlier accesses of threads and other copies to the same bytes, and is in flight
(`copies_in_flight`) from then on. One that reports to an mbarrier is recorded anew when it has been performed, as an
access of that moment: threads are ordered after it if they have waited for its mbarrier. A copy is one access to all of
its bytes: of several records that it races with, the least one is reported, at the first word that has it.
"""

from __future__ import annotations

from ptxlab.emulate.language import *
from ptxlab.emulate.rules import async_proxy, initcheck, tile_layouts
from ptxlab.emulate.rules import tensor_maps as maps
from ptxlab.emulate.rules.copies_in_flight import BULK_READS, BULK_WRITES, BUT_TIME, flight, repeated
from ptxlab.emulate.rules.mbarrier_phases import bulk_copy_issued, bulk_copy_performed
from ptxlab.emulate.rules.mbarrier_records import Mbarriers
from ptxlab.emulate.rules.notes import *
from ptxlab.emulate.rules.race_order import release
from ptxlab.emulate.rules.races import OF_WARP, collides, in_mate, ordered, race
from ptxlab.emulate.rules.records import *
from ptxlab.emulate.runtime.report import WARPGROUP
from ptxlab.emulate.runtime.state import LOAD_TILE, REDUCE_TILE, STORE_TILE, Context, Queue, Transfer
from ptxlab.isa.convert import PEER

ROW = 16
"""Numbers, or records of words, that are looked at together."""
BY_STORES, BY_PRODUCTS = range(2)
"""What a copy may meet: stores to what it reads that no proxy fence made visible to the async proxy; a `wgmma` that
reads what it overwrites, in flight or finished only because of the order in which warps ran here."""
OF_MOMENT = OF_WARP | LAST_TIME << TIME
"""The fields of a record that tell whether an access comes before those of another warp."""


# -- one transfer ------------------------------------------------------------------------------------------------------


@rule
def issued(context: Context, queue: Queue, transfer: Transfer) -> u32:
    if not repeated(queue, transfer):
        in_memory(context, queue, transfer, False)
    if transfer.group == 0:
        issuer, lane = block_of(context, queue, transfer.rank), u32(1) << (transfer.thread & 31)
        store_lanes(transfer.released, release(issuer, transfer.thread >> 5, lane))
        bulk_copy_issued(block_of(context, queue, transfer.owner).mbarriers.cast(Mbarriers)[0], transfer)
    return 0


@rule
def completed(context: Context, queue: Queue, transfer: Transfer, before: u64) -> u32:
    """A transfer has been performed; before: what its mbarrier held."""
    in_memory(context, queue, transfer, True)
    if transfer.word is not None:
        mbarriers = block_of(context, queue, transfer.rank).mbarriers.cast(Mbarriers)[0]
        bulk_copy_performed(context.check.cast(Launch)[0], mbarriers, transfer, before, transfer.word[0])
    return 0


@rule(inline=True)
def block_of(context: Context, queue: Queue, rank: u32) -> Block:
    return context.slots[queue.first_rank + rank].cta.checks.cast(Block)[0]


@rule
def in_memory(context: Context, queue: Queue, transfer: Transfer, ended: boolean) -> None:
    """Checks the memory that a transfer reads and writes, when it is issued and when it has been performed (ended)."""
    launch, issuer = context.check.cast(Launch)[0], block_of(context, queue, transfer.rank)
    access = access_of(issuer, transfer.thread >> 5, transfer.code) | (transfer.thread & 31)
    serial(launch, u32(1) << (transfer.thread & 31))
    in_shared(context, queue, transfer, access, transfer.at_rank, transfer.at, transfer.reads == 0, ended)
    if transfer.held != 0:
        in_shared(context, queue, transfer, access, transfer.rank, transfer.held, False, ended)
    if launch.racecheck and transfer.address != 0:
        in_global(context, issuer, transfer, access, ended)


# -- shared memory -----------------------------------------------------------------------------------------------------


@rule
def in_shared(
    context: Context,
    queue: Queue,
    transfer: Transfer,
    access: u64,
    rank: u32,
    address: u64,
    writes: boolean,
    ended: boolean,
) -> None:
    """What a transfer writes or reads in shared memory of the block of a rank, from this address on."""
    launch, start = context.check.cast(Launch)[0], context.memory.shared_start
    issuer, block = block_of(context, queue, transfer.rank), block_of(context, queue, rank)
    low, behind, records = address - start, address - start + transfer.count, block.records
    if launch.initcheck and not ended:
        if writes:
            initcheck.target(launch, issuer, block.written + low, address, transfer.count, access)
        elif transfer.kind == STORE_TILE or transfer.kind == REDUCE_TILE:
            tile_written(launch, issuer, block.written, transfer, start, access)
        else:
            initcheck.source(launch, issuer, block.written + low, address, transfer.count, access)
    if launch.racecheck and records is not None:
        raced(launch, issuer, transfer, records, block.stride, start, low, behind, access, writes, ended)
        if rank != transfer.rank and not ended:
            in_mate(launch, issuer, access, (rank + 1) * PEER + address)
    if not launch.synccheck:
        return
    if not ended:
        reads, last = block.tile_reads, behind + 15 >> 4
        if not writes:
            meets(launch, issuer, block, block.tile_writes, start, low >> 4, last, access, BY_STORES)
        elif reads is not None:
            for warp in range(0, block.warps, WARPGROUP):
                meets(launch, issuer, block, reads + reads_of(block, warp), start, low >> 4, last, access, BY_PRODUCTS)
        return
    if context.slots[queue.first_rank + rank].cta.active == 0:
        note(launch, issuer, BLOCK_ENDED, access, 0, NOWHERE, u64(writes))
    if writes and block.tile_writes is not None:  # what a copy has written needs no fence
        fill(block.tile_writes, low >> 4, behind + 15 >> 4, 0)
    if writes and block.tile_layout is not None:
        fill(block.tile_layout, low >> 4, behind + 15 >> 4, 0)
        if transfer.kind == LOAD_TILE:
            tile_layouts.written(block, transfer, start)


@rule
def tile_written(
    launch: Launch, issuer: Block, written: Pointer[u8], transfer: Transfer, start: u64, access: u64
) -> None:
    """initcheck of what a transfer reads of a tile: the part that lies in the tensor."""
    length = maps.row_bytes(transfer.map)
    for row in range(maps.rows(transfer.map)):
        inside, _offset, ahead, last = maps.row_place(transfer.map, transfer.place, transfer.shift, row)
        for begin in range(ahead // maps.CHUNK * maps.CHUNK, last if inside else ahead, maps.CHUNK):
            low, behind = max(begin, ahead), min(begin + maps.CHUNK, last)
            at = maps.swizzled(transfer.map, u64(transfer.at) + row * length + begin) + (low - begin)
            if not initcheck.source(launch, issuer, written + (at - start), at, behind - low, access):
                return


@rule
def fill(numbers: Pointer[u64], low: u64, behind: u64, value: u64) -> None:
    """Sets the numbers from `low` on, in front of `behind`."""
    while low + ROW <= behind:
        store_row(numbers + low, (row_ids() & 0) + value)
        low += ROW
    for k in range(low, behind):
        numbers[k] = value


@rule
def meets(
    launch: Launch,
    issuer: Block,
    block: Block,
    numbers: Pointer[u64] | None,
    start: u64,
    low: u64,
    behind: u64,
    access: u64,
    by: u64,
) -> None:
    """Notes what a copy meets in shared memory, if that may race with it: of several such numbers the least, at its
    first place. numbers: one for each 16 bytes, of which those from `low` on count. by: what they say."""
    if numbers is None:
        return
    least, place, kind = u64(0), u64(0), u64(0)
    for begin in range(low, behind, ROW):
        row = load_row(numbers + begin)
        left = bits(row != 0) & within(begin, begin, behind)
        while left:
            k = first(left)
            number = u64(extract(row, k))
            left &= ~bits(row == number)
            if least == 0 or number < least:
                found = conflict(launch, issuer, block, number, access, by)
                if found != 0:
                    least, place, kind = number, begin + k, found
    if least != 0:
        note(launch, issuer, kind, access, async_proxy.party(block, least), start + place * 16, 0)


@rule(inline=True)
def conflict(launch: Launch, issuer: Block, block: Block, number: u64, access: u64, by: u64) -> u64:
    """The kind of finding that a number is about; 0 if it is none."""
    if by == BY_STORES:
        unseen = async_proxy.unseen_in_tile(launch, block, u32(access >> WARP & 31), number)
        return u64(NO_PROXY_FENCE) if unseen else u64(0)
    return async_proxy.overwrites(launch, issuer, block, number, access)


# -- global memory -----------------------------------------------------------------------------------------------------


@rule
def in_global(context: Context, issuer: Block, transfer: Transfer, access: u64, ended: boolean) -> None:
    """racecheck of what a transfer reads or writes in global memory: of a tile each row, or contiguous rows."""
    if transfer.kind < LOAD_TILE:
        in_allocation(context, issuer, transfer, transfer.address, transfer.count, access, ended)
        return
    tensor, low, behind = u64(transfer.address + transfer.base), u64(0), u64(0)
    for row in range(maps.rows(transfer.map)):
        inside, offset, ahead, last = maps.row_place(transfer.map, transfer.place, transfer.shift, row)
        if inside:
            begin = u64(tensor + offset + ahead)
            if begin != behind:
                if behind != 0:
                    in_allocation(context, issuer, transfer, low, behind - low, access, ended)
                low = begin
            behind = begin + last - ahead
    if behind != 0:
        in_allocation(context, issuer, transfer, low, behind - low, access, ended)


@rule
def in_allocation(
    context: Context, issuer: Block, transfer: Transfer, address: u64, count: u64, access: u64, ended: boolean
) -> None:
    """Checks contiguous bytes of global memory that a transfer accesses."""
    launch, memory, writes = context.check.cast(Launch)[0], context.memory, transfer.reads != 0
    for k in range(memory.count):
        held = memory.allocations[k]
        records, low = held.accesses, u64(address - held.base)
        if low < held.room and records is not None:
            raced(launch, issuer, transfer, records, held.stride, held.base, low, low + count, access, writes, ended)
            if launch.synccheck and not writes and not ended:
                word, last = low // launch.granule, (low + count + launch.granule - 1) // launch.granule
                unseen(launch, issuer, records, held.base, word, last, access)
            return


# -- racecheck ---------------------------------------------------------------------------------------------------------


@rule
def raced(
    launch: Launch,
    block: Block,
    transfer: Transfer,
    records: Pointer[u64],
    stride: u64,
    start: u64,
    low: u64,
    behind: u64,
    access: u64,
    writes: boolean,
    ended: boolean,
) -> None:
    """A copy of the bytes from `low` on, in front of `behind`, of memory whose address is `start`: notes what it races
    with when it is issued, and records it, once more when it has been performed. block: that of its thread."""
    word, last = low // launch.granule, (behind + launch.granule - 1) // launch.granule
    if ended:
        if transfer.group == 0:
            recorded(launch, block, records, stride, word, last, access, writes)
        return
    thirds: u64 = 3 if writes else 1
    for third in range(thirds):
        other, place = least_racing(launch, block, records, stride, word, last, third, access)
        if other != 0:
            kind: u64 = RAW
            if writes:
                kind = WAW if third == 0 else WAR
            race(launch, block, kind, access, other, start + place * launch.granule)
            break
    group = block.committed[1, transfer.thread] + 1 if transfer.group != 0 else u32(0)
    time = flight(u32(BULK_WRITES if writes else BULK_READS), group)
    recorded(launch, block, records, stride, word, last, access & BUT_TIME | time, writes)


@rule(inline=True)
def within(begin: u64, low: u64, behind: u64) -> u32:
    """Which of 16 numbers from `begin` on lie in a range: a bit for each."""
    mask: u32 = 0xFFFF
    if begin < low:
        mask &= u32(0xFFFF << (low - begin))
    if begin + 16 > behind:
        mask &= u32(0xFFFF) >> u32(begin + 16 - behind)
    return mask


@rule(inline=True)
def undecided(block: Block, row: row_u64, access: u64) -> u32:
    """The records to check, a bit for each: neither the thread's own nor from before its block's last barrier."""
    low = block.now >> BLOCK << BLOCK
    before: row_bool = (row == 0) | (row - low < u64(block.full - low)) | ((row ^ access) & ID == 0)
    return bits(~before)


@rule(inline=True)
def ordered_likewise(row: row_u64, record: u64, access: u64) -> u32:
    """The records, a bit for each, of accesses that are ordered before an access if that of one record is."""
    if (record ^ access) & OF_WARP == 0:
        return bits(row == record)
    return bits((row ^ record) & u64(OF_MOMENT | 31 if record & IN_FLIGHT << TIME != 0 else OF_MOMENT) == 0)


@rule
def least_racing(
    launch: Launch, block: Block, records: Pointer[u64], stride: u64, low: u64, behind: u64, third: u64, access: u64
) -> tuple[u64, u64]:
    """The least record of some words that races with an access, 0 if none does, and the first word that has it."""
    least, place = u64(0), u64(0)
    for number in range(low // ROW, (behind + ROW - 1) // ROW):
        row = load_row(records + (third * stride + number * ROW))
        left = undecided(block, row, access) & within(number * ROW, low, behind)
        while left:
            k = first(left)
            record = u64(extract(row, k))
            if ordered(launch, block, record, access, third == 0):
                left &= ~ordered_likewise(row, record, access)
                continue
            left &= ~bits(row == record)
            both = traits_of(launch, record) & traits_of(launch, access)
            if both & REDUCES == 0 and (least == 0 or record < least):  # reductions change each element atomically
                if collides(launch, block, record, access, third == 0):
                    least, place = record, number * ROW + k
    return least, place


@rule
def unseen(launch: Launch, block: Block, records: Pointer[u64], start: u64, low: u64, behind: u64, access: u64) -> None:
    """A copy from words of global memory is issued: notes a store there that the async proxy does not see."""
    warp, least, place = u32(access >> WARP & 31), u64(0), u64(0)
    for number in range(low // ROW, (behind + ROW - 1) // ROW):
        row = load_row(records + number * ROW)
        left = bits(row != 0) & within(number * ROW, low, behind)
        while left:
            k = first(left)
            record = u64(extract(row, k))
            if not async_proxy.unseen_in_global(launch, block, warp, record):
                left &= ~bits((row ^ record) & OF_MOMENT == 0)
                continue
            left &= ~bits(row == record)
            if traits_of(launch, record) & ASYNC == 0 and (least == 0 or record < least):
                least, place = record, number * ROW + k
    if least != 0:
        note(launch, block, NO_PROXY_FENCE, access, least, start + place * launch.granule, 0)


@rule
def recorded(
    launch: Launch, block: Block, records: Pointer[u64], stride: u64, low: u64, behind: u64, access: u64, write: boolean
) -> None:
    """Records a copy. A reader that it does not come after stays, if that is not itself in flight."""
    for number in range(low // ROW, (behind + ROW - 1) // ROW):
        inside, stay = within(number * ROW, low, behind), u32(0)
        reader = records + (stride + number * ROW)
        if write:
            record_row(records + number * ROW, inside, access)
            continue
        row = load_row(reader)
        left = undecided(block, row, access) & inside & ~bits((row ^ access) & BUT_TIME == 0)
        while left:
            record = u64(extract(row, first(left)))
            same = ordered_likewise(row, record, access)
            if not ordered(launch, block, record, access, False):
                same = bits(row == record)
                stay |= same & inside
            left &= ~same
        record_row(reader, inside & ~stay, access)
        record_row(reader + stride, stay, access)


@rule(inline=True)
def record_row(row: Pointer[u64], words: u32, access: u64) -> None:
    """Records an access to some of 16 words, a bit for each."""
    if words == 0xFFFF:
        store_row(row, (row_ids() & 0) + access)
        return
    for k in range(ROW):
        if words >> k & 1 != 0:
            row[k] = access
