"""Which accesses race: the rules of `racecheck`, and the record that it keeps of each word of memory.

A word (4 bytes, or fewer where the program has narrower accesses) remembers its last writer and two readers, each as
one 64-bit number:

    63..48  block + 1 (modulo 65535)      11    strong: volatile, relaxed, acquire, release or atomic
    47..30  time: the block's clock       10    many lanes of the warp, in one instruction
    29..12  code index                    9..5  warp        4..0  lane

The clock of a block ticks at whatever orders its threads: a barrier, an instruction that synchronizes lanes of a warp,
a fence. An access is ordered before another one

- of the same thread, always (lanes that made an access in one instruction count as one thread to it, except those of
  an atomic operation to something that is not one);
- of the same warp, if a `.sync` instruction (`bar.warp.sync`, a shuffle, a vote, a matrix instruction) lies between
  whose mask names both lanes;
- of the same block, if a barrier lies between that both warps took part in, whatever its number, or a chain of those;
- of the same block, if its lane, or its warp after a `.sync` instruction, has arrived at an mbarrier since in a phase
  that the other warp has waited for (after what a product of `wgmma` reads, any of its four warps);
- of the same block, if a strong write since has released it, and the other's warp has acquired since that;
- of another block, likewise: released here, acquired there by the warp or one that it comes after, neither with the
  block as its scope (`.cta`), and what is acquired is a word of global memory with a release at least as late as the
  first one here since the access;
- of another block of the cluster, if its warp has since arrived at the cluster's barrier, and the other has waited
  there, or if it, or all of its warp, has arrived at an mbarrier in a phase that the other has waited for.

A strong access acquires: of lanes that execute one atomic operation also what those before it have released. A relaxed
load does so only with a fence after it, and so does a relaxed compare-and-swap, an exchange or an `or` of bits, with
which locks are taken. (By the memory model this holds for every relaxed access; but much code reads a flag with
`volatile` or `atomicAdd(&flag, 0)`, or takes the last ticket, without a fence, and what it reads is often volatile.)

A strong write releases what its thread did before its warp's last fence, what was ordered before that fence, and what
others did before a fence of their own, if a barrier (or a `.sync` instruction of their warp) lies between that and
the write. So in the reduction where the last block adds up what all have stored, a barrier has to come before thread
0 takes its ticket, and where the last warp does, a `bar.warp.sync` before lane 0 takes its own.

Two strong accesses do not race, unless they are of two blocks and the scope of one is its block; nor do a load and a
compare-and-swap, which fails if the load saw an old value. A write that leaves a word as it is does not race with the
write before it. A plain store to global memory that an atomic operation follows is remembered in place of a reader, so
that atomic operations of other blocks are compared with it. Not checked: whether a strong access reads the value that
another one wrote; which of its own words a block acquires; all but the first two readers of a word; all other writers
but the last; a second writer to other bytes of it. An ordered pair is never reported.

An asynchronous access has no time before its thread has waited for it (`copies_in_flight`). When the clock of a block
has run out, what is recorded from then on counts as ordered.

The records of an allocation are one array: the writers of all its words, `stride` further on a reader of each, and as
far again another reader. A rule for one word gets a pointer to its writer. Accesses of a whole warp are in
`race_accesses`.
"""

from __future__ import annotations

import numpy as np

from ptxlab.emulate.language import *
from ptxlab.emulate.language.records import zeroed
from ptxlab.emulate.program.addresses import SHARED_WINDOW
from ptxlab.emulate.program.program import Program
from ptxlab.emulate.rules.copies_in_flight import landed
from ptxlab.emulate.rules.instructions import acquires, wide
from ptxlab.emulate.rules.notes import *
from ptxlab.emulate.rules.race_order import *
from ptxlab.emulate.rules.records import *
from ptxlab.isa import types
from ptxlab.isa.actions import Action
from ptxlab.isa.convert import PEER

OF_WARP = 0xFFFF << BLOCK | 31 << WARP
"""The fields that name the warp."""


def granule(program: Program) -> int:
    """Bytes that one record covers: the narrowest access of the program, 4 at most."""
    widths = [
        types.width(code.form.type) // 8
        for code in program.codes
        if code.properties.scalar_memory and code.form.type in types.WIDTH
    ]
    return min([4, *widths])


