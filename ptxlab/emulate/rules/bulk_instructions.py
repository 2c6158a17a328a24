"""How bulk copies are issued: what they say is judged, and goes into the queue of the cluster."""

from __future__ import annotations

from dataclasses import dataclass

from ptxlab.emulate.language import *
from ptxlab.emulate.program.flat_program import Code
from ptxlab.emulate.program.lane_types import LANES
from ptxlab.emulate.rules import bulk_copies
from ptxlab.emulate.rules import tensor_maps as maps
from ptxlab.emulate.rules.memcheck import resolve, space_of, stop
from ptxlab.emulate.runtime.state import *
from ptxlab.isa import types
from ptxlab.isa.actions import Action, AsyncGroup
from ptxlab.isa.convert import PEER
from ptxlab.isa.mbarrier import TAG, TAG_SHIFT, Problem

BEHIND = 17 * PEER
"""After the last address of shared memory: each block has its own, and one of each rank."""
MULTICAST = 1 << 16
"""Beside a mask of ranks, which may be empty."""
ROW = len(MOVED)
REDUCED_TYPES = sum(
    (bulk_copies.TYPES.index(name) if name else 15) << 4 * k for k, name in enumerate(bulk_copies.OF_MAPS)
)
"""For each type of a tensor map, 4 bits: the type that a reduction of the tensor's elements has."""
BAD_SIZE, NO_MAP, INTERLEAVED, BETWEEN, UNREDUCED, BEFORE, NO_CLUSTER = 1, 2, 3, 4, 5, 6, 7
"""Why a bulk copy cannot be done: see `faults.OF_BULK_COPIES`."""


OPERANDS = ("a", "b", "size", "m", "mask")
"""Operands by their names in the table, in the order of the columns of `data` in `issue_lanes`."""
TO, FROM, SIZE, BARRIER, RANKS, LOW, HIGH = (LANES * column for column in range(7))
"""Where each column begins: a number for each lane. `b` of a single value is in LOW and HIGH."""
SHIFTS = 5
"""Columns of `more` before the im2col offsets: the coordinates."""


@dataclass(frozen=True)
class Bulk:
    """A bulk copy: the kind of its transfers; whether it belongs to a bulk group (else it reports to an mbarrier),
    whether it goes to several blocks; of a reduction the operation (+ 1 for `red.async`) and the type; of a single
    value its bytes. space: that of the source; of a single value that of its target."""

    kind: int
    grouped: bool
    multicast: bool
    operation: int
    type: int
    count: int
    space: int


def bulk_of(code: Code) -> Bulk:
    form, reduces = code.form, code.action is Action.COPY_REDUCE
    grouped = code.properties.group is AsyncGroup.BULK
    operation = bulk_copies.OPERATIONS.index(str(form.operation)) if reduces else 0
    type_ = 0
    if reduces and not form.tensor:  # PTX ISA, cp.reduce.async.bulk: that of f32 flushes subnormal numbers
        type_ = bulk_copies.TYPES.index(f"{form.type}.ftz" if form.type == "f32" else str(form.type))
    count = 0
    if code.action is Action.PREFETCH_TILE:
        kind = PREFETCH_TILE
    elif form.tensor:
        kind = LOAD_TILE if not grouped else REDUCE_TILE if reduces else STORE_TILE
    elif form.single:
        kind, count = WRITE, types.width(form.type) // 8 * int(str(form.vec or "v1")[1:])
        operation += reduces
    else:
        kind = REDUCE if reduces else COPY
    space = GLOBAL if form.src == "global" else GENERIC if form.single and not form.space else SHARED
    return Bulk(kind, grouped, bool(form.multicast_cluster), operation, type_, count, space)


