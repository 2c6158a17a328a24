"""The records of the checks: of a launch, of each resident block, and, as one number, of an access.

The rules, both engines and their tests share these records. That of an access is described in `races`. Behind them: the
clock of a block, how accesses are described to the checks, and how a block's records are reset. `Launch` and `Block`
are what the checks know of a launch and of a thread block. The launch itself is `runtime.report.Launch`, a thread block
of the JIT is `runtime.state.Cta`, and a basic block is `program.flat_program.Block`.
"""

from __future__ import annotations

from ptxlab.emulate.language import *
from ptxlab.emulate.runtime.state import BARRIERS

LANE, WARP, MANY, STRONG, CODE, TIME, BLOCK = 0, 5, 10, 11, 12, 30, 48
"""Where each field of the record of an access begins."""
LAST_TIME, LAST_CODE = (1 << 18) - 1, (1 << 18) - 1
"""The largest time and the largest code index."""
IN_FLIGHT = 1 << 17
"""Times from here on are those of accesses in flight (`copies_in_flight`): later than any of a clock."""
CLOCK_END = IN_FLIGHT - 1
"""The last time of a clock: what is recorded from then on counts as ordered."""
ID = 0xFFFF << BLOCK | 0xFFF | IN_FLIGHT << TIME
"""The fields of a record that name the thread, and whether its access is strong or in flight: a plain access of the
lane that stands for those of an atomic operation is not an access of them."""
BLOCKS = 65535
"""Blocks have numbers from 1 on in records; those of larger grids share them."""

WRITTEN, GAP, WITHOUT = 0xFF, 0x55, 1
"""initcheck's record of a byte that has been written, of one in a gap between two arrays, and of one that was stored
without a value; 0: not written."""
SWAPS, NARROW, VOLATILE, STORES, ATOMIC, ASYNC, REDUCES, ONLY_STORES = (1 << k for k in range(8))
MAKES, USES, POLLS, PRODUCT, FLIES, ACQUIRES = (1 << k for k in range(8, 14))
"""What `Launch.traits` says of an instruction: it is a compare-and-swap; its scope is the block; it is a volatile
load or store of shared memory; it stores; it is atomic; it is asynchronous; it is a reduction by a bulk copy; it
stores and loads nothing; it makes an mbarrier, or makes one invalid (or orders that); it does something else with
one; it asks one for a phase; it is a product of `wgmma`; it is a `cp.async`; it acquires."""
ENTRIES = 1024
"""Notes that a launch keeps; how many more there are is counted."""


class Entry(Record):
    """A note: what is wrong, `count` times; see `notes`."""

    key: u64
    count: u64
    access: u64  # the record of the access that noticed it, of the other one (0: there is none)
    other: u64
    address: u64
    block: u64
    value: u64  # a number that the kind of note explains
    serial: u64  # the warp-instruction that noted it last


PLACES = 1 << 12
"""Words whose last release is remembered; of words that share a place, the later one."""
RELEASES = 8
"""Releases to other blocks that are remembered of a block."""


KINDS, KEPT = 3, 4
"""Kinds of waits for copies, and how many are remembered of each (`copies_in_flight`)."""


class Wait(Record):
    """Lanes of a warp have waited for their groups of copies, up to this one, at this time."""

    lanes: u32
    group: u32
    time: u32


