"""The records of a running launch, shared by compiled code, the rules and the Python around them.

One worker thread runs one block at a time. Its `Context` holds pointers and counters, the `Cta` what the block's warps
share, and each `Warp` the program counters, masks and thread indices. After a `Warp` lie its registers: 32 lanes each,
and beside them one scalar for those that are uniform while the warp is converged (see `jit.emitter.registers`).
"""

from __future__ import annotations

from ptxlab.emulate.language import Array, Pointer, Record, Ref, array, boolean, i32, i64, u8, u32, u64
from ptxlab.emulate.program.addresses import HeapPiece

GLOBAL, SHARED, LOCAL, PARAM, CONST, GENERIC, CLUSTER, CONST_WINDOW = range(8)
SPACES = {
    "global": GLOBAL, "shared": SHARED, "local": LOCAL, "frame": LOCAL, "param": PARAM, "const": CONST,
    "generic": GENERIC, "cluster": CLUSTER, "const window": CONST_WINDOW,
}  # fmt: skip
"""State spaces by name, numbered as the rules number them."""

DONE, FAULT, SUSPENDED, DIVERGED, CONVERGED, LACKING = range(6)
"""What the functions that run a warp return; LACKING: the code of the block that is next was not built."""
STOPPED, NEEDS_DIVERGED, NEEDS_SLOT, NEEDS_CODE, PAUSED = 2, 3, 4, 5, 8
"""What the scheduler returns besides DONE and FAULT."""

BARRIERS = 16
"""Barriers of a block."""
PATIENT_SLICES = 16
"""Quanta after which a worker whose block has not ended makes another one resident. In a cooperative launch, whose
blocks are all resident, it does so after one, as elsewhere where a warp only waits for others."""

# -- kinds of fault; the first: any invalid access, a misaligned one or a store to what is read only, too
OUT_OF_MEMORY_RANGE, BUDGET_SPENT, DEADLOCK, TRAP, BAD_INDEX, BAD_BARRIER = 1, 2, 3, 4, 5, 6
INCOMPLETE, DISAGREE = 7, 8  # an instruction of the whole warp: not all lanes execute it; their operands differ
COPY_FROM, COPY_TO, COPY_SIZE = 9, 10, 13  # the source, the destination or the source size of a cp.async is wrong
BAD_MBARRIER = 11
BAD_BULK = 12  # a bulk copy with a size that is none, or without a tensor map: see `rules.bulk_instructions`
BAD_DESCRIPTOR = 40  # of a wgmma; the address is that of the first bytes out of range, with DESCRIPTOR_B added for b
NO_WARPGROUP = 41  # a wgmma in a warp whose warpgroup is not whole
INCOMPLETE_WARPGROUP = 42  # the warps of a warpgroup have not executed the same products
DESCRIPTOR_B = 1 << 32
GROUP_FLAG = 1 << 30  # on a code index: the address is the lowest of a group of accesses, any of which may be wrong


# -- bulk copies in flight: issued, and not yet performed by the async proxy -------------------------------------------

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
"""The places of these counts in a row."""


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
    at: u64  # where the bytes lie in shared memory, in which block (rank), and whether they are read there
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
    released: Array[u32] = array(32, align=64)  # for the checks: what its warp releases by it (`race_order.release`)


class Queue(Record):
    """The transfers of a cluster, oldest first: number n is `transfers[n % ROOM]`."""

    first: u64
    behind: u64
    committed: Pointer[u32]  # of each thread of each block, by rank: its bulk groups
    threads: u64  # of a block
    first_rank: u64  # which of the context's resident blocks is that of rank 0
    transfers: Array[Transfer] = array(ROOM)


# -- memory, warps, blocks ---------------------------------------------------------------------------------------------


