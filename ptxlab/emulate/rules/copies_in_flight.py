"""The copies of `cp.async` that are in flight: no thread may access their target before the issuing thread has waited.

The copies that a thread issues belong to the group that it commits next (`cp.async.commit_group`, `wait_all`, or
`cp.async.mbarrier.arrive`). For each 4 bytes of shared memory 64 bits record the copy that writes them, 0 for none:

    63..42  code index      41..32  thread      31..0  group, counted from 1

A copy is done when its thread has waited for that group or a later one.
"""

from __future__ import annotations

from ptxlab.emulate.language import *
from ptxlab.emulate.rules.notes import PENDING, note, serial
from ptxlab.emulate.rules.records import CODE, STORES, Block, Launch, access_of, traits_of

COPY_CODE, COPY_THREAD = 42, 32
"""Where the code index and the thread of a copy begin."""
BEING_READ, BEING_WRITTEN = (1 << 31) - 2, (1 << 31) - 1
"""Instead of a group: a bulk copy is in flight from there, or to there."""
THREADS = (1 << COPY_CODE - COPY_THREAD) - 1


@rule
def start(block: Block, warp: u32, mask: u32, offsets: Pointer[u32], size: u32, code: u32) -> None:
    """Each lane of `mask` issues a copy of `size` bytes, at least 4, to its offset in shared memory."""
    block.copies = 1
    for lane in lanes_of(mask):
        thread = warp << 5 | lane
        group = block.committed[thread] + 1
        copy = u64(code) << COPY_CODE | u64(thread) << COPY_THREAD | u64(group)
        word = offsets[lane] >> 2
        for k in range(size >> 2):
            block.pending[word + k] = copy


@rule
def commit(block: Block, warp: u32, mask: u32) -> None:
    """Each lane commits the copies that it has issued so far as a group."""
    for lane in lanes_of(mask):
        block.committed[warp << 5 | lane] += 1


@rule
def wait_group(block: Block, warp: u32, mask: u32, left: i32) -> None:
    """Each lane waits until no more than `left` of its groups are in flight."""
    for lane in lanes_of(mask):
        thread = warp << 5 | lane
        block.finished[thread] = max(block.finished[thread], block.committed[thread] - left)


@rule
def wait_all(block: Block, warp: u32, mask: u32) -> None:
    """Each lane waits for all copies that it has issued, committed or not."""
    commit(block, warp, mask)
    wait_group(block, warp, mask, 0)


@rule
def touched(
    launch: Launch, block: Block, warp: u32, mask: u32, offsets: Pointer[u32], members: Pointer[u64], start: u64
) -> None:
    """Lanes of `mask` read or overwrite shared memory, which begins at the address `start`. `members`: how many
    accesses each lane makes, and for each of them its distance from the lane's offset, its bytes, and its record
    without the thread."""
    if not block.copies:
        return
    serial(launch, mask)
    for k in range(u32(members[0])):
        member = members + (3 * k + 1)
        for lane in lanes_of(mask):
            low = offsets[lane] + u32(member[0])
            behind = min(u32(low + u32(member[1])), u32(block.shared_size))  # beyond, the access itself faults
            for word in range(low >> 2, (behind + 3) >> 2):
                copy = block.pending[word]
                if copy:
                    thread = u32(copy >> COPY_THREAD) & THREADS
                    if block.finished[thread] >= i32(copy):
                        block.pending[word] = 0
                    elif u32(copy) != BEING_READ or traits_of(launch, member[2]) & STORES != 0:
                        other = block.now | copy >> COPY_CODE << CODE | thread
                        access = access_of(block, warp, 0) | member[2] | lane
                        note(launch, block, PENDING, access, other, start + low, 0)
