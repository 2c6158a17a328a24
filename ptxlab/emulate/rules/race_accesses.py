"""racecheck on the accesses of a warp: what an instruction touches, as ranges of words or lane by lane.

Two tables describe an instruction, or several that are checked at once. `pieces` is a count, and for each range of
words its offset in bytes, its number of words and a code for each, padded to a multiple of 16. `members` is a count,
and for each instruction its offset, its bytes and its code. A code is a record with only the instruction and its
strength in it. `race_words` checks the words, many at a time.
"""

from __future__ import annotations

from ptxlab.emulate.language import *
from ptxlab.emulate.program.addresses import GLOBALS_BASE, PARAM_WINDOW
from ptxlab.emulate.rules.accesses import next_piece
from ptxlab.emulate.rules.clock import access_of
from ptxlab.emulate.rules.note_kinds import SAME
from ptxlab.emulate.rules.notes import note, serial, taking_part
from ptxlab.emulate.rules.race_words import OF_MANY, scattered
from ptxlab.emulate.rules.races import OF_WARP, hidden, only_stores
from ptxlab.emulate.rules.records import ATOMIC, CODE, LAST_CODE, TIME, Block, Launch


@rule
def from_each_lane(
    launch: Launch,
    block: Block,
    records: Pointer[u64],
    stride: u64,
    offsets: lanes_u32,
    start: u64,
    pieces: Pointer[u64],
    access: u64,
    mask: u32,
    write: boolean,
) -> u32:
    """All pieces, from an offset of each lane. Returns the lanes that have stored where another lane has as well."""
    collided: u32 = 0
    at: u64 = 1
    for _ in range(pieces[0]):
        words = pieces[at + 1]
        codes = pieces + (at + 2)
        collided |= scattered(
            launch, block, records, stride, offsets, pieces[at], start, words, codes, access, mask, write
        )
        at = next_piece(at, words)
    return collided


@rule
def at_one_address(
    launch: Launch,
    block: Block,
    warp: u32,
    mask: u32,
    records: Pointer[u64] | None,
    stride: u64,
    offset: u64,
    start: u64,
    pieces: Pointer[u64],
    members: Pointer[u64],
    write: boolean,
) -> None:
    """Lanes of a warp access one offset in an allocation, whose address is `start`. Lanes that read it in one
    instruction count as one; lanes that write it do not, since each may overwrite what another has read."""
    if records is None:
        return
    offsets, far = local(u32, 32), offset >> 32 << 32  # offsets of lanes have 32 bits
    store_lanes(offsets, narrow(splat(offset)))
    here = records + far // launch.granule
    at_addresses(launch, block, warp, mask, here, stride, offsets, start + far, pieces, members, write)


@rule
def at_addresses(
    launch: Launch,
    block: Block,
    warp: u32,
    mask: u32,
    records: Pointer[u64] | None,
    stride: u64,
    offsets: Pointer[u32],
    start: u64,
    pieces: Pointer[u64],
    members: Pointer[u64],
    write: boolean,
) -> None:
    """Lanes of a warp access an allocation, each at an offset of its own."""
    if records is None or mask == 0:
        return
    serial(launch, mask)
    taking_part(launch, warp, mask, members)
    access, at, lane = access_of(block, warp, 0), load_lanes(offsets), first(mask)
    if write and launch.traits[members[3] >> CODE & LAST_CODE] & ATOMIC != 0:
        keep_stores(launch, mask, records, stride, offsets, start, members)
    chosen = mask
    if not write and mask & (mask - 1) != 0 and bits(at == offsets[lane]) & mask == mask:
        chosen, access = u32(1 << lane), access | OF_MANY
    lost = from_each_lane(launch, block, records, stride, at, start, pieces, access, chosen, write)
    if lost != 0:
        collided(launch, block, warp, mask, lost, records, at, start, members)


@rule(cold=True)
def keep_stores(
    launch: Launch,
    mask: u32,
    records: Pointer[u64],
    stride: u64,
    offsets: Pointer[u32],
    start: u64,
    members: Pointer[u64],
) -> None:
    """Plain stores to the words of an atomic operation are remembered in place of readers: see `races`."""
    if start < GLOBALS_BASE or start >= PARAM_WINDOW:  # shared memory: it has no other blocks' stores
        return
    for lane in lanes_of(mask):
        begin = u64(offsets[lane]) + members[1]
        for word in range(begin // launch.granule, (begin + members[2]) // launch.granule):
            if hidden(records[word]) and only_stores(launch, records[word]):
                keep_store(records + word, stride)


@rule
def keep_store(at: Pointer[u64], stride: u64) -> None:
    """The same of one word: in place of no reader, or of one by the same warp at an earlier time."""
    for k in range(1, 3):
        reader = at[k * stride]
        if reader == 0 or ((reader ^ at[0]) & OF_WARP == 0 and reader >> TIME < at[0] >> TIME):
            at[k * stride] = at[0]
            return


@rule(cold=True)
def collided(
    launch: Launch,
    block: Block,
    warp: u32,
    mask: u32,
    lost: u32,
    records: Pointer[u64],
    offsets: lanes_u32,
    start: u64,
    members: Pointer[u64],
) -> None:
    """Lanes of one store have stored where another lane has: a hazard if the values differ, else one store of many
    lanes. There is only one member."""
    access = access_of(block, warp, u32(members[3] >> CODE & LAST_CODE))
    for lane in lanes_of(lost):
        other = first(bits(offsets == extract(offsets, lane)) & mask)
        if other == lane:
            continue
        begin = u64(extract(offsets, lane)) + members[1]
        if same_values(launch, lane, other):
            for word in range(begin // launch.granule, (begin + members[2]) // launch.granule):
                records[word] |= OF_MANY
        else:
            note(launch, block, SAME, access | lane, access | other, start + begin, 0)


@rule(cold=True)
def same_values(launch: Launch, lane: u32, other: u32) -> boolean:
    """Whether two lanes store the same value. It is taken to be so for all but plain stores, whose values are known."""
    store = launch.store
    for component in range(store.components):
        for k in range(store.width):
            row = component * 32
            if store.values[(row + lane) * store.width + k] != store.values[(row + other) * store.width + k]:
                return False
    return True