class Allocation(Record):
    """An allocation of device memory, for compiled code."""

    base: u64
    room: u64  # its bytes
    writable: u64
    space: u64  # GLOBAL, CONST, CONST_WINDOW, or GENERIC where it may be either
    host: Pointer[u8]
    written: Pointer[u8] | None  # a byte for each byte, 255 once stored to; None without initcheck
    accesses: Pointer[u64] | None  # racecheck's records: of last writers, then of readers, then of other readers
    stride: u64  # how many there are of each of the three


class MemoryMap(Record):
    """The memory that a launch may access: the allocations, and the sizes of the other state spaces."""

    allocations: Pointer[Allocation]  # by rising address
    count: u64
    shared_start: u64
    shared_size: u64
    local_size: u64
    local_stride: u64  # bytes from one lane's local memory to the next's
    param_size: u64
    cluster: u64  # blocks of a cluster
    heap: u64  # where what `malloc` gives begins, if the program calls `free`
    heap_size: u64  # else 0
    given: Pointer[HeapPiece]  # for each 16 bytes of the heap


class Site(Record):
    """The cache of a site, that is, of an access in the code: the allocation that it found last."""

    base: u64
    places: u64  # how many addresses an access may begin at; 0: no allocation is cached
    host: Pointer[u8]
    written: Pointer[u8] | None
    accesses: Pointer[u64] | None
    stride: u64


class ScalarRegister(Record):
    """Where a uniform or affine register (see `jit.affine`) of a converged warp is: bytes from the warp's state on."""

    vector: u32  # its lanes
    scalar: u32
    width: u32  # bytes of a lane's value; 0: the lanes are bits of one word
    bit: u32  # its bit in `Warp.changed`, which it may share with others
    # of an affine register where the table has 32 u64, in bytes from the table's start; 0 for all others
    lane_offsets: u32  # what lanes add to lane 0
    steps: u32  # the same before it is scaled
    inner: u32  # where its second scalar lies; 0: it has none
    signed: u32  # whether the sum of the second scalar and a step is extended with its sign
    times: u32  # how many strides lanes add to lane 0, 32 u64 as above; 0: it has no stride
    stride: u32  # where the stride lies: as wide as the second scalar, or as the register if it has none
    beyond: u32  # what lanes add once the sum is extended, 32 u64 as above; 0: nothing
    scale: u64


LOG_WARPGROUP = 2
"""The logarithm of the warps of a warpgroup."""


class Executions(Record):
    warps: i64
    threads: i64


class Fault(Record):
    """Why a kernel stops: the kind of fault, and where. `address` means something else for some kinds."""

    kind: u32
    code: u32
    lane: u32
    warp: u32
    address: u64
    count: u64  # of a bulk copy: its bytes, and what its address must be a multiple of
    multiple: u64
    lanes: u32  # of an access that was checked for several instructions: the lanes, and where each begins
    addresses: Array[u64] = array(32)


class Found(Record):
    """The result of the lookup of an address, beside the pointer to it."""

    written: Pointer[u8] | None
    accesses: Pointer[u64] | None
    stride: u64
    at: u64  # bytes from the start of the allocation


class Cluster(Record):
    """The state that blocks of a cluster share. A launch without clusters has clusters of one block."""

    first: u64  # which of the context's resident blocks is that of rank 0; the others follow
    count: u64
    busy: u64  # blocks that have not ended
    queue: Pointer[Queue] | None  # its bulk copies that are in flight; None in a program without any


class Cta(Record, align=64):
    """The record of a block (CTA) that runs: what its warps share."""

    active: u32
    ctaid_x: u32
    ctaid_y: u32
    ctaid_z: u32
    linear: u64  # its index in the grid
    shared: Pointer[u8]
    shared_size: u64
    states: Pointer[u8]  # a `Warp` and its registers for each warp
    position: u64  # in the context's `order`: whose turn it is
    local: Pointer[u8]
    local_size: u64  # of all warps together
    cluster: Ref[Cluster]
    rank: u32  # in its cluster
    converged: u32  # whether no warp has diverged here since the states of all warps were last reset
    # of each barrier: threads that it waits for if given, warps that have arrived and gone on, votes for, votes
    bar_count: Array[u32] = array(BARRIERS, align=64)
    bar_arrived: Array[u32] = array(BARRIERS)
    bar_yes: Array[u32] = array(BARRIERS)
    bar_asked: Array[u32] = array(BARRIERS)
    # of the checks, null without
    checks: Pointer[u8]  # their record of the block
    init_shared: Pointer[u8] | None
    race_shared: Pointer[u64] | None
    race_shared_stride: u64