class Published(Record):
    """The record of what a block has released by strong writes after fences."""

    first: u32  # when it did so first for other blocks, by the clock of the launch, 0: never
    acquired: u32  # up to when, by the same clock, what others released comes before what some warp of it does next
    seen: u32  # what its strong accesses have seen, by the same clock: a fence after them makes that `acquired`
    unordered: u32  # code index + 1 of that access, or of a fence after it whose scope is the block; 0: it orders
    narrow: u32  # code index + 1 of the last release or acquire here whose scope is the block
    proxied_all: u32  # what its warps did before this time comes before a barrier of all and a fence.proxy.async
    proxied: Array[u32] = array(32)  # of each of its warps: its last fence.proxy.async; both count for other blocks
    released: Array[u32] = array(32, align=64)  # of each of its warps: what it did before this time of its own clock
    reached: Array[u32] = array(32, align=64)  # the same, as far as other blocks have heard of it
    reached_lanes: Array[u32] = array(32)  # `reached`, of what only the lanes of `releasing` did
    releasing: Array[u32] = array(32)  # lanes that made strong writes, and those that had synchronized with them
    times: Array[u32] = array(RELEASES)  # its last releases to other blocks: when, by the block's clock,
    moments: Array[u32] = array(RELEASES)  # and by that of the launch; number n at n % RELEASES
    releases: u32  # how many there were; of several at one time of the block only the first counts
    waits: Array[Wait] = array(32 * KINDS * (KEPT + 1))  # by warp and kind, newest first; behind them all lanes and the
    # last group of those that have been forgotten


class Store(Record):
    """A plain store while it is checked: what it stores, and where. A vector store has several components. After the
    store `values` are what was there before."""

    components: u64  # 0: no plain store is being checked
    width: u64  # bytes of a component
    values: Pointer[u8]  # of each component 32 lanes
    memory: Pointer[u8]  # what is there, from the start of the allocation or of the one lane's place
    memory_start: u64  # the address of its first byte
    start: u64  # the address that each lane stores to; what is added to it, if anything
    narrow: Pointer[u32] | None
    wide: Pointer[u64] | None


class Launch(Record):
    now: u32  # the clock of the launch: how often a block has released something
    serial: u64  # how many warp-instructions have been checked
    mask: u64  # the lanes of the warp-instruction that is being checked
    initcheck: boolean
    racecheck: boolean
    synccheck: boolean
    gaps: boolean  # whether there are any between the arrays of shared memory
    unwritten: u64  # initcheck: whether there is a buffer in global memory of which it is followed what is written
    granule: u64  # bytes that one record of accesses covers
    published: Pointer[Published]  # of each block, by its number in a record
    lines: Pointer[u32]  # for each code index its line
    barriers: Pointer[u32]  # for each code index itself + 1; of copies of one barrier, in an unrolled loop, that of the
    # first; 0 for a barrier that cannot be distinguished from others
    masks: Pointer[u32]  # for each code index and warp the lanes that made an access last, 0 for all
    traits: Pointer[u16]  # for each code index SWAPS, NARROW and so on, added up
    store: Store
    notes: Array[Entry] = array(ENTRIES, align=64)
    released: Array[u32] = array(PLACES)  # for words of global memory, by `race_order.place`: the last release there


WAITS = 16
"""Waits for products of `wgmma` that are remembered of a warp."""
PROXY_FENCES = 4
"""Fences of the async proxy that are remembered of a warp."""
PARTS = 8
"""Releases by some lanes of a warp that are remembered of it."""
RANKS = 16
"""Blocks of a cluster at most."""


class Peer(Record):
    block: Pointer[u8]  # its `Block`


class Mates(Record):
    """The checks' record of a cluster: its blocks, by rank."""

    blocks: Array[Peer] = array(RANKS)
    numbers: Array[u64] = array(RANKS)  # their numbers in records, 0: there is none
    came: Array[u32] = array(2 * RANKS, 32, align=64)  # [2 * rank + parity of the phase, warp]: when it arrived
    made: Array[u32] = array(2 * RANKS, 32, align=64)  # the same: when it had last executed `fence.mbarrier_init`


