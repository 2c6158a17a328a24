"""The model of the memory system that accesses are counted by, on both engines.

- Global memory is moved in sectors of 32 bytes. One instruction requests each sector that its lanes touch once.
- Shared memory has 32 banks of 4 bytes. The lanes of an instruction are served in groups that access up to 128 bytes:
  all 32 lanes for up to 4 bytes per lane, halves of the warp for 8 bytes, quarters for 16. (`ldmatrix` is the
  last case: each 8 rows of 16 bytes are a group.) Lanes of a group that access the same word share it. A bank with k
  different words needs k wavefronts, and the group needs as many as its worst bank.
- A load of 8 or 16 bytes in which all lane pairs n, n^1 or all pairs n, n^2 agree on their addresses is served in
  groups twice as large: a broadcast of 8 bytes is one wavefront, of 16 bytes two.

Each result is a pair: what the access needs, and the fewest that an access of as many bytes could need.
"""

from __future__ import annotations

from ptxlab.emulate.language import *
from ptxlab.emulate.program.addresses import LOCAL_WINDOW, PARAM_WINDOW, SHARED_WINDOW, WINDOW_SIZE
from ptxlab.emulate.program.lane_types import LANES
from ptxlab.emulate.runtime.state import CLUSTER, GENERIC, GLOBAL, LOCAL, SHARED

LOG_SECTOR = 5
SECTOR = 1 << LOG_SECTOR
"""Bytes of a sector."""
BANKS = 32
WORD = 4
"""Bytes that a bank serves in one wavefront."""


@rule
def sectors(at: lanes_u64, mask: u32, size: u64) -> tuple[u64, u64]:
    """The sectors that the lanes of a mask touch with `size` (a power of two up to 32) aligned bytes each."""
    needed = distinct(at >> LOG_SECTOR, mask)
    return needed, min(needed, (count(mask) * size + SECTOR - 1) >> LOG_SECTOR)