def traits(program: Program) -> list[int]:
    return [
        SWAPS * (code.properties.atomic and code.form.operation == "cas")
        | NARROW * (not wide(code))
        | STORES * code.properties.stores
        | ONLY_STORES * (code.properties.stores and not code.properties.loads)
        | ATOMIC * code.properties.atomic
        | VOLATILE * (code.space == "shared" and ".volatile" in code.form.opcode)
        | ASYNC * (code.form.op.kind == "async")
        | FLIES * code.properties.lane_copy
        | REDUCES * (code.action is Action.COPY_REDUCE)
        | (USES if code.properties.strong else MAKES) * code.properties.mbarrier
        | POLLS * (code.action in (Action.MBARRIER_TEST, Action.MBARRIER_WAIT))
        | PRODUCT * (code.action is Action.WARPGROUP_PRODUCT)
        | MAKES * code.properties.initialises
        | ACQUIRES * acquires(code)
        for code in program.codes
    ]


class Shadow:
    """The records of a range of memory, which nothing has accessed. Each third is padded for whole vectors."""

    def __init__(self, size: int, granule: int) -> None:
        self.stride = (-(-size // granule) + 31) // 16 * 16
        self.records = Pointer[int](zeroed(8 * 3 * self.stride).view(np.uint64))


# -- one access -------------------------------------------------------------------------------------------------------


@rule
def ordered(launch: Launch, block: Block, record: u64, access: u64, wrote: boolean) -> boolean:
    """Whether the access of a record is ordered before another access; `wrote`: the recorded one is a write."""
    if record == 0:
        return True
    if record & IN_FLIGHT << TIME != 0:
        record = landed(launch, record)
        if record & IN_FLIGHT << TIME != 0:
            return False
    time = u32(record >> TIME & LAST_TIME)
    if time == CLOCK_END:
        return True  # the clock has run out
    if traits_of(launch, record) & MAKES != 0 and made_before(block, record, u32(access >> WARP & 31)):
        return True
    if record >> BLOCK != access >> BLOCK:
        if ordered_in_cluster(block, record, u32(access >> WARP & 31), False):
            return True
        theirs = published(launch, record)
        return reached(theirs, record) and released_after(theirs, record) <= block.heard[access >> WARP & 31]
    v = u32(record >> WARP & 31)
    w = u32(access >> WARP & 31)
    recorded_lane, lane = u32(record & 31), u32(access & 31)
    if v == w:
        many = record >> MANY & 1 != 0
        all_ = access >> MANY & 1 != 0
        if many and (all_ or wrote):
            if not wrote or traits_of(launch, record) & ATOMIC == 0:  # all lanes of an atomic operation change the word
                return True
        elif not many and not all_ and lane == recorded_lane:
            return True
    if between_warps(block, record, w) or after_product(launch, block, record, w):
        return True
    if time < block.landed[w, v] and traits_of(launch, record) & ASYNC != 0:
        return True
    return v == w and synced(block, w, recorded_lane, lane, time)


@rule(inline=True)
def between_warps(block: Block, record: u64, w: u32) -> boolean:
    """Whether what a warp of the block did, by its record, comes before what warp w does now."""
    time = u32(record >> TIME & LAST_TIME)
    v = u32(record >> WARP & 31)
    if time < u32(block.full >> TIME & LAST_TIME):
        return True
    if released_to(block, record, block.sync[w, v]) or released_to(block, record, block.acquired[w, v]):
        return True
    return ordered_in_cluster(block, record, w, False)


@rule(cold=True)
def after_product(launch: Launch, block: Block, record: u64, w: u32) -> boolean:
    """Whether a record is that of a product of `wgmma`, and warp w comes after what another of its four warps has done
    since: who waits for the product waits for what all four read. (Whether that one has waited is for synccheck.)"""
    if traits_of(launch, record) & PRODUCT == 0:
        return False
    time, group = u32(record >> TIME & LAST_TIME), u32(record >> WARP & 28)
    for k in range(4):
        of_warp = record & ~u64(31 << WARP) | u64(group + k) << WARP
        since = max(block.sync[w, group + k], block.acquired[w, group + k])
        if group + k != w and (time < since or ordered_in_cluster(block, of_warp, w, True)):
            return True
    return False


@rule(inline=True)
def both_strong(launch: Launch, record: u64, access: u64) -> boolean:
    """Whether two accesses do not race because both are strong and the scope of each includes the other's thread."""
    if (record & access) >> STRONG & 1 == 0:
        return False
    either = traits_of(launch, record) | traits_of(launch, access)
    return record >> BLOCK == access >> BLOCK or either & NARROW == 0


@rule(inline=True)
def of_one_life(launch: Launch, record: u64, access: u64) -> boolean:
    """Whether an access ends an mbarrier, or makes it again, that its block has used, or asks one that it has made:
    `mbarrier_lifetimes` and `comes_after_init` ask whether these are ordered. (A word has a record of only one of all
    uses, and of which depends on the order of warps.)"""
    first, then = traits_of(launch, record), traits_of(launch, access)
    two = (first & USES != 0 and then & MAKES != 0) or (first & MAKES != 0 and then & POLLS != 0)
    return two and record >> BLOCK == access >> BLOCK


@rule(inline=True)
def collides(launch: Launch, block: Block, record: u64, access: u64, wrote: boolean) -> boolean:
    """Whether an access races with the recorded one."""
    if both_strong(launch, record, access) or of_one_life(launch, record, access):
        return False
    return not ordered(launch, block, record, access, wrote)


@rule(cold=True)
def cause(launch: Launch, block: Block, record: u64, access: u64) -> u64:
    """The cause of a race: code index + 1 of the instruction that would order the accesses if its scope were wider, or
    with a fence after it; SOME_LANES; 0 if there is none."""
    v, w = record >> WARP & 31, u32(access >> WARP & 31)
    time = u32(record >> TIME & LAST_TIME)
    theirs, ours = published(launch, record), published(launch, access)
    if record >> BLOCK == access >> BLOCK:
        if v != w and time < max(block.sync[w, v], block.acquired[w, v]):
            return u64(SOME_LANES)
        if block.seen[w, v] > time:
            return block.unordered[w]
        return block.relaxed if block.relaxed_at > time else u64(0)
    if (record & access) >> STRONG & 1 != 0:
        return ((access if traits_of(launch, access) & NARROW != 0 else record) >> CODE & LAST_CODE) + 1
    if reached(theirs, record):
        return u64(ours.unordered if released_after(theirs, record) <= ours.seen else ours.narrow)
    acquired = theirs.reached_lanes[v] > time and released_after(theirs, record) <= block.heard[w]
    if acquired or ordered_in_cluster(block, record, w, True):
        return u64(SOME_LANES)
    return u64(theirs.narrow if theirs.released[v] > time else block.narrow_wait)


@rule(cold=True)
def race(launch: Launch, block: Block, kind: u64, access: u64, other: u64, address: u64) -> None:
    """Notes two accesses that race, with the mask of the lanes that execute the instruction and, above it, the
    cause. In flight is one of them if nothing orders it at all."""
    if launch.synccheck and landed(launch, other) & IN_FLIGHT << TIME != 0:
        note(launch, block, PENDING, access, other, address, 0)
    else:
        note(launch, block, kind, access, other, address, launch.mask | cause(launch, block, other, access) << CAUSE)


@rule
def storing(
    launch: Launch,
    values: Pointer[u8],
    width: u64,
    components: u64,
    memory: Pointer[u8],
    memory_start: u64,
    start: u64,
    narrow: Pointer[u32] | None,
    wide: Pointer[u64] | None,
) -> None:
    """A plain store is checked next; see `Store`."""
    store = launch.store
    store.values, store.width, store.components = values, width, components
    store.memory, store.memory_start = memory, memory_start
    store.start, store.narrow, store.wide = start, narrow, wide


@rule
def stored(launch: Launch) -> None:
    launch.store.components = 0


@rule(cold=True)
def leaves(launch: Launch, address: u64, lane: u64) -> boolean:
    """Whether the store being checked leaves a word as it is. Then it does not matter which write is last."""
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
def lockstep(launch: Launch, block: Block, record: u64, access: u64, wrote: boolean) -> boolean:
    """Whether two volatile accesses by lanes of one warp are ordered only if the lanes execute in lockstep."""
    if record == 0 or (record ^ access) & OF_WARP != 0 or traits_of(launch, record) & VOLATILE == 0:
        return False
    return not ordered(launch, block, record, access, wrote)


@rule(cold=True)
def hazard(
    launch: Launch, block: Block, at: Pointer[u64], stride: u64, address: u64, access: u64, write: boolean
) -> None:
    """Notes the race of one access to one word, if there is one."""
    for k in range(3):
        if at[k * stride] & IN_FLIGHT << TIME != 0:
            at[k * stride] = landed(launch, at[k * stride])
    writer = at[0]
    if traits_of(launch, access) & VOLATILE != 0:
        for k in range(3 if write else 1):
            if lockstep(launch, block, at[k * stride], access, k == 0):
                note(launch, block, LOCKSTEP, access, at[k * stride], address, launch.mask)
                return
    if (write or traits_of(launch, writer) & SWAPS == 0) and collides(launch, block, writer, access, True):
        if not write:
            race(launch, block, RAW, access, writer, address)
            return
        asynchronous = traits_of(launch, writer) & ASYNC != 0  # what it copies may not be there yet
        if asynchronous or not leaves(launch, address, access & 31):
            race(launch, block, WAW, access, writer, address)
            return
    if write:
        for k in range(1, 3):
            reader = at[k * stride]
            wrote = traits_of(launch, reader) & ONLY_STORES != 0  # then it stands in place of a reader
            if (wrote or traits_of(launch, access) & SWAPS == 0) and collides(launch, block, reader, access, wrote):
                if not wrote or not leaves(launch, address, access & 31):
                    race(launch, block, WAW if wrote else WAR, access, reader, address)


@rule(cold=True)
def remember(launch: Launch, block: Block, at: Pointer[u64], stride: u64, access: u64, write: boolean) -> None:
    """Records one access to one word: as its writer, or as a reader in place of one that is ordered before it."""
    if write:
        at[0] = access
    elif ordered(launch, block, at[stride], access, False):
        at[stride] = access
    elif ordered(launch, block, at[2 * stride], access, False):
        at[2 * stride] = access


# -- the beginning and the end of a block of a cluster -----------------------------------------------------------------


@rule
def in_mate(launch: Launch, block: Block, access: u64, address: u64) -> None:
    """An access to an address: if that is in shared memory of another block of the cluster, that must have begun."""
    place = address - SHARED_WINDOW if address >= SHARED_WINDOW else address
    rank = u64(place // PEER - 1)
    if PEER <= place < (RANKS + 1) * PEER and rank != block.rank and not begun(block, u32(access >> WARP & 31), rank):
        note(launch, block, MAY_NOT_HAVE_BEGUN, access, 0, address, 0)


@rule(cold=True)
def block_ended(launch: Launch, block: Block) -> None:
    """A block of a cluster has ended, and its shared memory is freed.

    An access to a block that has exited faults (memcheck). One that came in time only because of the order in which the
    blocks ran here is noted: nothing that a warp of the block has waited for comes after it. Programs without a barrier
    of the cluster, which cannot know that the other block has begun, are not looked at.
    """
    records, stride = block.records, block.stride
    if records is None:
        return
    serial(launch, 0)
    before: u64 = 0
    for at in range(3 * stride):
        record = records[at]
        if record != 0 and record >> BLOCK != block.now >> BLOCK and record | 31 != before:
            before = record | 31
            if not waited_for(launch, block, record, at < stride):
                linear = block.linear
                block.linear = (record >> BLOCK) - 1  # the finding is about the thread of the other block
                note(launch, block, MAY_HAVE_EXITED, record, 0, NOWHERE, 0)
                block.linear = linear


@rule(cold=True)
def waited_for(launch: Launch, block: Block, record: u64, wrote: boolean) -> boolean:
    """Whether an access comes before the end of any warp of the block. A strong write that the block has acquired is
    itself a flag that it has seen."""
    theirs = published(launch, record)
    published_itself = theirs.reached_lanes[record >> WARP & 31] == record >> TIME & LAST_TIME
    if record >> STRONG & 1 != 0 and published_itself and theirs.first <= published(launch, block.now).acquired:
        return True
    for warp in range(block.warps):
        if ordered(launch, block, record, block.now | warp << WARP, wrote):
            return True
    return False