class Block(Record):
    """The checks' record of a block. Warps are numbered within the block, times are those of its clock."""

    now: u64  # the block's number and its clock, as in a record of an access
    full: u64  # the same when all its warps last arrived at a barrier
    simple: u64  # whether no barrier of a part of the block, and no mbarrier, has ordered anything yet
    linear: u64  # the block's number in the grid
    warps: u64  # how many it has
    fences: u64  # 2: there was a fence; 1: a strong access; what they record is cleared for the next block if so
    syncs: u64  # the same of `.sync` instructions, of barriers for some of the warps and of `bar.arrive`
    product_waited: u64  # the same of waits for products of `wgmma`
    written: Pointer[u8]  # initcheck: of each byte of shared memory whether it was written
    gaps: Pointer[u64]  # initcheck: how many gaps lie between its arrays, then the offset and size of each
    records: Pointer[u64]  # racecheck: the records of shared memory; how many writers there are, then readers
    stride: u64
    shared_size: u64
    local: Pointer[u32]  # initcheck: for each warp and byte of local memory the lanes that have written it
    local_stride: u64  # bytes of local memory that a thread has
    values: Pointer[u32]  # initcheck: for each warp and register followed the lanes that have written it
    followed: u64  # registers of a warp that are followed
    fenced: Array[u32] = array(32, align=64)  # of each warp: its last fence
    covered: Array[u32] = array(32, 32, align=64)  # [w, v]: w's last fence comes after what v did before this time
    fenced_wide: Array[u32] = array(32, align=64)  # the same two of fences for other blocks as well
    covered_wide: Array[u32] = array(32, 32, align=64)
    fenced_init: Array[u32] = array(32)  # of each warp: its last `fence.mbarrier_init`
    acquired: Array[u32] = array(32, 32, align=64)  # [w, v]: w's last acquire comes after what v had released
    seen: Array[u32] = array(32, 32, align=64)  # [w, v]: so would a fence that w executes now
    unordered: Array[u32] = array(32)  # of each warp: code index + 1 of its last strong access that does not order
    heard: Array[u32] = array(32)  # of each warp, and of those it is ordered after: up to when, by the clock of the
    # launch, what other blocks released comes before what it does next
    heard_soon: Array[u32] = array(32)  # the same once it has executed a fence
    came: Array[u32] = array(BARRIERS, 32, align=64)  # [barrier, warp]: when the warp arrived and went on, and behind
    knew: Array[u32] = array(BARRIERS, 32, align=64)  # it what all these were `known` to come after when they arrived
    sync: Array[u32] = array(32, 32, align=64)  # [w, v]: w comes after what v did before this time
    whole: Array[u32] = array(32)  # of each warp: what all its lanes did before this time has been released
    partial_releases: Array[u32] = array(32, align=64)  # of each warp how often some of its lanes released something
    parts: Array[u32] = array(32, 4 * PARTS)  # of the last ones, number n at n % PARTS: when; before what time what all
    # did is released, and what those lanes did; which lanes
    landed: Array[u32] = array(32, 32, align=64)  # [w, v]: w has waited for bulk copies that v issued, made before this
    subsets: Array[u32] = array(32, 16, align=64)  # per warp 8 pairs: lanes that synchronized as a subset, and when
    bar_code: Array[u32] = array(32, align=64)  # of each warp: code index + 1 of the `.aligned` barrier it came to last
    whole_code: Array[u32] = array(32)  # the same, 0 unless that barrier was for all threads of the block
    expected: Array[u32] = array(BARRIERS)  # the count that each was given + 1, by which instruction and thread
    expected_code: Array[u32] = array(BARRIERS)
    expected_by: Array[u32] = array(BARRIERS)
    bar_at: Array[u32] = array(32)  # of each warp: the barrier it came to last, and a lane, as in an access
    arrived_at: Array[u32] = array(BARRIERS)  # the same of the last `bar.arrive`
    arrivals: Array[u64] = array(BARRIERS, 32, align=64)  # [barrier, warp]: its arrival in the phase before
    counted: u64  # barriers whose phase before had a count: of others there are no `arrivals`
    committed: Array[u32] = array(2, 1024, align=64)  # of each thread: its groups of cp.async, and its bulk groups
    copies: u64  # whether there were any
    polled: Array[u64] = array(32, 2)  # of each warp: its wait for an mbarrier that failed last, how often since
    tile_writes: Pointer[u64] | None  # synccheck of the async proxy: of each 16 bytes the last store, and of each
    tile_reads: Pointer[u64] | None  # warpgroup the last product of `wgmma` that reads them, from `reads_of` on
    tile_layout: Pointer[u64] | None  # of each 16 bytes which part of a copied tile they are (`tile_layouts`)
    layouts: u32  # how many tiles have been copied
    proxy_fences: Array[u32] = array(32)  # of each warp: how many `fence.proxy.async` there were, and of the last
    proxy_at: Array[u32] = array(32, PROXY_FENCES)  # ones when, number n at n % PROXY_FENCES, and
    proxy_saw: Array[u32] = array(32, PROXY_FENCES * 32, align=64)  # before what time it comes after each warp
    products_begun: Array[u32] = array(32)  # of each warp: products of `wgmma` that it has begun,
    products_done: Array[u32] = array(32)  # and those that it has waited for
    product_waits: Array[u32] = array(32)  # of each warp how often it has waited for products, and the last of these
    waited_up_to: Array[u32] = array(32, WAITS, align=64)  # waits: the products it has waited for by then
    waited_at: Array[u64] = array(32, WAITS, align=64)  # and the record of the wait, number n at n % WAITS
    updates: u64  # operations on mbarriers other than waits
    relaxed: u64  # code index + 1 of the last relaxed arrival at an mbarrier, and when it was
    relaxed_at: u64
    narrow_wait: u64  # code index + 1 of the last wait of the scope .cta for what other blocks had released
    mbarriers: Pointer[u8]  # what is known of its mbarriers (`mbarrier_records.Mbarriers`)
    mates: Pointer[Mates] | None  # of a cluster of several blocks, or with a barrier of the cluster
    rank: u64
    phases: Array[u32] = array(32)  # of each warp: how often it has waited at the barrier of the cluster,
    entered: Array[u32] = array(32)  # and when first
    peers: Pointer[u32] | None  # [(w * RANKS + r) * 32 + v]: w comes after what warp v of rank r did before this time


