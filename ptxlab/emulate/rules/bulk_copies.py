"""Bulk copies (`cp.async.bulk`, `cp.reduce.async.bulk`, their tensor forms, `st.async`, `red.async`), performed late.

A GPU performs a bulk copy at some time between the instruction that issues it and the wait that it is known by. Here it
is performed as late as possible: when a wait fails for the mbarrier that the copy reports to; when a thread waits for
the bulk group that it belongs to; when the block that issued it ends; or when nothing else can run. So a program that
does not wait reads what was there before, and one that overwrites the source too early copies what it has written.

What a transfer reads is read when it is performed, and its addresses are judged when it is issued.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ptxlab.emulate.language import *
from ptxlab.emulate.rules import tensor_maps as maps
from ptxlab.emulate.rules.mbarrier_words import UPDATE, operated
from ptxlab.emulate.rules.records import WRITTEN
from ptxlab.emulate.runtime.state import (
    COPY,
    LOAD_TILE,
    REDUCE,
    REDUCE_TILE,
    ROOM,
    STORE_TILE,
    WRITE,
    Context,
    Queue,
    Transfer,
)

OPERATIONS = ("add", "min", "max", "inc", "dec", "and", "or", "xor")
TYPES = ("u32", "s32", "u64", "s64", "b32", "b64", "f16", "bf16", "f32", "f64", "f32.ftz")
"""Operations and types of reductions, as transfers number them."""
F32, F64 = TYPES.index("f32"), TYPES.index("f64")
OF_MAPS = ("", "", "u32", "s32", "u64", "s64", "f16", "f32", "f32", "f64", "bf16")
"""The type that a reduction of a tensor with elements of such a type has; "" where there is none."""
_ADD, _ENDS, _LOGIC = OPERATIONS[:1], OPERATIONS[1:3], OPERATIONS[5:]
OF_TENSORS: dict[str, tuple[str, ...]] = {
    "u32": OPERATIONS, "s32": _ADD + _ENDS + _LOGIC, "u64": _ADD + _ENDS + _LOGIC, "s64": _ENDS,
    "b32": (), "b64": (), "f16": _ADD + _ENDS, "bf16": _ADD + _ENDS, "f32": _ADD, "f64": _ADD,
}  # fmt: skip
"""The reductions of a tensor's elements (PTX ISA, cp.reduce.async.bulk.tensor), but that an H100 takes .add of
f64, too, and .and, .or and .xor of u64 and not of s64."""
_TAKEN = sum(1 << 8 * TYPES.index(t) + OPERATIONS.index(o) for t in TYPES[:8] for o in OF_TENSORS[t])


# -- reductions --------------------------------------------------------------------------------------------------------


@rule(pointer="combine")
def combine(context: Context, to: Pointer[u8], source: Pointer[u8], count: u64, operation: u32, type: u32) -> u32:
    """Reduces `count` bytes in memory with as many others, element by element. Compiled code calls back."""
    here, there = (p.array.view(np.uint8)[p.start : p.start + count] for p in (to, source))
    reduce_bytes(here, there, operation, type)
    return 0


@rule(inline=True)
def reduces_elements(operation: u32, type: u32) -> boolean:
    """Whether a reduction of a tensor has such an operation and type."""
    if type >= 8:
        return (type == F32 or type == F64) and operation == 0
    return u64(_TAKEN) >> 8 * type + operation & 1 != 0


@np.errstate(all="ignore")  # a sum beyond the largest number is infinite, and one of opposite infinities NaN
def reduce_bytes(to: np.ndarray, source: np.ndarray, operation: int, type: int) -> None:
    """Reduces the bytes of `to` with those of `source`, element by element."""
    what, name = OPERATIONS[operation], TYPES[type]
    if name == "bf16":
        a, b = (x.copy().view(np.uint16).astype(np.uint32) << 16 for x in (to, source))
        wide = _OF[what](a.view(np.float32), b.view(np.float32)).view(np.uint32).astype(np.uint64)
        rounded = (wide + 0x7FFF + (wide >> 16 & 1)) >> 16
        nan = (wide & 0x7FFFFFFF) > 0x7F800000
        to[:] = np.where(nan, 0x7FFF, rounded).astype(np.uint16).view(np.uint8)
        return
    width, _, flushes = name[1:].partition(".")
    dtype = np.dtype({"f": "f", "u": "u", "b": "u", "s": "i"}[name[0]] + str(int(width) // 8))
    a, b = to.copy().view(dtype), source.copy().view(dtype)
    if flushes:
        a, b = flushed(a), flushed(b)
    result = np.asarray(_OF[what](a, b), dtype)
    to[:] = (flushed(result) if flushes else result).view(np.uint8)


def flushed(x: np.ndarray) -> np.ndarray:
    """f32 numbers with a zero of the same sign in the place of each subnormal one."""
    return np.where(np.abs(x) < np.finfo(np.float32).tiny, np.copysign(np.float32(0), x), x)


_OF: dict[str, Any] = {
    "add": np.add, "min": np.fmin, "max": np.fmax, "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor,
    "inc": lambda a, b: np.where(a >= b, 0, a + 1), "dec": lambda a, b: np.where((a == 0) | (a > b), b, a - 1),
}  # fmt: skip


# -- performing --------------------------------------------------------------------------------------------------------


@rule
def perform(context: Context, transfer: Transfer) -> None:
    """Moves the bytes of a transfer, and counts them at its mbarrier."""
    kind = transfer.kind
    if kind == COPY:
        copy_bytes(transfer.to, transfer.source, transfer.count)
    elif kind == REDUCE:
        combine(context, transfer.to, transfer.source, transfer.count, transfer.operation, transfer.type)
    elif kind == WRITE:
        source = local(u64, 2)
        source[0] = transfer.value[0]
        source[1] = transfer.value[1]
        if transfer.operation != 0:
            combine(context, transfer.to, source.cast(u8), transfer.count, transfer.operation - 1, transfer.type)
        else:
            copy_bytes(transfer.to, source.cast(u8), transfer.count)
    else:
        tile(context, transfer)
    if transfer.written is not None and kind != STORE_TILE and kind != REDUCE_TILE:
        fill_bytes(transfer.written, WRITTEN, transfer.count)
    if transfer.word is not None:
        word = transfer.word
        _problem, word[0], _before = operated(word[0], UPDATE, 0, 0, u64(0 - transfer.count))
    transfer.open = 0


@rule
def tile(context: Context, transfer: Transfer) -> None:
    """A tile between shared memory and a tensor, row by row and chunk by chunk."""
    map = transfer.map
    place = transfer.place
    shift = transfer.shift
    length = maps.row_bytes(map)
    load = transfer.kind == LOAD_TILE
    for row in range(maps.rows(map)):
        inside, offset, low, high = maps.row_place(map, place, shift, row)
        for chunk in range((length + maps.CHUNK - 1) // maps.CHUNK):
            begin = chunk * maps.CHUNK
            behind = min(begin + maps.CHUNK, length)
            here = u64(maps.swizzled(map, u64(transfer.at) + row * length + begin) - transfer.at)
            first = min(max(begin, low), behind)
            last = max(min(behind, high), first)
            if not inside:
                last = first
            there = u64(transfer.base + offset + first)
            if load:
                for k in range(begin, first):
                    transfer.to[here + k - begin] = u8(maps.fill_byte(map, k))
                if last > first:
                    copy_bytes(transfer.to + (here + first - begin), transfer.source + there, last - first)
                for k in range(last, behind):
                    transfer.to[here + k - begin] = u8(maps.fill_byte(map, k))
            elif last > first:
                held = transfer.source + (here + first - begin)
                if transfer.kind == STORE_TILE:
                    copy_bytes(transfer.to + there, held, last - first)
                else:
                    combine(context, transfer.to + there, held, last - first, transfer.operation, transfer.type)
                if transfer.written is not None:
                    fill_bytes(transfer.written + there, WRITTEN, last - first)


# -- the queue ---------------------------------------------------------------------------------------------------------


@rule
def issue(context: Context, queue: Queue) -> Transfer:
    """A place in the queue for one more transfer; the caller fills it in. If there is none, the oldest is performed."""
    if queue.behind - queue.first == ROOM:
        oldest = queue.transfers[queue.first % ROOM]
        if oldest.open != 0:
            done(context, queue, oldest)
        queue.first += 1
    transfer = queue.transfers[queue.behind % ROOM]
    queue.behind += 1
    transfer.open = 1
    return transfer


@rule
def done(context: Context, queue: Queue, transfer: Transfer) -> None:
    before = u64(0)
    if transfer.word is not None:
        before = transfer.word[0]
    perform(context, transfer)
    if context.checked:
        check_completed(context, queue, transfer, before)
    if context.traced:
        completed(context, queue, transfer)


@rule(pointer="check_issued")
def check_issued(context: Context, queue: Queue, transfer: Transfer) -> u32:
    """Checks a transfer that has been issued (`bulk_checks.issued`)."""
    checks: Any = context
    checks.check_issued(queue, transfer)
    return 0


@rule(pointer="check_completed")
def check_completed(context: Context, queue: Queue, transfer: Transfer, before: u64) -> u32:
    """Checks a transfer that has been performed (`bulk_checks.completed`); `before`: what its mbarrier held."""
    checks: Any = context
    checks.check_completed(queue, transfer, before)
    return 0


@rule(pointer="completed")
def completed(context: Context, queue: Queue, transfer: Transfer) -> u32:
    """Tells a trace that a transfer has been performed."""
    recorder: Any = context
    recorder.completed(queue, transfer)
    return 0


@rule(pointer="issued")
def issued(context: Context, queue: Queue, transfer: Transfer) -> u32:
    """Tells a trace that a transfer has been issued."""
    recorder: Any = context
    recorder.issued(queue, transfer)
    return 0


@rule
def shrink(queue: Queue) -> None:
    """Forgets what has been performed."""
    while queue.first != queue.behind and queue.transfers[queue.first % ROOM].open == 0:
        queue.first += 1


@rule
def complete_at(context: Context, queue: Queue, owner: u32, at: u32) -> None:
    """A thread waits for a phase of an mbarrier that has not ended: what reports to it is performed."""
    for number in range(queue.first, queue.behind):
        transfer = queue.transfers[number % ROOM]
        if transfer.open != 0 and transfer.group == 0 and transfer.owner == owner and transfer.barrier == at:
            done(context, queue, transfer)
    shrink(queue)


@rule
def complete_all(context: Context, queue: Queue) -> boolean:
    """A block ends, or nothing else can run. Whether there was anything to perform."""
    some = False
    for number in range(queue.first, queue.behind):
        transfer = queue.transfers[number % ROOM]
        if transfer.open != 0:
            done(context, queue, transfer)
            some = True
    shrink(queue)
    return some


@rule
def wait_group(context: Context, queue: Queue, rank: u32, thread: u32, left: u32) -> None:
    """A thread waits until no more than `left` of its bulk groups are in flight."""
    closed = queue.committed[rank * queue.threads + thread]
    if closed <= left:
        return
    for number in range(queue.first, queue.behind):
        transfer = queue.transfers[number % ROOM]
        if transfer.open != 0 and transfer.rank == rank and transfer.thread == thread:
            if transfer.group != 0 and transfer.group <= closed - left:
                done(context, queue, transfer)
    shrink(queue)
