"""What the checks know of bulk copies: the bytes in flight, the writers of what they read, and what arrivals order.

Both engines call `issued` and `completed` for each transfer. In between, each 4 bytes of shared memory that it writes
or reads are marked (see `copies_in_flight`): an access by a thread or another copy before the wait is a finding.
Reading what a copy reads is fine.
"""

from __future__ import annotations

from ptxlab.emulate.language import *
from ptxlab.emulate.rules import async_proxy, bulk_races, tile_layouts
from ptxlab.emulate.rules import tensor_maps as maps
from ptxlab.emulate.rules.bulk_races import within
from ptxlab.emulate.rules.clock import access_of
from ptxlab.emulate.rules.copies_in_flight import BEING_READ, BEING_WRITTEN, COPY_CODE, COPY_THREAD, THREADS
from ptxlab.emulate.rules.mbarrier_phases import bulk_copy_issued, bulk_copy_performed
from ptxlab.emulate.rules.mbarrier_records import Mbarriers
from ptxlab.emulate.rules.note_kinds import BLOCK_ENDED, NO_PROXY_FENCE, PENDING, TILE_OVERWRITTEN, TILE_UNORDERED
from ptxlab.emulate.rules.notes import NOWHERE, note, serial
from ptxlab.emulate.rules.records import CODE, LAST_CODE, REDUCES, WARP, Block, Launch
from ptxlab.emulate.runtime.state import LOAD_TILE, Context, Queue, Transfer

ROW = 16
COPIES, STORES, PRODUCTS = range(3)
"""What a copy may meet: another copy in flight that writes what this one touches, or reads what it overwrites; stores
of threads to what it reads that no proxy fence has made visible to the async proxy; a product of `wgmma` that reads
what it overwrites and is in flight, or is not merely because of the order in which warps ran here."""


# -- one transfer ------------------------------------------------------------------------------------------------------


@rule
def issued(context: Context, queue: Queue, transfer: Transfer) -> u32:
    """A transfer has been issued."""
    launch, issuer = context.check.cast(Launch)[0], block_of(context, queue, transfer.rank)
    start, access = context.memory.shared_start, record_of(issuer, transfer)
    serial(launch, u32(1) << (transfer.thread & 31))
    here = block_of(context, queue, transfer.at_rank)
    shared_issued(launch, issuer, here, start, transfer.at - start, transfer, access, transfer.reads == 0)
    if transfer.held != 0:
        shared_issued(launch, issuer, issuer, start, transfer.held - start, transfer, access, False)
    if launch.racecheck and transfer.address != 0:
        in_global_memory(context, launch, issuer, transfer, access, True)
    if transfer.group == 0:
        bulk_copy_issued(mbarriers_of(block_of(context, queue, transfer.owner)), transfer)
    return 0


@rule
def completed(context: Context, queue: Queue, transfer: Transfer, before: u64) -> u32:
    """A transfer has been performed; before: what its mbarrier held."""
    launch, issuer = context.check.cast(Launch)[0], block_of(context, queue, transfer.rank)
    start, access = context.memory.shared_start, record_of(issuer, transfer)
    serial(launch, u32(1) << (transfer.thread & 31))
    here = block_of(context, queue, transfer.at_rank)
    exited = context.slots[queue.first_rank + transfer.at_rank].cta.active == 0
    shared_completed(launch, issuer, here, start, transfer.at - start, transfer, access, transfer.reads == 0, exited)
    if transfer.held != 0:
        exited = context.slots[queue.first_rank + transfer.rank].cta.active == 0
        shared_completed(launch, issuer, issuer, start, transfer.held - start, transfer, access, False, exited)
    if launch.racecheck and transfer.address != 0:
        in_global_memory(context, launch, issuer, transfer, access, False)
    if transfer.word is not None:
        bulk_copy_performed(launch, mbarriers_of(issuer), transfer, before, transfer.word[0])
    return 0


@rule(inline=True)
def block_of(context: Context, queue: Queue, rank: u32) -> Block:
    """What the checks know of the block of a rank."""
    return context.slots[queue.first_rank + rank].cta.checks.cast(Block)[0]


