"""initcheck: which bytes have been written.

Each byte of memory has a byte in a record: `WRITTEN` once a store has reached it, 0 before. Shared memory is unwritten
when a block begins; global memory is checked where the launch knows that a buffer has no contents yet. Local memory has
its module, `initcheck_local`, and registers have theirs, `register_checks`. To read what has not been written is an
error only where it decides something. Compiled code notes each load that does; if there is one, the interpreter follows
values (`step.following`).

`offsets` are the distances of 32 lanes from the start of that memory; `members` is a count, then a `Member` for each
access of a group.
"""

from __future__ import annotations

from ptxlab.emulate.language import *
from ptxlab.emulate.rules.notes import OVERRUN, UNINITIALISED, note, serial
from ptxlab.emulate.rules.records import GAP, WARP, WRITTEN, Block, Launch, Member

ALL_WRITTEN = 0x01010101 * WRITTEN
"""The records of four bytes that have been written."""
PIECE = 16
"""Bulk copies have a multiple of so many bytes; a gap between two arrays is larger."""
CLOSE = 256
"""Bytes by which the first and the last of some lanes may be apart to be looked at together."""


# -- is it written? ----------------------------------------------------------------------------------------------------


@rule
def first_unwritten(written: Pointer[u8], size: u64) -> u64:
    """The first of `size` bytes that has not been written; `size` if there is none."""
    at: u64 = 0
    while at + 64 <= size and all_of(load_row((written + at).cast(u32)) == ALL_WRITTEN):
        at += 64
    while at + 4 <= size and (written + at).cast(u32)[0] == ALL_WRITTEN:
        at += 4
    while at < size and written[at] == WRITTEN:
        at += 1
    return at


@rule(inline=True)
def range_written(mask: u32, written: Pointer[u8], offsets: Pointer[u32], at: u64, size: u64) -> boolean:
    """Whether all is written from what the first lane of the mask accesses to what the last one does, and the others
    access nothing else: CPUs load contiguous bytes faster than scattered ones."""
    if mask == 0:
        return True
    begin = offsets[first(mask)]
    reach = u32(offsets[last(mask)] - begin)
    if reach > CLOSE or any_of(lanes(mask) & (load_lanes(offsets) - begin > reach)):
        return False
    return first_unwritten(written + (begin + at), reach + size) == reach + size


@rule
def lanes_written(mask: u32, written: Pointer[u8], offsets: Pointer[u32], at: u64, size: u64) -> boolean:
    """Whether the `size` bytes are written that each lane of the mask reads at any address, `at` after its offset."""
    if range_written(mask & 0xFFFF, written, offsets, at, size):  # blocks 16 wide read two rows
        if range_written(mask & 0xFFFF0000, written, offsets, at, size):
            return True
    words, chosen, begin = written.cast(u32), lanes(mask), load_lanes(offsets) + u32(at)
    if size < 4:
        found, meant = gather(words, begin >> 2, chosen) >> ((begin & 3) << 3), u32((1 << 8 * size) - 1)
        return not any_of(chosen & (found & meant != meant))
    first = begin >> 2  # such accesses are aligned to four bytes at least
    for word in range(size >> 2):
        if bits(gather(words, first + u32(word), chosen) != ALL_WRITTEN) & mask:
            return False
    return True


@rule
def all_written(mask: u32, written: Pointer[u8], offsets: Pointer[u32], members: Pointer[u64]) -> boolean:
    """Whether everything is written that lanes read in a group of accesses."""
    group = (members + 1).cast(Member)
    for k in range(members[0]):
        if not lanes_written(mask, written, offsets, group[k].at, group[k].bytes):
            return False
    return True


@rule
def first_in_gap(written: Pointer[u8], size: u64) -> u64:
    """The first of `size` bytes that lies between two arrays; `size` if there is none."""
    for at in range(size):
        if written[at] == GAP:
            return at
    return size