class Resident(Record):
    """A resident block: it has begun, or has memory to begin in."""

    cta: Ref[Cta]


class Step(Record):
    """One step of a recorded warp, as compiled code writes it."""

    code: u32
    mask: u32
    guard: u32
    warp: u32
    at: u64  # where its data lie
    block: u64


class Reel(Record):
    """The buffers of a trace: where the next step and its data go, where they end, and which blocks are recorded."""

    next_step: u64
    last_step: u64
    next_data: u64
    last_data: u64
    blocks: Pointer[u8]  # 1 for each block that is recorded
    warps: Pointer[u8]
    full: u64  # whether a step found no room


class Place(Record):
    """Where an access of one lane goes: in the host's memory, and in the record of written bytes."""

    host: Pointer[u8]
    written: Pointer[u8] | None


class Context(Record, align=64):
    """The state of a worker. `next`, `stop` and `budget` are shared by all workers."""

    next: Pointer[u64]  # the next cluster that no worker has taken
    stop: Pointer[i32]
    budget: Pointer[i64]  # warp-instructions that are left
    wide_lock: Pointer[u32]  # held during a 128-bit atomic operation: the same in all launches and all their code
    total: u64  # clusters of the grid
    params: Pointer[u8]
    memory: Ref[MemoryMap]
    sites: Pointer[Site]
    site_count: u64
    counts: Pointer[Executions]  # of each basic block, that it has begun
    rest: Pointer[Executions]  # of each instruction that synchronizes lanes, the rest of its block: more or less often
    basic_blocks: u64  # where each warpgroup has its own `counts` and `rest`, one behind the other; 0: all share one
    exits: Pointer[u32]  # the basic blocks that only end threads (`Program.exits`)
    slice: i64  # what is left of the warp's time slice
    slice_size: i64
    steps_left: i64  # rounds and blocks that the scheduler begins before it pauses
    forgone: i64  # what a warp whose wait for an mbarrier has failed has given up of it
    run_diverged: u64  # the function for diverged warps, 0 as long as there is none
    outdated: u32  # 1 if there is better code by now: to be taken up before the next block begins
    entry: u32  # the program counter at which warps begin
    warps: u64  # of a block
    state_size: u64  # bytes from one warp's state to the next's
    order: Pointer[u32]  # the warps in the order in which they have their turns
    block_order: Pointer[u64] | None  # the blocks in the order in which they begin; None: as they are
    grid_x: u32
    grid_y: u32
    grid_z: u32
    block_x: u32
    block_y: u32
    block_z: u32
    cluster_x: u32  # blocks of a cluster
    cluster_y: u32
    cluster_z: u32
    explicit_cluster: u32
    cta: Ref[Cta]  # the one that runs now
    slots: Pointer[Resident]
    slot_count: u64
    slot: u64
    slot_limit: u64
    waiting: Pointer[u8] | None  # 1 for each instruction in a loop that only waits for others; None: there are none
    waiting_end: u64  # how many are told
    suspensions: u64
    asks_at: u64  # after this many the worker asks for one more resident block, or whether all wait in vain
    finished: u64  # blocks that this worker has run to their end
    clock: u64  # warp-instructions before this slice
    random: u64  # state of the random numbers that shuffle warps, 0 without; not 0 where `leaders_first`
    leaders_first: boolean  # whether the first warp that can go on, by `order`, has its turn after each barrier
    tally: Pointer[u8]  # what counted code adds up
    moved: Pointer[u64] | None  # of each instruction what its bulk copies move (`MOVED`); None: not counted
    check: Pointer[u8]  # the checks' record of the launch
    phases: u64  # the function that reports operations on mbarriers to the checks
    combine: u64  # the function that does the reductions of bulk copies
    check_issued: u64  # the functions that check bulk copies when they are issued and performed
    check_completed: u64
    issued: u64  # and those that report them to a trace
    completed: u64
    trace: Ref[Reel]  # where recorded warps write their steps
    checked: boolean  # whether blocks that begin and barriers that complete are reported to the checks
    traced: boolean
    clears: boolean  # whether warps begin with registers that must be cleared
    bulk_copies: boolean  # whether the program has such instructions: the scheduler does without what serves the others
    mbarriers: boolean
    cluster_barriers: boolean
    warpgroup_products: boolean
    fault: Fault
    found: Found