@rule
def issue_lanes(
    context: Context,
    cta: Cta,
    warp: Warp,
    mask: u32,
    data: Pointer[u64],
    more: Pointer[u64],
    kind: u32,
    grouped: u32,
    multicast: u32,
    source_space: u32,
    operation: u32,
    type: u32,
    count: u64,
    code: u32,
) -> boolean:
    """The bulk copies of some lanes; whether the kernel must stop, with the fault noted. data: for each lane both
    addresses, the size, the mbarrier, the mask of ranks, a value; more: coordinates and im2col offsets."""
    for lane in lanes_of(mask):
        asked = local(Transfer, 1)[0]
        asked.kind = kind
        asked.code = code
        asked.thread = warp.warp_id << 5 | lane
        asked.rank = cta.rank
        asked.operation = operation
        asked.type = type
        asked.count = count
        asked.reads = grouped
        asked.held = 0
        asked.address = 0
        ranks = data[RANKS + lane] & 0xFFFF | MULTICAST if multicast != 0 else u64(0)
        if kind >= LOAD_TILE:
            for k in range(5):
                asked.place[k] = i32(more[LANES * k + lane])
            for k in range(3):
                asked.shift[k] = i32(more[LANES * (SHIFTS + k) + lane])
            if issue_tile(context, cta, warp, data, asked, ranks):
                return True
        elif issue_bytes(context, cta, warp, data, asked, ranks, source_space):
            return True
    return False


@rule
def issue_bytes(
    context: Context, cta: Cta, warp: Warp, data: Pointer[u64], asked: Transfer, ranks: u64, source_space: u32
) -> boolean:
    """A copy of contiguous bytes, or of a value."""
    lane = asked.thread & 31
    to, source, barrier = data[TO + lane], data[FROM + lane], data[BARRIER + lane]
    if context.explicit_cluster == 0 and source_space != GLOBAL and asked.reads == 0:
        return wrong(context, warp, asked, BAD_BULK, to, NO_CLUSTER, 0)
    if asked.kind == WRITE:
        if source_space == GENERIC:
            to, barrier = in_cluster(to), in_cluster(barrier)
        asked.value[0] = data[LOW + lane]
        asked.value[1] = data[HIGH + lane]
        log2 = u64(4 if asked.count == 16 else 3 if asked.count == 8 else 2)
        return send(context, cta, warp, asked, to, log2, barrier, ranks)
    count = data[SIZE + lane]
    asked.count = count
    if count == 0:
        return False  # nothing is copied: CUB's BlockLoadToShared issues such copies of short tiles
    if count & 15 != 0:
        return wrong(context, warp, asked, BAD_BULK, count, BAD_SIZE, 0)
    if source_space == GLOBAL or asked.reads != 0:
        asked.inside = count
    if asked.reads != 0:
        place = resolve(context, cta, warp, lane, to, count, 4, GLOBAL, 1, None)
        if place is None:
            return wrong(context, warp, asked, COPY_TO, to, count, 16)
        asked.to = place
        asked.written = context.found.written
        asked.address = to
        return send(context, cta, warp, asked, source, 4, 0, 0)
    held = resolve(context, cta, warp, lane, source, count, 4, source_space, 0, None)
    if held is None:
        return wrong(context, warp, asked, COPY_FROM, source, count, 16)
    asked.source = held
    if source_space == GLOBAL:
        asked.address = source
    else:
        asked.held = source & (PEER - 1)
    return send(context, cta, warp, asked, to, 4, barrier, ranks)


@rule(inline=True)
def in_cluster(address: u64) -> u64:
    """The address in the shared memory of the cluster that a generic one names; any other stays as it is."""
    where, offset = space_of(GENERIC, address)
    return offset if where == SHARED or where == CLUSTER else address


