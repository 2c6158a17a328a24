"""Which accesses are ordered: the rules of `racecheck`, and the record that it keeps of each word of memory.

A word (4 bytes, or fewer where the program has narrower accesses) remembers its last writer and two readers, each as
one 64-bit number:

    63..48  block + 1 (modulo 65535)      11    strong: volatile, relaxed, acquire, release or atomic
    47..30  time: the block's clock       10    many lanes of the warp did it together
    29..12  code index                    9..5  warp        4..0  lane

The clock of a block ticks at whatever orders its threads: a barrier, an instruction that lanes of a warp meet at, a
fence. An access is ordered before another one

- of the same thread, always (lanes that made an access in one instruction count as one thread to it);
- of the same warp, if a `.sync` instruction (`bar.warp.sync`, a shuffle, a vote, a matrix instruction) lies between
  whose mask names both lanes;
- of the same block, if a barrier lies between that both warps took part in, whatever its number, or a chain of those;
- of the same block, if its warp has arrived at an mbarrier since in a phase that the other warp has waited for;
- of the same block, if a strong write since has released it, and the other's warp has acquired since that;
- of another block, likewise: released here, acquired there, neither with the block as its scope (`.cta`);
- of another block of the cluster, if its warp has since arrived at the cluster's barrier, and the other has waited
  there, or if its warp has arrived at an mbarrier in a phase that the other has waited for.

A strong access acquires. A relaxed compare-and-swap or exchange, with which locks are taken, does so only once a fence
stands behind it. (By the memory model this is so of every relaxed access; but much code reads a flag or takes the last
ticket without a fence, and what it reads then is often volatile.)

A strong write releases what its warp did before its last fence, what that warp knew to be done by others at that fence,
and what others did before a fence of their own, if a barrier lies between that and the write. So in the reduction where
the last block adds up what all have stored, a barrier has to come before thread 0 takes its ticket.

Two strong accesses do not race, unless they are of two blocks and the scope of one is its block; nor do a load and a
compare-and-swap, which fails if the load saw an old value. What this does not see: whether a strong access reads what
another one wrote, or something else; all but the first two readers of a word; a second writer to other bytes. A write
that leaves a word as it is does not race with the write before it. It never takes an ordered pair for a race.

The records of an allocation are one array: the writers of all its words, `stride` further on a reader of each, and as
far again another reader. A rule that looks at one word gets a pointer to its writer. What a whole warp does at once is
in `race_accesses`.
"""

from __future__ import annotations

import numpy as np

from ptxlab.emulate.language import (
    Pointer,
    any_of,
    bits,
    boolean,
    extract,
    first,
    insert,
    lanes_of,
    lanes_u32,
    load_lanes,
    maximum,
    minimum,
    rule,
    store_lanes,
    u8,
    u32,
    u64,
)
from ptxlab.emulate.program.model import Program
from ptxlab.emulate.rules.clock import tick
from ptxlab.emulate.rules.findings import CAUSE, LOCKSTEP, RAW, WAR, WAW
from ptxlab.emulate.rules.instructions import wide
from ptxlab.emulate.rules.notes import note
from ptxlab.emulate.rules.records import (
    BLOCK,
    CODE,
    LAST_CODE,
    LAST_TIME,
    MANY,
    NARROW,
    RANKS,
    STRONG,
    SWAPS,
    TIME,
    VOLATILE,
    WARP,
    Block,
    Launch,
    Published,
)
from ptxlab.isa import types

ID = 0xFFFF << BLOCK | 0x7FF
"""The fields of a record that say whose it is."""
OF_WARP = 0xFFFF << BLOCK | 31 << WARP
"""The fields that say whose warp's it is."""
PARTS = 8
"""Sets of lanes of a warp that have met without the others, as many as are remembered."""


def granule(program: Program) -> int:
    """Bytes that one record covers: the narrowest access of the program, 4 at most."""
    widths = [
        types.width(code.form.type) // 8
        for code in program.codes
        if code.form is not None and code.properties.scalar_memory and code.form.type in types.WIDTH
    ]
    return min([4, *widths])


def traits(program: Program) -> list[int]:
    """What `Launch.traits` says of each instruction."""
    return [
        SWAPS * (code.form is not None and code.properties.atomic and code.form.operation == "cas")
        | NARROW * (not wide(code))
        | VOLATILE * (code.form is not None and code.space == "shared" and ".volatile" in code.form.opcode)
        for code in program.codes
    ]


