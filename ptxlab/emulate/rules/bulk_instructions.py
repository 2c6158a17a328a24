"""What bulk copies say in their opcodes and operands, and how they are issued in compiled code."""

from __future__ import annotations

from dataclasses import dataclass

from ptxlab.emulate.language import (
    Pointer,
    boolean,
    copy_bytes,
    i32,
    lanes_of,
    local,
    rule,
    u8,
    u32,
    u64,
)
from ptxlab.emulate.program.addresses import PEER
from ptxlab.emulate.program.model import Code, Program
from ptxlab.emulate.rules import bulk
from ptxlab.emulate.rules import tensor_maps as maps
from ptxlab.emulate.rules.memcheck import resolve, stop
from ptxlab.emulate.runtime.state import (
    BAD_BULK,
    BAD_MBARRIER,
    CLUSTER,
    COPY_FROM,
    COPY_TO,
    GENERIC,
    GLOBAL,
    Context,
    Cta,
    Warp,
)
from ptxlab.emulate.runtime.transfers import COPY, LOAD_TILE, REDUCE, REDUCE_TILE, STORE_TILE, WRITE, Queue, Transfer
from ptxlab.isa import types
from ptxlab.isa.actions import Action, AsyncGroup
from ptxlab.isa.mbarrier import TAG, TAG_SHIFT, Problem

BEHIND = 17 * PEER
"""Behind the last address of shared memory: each block has its own, and one of each rank."""
BAD_SIZE, NO_MAP = 1, 2
"""Why a bulk copy cannot be done."""
REASONS = {
    BAD_SIZE: "its size must be a multiple of 16 bytes and not 0, found {}",
    NO_MAP: "there is no tensor map at {:#x}; make one with pl.TensorMap",
}


def is_bulk(code: Code) -> bool:
    """Whether an instruction copies in bulk, commits such copies to a group or waits for one."""
    return code.form.op.kind == "async" and not code.properties.mbarrier and code.properties.group in _GROUPS


_GROUPS = (AsyncGroup.BULK, AsyncGroup.MBARRIER)


def copies_in_bulk(program: Program) -> bool:
    """Whether a program has any."""
    return any(is_bulk(code) for code in program.codes)


@dataclass(frozen=True)
class Bulk:
    """A bulk copy: the kind of its transfers; whether it belongs to a bulk group (else it reports to an mbarrier),
    whether it goes to several blocks; of a reduction the operation (+ 1 for `red.async`) and the type; of a single
    value its bytes."""

    kind: int
    grouped: bool
    multicast: bool
    operation: int
    type: int
    count: int


def bulk_of(code: Code) -> Bulk:
    """What an instruction copies."""
    form, reduces = code.form, code.action is Action.COPY_REDUCE
    grouped = code.properties.group is AsyncGroup.BULK
    operation = bulk.OPERATIONS.index(str(form.operation)) if reduces else 0
    type_ = bulk.TYPES.index(str(form.type)) if reduces and not form.tensor else 0
    count = 0
    if form.tensor:
        kind = LOAD_TILE if not grouped else REDUCE_TILE if reduces else STORE_TILE
    elif form.single:
        kind, count = WRITE, types.width(form.type) // 8 * int(str(form.vec or "v1")[1:])
        operation += reduces
    else:
        kind = REDUCE if reduces else COPY
    return Bulk(kind, grouped, bool(form.multicast_cluster), operation, type_, count)


# -- issuing, in the compiling engine ----------------------------------------------------------------------------------


@rule
def issue_lanes(
    context: Context, cta: Cta, warp: Warp, mask: u32, data: Pointer[u64], more: Pointer[u64], kind: u32, grouped: u32,
    multicast: u32, source_space: u32, operation: u32, type: u32, count: u64, code: u32,
) -> boolean:  # fmt: skip
    """The bulk copies of some lanes. data: for each lane the first address, the second, the size, the mbarrier, the
    mask of ranks, and a value; more: coordinates and im2col offsets. Whether the kernel must stop: a fault is noted
    then."""
    if cta.cluster.queue is None:
        return False
    queue = cta.cluster.queue[0]
    for lane in lanes_of(mask):
        if kind >= LOAD_TILE:
            if issue_tile(context, cta, warp, queue, lane, data, more, kind, multicast, operation, code):
                return True
        elif issue_bytes(
            context, cta, warp, queue, lane, data, kind, grouped, multicast, source_space, operation, type, count, code
        ):  # fmt: skip
            return True
    return False


@rule
def wrong(
    context: Context, warp: Warp, kind: u32, code: u32, lane: u32, address: u64, count: u64, align: u64
) -> boolean:  # fmt: skip
    """Notes a fault."""
    stop(context, warp, kind, code, lane, address)
    context.fault.count = count
    context.fault.multiple = align
    return True


