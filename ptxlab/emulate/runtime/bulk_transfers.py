"""Bulk copies in flight: issued, and not yet performed by the async proxy."""

from __future__ import annotations

from ptxlab.emulate.language import Array, Pointer, Record, array, i32, u8, u32, u64

ROOM = 128
"""Most copies of a cluster that are in flight at once; before one more is issued, the oldest is performed."""
COPY, REDUCE, WRITE, LOAD_TILE, STORE_TILE, REDUCE_TILE, PREFETCH_TILE = range(7)
"""What a transfer does. WRITE: stores a value that came with it. PREFETCH_TILE: nothing, it is only judged."""

MOVED = (
    "bulk_copies", "bulk_global_ld", "bulk_global_st", "bulk_global_red", "bulk_arrived", "bulk_shared_st",
    "bulk_shared_ld", "bulk_remote",
)  # fmt: skip
"""What is counted of an instruction's bulk copies: how many there were; bytes of global memory that they read, write
and reduce, those outside of a tensor left out; those read, once for each block that they arrive in; bytes of shared
memory written and read; those of them that cross from one block to another."""
COPIES, READ, WRITTEN, REDUCED, ARRIVED, FILLED, HELD, REMOTE = range(8)
"""Their places in a row."""


class Transfer(Record):
    """One bulk copy, or `st.async`, `red.async`. Its addresses were checked when it was issued."""

    kind: u32
    code: u32  # the instruction, the thread in its block, the rank of the block
    thread: u32
    rank: u32
    group: u32  # its bulk group, counted from 1; 0: it reports to an mbarrier
    open: u32  # whether it has not been performed yet
    count: u64  # bytes that are written, and reported to the mbarrier
    to: Pointer[u8]
    source: Pointer[u8]
    written: Pointer[u8] | None  # the record of written bytes of what is written, from the start of its allocation
    word: Pointer[u64] | None  # the mbarrier; the rank of its block, and its address there
    owner: u32
    barrier: u32
    phase: i32  # for the checks: the phase of the mbarrier when it was issued
    passed: u32  # warps that have waited for that mbarrier in vain, and were reported
    operation: u32  # of a reduction: the operation and the type, see `ptxlab.emulate.rules.bulk_copies`
    type: u32
    at: u64  # where in shared memory the bytes lie, in the block of which rank, whether they are read there
    at_rank: u32
    reads: u32
    held: u64  # of a copy from shared memory to shared memory: where its source lies in its own block; else 0
    address: u64  # the first byte in global memory that it reads or writes; 0: there is none
    value: Array[u64] = array(2)
    inside: u64  # bytes of global memory that are read or written: of a tile those in the tensor
    base: u64  # of a tile: the offset from `to` or `source` of the tensor's first element, modulo 2**64
    place: Array[i32] = array(5)
    shift: Array[i32] = array(3)
    map: Array[u64] = array(16)  # the tensor map as it was


class Queue(Record):
    """The transfers of a cluster, oldest first: number n is `transfers[n % ROOM]`."""

    first: u64
    behind: u64
    committed: Pointer[u32]  # of each thread of each block, by rank: its bulk groups
    threads: u64  # of a block
    first_rank: u64  # which of the context's resident CTAs is that of rank 0
    transfers: Array[Transfer] = array(ROOM)