class Shadow:
    """The records of some bytes of memory. The room behind each third is for whole vectors."""

    def __init__(self, size: int, granule: int) -> None:
        self.stride = -(-size // granule) + 16
        self.records = Pointer[int](np.zeros(3 * self.stride, np.uint64))


# -- what orders the threads of a block -------------------------------------------------------------------------------


@rule
def together(block: Block, warp: u32) -> None:
    """All lanes of a warp have met."""
    block.sync[warp, warp] = tick(block)


@rule
def meet(block: Block, warp: u32, live: u32, mask: u32, members: lanes_u32) -> None:
    """Lanes of a mask come to meet, each the lanes that it names."""
    left = mask
    while left:
        named = extract(members, first(left))
        left &= ~bits(members == named)
        if live & ~named == 0:
            together(block, warp)
        else:
            part(block, warp, named)


@rule
def part(block: Block, warp: u32, named: u32) -> None:
    """Some lanes of a warp have met. As long as such sets are apart or within each other, nobody knows of others
    through them; else all are taken to have met."""
    time = tick(block)
    for k in range(PARTS):
        held = block.parts[warp, 2 * k]
        if held == 0 or held == named:
            block.parts[warp, 2 * k] = named
            block.parts[warp, 2 * k + 1] = time
            return
        both = held & named
        if both != 0 and both != named and both != held:
            break
    block.sync[warp, warp] = time


@rule
def met(block: Block, warp: u32, lane: u32, other: u32, time: u32) -> boolean:
    """Whether two lanes of a warp have met since a time, without all the others."""
    two = u32(1 << lane | 1 << other)
    for k in range(PARTS):
        held = block.parts[warp, 2 * k]
        if held == 0:
            return False
        if held & two == two and block.parts[warp, 2 * k + 1] > time:
            return True
    return False


@rule(inline=True)
def published(launch: Launch, record: u64) -> Published:
    """What the block of a record has made known to the others."""
    return launch.published[record >> BLOCK]


@rule
def known(block: Block, warp: u32) -> lanes_u32:
    """A warp comes after what each warp of its block did before these times."""
    seen = maximum(load_lanes(block.sync.row(warp)), load_lanes(block.acquired.row(warp)))
    return maximum(seen, u32(block.full >> TIME & LAST_TIME))


@rule
def fence(launch: Launch, block: Block, warp: u32, code: u32, wide: boolean) -> None:
    """A warp has executed a fence: what it did, and what it knows, comes before the strong writes that it makes now,
    and what others released before its last strong access comes before what it does now. wide: for other blocks too."""
    time = tick(block)
    mine = published(launch, block.now)
    row = block.acquired.row(warp)
    store_lanes(row, maximum(load_lanes(row), load_lanes(block.seen.row(warp))))
    block.unordered[warp] = 0
    covered = insert(known(block, warp), warp, time)
    store_lanes(block.covered.row(warp), covered)
    block.fenced[warp] = time
    if wide:
        store_lanes(block.covered_wide.row(warp), covered)
        block.fenced_wide[warp] = time
        mine.acquired = max(mine.acquired, mine.seen)
        mine.unordered = 0
    else:
        mine.narrow = code + 1
        if mine.unordered != 0:
            mine.unordered = code + 1


@rule
def publish(launch: Launch, block: Block, warp: u32, code: u32, wide: boolean) -> None:
    """A warp has made a strong write. Who sees it comes after what the warp's last fence covers, and after what others
    did before fences of their own, if a barrier or the like tells this warp of those. wide: other blocks see it too."""
    mine, knows = published(launch, block.now), known(block, warp)
    released = maximum(load_lanes(block.covered.row(warp)), minimum(load_lanes(block.fenced), knows))
    store_lanes(mine.released, maximum(load_lanes(mine.released), released))
    if not wide:
        mine.narrow = code + 1
        return
    released = maximum(load_lanes(block.covered_wide.row(warp)), minimum(load_lanes(block.fenced_wide), knows))
    if any_of(released != 0):
        store_lanes(mine.reached, maximum(load_lanes(mine.reached), released))
        launch.now += 1
        if mine.first == 0:
            mine.first = launch.now


@rule
def acquire(launch: Launch, block: Block, warp: u32, code: u32, orders: boolean, wide: boolean) -> None:
    """A warp has made a strong access, with which it may have seen strong writes of others. orders: what comes after
    it in the program comes after those writes; else a fence behind it has to say so. wide: other blocks' writes too."""
    mine = published(launch, block.now)
    seen = maximum(load_lanes(block.seen.row(warp)), load_lanes(mine.released))
    store_lanes(block.seen.row(warp), seen)
    block.unordered[warp] = 0 if orders else code + 1
    if orders:
        row = block.acquired.row(warp)
        store_lanes(row, maximum(load_lanes(row), seen))
    if not wide:
        mine.narrow = code + 1
        return
    mine.seen = launch.now
    mine.unordered = 0 if orders else code + 1
    if orders:
        mine.acquired = launch.now


@rule
def arrived(block: Block, warp: u32, barrier: u32) -> None:
    """A warp has passed `bar.arrive`."""
    block.came[barrier, warp] = tick(block)


@rule
def release(block: Block, warp: u32) -> lanes_u32:
    """What a warp knows when it arrives at an mbarrier, with all that it has done until now."""
    return insert(load_lanes(block.sync.row(warp)), warp, tick(block))


@rule
def learn(block: Block, warp: u32, known: lanes_u32) -> None:
    """A warp has waited for those arrivals."""
    block.simple = 0
    store_lanes(block.sync.row(warp), maximum(known, load_lanes(block.sync.row(warp))))


# -- what orders the threads of a cluster -----------------------------------------------------------------------------


@rule
def cluster_arrived(block: Block, warp: u32, releases: boolean) -> None:
    """Lanes of a warp arrive at the barrier of the cluster."""
    if block.mates is None:
        return
    came = block.mates[0].came
    row = u32(2 * block.rank)
    phase = block.phases[warp] & 1
    if releases:
        came[row + phase, warp] = tick(block)
    else:  # who waits for it knows no more than before
        came[row + phase, warp] = came[row + 1 - phase, warp]


@rule
def cluster_waited(block: Block, warp: u32) -> None:
    """Lanes of a warp wait at the barrier of the cluster; what they do next comes after the arrivals."""
    block.phases[warp] += 1


@rule
def rank_of(block: Block, number: u64) -> u32:
    """The rank in the cluster of a block by its number in records; RANKS if it is of another cluster."""
    if block.mates is not None:
        for rank in range(RANKS):
            if block.mates[0].numbers[rank] == number:
                return u32(rank)
    return RANKS


@rule
def ordered_in_cluster(block: Block, record: u64, w: u32) -> boolean:
    """Whether what another block did comes before what warp w does now, by the barrier of their cluster or by an
    mbarrier in its shared memory."""
    rank = rank_of(block, record >> BLOCK)
    if rank == RANKS:
        return False
    time = u32(record >> TIME & LAST_TIME)
    v = u32(record >> WARP & 31)
    phases = block.phases[w]
    if phases != 0 and block.mates is not None and block.mates[0].came[2 * rank + (phases - 1 & 1), v] > time:
        return True
    return block.peers is not None and block.peers[(w * RANKS + rank) * 32 + v] > time


@rule
def share_peers(block: Block, came: u32, waiting: u32) -> None:
    """Warps have met: those of `waiting` know of other blocks of the cluster what those of `came` know together."""
    if block.peers is None:
        return
    peers = block.peers
    for rank in range(RANKS):
        known = load_lanes(peers + (first(came) * RANKS + rank) * 32)
        for warp in lanes_of(came):
            known = maximum(known, load_lanes(peers + (warp * RANKS + rank) * 32))
        for warp in lanes_of(waiting):
            store_lanes(peers + (warp * RANKS + rank) * 32, known)


# -- one access -------------------------------------------------------------------------------------------------------


@rule
def ordered(launch: Launch, block: Block, record: u64, me: u64, wrote: boolean) -> boolean:
    """Whether what the record says comes before an access `me`; `wrote`: it is a write."""
    if record == 0:
        return True
    time = u32(record >> TIME & LAST_TIME)
    if record >> BLOCK != me >> BLOCK:
        if ordered_in_cluster(block, record, u32(me >> WARP & 31)):
            return True
        theirs = published(launch, record)
        return theirs.reached[record >> WARP & 31] > time and theirs.first <= published(launch, me).acquired
    v = u32(record >> WARP & 31)
    w = u32(me >> WARP & 31)
    lane = u32(record & 31)
    mine = u32(me & 31)
    if v == w:
        many = record >> MANY & 1 != 0
        all_ = me >> MANY & 1 != 0
        if (many and (all_ or wrote)) or (not many and not all_ and lane == mine):
            return True
    if time < u32(block.full >> TIME & LAST_TIME) or time < block.sync[w, v]:
        return True
    if v == w and met(block, w, lane, mine, time):
        return True
    return time < block.acquired[w, v]


@rule(inline=True)
def swaps(launch: Launch, record: u64) -> boolean:
    """Whether a record is that of a compare-and-swap, which a plain load before it is a part of."""
    return launch.traits[record >> CODE & LAST_CODE] & SWAPS != 0


@rule(inline=True)
def narrow(launch: Launch, record: u64) -> boolean:
    """Whether a record is that of an instruction whose scope is the block."""
    return launch.traits[record >> CODE & LAST_CODE] & NARROW != 0


@rule(inline=True)
def both_strong(launch: Launch, record: u64, me: u64) -> boolean:
    """Whether two accesses may not race because each is strong and its scope names the other's thread."""
    if (record & me) >> STRONG & 1 == 0:
        return False
    return record >> BLOCK == me >> BLOCK or not (narrow(launch, record) or narrow(launch, me))


@rule(inline=True)
def collides(launch: Launch, block: Block, record: u64, me: u64, wrote: boolean) -> boolean:
    """Whether an access `me` races with the one that a record tells of."""
    return not both_strong(launch, record, me) and not ordered(launch, block, record, me, wrote)


@rule(cold=True)
def cause(launch: Launch, block: Block, record: u64, me: u64) -> u64:
    """Of two accesses that race: code index + 1 of the instruction that would order them if its scope were wider, or if
    a fence stood behind it; 0 if there is none."""
    v = record >> WARP & 31
    time = u32(record >> TIME & LAST_TIME)
    if record >> BLOCK == me >> BLOCK:
        w = me >> WARP & 31
        return u64(block.unordered[w]) if block.seen[w, v] > time else u64(0)
    if (record & me) >> STRONG & 1 != 0:
        return ((me if narrow(launch, me) else record) >> CODE & LAST_CODE) + 1
    theirs, mine = published(launch, record), published(launch, me)
    if theirs.reached[v] > time:
        if theirs.first <= mine.seen:
            return u64(mine.unordered)
        return u64(mine.narrow)
    return u64(theirs.narrow) if theirs.released[v] > time else u64(0)


@rule(cold=True)
def race(launch: Launch, block: Block, kind: u64, me: u64, other: u64, address: u64) -> None:
    """Two accesses race: noted, with the mask of the lanes that execute the instruction and, above it, the cause."""
    note(launch, block, kind, me, other, address, launch.mask | cause(launch, block, other, me) << CAUSE)


@rule
def storing(
    launch: Launch, values: Pointer[u8], width: u64, components: u64, memory: Pointer[u8], memory_start: u64,
    start: u64, narrow: Pointer[u32] | None, wide: Pointer[u64] | None,
) -> None:  # fmt: skip
    """A plain store is looked at next; see `Store`."""
    store = launch.store
    store.values, store.width, store.components = values, width, components
    store.memory, store.memory_start = memory, memory_start
    store.start, store.narrow, store.wide = start, narrow, wide


@rule
def stored(launch: Launch) -> None:
    """The plain store is done."""
    launch.store.components = 0


@rule(cold=True)
def leaves(launch: Launch, address: u64, lane: u64) -> boolean:
    """Whether the store that is looked at leaves a word as it is. Then it does not matter which write is last."""
    store = launch.store
    if store.components == 0:
        return False
    begin = store.start
    if store.narrow is not None:
        begin += store.narrow[lane]
    elif store.wide is not None:
        begin += store.wide[lane]
    within = u64(address - begin)
    new = store.values + ((within // store.width * 32 + lane) * store.width + within % store.width)
    old = store.memory + u64(address - store.memory_start)
    for k in range(launch.granule):
        if old[k] != new[k]:
            return False
    return True


@rule(cold=True)
def lockstep(launch: Launch, block: Block, record: u64, me: u64, wrote: boolean) -> boolean:
    """Whether two volatile accesses of lanes of one warp, which are no race, come in order only if the lanes execute
    their instructions together."""
    if record == 0 or (record ^ me) & OF_WARP != 0 or launch.traits[record >> CODE & LAST_CODE] & VOLATILE == 0:
        return False
    return not ordered(launch, block, record, me, wrote)


@rule(cold=True)
def hazard(launch: Launch, block: Block, at: Pointer[u64], stride: u64, address: u64, me: u64, write: boolean) -> None:
    """What one access to one word collides with, noted."""
    writer = at[0]
    if launch.traits[me >> CODE & LAST_CODE] & VOLATILE != 0:
        for k in range(3 if write else 1):
            if lockstep(launch, block, at[k * stride], me, k == 0):
                note(launch, block, LOCKSTEP, me, at[k * stride], address, launch.mask)
                return
    if (write or not swaps(launch, writer)) and collides(launch, block, writer, me, True):
        if not write:
            race(launch, block, RAW, me, writer, address)
            return
        if not leaves(launch, address, me & 31):
            race(launch, block, WAW, me, writer, address)
            return
    if write and not swaps(launch, me):
        for k in range(1, 3):
            reader = at[k * stride]
            if collides(launch, block, reader, me, False):
                race(launch, block, WAR, me, reader, address)
                return


@rule(cold=True)
def remember(launch: Launch, block: Block, at: Pointer[u64], stride: u64, me: u64, write: boolean) -> None:
    """Keeps one access to one word: as its writer, or as a reader in a place whose reader comes before it."""
    if write:
        at[0] = me
    elif ordered(launch, block, at[stride], me, False):
        at[stride] = me
    elif ordered(launch, block, at[2 * stride], me, False):
        at[2 * stride] = me