@rule
def begin(context: Context, cta: Cta, warp: Warp, queue: Queue, lane: u32, kind: u32, code: u32) -> Transfer:
    """A transfer that a lane issues."""
    transfer = bulk.issue(context, queue)
    transfer.kind = kind
    transfer.code = code
    transfer.thread = warp.warp_id << 5 | lane
    transfer.rank = cta.rank
    transfer.group = 0
    transfer.word = None
    transfer.written = None
    return transfer


@rule
def told(context: Context, queue: Queue, transfer: Transfer) -> None:
    """The checks are told of a transfer that has been filled in."""
    if context.checked:
        bulk.issued(context, queue, transfer)


@rule
def at_rank(address: u64, rank: u64) -> u64:
    """The address that an address of shared memory has in the block of a rank."""
    return (address & (PEER - 1)) + (rank + 1) * PEER


@rule
def report_to(
    context: Context,
    cta: Cta,
    warp: Warp,
    transfer: Transfer,
    lane: u32,
    address: u64,
    rank: u64,
    multicast: u32,
    code: u32,
) -> boolean:
    """The mbarrier of a transfer: that of the address, or with `multicast` the one at its place in the block of a rank.
    Whether the kernel must stop."""
    target = rank
    if multicast == 0 or address >= BEHIND:
        target = u64(cta.rank) if address < PEER else address // PEER - 1
    at = at_rank(address, target)
    place = resolve(context, cta, warp, lane, at, 8, 3, CLUSTER, 1, None)
    if place is None:
        transfer.open = 0
        return wrong(context, warp, COPY_TO, code, lane, at if target != cta.rank else at & (PEER - 1), 8, 8)
    word = place.cast(u64)
    if word[0] >> TAG_SHIFT & 3 != TAG:
        transfer.open = 0
        stop(context, warp, BAD_MBARRIER, code, lane, Problem.NOT_INITIALISED)
        return True
    transfer.word = word
    transfer.owner = u32(target)
    transfer.barrier = u32(at & (PEER - 1))
    return False