# -- the clock ---------------------------------------------------------------------------------------------------------


@rule
def tick(block: Block) -> u32:
    """Advances the clock; the new time. When the clock has run out, what is recorded counts as ordered."""
    time = u32(block.now >> TIME & LAST_TIME)
    if time != CLOCK_END:
        block.now += 1 << TIME
        time += 1
    return time


@rule(inline=True)
def access_of(block: Block, warp: u32, code: u32) -> u64:
    """The record of an access that lane 0 of a warp makes now; `| lane` gives that of another lane."""
    return block.now | u64(code) << CODE | u64(warp) << WARP


@rule(inline=True)
def reads_of(block: Block, warp: u64) -> u64:
    """Where in `tile_reads` the products of the warpgroup of a warp begin."""
    return (warp >> 2) * (block.shared_size // 16 + 1)


@rule(inline=True)
def traits_of(launch: Launch, access: u64) -> u16:
    return launch.traits[access >> CODE & LAST_CODE]


# -- accesses ----------------------------------------------------------------------------------------------------------


CONTIGUOUS, UNIFORM, IN_ONE_ALLOCATION, ANYWHERE, HALVES_CONTIGUOUS, HALVES_UNIFORM, WITH_GAPS = range(7)
"""The pattern of the 32 addresses of an access. Half-warps have one of their own because blocks are often 16 wide. The
last: contiguous as a whole or by halves, but for some lanes that are inactive."""
READS, WRITES, CHANGES = range(3)
"""The kinds of access: an atomic operation reads and writes."""


class Member(Record):
    """One access of a group: offset from the group's address, size, and the instruction as in an access record."""

    at: u64
    bytes: u64
    access: u64


# -- a block begins ----------------------------------------------------------------------------------------------------


@rule
def started(block: Block, linear: u64) -> None:
    """Resets the records, which another block may have used; `linear` is the block's number in the grid. What is kept
    for each warp is reset for the warps that there are, and if it has changed: for 32 warps it is 40 kB."""
    block.linear = linear
    block.now = (linear % BLOCKS + 1) << BLOCK | 1 << TIME
    block.full = block.now
    block.simple = (1 << 64) - 1
    block.layouts = 0
    if block.mates is not None:
        block.mates[0].numbers[block.rank] = block.now >> BLOCK
        fill_bytes(block.mates[0].came.row(2 * block.rank), 0, 2 * 128)
        fill_bytes(block.mates[0].made.row(2 * block.rank), 0, 2 * 128)
    if block.peers is not None:
        fill_bytes(block.peers.cast(u8), 0, 32 * RANKS * 32 * 4)
    if block.written is not None:
        fill_bytes(block.written, 0, block.shared_size)
        if block.gaps is not None:
            for k in range(block.gaps[0]):
                fill_bytes(block.written + block.gaps[2 * k + 1], GAP, block.gaps[2 * k + 2])
    if block.records is not None:
        fill_bytes(block.records, 0, 24 * block.stride)
    if block.tile_writes is not None and block.tile_reads is not None:
        fill_bytes(block.tile_writes, 0, block.shared_size // 2)
        fill_bytes(block.tile_reads, 0, 8 * reads_of(block, block.warps + 3))
    if block.tile_layout is not None:
        fill_bytes(block.tile_layout, 0, block.shared_size // 2)
    if block.local is not None:
        fill_bytes(block.local.cast(u8), 0, 4 * block.warps * block.local_stride)
    if block.values is not None:
        fill_bytes(block.values, 0, 4 * block.warps * block.followed)
    words = 4 * block.warps  # the bytes of a word for each warp
    fill_bytes(block.expected, 0, 4 * BARRIERS)
    fill_bytes(block.expected_code, 0, 4 * BARRIERS)
    fill_bytes(block.expected_by, 0, 4 * BARRIERS)
    fill_bytes(block.bar_code, 0, words)
    fill_bytes(block.whole_code, 0, words)
    fill_bytes(block.bar_at, 0, words)
    fill_bytes(block.arrived_at, 0, 4 * BARRIERS)
    if any_of(load_lanes(block.proxy_fences) != 0):
        fill_bytes(block.proxy_fences, 0, words)
        fill_bytes(block.proxy_at.row(0), 0, PROXY_FENCES * words)
        fill_bytes(block.proxy_saw.row(0), 0, 32 * PROXY_FENCES * words)
    fill_bytes(block.whole, 0, words)
    if any_of(load_lanes(block.partial_releases) != 0):
        fill_bytes(block.partial_releases, 0, words)
        fill_bytes(block.parts.row(0), 0, 4 * PARTS * words)
    fill_bytes(block.phases, 0, words)
    fill_bytes(block.entered, 0, words)
    fill_bytes(block.products_begun, 0, words)
    fill_bytes(block.polled.row(0), 0, 4 * words)
    if block.fences != 0:
        fill_bytes(block.fenced, 0, words)
        fill_bytes(block.fenced_wide, 0, words)
        fill_bytes(block.fenced_init, 0, words)
        fill_bytes(block.unordered, 0, words)
        fill_bytes(block.heard, 0, words)
        fill_bytes(block.heard_soon, 0, words)
        fill_bytes(block.covered.row(0), 0, 32 * words)
        fill_bytes(block.covered_wide.row(0), 0, 32 * words)
        fill_bytes(block.acquired.row(0), 0, 32 * words)
        fill_bytes(block.seen.row(0), 0, 32 * words)
    if block.syncs != 0:
        fill_bytes(block.came.row(0), 0, 2 * 16 * 128)
        fill_bytes(block.sync.row(0), 0, 32 * words)
        fill_bytes(block.landed.row(0), 0, 32 * words)
        fill_bytes(block.subsets.row(0), 0, 16 * words)
    if block.counted != 0:
        fill_bytes(block.arrivals.row(0), 0, 16 * 256)
    if block.copies != 0:
        fill_bytes(block.committed.row(0), 0, 2 * 4096)
    if block.product_waited != 0:
        fill_bytes(block.products_done, 0, words)
        fill_bytes(block.product_waits, 0, words)
        fill_bytes(block.waited_up_to.row(0), 0, WAITS * words)
        fill_bytes(block.waited_at.row(0), 0, 2 * WAITS * words)
    block.relaxed, block.relaxed_at, block.narrow_wait = 0, 0, 0
    block.copies, block.updates, block.fences, block.syncs, block.product_waited, block.counted = 0, 0, 0, 0, 0, 0