@rule(inline=True)
def mbarriers_of(block: Block) -> Mbarriers:
    """What is known of the mbarriers of a block."""
    return block.mbarriers.cast(Mbarriers)[0]


@rule(inline=True)
def record_of(issuer: Block, transfer: Transfer) -> u64:
    """The record of what a transfer does, as an access of the thread that issued it."""
    return access_of(issuer, transfer.thread >> 5, transfer.code) | (transfer.thread & 31)


# -- shared memory -----------------------------------------------------------------------------------------------------


@rule
def shared_issued(
    launch: Launch, issuer: Block, block: Block, start: u64, low: u64, transfer: Transfer, access: u64, writes: boolean
) -> None:
    """A transfer is issued that writes or reads shared memory of a block, from this byte on; start: where that begins.
    issuer: the block of its thread."""
    behind, records = low + transfer.count, block.records
    if launch.racecheck and records is not None:
        each = launch.granule
        words = (behind + each - 1) // each
        bulk_races.begins(launch, issuer, records, block.stride, start, low // each, words, access, writes)
    if launch.synccheck:
        meets(launch, issuer, block, block.pending, start, low >> 2, behind + 3 >> 2, access, COPIES, writes)
        if writes:
            meets(launch, issuer, block, block.tile_reads, start, low >> 4, behind + 15 >> 4, access, PRODUCTS, True)
        else:
            meets(launch, issuer, block, block.tile_writes, start, low >> 4, behind + 15 >> 4, access, STORES, False)
        block.copies = 1
        fill(block.pending, low >> 2, behind + 3 >> 2, mark(transfer, writes))


@rule
def shared_completed(
    launch: Launch,
    issuer: Block,
    block: Block,
    start: u64,
    low: u64,
    transfer: Transfer,
    access: u64,
    writes: boolean,
    exited: boolean,
) -> None:
    """The same of one that has been performed. exited: whether all threads of the block have exited."""
    behind, records = low + transfer.count, block.records
    if launch.racecheck and records is not None:
        each = launch.granule
        words = (behind + each - 1) // each
        bulk_races.ends(launch, issuer, records, block.stride, low // each, words, access, writes)
    if launch.synccheck:
        block.copies = 1
        unmark(block.pending, low >> 2, behind + 3 >> 2, mark(transfer, writes))
        if exited:
            note(launch, issuer, BLOCK_ENDED, access, 0, NOWHERE, u64(writes))
        if writes:
            if block.tile_writes is not None:  # what a copy has written needs no fence
                fill(block.tile_writes, low >> 4, behind + 15 >> 4, 0)
            if block.tile_layout is not None:
                fill(block.tile_layout, low >> 4, behind + 15 >> 4, 0)
                if transfer.kind == LOAD_TILE:
                    tile_layouts.written(block, transfer, start)


# -- global memory -----------------------------------------------------------------------------------------------------


@rule
def in_global_memory(
    context: Context, launch: Launch, issuer: Block, transfer: Transfer, access: u64, begins: boolean
) -> None:
    """racecheck of what a transfer reads or writes in global memory, when it is issued or performed: of a tile each
    row, or rows that follow each other."""
    if transfer.kind < LOAD_TILE:
        in_allocation(context, launch, issuer, transfer, transfer.address, transfer.count, access, begins)
        return
    tensor, low, behind = u64(transfer.address + transfer.base), u64(0), u64(0)
    for row in range(maps.rows(transfer.map)):
        inside, offset, ahead, ended = maps.row_place(transfer.map, transfer.place, transfer.shift, row)
        if inside:
            begin = u64(tensor + offset + ahead)
            if begin != behind:
                if behind != 0:
                    in_allocation(context, launch, issuer, transfer, low, behind - low, access, begins)
                low = begin
            behind = begin + ended - ahead
    if behind != 0:
        in_allocation(context, launch, issuer, transfer, low, behind - low, access, begins)


@rule
def in_allocation(
    context: Context,
    launch: Launch,
    issuer: Block,
    transfer: Transfer,
    address: u64,
    count: u64,
    access: u64,
    begins: boolean,
) -> None:
    """The same of bytes in a row."""
    writes, memory = transfer.reads != 0, context.memory
    for k in range(memory.count):
        held = memory.allocations[k]
        records = held.accesses
        if u64(address - held.base) < held.room and records is not None:
            low, behind = address - held.base, address - held.base + count
            word, words = low // launch.granule, (behind + launch.granule - 1) // launch.granule
            if not begins:
                bulk_races.ends(launch, issuer, records, held.stride, word, words, access, writes)
                return
            bulk_races.begins(launch, issuer, records, held.stride, held.base, word, words, access, writes)
            if launch.synccheck and not writes:
                bulk_races.unseen(launch, issuer, records, held.stride, held.base, word, words, access)
            return


# -- copies in flight --------------------------------------------------------------------------------------------------


@rule(inline=True)
def mark(transfer: Transfer, writes: boolean) -> u64:
    """The number that marks bytes of shared memory as being in flight."""
    kind: u64 = BEING_WRITTEN if writes else BEING_READ
    return u64(transfer.code) << COPY_CODE | u64(transfer.thread) << COPY_THREAD | kind


@rule
def fill(numbers: Pointer[u64], low: u64, behind: u64, value: u64) -> None:
    """Sets the numbers from `low` on, in front of `behind`."""
    while low + ROW <= behind:
        store_row(numbers + low, (row_ids() & 0) + value)
        low += ROW
    for k in range(low, behind):
        numbers[k] = value


@rule
def unmark(numbers: Pointer[u64], low: u64, behind: u64, value: u64) -> None:
    """Clears those numbers from `low` on, in front of `behind`, that have this value."""
    for begin in range(low, behind, ROW):
        row = load_row(numbers + begin)
        some = (row == value) & (row_ids() < behind - begin)
        store_row(numbers + begin, select(some, row_ids() & 0, row))


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
    writes: boolean,
) -> None:
    """Notes what a copy meets in shared memory, if that may race with it: of several such numbers the least, at its
    first place. numbers: one for each 4 or 16 bytes, of which those from `low` on count. by: what they say."""
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
                found = conflict(launch, issuer, block, number, access, by, writes)
                if found != 0:
                    least, place, kind = number, begin + k, found
    if least != 0:
        other = block.now | least >> COPY_CODE << CODE | (least >> COPY_THREAD & THREADS)
        if by != COPIES:
            other = async_proxy.party(block, least)
        note(launch, issuer, kind, access, other, start + place * (4 if by == COPIES else 16), 0)


@rule(inline=True)
def conflict(launch: Launch, issuer: Block, block: Block, number: u64, access: u64, by: u64, writes: boolean) -> u64:
    """The kind of finding that a number is about; 0 if it is none."""
    if by == COPIES:
        return u64(PENDING) if conflicts(launch, block, number, access, writes) else u64(0)
    if by == STORES:
        return u64(NO_PROXY_FENCE) if async_proxy.unseen(block, u32(access >> WARP & 31), number) else u64(0)
    if async_proxy.in_flight(launch, block, number, access):
        return TILE_OVERWRITTEN
    ordered = not launch.racecheck or async_proxy.read_before(launch, issuer, block, number, access)
    return u64(0) if ordered else u64(TILE_UNORDERED)


@rule(inline=True)
def conflicts(launch: Launch, block: Block, copy: u64, access: u64, writes: boolean) -> boolean:
    """Whether another copy in flight, as it is remembered, conflicts with one."""
    group = copy & 0xFFFFFFFF
    if group == BEING_READ and not writes:
        return False
    if group < BEING_READ and u64(block.finished[copy >> COPY_THREAD & THREADS]) >= group:
        return False  # a cp.async that its thread has waited for
    both = launch.traits[copy >> COPY_CODE] & launch.traits[access >> CODE & LAST_CODE]
    return both & REDUCES == 0  # reductions change each element atomically