@rule
def issue_tile(context: Context, cta: Cta, warp: Warp, data: Pointer[u64], asked: Transfer, ranks: u64) -> boolean:
    """A copy of a tile of a tensor, or a prefetch, which ends where the tile has been judged."""
    load, lane = asked.kind == LOAD_TILE, asked.thread & 31
    address = data[FROM + lane] if load else data[TO + lane]
    shared = data[TO + lane] if load else data[FROM + lane]
    where, _at = space_of(GENERIC, address)
    found = resolve(context, cta, warp, lane, address, 128, 6, GENERIC, 0, None)
    if found is None or where == LOCAL:
        return wrong(context, warp, asked, COPY_FROM, address, 128, 64)
    map = asked.map
    copy_bytes(map.cast(u8), found, 128)
    if not maps.is_map(map):
        return wrong(context, warp, asked, BAD_BULK, address, NO_MAP, 0)
    prefetch = asked.kind == PREFETCH_TILE
    if maps.field(map, maps.INTERLEAVE, 3) != 0 and not prefetch:
        return wrong(context, warp, asked, BAD_BULK, address, INTERLEAVED, 0)
    between = maps.starts_between(map, asked.place)
    if between != 0:
        return wrong(context, warp, asked, BAD_BULK, between, BETWEEN, 0)
    if prefetch:
        return False
    before = maps.starts_before(map, asked.place)
    if before != 0 and not load:
        return wrong(context, warp, asked, BAD_BULK, before, BEFORE, 0)
    asked.type = u32(u64(REDUCED_TYPES) >> 4 * maps.field(map, maps.TYPE, 15) & 15)
    if asked.kind == REDUCE_TILE and not bulk_copies.reduces_elements(asked.operation, asked.type):
        return wrong(context, warp, asked, BAD_BULK, address, UNREDUCED, 0)
    some, low, length, inside = maps.reach(map, asked.place, asked.shift)
    asked.inside = inside
    if some:
        first = u64(map[0] + low)
        tensor = resolve(context, cta, warp, lane, first, length, 0, GLOBAL, u32(not load), None)
        if tensor is None:
            return wrong(context, warp, asked, u32(COPY_FROM if load else COPY_TO), first, length, 1)
        if load:
            asked.source = tensor
        else:
            asked.to = tensor
            asked.written = context.found.written
        asked.address = first
    asked.base = u64(0 - low)
    asked.count = maps.tile_bytes(map)
    return send(context, cta, warp, asked, shared, 7, data[BARRIER + lane], ranks)