@rule
def issue_bytes(
    context: Context, cta: Cta, warp: Warp, queue: Queue, lane: u32, data: Pointer[u64], kind: u32, grouped: u32,
    multicast: u32, source_space: u32, operation: u32, type: u32, count: u64, code: u32,
) -> boolean:  # fmt: skip
    """A copy of bytes in a row, or of a value."""
    to = data[lane]
    align = u64(16)
    log2 = u64(4)
    if kind == WRITE:
        align = count
        log2 = u64(3 if count == 8 else 4 if count == 16 else 2)
    else:
        count = data[64 + lane]
        if count == 0 or count & 15 != 0:
            return wrong(context, warp, BAD_BULK, code, lane, count, BAD_SIZE, 0)
    source = data[32 + lane]
    held: Pointer[u8] | None = None
    if kind != WRITE:
        held = resolve(context, cta, warp, lane, source, count, 4, source_space, 0, None)
        if held is None:
            return wrong(context, warp, COPY_FROM, code, lane, source, count, 16)
    if grouped != 0:
        place = resolve(context, cta, warp, lane, to, count, 4, GLOBAL, 1, None)
        if place is None:
            return wrong(context, warp, COPY_TO, code, lane, to, count, 16)
        written = context.found.written
        transfer = begin(context, cta, warp, queue, lane, kind, code)
        transfer.count = count
        transfer.to = place
        transfer.written = written
        if held is not None:
            transfer.source = held
        transfer.operation = operation
        transfer.type = type
        transfer.group = queue.committed[cta.rank * queue.threads + (warp.warp_id << 5 | lane)] + 1
        transfer.at = source
        transfer.at_rank = cta.rank
        transfer.reads = 1
        told(context, queue, transfer)
        return False
    if to >= BEHIND:
        return wrong(context, warp, COPY_TO, code, lane, to, count, align)
    ranks = u64(1) << cta.rank if to < PEER else u64(1) << (to // PEER - 1)
    if multicast != 0:
        ranks = data[128 + lane]
    for rank in range(16):
        if ranks >> rank & 1 != 0:
            there = at_rank(to, rank)
            place = resolve(context, cta, warp, lane, there, count, log2, CLUSTER, 1, None)
            if place is None:
                return wrong(context, warp, COPY_TO, code, lane, to if rank == cta.rank else there, count, align)
            written = context.found.written
            transfer = begin(context, cta, warp, queue, lane, kind, code)
            transfer.count = count
            transfer.to = place
            transfer.written = written
            if held is not None:
                transfer.source = held
            transfer.operation = operation
            transfer.type = type
            transfer.value[0] = data[160 + lane]
            transfer.value[1] = data[192 + lane]
            transfer.at = there & (PEER - 1)
            transfer.at_rank = u32(rank)
            transfer.reads = 0
            if report_to(context, cta, warp, transfer, lane, data[96 + lane], rank, multicast, code):
                return True
            told(context, queue, transfer)
    return False


@rule
def issue_tile(
    context: Context, cta: Cta, warp: Warp, queue: Queue, lane: u32, data: Pointer[u64], more: Pointer[u64], kind: u32,
    multicast: u32, operation: u32, code: u32,
) -> boolean:  # fmt: skip
    """A copy of a tile of a tensor."""
    load = kind == LOAD_TILE
    address = data[32 + lane] if load else data[lane]
    shared = data[lane] if load else data[32 + lane]
    found = resolve(context, cta, warp, lane, address, 128, 6, GENERIC, 0, None)
    if found is None:
        return wrong(context, warp, COPY_FROM, code, lane, address, 128, 64)
    map = local(u64, 16)
    copy_bytes(map.cast(u8), found, 128)
    if not maps.is_map(map):
        return wrong(context, warp, BAD_BULK, code, lane, address, NO_MAP, 0)
    place = local(i32, 5)
    shift = local(i32, 3)
    for k in range(5):
        place[k] = i32(more[32 * k + lane])
    for k in range(3):
        shift[k] = i32(more[32 * (5 + k) + lane])
    some, low, length = maps.reach(map, place, shift)
    tensor: Pointer[u8] | None = None
    written: Pointer[u8] | None = None
    first = u64(map[1] + low)
    if some:
        tensor = resolve(context, cta, warp, lane, first, length, 0, GLOBAL, u32(not load), None)
        if tensor is None:
            return wrong(context, warp, u32(COPY_FROM if load else COPY_TO), code, lane, first, length, 1)
        written = context.found.written
    count = maps.tile_bytes(map)
    if shared >= BEHIND or (not load and shared >= PEER):
        return wrong(context, warp, u32(COPY_TO if load else COPY_FROM), code, lane, shared, count, 128)
    ranks = u64(1) << cta.rank
    if load:
        if shared >= PEER:
            ranks = u64(1) << (shared // PEER - 1)
        if multicast != 0:
            ranks = data[128 + lane]
    for rank in range(16):
        if ranks >> rank & 1 != 0:
            there = at_rank(shared, rank)
            inside = resolve(context, cta, warp, lane, there, count, 7, CLUSTER, u32(load), None)
            if inside is None:
                told_address = shared if rank == cta.rank else there
                return wrong(context, warp, u32(COPY_TO if load else COPY_FROM), code, lane, told_address, count, 128)
            marked = context.found.written
            transfer = begin(context, cta, warp, queue, lane, kind, code)
            transfer.count = count
            transfer.base = u64(0 - low)
            if load:
                transfer.to = inside
                transfer.written = marked
                if tensor is not None:
                    transfer.source = tensor
            else:
                transfer.source = inside
                transfer.written = written
                if tensor is not None:
                    transfer.to = tensor
                transfer.group = queue.committed[cta.rank * queue.threads + (warp.warp_id << 5 | lane)] + 1
            transfer.operation = operation
            transfer.type = reduced_type(map)
            transfer.at = there & (PEER - 1)
            transfer.at_rank = u32(rank)
            transfer.reads = u32(1)
            if load:
                transfer.reads = 0
            for k in range(16):
                transfer.map[k] = map[k]
            for k in range(5):
                transfer.place[k] = place[k]
            for k in range(3):
                transfer.shift[k] = shift[k]
            if load:
                if report_to(context, cta, warp, transfer, lane, data[96 + lane], rank, multicast, code):
                    return True
            told(context, queue, transfer)
    return False


REDUCED = sum((bulk.TYPES.index(name) if name else 15) << 4 * k for k, name in enumerate(bulk.OF_MAPS))


@rule(inline=True)
def reduced_type(map: Pointer[u64]) -> u32:
    """The type that a reduction of a tensor's elements has."""
    return u32(u64(REDUCED) >> 4 * (map[0] >> 8 & 15) & 15)


@rule
def finish_groups(context: Context, cta: Cta, warp: Warp, mask: u32, left: u32, commits: boolean) -> None:
    """Lanes commit what they have asked for, or wait for their groups."""
    if cta.cluster.queue is None:
        return
    queue = cta.cluster.queue[0]
    for lane in lanes_of(mask):
        thread = warp.warp_id << 5 | lane
        if commits:
            bulk.commit(queue, cta.rank, thread)
        else:
            bulk.wait_group(context, queue, cta.rank, thread, left)