@rule
def lane_groups(mask: u32, size: u32) -> u64:
    """How many groups of so many lanes (8, 16 or 32) have a lane in the mask."""
    groups, members = u64(0), (u64(1) << size) - 1
    for k in range(LANES // size):
        groups += u64(u64(mask) >> size * k & members != 0)
    return groups


@rule
def wavefronts(offset: lanes_u32, mask: u32, size: u32, pairs: boolean) -> tuple[u64, u64]:
    """The wavefronts of an access to shared memory, `size` aligned bytes per lane. pairs: groups may be twice as large
    where pairs of lanes agree, which is so for loads."""
    size = max(size, WORD)
    place = offset >> first(size)  # the word, or the aligned 8 or 16 bytes, that a lane asks for
    banks = u32(BANKS * WORD) // size
    group = banks
    if pairs and size > WORD:
        if _partners_agree(place, exchanged(place, 1), mask, 1) or _partners_agree(place, exchanged(place, 2), mask, 2):
            group *= 2
    cell = (lane_ids() & u32(0 - group)) | (place & (banks - 1))  # of a bank, in each group
    best = lane_groups(mask, group)
    marks = narrow(splat(1)) << cell
    if count(either(select(lanes(mask), marks, 0))) == count(mask):  # a cell for each lane
        return best, best
    served, needed = local(u32, LANES), u64(0)  # how many places each cell serves
    for lane in lanes_of(unlike(place | (lane_ids() & u32(0 - group)) << 27, mask)):  # one of each place, in each group
        served[extract(cell, lane)] += 1
    for k in range(LANES // group):
        most: u32 = 0
        for bank in range(group):
            most = max(most, served[k * group + bank])
        needed += most
    return needed, best


@rule(inline=True)
def _partners_agree(place: lanes_u32, partner: lanes_u32, mask: u32, distance: u32) -> boolean:
    """Whether lanes n and n ^ distance (1 or 2) have the same place wherever both are in the mask."""
    lower = u32(0x55555555) if distance == 1 else u32(0x33333333)  # the lower lane of each pair
    return bits(place != partner) & mask & (mask >> distance) & lower == 0


@rule
def in_spaces(at: lanes_u64, mask: u32, space: u32) -> tuple[u32, u32, u32]:
    """The lanes of a mask that access global, shared and local memory, given the space that the instruction names."""
    if space == GLOBAL:
        return mask, u32(0), u32(0)
    if space == SHARED or space == CLUSTER:
        return u32(0), mask, u32(0)
    if space == LOCAL:
        return u32(0), u32(0), mask
    if space != GENERIC:
        return u32(0), u32(0), u32(0)
    shared = _in_window(at, mask, SHARED_WINDOW)
    in_local = _in_window(at, mask, LOCAL_WINDOW)
    return mask & ~(shared | in_local | _in_window(at, mask, PARAM_WINDOW)), shared, in_local


@rule(inline=True)
def _in_window(at: lanes_u64, mask: u32, start: u64) -> u32:
    """The lanes of a mask whose generic addresses lie in the window that begins there."""
    return bits(at - start < WINDOW_SIZE) & mask


class Traffic(Record, align=16):
    """Traffic of an instruction in one space. needed, ideal: sectors or wavefronts; see this module's first lines."""

    requests: u64
    bytes: u64
    needed: u64
    ideal: u64


class Memo(Record, align=64):
    """The last access whose wavefronts were counted, and the answer. Addresses are relative to the lowest lane's."""

    relative: Array[u32] = array(LANES, align=64)
    mask: u32
    needed: u64
    ideal: u64


class Counted(Record, align=64):
    """The sums of compiled code for one instruction, besides how often its block runs.

    on: warps and threads for which the guard held. beyond_converged, beyond_diverged: what is needed beyond one, and at
    best beyond one, added by either function for all accesses of a class. diverged: branches at which the warp
    diverged. in_global, in_shared, in_local: accesses whose space is found at run time, and atomics.
    """

    on: Array[i64] = array(2, align=16)
    beyond_converged: Array[i64] = array(2, align=16)
    beyond_diverged: Array[i64] = array(2, align=16)
    diverged: u64
    in_global: Traffic
    in_shared: Traffic
    in_local: Traffic
    memo: Memo


@rule(inline=True)
def request(traffic: Ref[Traffic], mask: u32, size: u64, needed: u64, ideal: u64) -> None:
    traffic.requests += 1
    traffic.bytes += count(mask) * size
    traffic.needed += needed
    traffic.ideal += ideal


@rule
def remembered_wavefronts(memo: Ref[Memo], offset: lanes_u32, mask: u32, size: u32, pairs: boolean) -> tuple[u64, u64]:
    """`wavefronts`, not computed again where all lanes have moved by the same distance since. One instruction always
    asks with the same size and `pairs`."""
    start = extract(offset, first(mask)) & u32(-WORD)  # bytes within a word do not matter
    relative = select(lanes(mask), offset - start, 0)
    if memo.mask != mask or bits(load_lanes(memo.relative) != relative) != 0:
        memo.needed, memo.ideal = wavefronts(relative, mask, size, pairs)
        memo.mask = mask
        store_lanes(memo.relative, relative)
    return memo.needed, memo.ideal


@rule
def count_access(counted: Ref[Counted], at: lanes_u64, mask: u32, size: u64, space: u32, pairs: boolean) -> None:
    """Counts an access in full, whatever its space."""
    in_global, in_shared, in_local = in_spaces(at, mask, space)
    if in_global != 0:
        needed, ideal = sectors(at, in_global, size)
        request(counted.in_global, in_global, size, needed, ideal)
    if in_shared != 0:
        needed, ideal = remembered_wavefronts(counted.memo, narrow(at), in_shared, u32(size), pairs)
        request(counted.in_shared, in_shared, size, needed, ideal)
    if in_local != 0:
        request(counted.in_local, in_local, size, 0, 0)


@rule
def lanes_differ(values: lanes_u32, mask: u32) -> boolean:
    """Whether the lanes of a mask, which is not empty, have different values: then the warp diverges."""
    return bits(values != extract(values, first(mask))) & mask != 0