@rule
def send(
    context: Context, cta: Cta, warp: Warp, asked: Transfer, shared: u64, log2: u64, barrier: u64, ranks: u64
) -> boolean:
    """Issues a transfer for each block to whose shared memory, or from which, the bytes go. shared: the address there,
    a multiple of 2**log2; barrier: that of the mbarrier; ranks: MULTICAST and the blocks of one, or 0."""
    if cta.cluster.queue is None:
        return False
    queue, reads, lane = cta.cluster.queue[0], asked.reads != 0, asked.thread & 31
    kind = u32(COPY_FROM if reads else COPY_TO)
    if shared >= BEHIND or (reads and shared >= PEER):
        return wrong(context, warp, asked, kind, shared, asked.count, u64(1) << log2)
    blocks = ranks
    if ranks == 0:
        blocks = u64(1) << cta.rank if shared < PEER else u64(1) << (shared // PEER - 1)
    if context.moved is not None:
        count_moved(context.moved + asked.code * ROW, cta, asked, u32(blocks) & 0xFFFF)
    for rank in range(16):
        if blocks >> rank & 1 != 0:
            there = at_rank(shared, rank)
            place = resolve(context, cta, warp, lane, there, asked.count, log2, CLUSTER, u32(not reads), None)
            if place is None:
                shown = shared if rank == cta.rank else there
                return wrong(context, warp, asked, kind, shown, asked.count, u64(1) << log2)
            written = context.found.written
            transfer = bulk_copies.issue(context, queue)
            fill_in(transfer, asked)
            transfer.at = there & (PEER - 1)
            transfer.at_rank = u32(rank)
            if reads:
                transfer.source = place
                transfer.group = queue.committed[cta.rank * queue.threads + asked.thread] + 1
            else:
                transfer.to = place
                transfer.written = written
                if report_to(context, cta, warp, transfer, barrier, rank, ranks != 0):
                    return True
            if context.checked:
                bulk_copies.check_issued(context, queue, transfer)
            if context.traced:
                bulk_copies.issued(context, queue, transfer)
    return False


@rule
def count_moved(moved: Pointer[u64], cta: Cta, asked: Transfer, blocks: u32) -> None:
    """Counts what a copy moves, to or from the shared memory of so many blocks. A multicast reads its source once."""
    moved[COPIES] += 1
    if asked.reads != 0:
        moved[HELD] += asked.count
        if asked.kind == REDUCE or asked.kind == REDUCE_TILE:
            moved[REDUCED] += asked.inside
        else:
            moved[WRITTEN] += asked.inside
        return
    moved[READ] += asked.inside
    moved[ARRIVED] += asked.inside * count(blocks)
    moved[FILLED] += asked.count * count(blocks)
    if asked.kind < LOAD_TILE and asked.inside == 0:
        if asked.kind != WRITE:
            moved[HELD] += asked.count
        moved[REMOTE] += asked.count * count(blocks & ~(u32(1) << cta.rank))


@rule
def fill_in(transfer: Transfer, asked: Transfer) -> None:
    """Fills in the fields that the transfers of one copy have in common."""
    transfer.kind = asked.kind
    transfer.code = asked.code
    transfer.thread = asked.thread
    transfer.rank = asked.rank
    transfer.group = 0
    transfer.count = asked.count
    transfer.to = asked.to
    transfer.source = asked.source
    transfer.written = asked.written
    transfer.word = None
    transfer.operation = asked.operation
    transfer.type = asked.type
    transfer.reads = asked.reads
    transfer.held = asked.held
    transfer.address = asked.address
    transfer.value[0] = asked.value[0]
    transfer.value[1] = asked.value[1]
    if asked.kind >= LOAD_TILE:
        transfer.base = asked.base
        for k in range(16):
            transfer.map[k] = asked.map[k]
        for k in range(5):
            transfer.place[k] = asked.place[k]
        for k in range(3):
            transfer.shift[k] = asked.shift[k]


@rule
def report_to(
    context: Context, cta: Cta, warp: Warp, transfer: Transfer, address: u64, rank: u64, multicast: boolean
) -> boolean:
    """The mbarrier of a transfer: that of the address, or of a multicast the one at its place in the block of a rank.
    Whether the kernel must stop."""
    target = rank
    if not multicast or address >= BEHIND:
        target = u64(cta.rank) if address < PEER else address // PEER - 1
    at = at_rank(address, target)
    place = resolve(context, cta, warp, transfer.thread & 31, at, 8, 3, CLUSTER, 1, None)
    if place is None:
        transfer.open = 0
        shown = at if target != cta.rank else at & (PEER - 1)
        return wrong(context, warp, transfer, COPY_TO, shown, 8, 8)
    word = place.cast(u64)
    if word[0] >> TAG_SHIFT & 3 != TAG:
        transfer.open = 0
        return wrong(context, warp, transfer, BAD_MBARRIER, Problem.NOT_INITIALISED, 0, 0)
    transfer.word = word
    transfer.owner = u32(target)
    transfer.barrier = u32(at & (PEER - 1))
    return False


@rule
def at_rank(address: u64, rank: u64) -> u64:
    """The address that an address of shared memory has in the block of a rank."""
    return (address & (PEER - 1)) + (rank + 1) * PEER


@rule
def wrong(context: Context, warp: Warp, asked: Transfer, kind: u32, address: u64, count: u64, align: u64) -> boolean:
    stop(context, warp, kind, asked.code, asked.thread & 31, address)
    context.fault.count = count
    context.fault.multiple = align
    return True


@rule
def finish_groups(context: Context, cta: Cta, warp: Warp, mask: u32, left: u32, commits: boolean) -> None:
    """Lanes commit what they have asked for, or wait for their groups."""
    if cta.cluster.queue is None:
        return
    queue = cta.cluster.queue[0]
    for lane in lanes_of(mask):
        thread = warp.warp_id << 5 | lane
        if commits:
            queue.committed[cta.rank * queue.threads + thread] += 1
        else:
            bulk_copies.wait_group(context, queue, cta.rank, thread, left)