@rule(cold=True)
def report(
    launch: Launch,
    block: Block,
    warp: u32,
    mask: u32,
    written: Pointer[u8],
    offsets: Pointer[u32],
    start: u64,
    members: Pointer[u64],
) -> None:
    """A group has read a byte that was not written: notes for each of its accesses the first lane that did, in a gap
    and elsewhere. `start` is the address of the memory whose record is `written`. The bytes of a gap never count as
    written."""
    serial(launch, mask)
    access = block.now | u64(warp) << WARP
    group = (members + 1).cast(Member)
    for k in range(members[0]):
        member = group[k]
        for lane in lanes_of(mask):
            at = offsets[lane] + member.at
            missing = first_unwritten(written + at, member.bytes)
            if missing != member.bytes:
                past = member.bytes
                if launch.gaps:
                    past = first_in_gap(written + at, member.bytes)
                if past != member.bytes:
                    note(launch, block, OVERRUN, access | member.access | lane, 0, start + at + past, 0)
                else:
                    note(launch, block, UNINITIALISED, access | member.access | lane, 0, start + at + missing, 0)


# -- now it is ---------------------------------------------------------------------------------------------------------


@rule
def mark(mask: u32, written: Pointer[u8], offsets: Pointer[u32], offset: u64, size: u64) -> None:
    """Lanes have stored `size` bytes each, `offset` after their own offsets."""
    if size < 4:
        for lane in lanes_of(mask):
            fill_bytes(written + (offsets[lane] + offset), WRITTEN, size)
        return
    words, chosen, full = written.cast(u32), lanes(mask), narrow(splat(ALL_WRITTEN))
    first = (load_lanes(offsets) + u32(offset)) >> 2  # such accesses are aligned to four bytes at least
    for word in range(size >> 2):
        scatter(words, first + u32(word), full, chosen)


# -- bulk copies -------------------------------------------------------------------------------------------------------


@rule
def source(launch: Launch, block: Block, written: Pointer[u8], address: u64, size: u64, access: u64) -> boolean:
    """A bulk copy reads `size` bytes of shared memory: notes the first that is in a gap or unwritten, if any is."""
    missing = first_unwritten(written, size)
    if missing != size:
        kind = u64(OVERRUN if written[missing] == GAP else UNINITIALISED)
        note(launch, block, kind, access, 0, address + missing, 0)
    return missing == size


@rule
def target(launch: Launch, block: Block, written: Pointer[u8], address: u64, size: u64, access: u64) -> None:
    """A bulk copy writes `size` bytes of shared memory: notes the first that is in a gap, which has more than PIECE."""
    for piece in range(PIECE - 1, size + PIECE - 1, PIECE):
        at = min(piece, size - 1)
        if written[at] == GAP:
            while at != 0 and written[at - 1] == GAP:
                at -= 1
            note(launch, block, OVERRUN, access, 0, address + at, 0)
            return


# -- past an array -----------------------------------------------------------------------------------------------------


@rule
def in_gap(mask: u32, written: Pointer[u8], offsets: Pointer[u32], at: u64, size: u64) -> u32:
    """The lanes of the mask whose access touches a gap between two arrays, which is larger than an access."""
    begin = load_lanes(offsets) + u32(at)
    low = record_of(written, begin, lanes(mask)) == GAP
    return mask & bits(low | (record_of(written, begin + u32(size - 1), lanes(mask)) == GAP))


@rule(inline=True)
def record_of(written: Pointer[u8], offset: lanes_u32, chosen: lanes_bool) -> lanes_u32:
    """The record of one byte for each lane."""
    found: lanes_u32 = gather(written.cast(u32), offset >> 2, chosen) >> ((offset & 3) << 3) & 0xFF
    return found


@rule
def overruns(
    launch: Launch,
    block: Block,
    warp: u32,
    mask: u32,
    written: Pointer[u8],
    offsets: Pointer[u32],
    at: u64,
    size: u64,
    access: u64,
    start: u64,
) -> u32:
    """The lanes that store to a gap between two arrays, the first of them noted."""
    past = in_gap(mask, written, offsets, at, size)
    if past:
        serial(launch, mask)
        lane = first(past)
        place = offsets[lane] + at
        place += first_in_gap(written + place, size)
        note(launch, block, OVERRUN, block.now | u64(warp) << WARP | access | lane, 0, start + place, 0)
    return past


@rule
def stored(
    launch: Launch,
    block: Block,
    warp: u32,
    mask: u32,
    written: Pointer[u8],
    offsets: Pointer[u32],
    at: u64,
    size: u64,
    access: u64,
    start: u64,
) -> None:
    """Lanes store `size` bytes each to shared memory: the bytes that lie in an array count as written."""
    if launch.gaps:
        mask &= ~overruns(launch, block, warp, mask, written, offsets, at, size, access, start)
    mark(mask, written, offsets, at, size)