class Turns(Record, align=4):
    """Whose turn it is in a diverged warp (see `ptxlab.emulate.rules.lane_scheduling`)."""

    rounds: u32  # of loops, since the last turn was given or the warp has diverged
    left: u32  # of the turn that lasts
    lane: u32  # whose turn it is, or was last
    waits: u32  # for mbarriers that lanes have ended with success after failure, since then too


class Executed(Record, align=4):
    """The products of wgmma that a warp has executed."""

    count: u32
    last: u32  # its code index
    all: u32  # a number that depends on all of them


class Warp(Record, align=64):
    """A warp's state, in front of its registers.

    Program counters are twice a code index: an even one is the start of a block, 2k + 1 stands after the exchange of
    k. While the warp is converged `converged_pc` is valid, else `pc`.
    """

    pc: Array[u32] = array(32, align=64)
    live: u32
    wait: u32
    diverged: u32  # whether it has
    converged_pc: u32
    turns: Turns
    synced: u32  # lanes that have synchronized and have not yet received their results
    ended: u32  # bits of `Program.exits` that lanes have left by and for which the warp has not been counted
    carry: u32
    cluster_arrived: u32  # lanes that have arrived at the barrier of the cluster, those whose arrival's phase is over,
    cluster_passed: u32  # and those that wait there
    cluster_waits: u32
    spins: u32  # lanes whose wait for an mbarrier failed and that can only wait again (see `rules.mbarrier_deadlocks`)
    yes: u32  # the result of the last `bar.red`
    asked: u32
    first_live: u32  # the lanes that a block begins with
    warp_id: u32
    traced: u32  # whether its steps are recorded
    resume: u32  # lanes whose turn it was when the function for diverged warps turned out to lack their block
    region: u32  # where the function for converged warps goes on with the region that it left (`jit.control.regions`)
    products: Executed
    awaited: u32  # how many products its warpgroup must have begun before it goes on; 0: it does not wait
    local: Pointer[u8]
    changed: u64  # registers that a diverged warp has written to and that are scalars while it is converged: their bits
    # for each barrier the lanes that wait there, and those of them that go on when the rest of their warp has come
    bar: Array[u32] = array(BARRIERS, align=64)
    arrived: Array[u32] = array(BARRIERS, align=64)
    tid_x: Array[u32] = array(32, align=64)
    tid_y: Array[u32] = array(32, align=64)
    tid_z: Array[u32] = array(32, align=64)
    # lanes of a diverged warp at a `.sync` instruction: of which kind (0: at none), their operands, and what is ready
    sync_kind: Array[u32] = array(32, align=64)
    members: Array[u32] = array(32, align=64)
    offered: Array[u64] = array(3, 32, align=64)
    given_members: Array[u32] = array(32, align=64)
    given: Array[u64] = array(3, 32, align=64)
    # of each lane that spins: where in shared memory the mbarrier is, the word whose phase it tests, the wait
    spin_at: Array[u64] = array(32, align=64)
    spin_for: Array[u64] = array(32, align=64)
    spin_code: Array[u32] = array(32, align=64)
