"""The order of the threads of a block or cluster for `racecheck`: barriers, fences, strong accesses, mbarriers.

`races` has the rules in words. The clock of a block ticks at each of these. Tables hold, for each pair of warps, the
time up to which the accesses of one come before what the other does next.
"""

from __future__ import annotations

from ptxlab.emulate.language import *
from ptxlab.emulate.program.addresses import GLOBALS_BASE, PARAM_WINDOW
from ptxlab.emulate.rules.records import *

FENCED = 2
"""What `Block.fences` is once a warp has executed a fence."""
LATEST = 0xFFFFFFFF
"""The last time of a clock of 32 bits."""
SUBSETS = 8
"""How many sets of lanes that have synchronized without the rest of their warp are remembered."""


@rule(inline=True)
def advance(row: Pointer[u32], times: lanes_u32) -> None:
    """Sets the times of 32 warps to later ones, where they are later."""
    store_lanes(row, maximum(load_lanes(row), times))


# -- what orders the threads of a block -------------------------------------------------------------------------------


@rule
def sync_warp(block: Block, warp: u32) -> None:
    block.syncs = 1
    block.sync[warp, warp] = tick(block)


@rule
def sync_lanes(block: Block, warp: u32, live: u32, mask: u32, members: lanes_u32) -> None:
    """The lanes of a mask have synchronized, each with the members that it names."""
    left = mask
    while left:
        named = extract(members, first(left))
        left &= ~bits(members == named)
        if live & ~named == 0:
            sync_warp(block, warp)
        else:
            sync_subset(block, warp, named)


@rule
def sync_subset(block: Block, warp: u32, named: u32) -> None:
    """Some lanes of a warp have synchronized. As long as such sets are disjoint or nested, no lane is ordered with
    others through them; where two overlap otherwise, the whole warp is taken to have synchronized."""
    time = tick(block)
    block.syncs = 1
    for k in range(SUBSETS):
        held = block.subsets[warp, 2 * k]
        if held == 0 or held == named:
            block.subsets[warp, 2 * k] = named
            block.subsets[warp, 2 * k + 1] = time
            return
        both = held & named
        if both != 0 and both != named and both != held:
            break
    block.sync[warp, warp] = time


@rule
def synced(block: Block, warp: u32, lane: u32, other: u32, time: u32) -> boolean:
    """Whether two lanes of a warp have synchronized since a time, in a set without the rest of the warp."""
    two = u32(1 << lane | 1 << other)
    for k in range(SUBSETS):
        held = block.subsets[warp, 2 * k]
        if held == 0:
            return False
        if held & two == two and block.subsets[warp, 2 * k + 1] > time:
            return True
    return False


@rule
def synced_with(block: Block, warp: u32, mask: u32) -> u32:
    """The lanes of all sets without the rest of the warp that have synchronized, and have lanes of a mask in them."""
    found: u32 = 0
    for k in range(SUBSETS):
        held = block.subsets[warp, 2 * k]
        if held & mask:
            found |= held
    return found


@rule
def release_lanes(block: Block, warp: u32, mask: u32, until: u32) -> u32:
    """Lanes of a warp release what they did before `until`, and what their whole warp did before it last synchronized.
    What was released before stays so. Returns the time that those who wait for it come after: see `released_to`."""
    mask |= synced_with(block, warp, mask)
    whole = max(min(whole_before(block, warp, extract(known(block, warp), warp)), until), block.whole[warp])
    last, new = 4 * ((block.partial_releases[warp] - 1) % PARTS), 4 * (block.partial_releases[warp] % PARTS)
    if block.partial_releases[warp] != 0 and block.parts[warp, last + 1] == whole:
        mask |= block.parts[warp, last + 3]
        if block.parts[warp, last + 2] == until and block.parts[warp, last + 3] == mask:
            return block.parts[warp, last]
    time = tick(block)
    block.whole[warp] = whole
    block.partial_releases[warp] += 1
    block.parts[warp, new], block.parts[warp, new + 1] = time, whole
    block.parts[warp, new + 2], block.parts[warp, new + 3] = min(until, time), mask
    return time


@rule
def whole_before(block: Block, warp: u32, time: u32) -> u32:
    """Before what time all that a warp did comes before those who come after a time of it."""
    if block.partial_releases[warp] != 0:
        for k in range(PARTS):
            if block.parts[warp, 4 * k] == time:
                return block.parts[warp, 4 * k + 1]
    return time


@rule
def released_to(block: Block, record: u64, since: u32) -> boolean:
    """Whether a warp's access comes before those who come after a time of that warp: if only some of its lanes released
    something then, theirs do, and what the warp did before it had synchronized."""
    time, warp = u32(record >> TIME & LAST_TIME), u32(record >> WARP & 31)
    if time >= since or time < whole_before(block, warp, since):
        return time < since
    for k in range(PARTS):
        if block.parts[warp, 4 * k] == since and time < block.parts[warp, 4 * k + 2]:
            released = block.parts[warp, 4 * k + 3]
            many = record >> MANY & 1 != 0
            return released & released - 1 != 0 if many else released >> u32(record & 31) & 1 != 0
    return False


@rule(inline=True)
def published(launch: Launch, record: u64) -> Published:
    """What the block of a record has released to other blocks."""
    return launch.published[record >> BLOCK]


@rule
def released_after(theirs: Published, record: u64) -> u32:
    """When a block first released something after an access, by the clock of the launch, or earlier. Who acquires that
    access has acquired something released then or later."""
    time, number = u32(record >> TIME & LAST_TIME), theirs.releases
    at = number - min(number, RELEASES)
    if at != 0 and theirs.times[at % RELEASES] > time:
        return theirs.first
    while at != number and theirs.times[at % RELEASES] <= time:
        at += 1
    return theirs.first if at == number else theirs.moments[at % RELEASES]


@rule(inline=True)
def reached(theirs: Published, record: u64) -> boolean:
    """Whether a block has released an access to other blocks: the warp had synchronized since and executed a fence, or
    the lane itself has made the strong write."""
    time, warp = u32(record >> TIME & LAST_TIME), record >> WARP & 31
    if theirs.reached[warp] > time:
        return True
    return theirs.reached_lanes[warp] > time and theirs.releasing[warp] >> u32(record & 31) & 1 != 0


@rule(inline=True)
def waited(block: Block, warp: u32) -> lanes_u32:
    """`Block.sync` of a warp for those that wait for it: what is behind a bulk copy it has waited for counts, too."""
    return maximum(load_lanes(block.sync.row(warp)), load_lanes(block.landed.row(warp)))


@rule
def known(block: Block, warp: u32) -> lanes_u32:
    """Up to which time of each warp of its block a warp is ordered after that warp's accesses."""
    seen = maximum(waited(block, warp), load_lanes(block.acquired.row(warp)))
    phases = block.phases[warp]
    if phases != 0 and block.mates is not None:
        seen = maximum(seen, load_lanes(block.mates[0].came.row(u32(2 * block.rank) + (phases - 1 & 1))))
    return maximum(seen, u32(block.full >> TIME & LAST_TIME))


@rule
def fence(launch: Launch, block: Block, warp: u32, code: u32, wide: boolean) -> None:
    """A warp has executed a fence. What it did, and what is ordered before it, comes before its next strong writes;
    what others released before its last strong access comes before what it does next. wide: for other blocks too."""
    time = tick(block)
    if launch.traits[code] & MAKES != 0:  # it concerns the initialisation of mbarriers only
        block.fences = max(block.fences, 1)
        block.fenced_init[warp] = time
        return
    block.fences = FENCED
    ours = published(launch, block.now)
    advance(block.acquired.row(warp), load_lanes(block.seen.row(warp)))
    block.unordered[warp] = 0
    knows = known(block, warp)
    store_lanes(block.covered.row(warp), insert(knows, warp, time))
    block.fenced[warp] = time
    if wide:
        store_lanes(block.covered_wide.row(warp), knows)
        block.fenced_wide[warp] = time
        ours.acquired = max(ours.acquired, block.heard_soon[warp])
        block.heard[warp] = max(block.heard[warp], block.heard_soon[warp])
        ours.unordered = 0
    else:
        ours.narrow = code + 1
        if ours.unordered != 0:
            ours.unordered = code + 1


@rule(inline=True)
def place(addresses: lanes_u64, word: u32) -> lanes_u32:
    """Where `Launch.released` has the last release of the words at these addresses, or of so many words behind them."""
    return narrow(addresses >> 2) + word & PLACES - 1


@rule(inline=True)
def elsewhere(addresses: lanes_u64) -> u32:
    """The lanes whose address is not one of global memory: it names different memory in different blocks."""
    return bits((addresses < GLOBALS_BASE) | (addresses >= PARAM_WINDOW))


@rule
def last_release(launch: Launch, block: Block, mask: u32, addresses: Pointer[u64], size: u64) -> u32:
    """The last release, by the launch's clock, that strong accesses of `size` bytes at these addresses may have seen:
    to the same word of global memory, or what another warp acquired. In a cluster's shared memory it may be any."""
    at, acquired = load_lanes(addresses), published(launch, block.now).acquired
    beyond = elsewhere(at)
    if launch.now == 0 or (beyond & mask != 0 and block.mates is not None):
        return launch.now
    chosen = lanes(mask & ~beyond)
    found = gather(launch.released, place(at, 0), chosen)
    for word in range(1, u32(size) >> 2):
        found = maximum(found, gather(launch.released, place(at, word), chosen))
    return max(acquired, LATEST - least(LATEST - found))


@rule
def covered(block: Block, warp: u32, wide: boolean) -> lanes_u32:
    """What a warp's last fence covers, and others' fences that come before this. wide: those for other blocks."""
    knows = known(block, warp)
    if wide:
        return maximum(load_lanes(block.covered_wide.row(warp)), minimum(load_lanes(block.fenced_wide), knows))
    return maximum(load_lanes(block.covered.row(warp)), minimum(load_lanes(block.fenced), knows))


@rule
def covered_by(block: Block, warp: u32, mask: u32) -> lanes_u32:
    """What strong writes of lanes of a warp release to their block."""
    knows = covered(block, warp, False)
    if extract(knows, warp) != 0:
        knows = insert(knows, warp, release_lanes(block, warp, mask, extract(knows, warp)))
    return knows


@rule
def publish(launch: Launch, block: Block, warp: u32, code: u32, mask: u32, addresses: Pointer[u64], size: u64) -> None:
    """Lanes of a warp have made a strong write. A warp that sees it is ordered after what the writer's last fence
    covers, and after what others did before fences of their own that a barrier orders before this write: one of
    another block too, unless the scope is the block."""
    wide = launch.traits[code] & NARROW == 0
    ours = published(launch, block.now)
    if not wide:
        ours.narrow = code + 1
    if block.fences != FENCED:  # no warp has executed a fence, so that nothing is released
        return
    advance(ours.released, covered_by(block, warp, mask))
    if not wide:
        return
    released, fenced = covered(block, warp, True), block.fenced_wide[warp]
    if fenced != 0:  # its own lanes are covered without having synchronized
        ours.reached_lanes[warp] = fenced
        ours.releasing[warp] |= mask | synced_with(block, warp, mask)
    if fenced != 0 or any_of(released != 0):
        advance(ours.reached, released)
        launch.now += 1
        at = load_lanes(addresses)
        chosen = lanes(mask & ~elsewhere(at))
        for word in range(u32(size) + 3 >> 2):
            scatter(launch.released, place(at, word), narrow(splat(launch.now)), chosen)
        if ours.first == 0:
            ours.first = launch.now
        time, number = u32(block.now >> TIME & LAST_TIME), ours.releases
        if number == 0 or ours.times[(number - 1) % RELEASES] != time:
            ours.times[number % RELEASES] = time
            ours.moments[number % RELEASES] = launch.now
            ours.releases = number + 1


@rule
def acquire(launch: Launch, block: Block, warp: u32, code: u32, mask: u32, addresses: Pointer[u64], size: u64) -> None:
    """Lanes of a warp have made a strong access, which may have seen strong writes of others: of other blocks too, if
    they are to the same words and the scope is wider than the block. Unless it ACQUIRES, what follows it in the program
    is ordered after those writes only by a fence."""
    orders, wide = launch.traits[code] & ACQUIRES != 0, launch.traits[code] & NARROW == 0
    block.fences = max(block.fences, 1)
    ours = published(launch, block.now)
    advance(block.seen.row(warp), load_lanes(ours.released))
    block.unordered[warp] = 0 if orders else code + 1
    if orders:
        advance(block.acquired.row(warp), load_lanes(block.seen.row(warp)))
    if not wide:
        ours.narrow = code + 1
        return
    block.heard_soon[warp] = max(block.heard_soon[warp], last_release(launch, block, mask, addresses, size))
    ours.seen = max(ours.seen, block.heard_soon[warp])
    ours.unordered = 0 if orders else code + 1
    if orders:
        ours.acquired = max(ours.acquired, block.heard_soon[warp])
        block.heard[warp] = max(block.heard[warp], block.heard_soon[warp])


@rule
def strong(launch: Launch, block: Block, warp: u32, code: u32, mask: u32, addresses: Pointer[u64], size: u64) -> None:
    """Lanes of a warp have made a strong access. They execute an atomic operation one after the other, and each sees
    what those before it have released."""
    acquire(launch, block, warp, code, mask, addresses, size)
    if launch.traits[code] & STORES != 0:
        publish(launch, block, warp, code, mask, addresses, size)
        if launch.traits[code] & ATOMIC != 0 and mask & mask - 1 != 0:
            acquire(launch, block, warp, code, mask, addresses, size)


@rule
def passed_arrive(block: Block, warp: u32, barrier: u32) -> None:
    advance(block.knew.row(barrier), known(block, warp))
    block.whole[warp] = tick(block)
    block.came[barrier, warp] = block.whole[warp]
    block.syncs = 1


@rule
def release(block: Block, warp: u32, mask: u32) -> lanes_u32:
    """What an arrival of lanes at an mbarrier orders: what they have done, and all that is ordered before it."""
    knows = known(block, warp)
    if mask != ALL_LANES:
        return insert(knows, warp, release_lanes(block, warp, mask, LATEST))
    block.whole[warp] = tick(block)
    return insert(knows, warp, block.whole[warp])


@rule
def share_heard(block: Block, came: u32, waiting: u32) -> None:
    """Warps have waited for those of `came`: they come after all that these have heard of other blocks."""
    if block.fences != 0:
        heard, soon, theirs = load_lanes(block.heard), load_lanes(block.heard_soon), lanes(came)
        store_lanes(block.heard, select(lanes(waiting), LATEST - least(select(theirs, LATEST - heard, LATEST)), heard))
        soon = select(lanes(waiting), LATEST - least(select(theirs, LATEST - soon, LATEST)), soon)
        store_lanes(block.heard_soon, soon)


@rule
def learn(block: Block, warp: u32, known: lanes_u32) -> None:
    """A warp has waited for arrivals, and is ordered after what they released."""
    block.simple, block.syncs = 0, 1
    advance(block.sync.row(warp), known)
    share_heard(block, ALL_LANES, u32(1) << warp)


# -- what orders the threads of a cluster -----------------------------------------------------------------------------


@rule
def cluster_arrived(block: Block, warp: u32, releases: boolean) -> None:
    """Lanes of a warp arrive at the barrier of the cluster (which `clusters.arrive` executes)."""
    if block.mates is None:
        return
    came, phase = block.mates[0].came, block.phases[warp] & 1
    row = u32(2 * block.rank) + phase
    block.mates[0].made[row, warp] = block.fenced_init[warp]
    if not releases:  # it orders what the phase before has ordered, and what the last fence does
        came[row, warp] = max(max(came[row, warp], came[row ^ 1, warp]), block.fenced_wide[warp])
        return
    block.whole[warp] = tick(block)
    came[row, warp] = block.whole[warp]
    if block.peers is not None:  # copies that it has waited for may have been made after their warps arrived
        for rank in range(RANKS):
            advance(came.row(u32(2 * rank) + phase), load_lanes(block.peers + (warp * RANKS + rank) * 32))


@rule
def cluster_waited(block: Block, warp: u32) -> None:
    """Lanes of a warp wait at the barrier of the cluster; what they do next comes after the arrivals."""
    if block.phases[warp] == 0:
        block.entered[warp] = u32(block.now >> TIME & LAST_TIME)
    block.phases[warp] += 1
    share_heard(block, ALL_LANES, u32(1) << warp)


@rule
def rank_of(block: Block, number: u64) -> u32:
    """The rank in the cluster of a block by its number in records; RANKS if it is of another cluster."""
    if block.mates is not None:
        for rank in range(RANKS):
            if block.mates[0].numbers[rank] == number:
                return u32(rank)
    return RANKS


@rule
def ordered_in_cluster(block: Block, record: u64, w: u32, any_lane: boolean) -> boolean:
    """Whether what a block of the cluster did comes before what warp w does now, by the barrier of the cluster or, in
    another block, by an mbarrier in its shared memory. any_lane: whichever lane of the record's warp has arrived."""
    rank = rank_of(block, record >> BLOCK)
    if rank == RANKS or block.mates is None:
        return False
    time = u32(record >> TIME & LAST_TIME)
    v = u32(record >> WARP & 31)
    phases = block.phases[w]
    if phases != 0 and block.mates[0].came[2 * rank + (phases - 1 & 1), v] > time:
        return True
    since = u32(0) if block.peers is None else block.peers[(w * RANKS + rank) * 32 + v]
    if any_lane or time >= since:
        return time < since
    return released_to(block.mates[0].blocks[rank].block.cast(Block)[0], record, since)


@rule(inline=True)
def made_before(block: Block, record: u64, w: u32) -> boolean:
    """Whether `fence.mbarrier_init` and the cluster's barrier put an `mbarrier.init` before what warp w does now."""
    rank, phases = rank_of(block, record >> BLOCK), block.phases[w]
    if rank == RANKS or phases == 0 or block.mates is None:
        return False
    made = block.mates[0].made[2 * rank + (phases - 1 & 1), u32(record >> WARP & 31)]
    return made > u32(record >> TIME & LAST_TIME)


@rule
def begun(block: Block, warp: u32, rank: u64) -> boolean:
    """Whether a warp knows that the block of a rank of its cluster runs: it comes after a wait at the barrier of the
    cluster, or after what that block has released, or (whose it was is not asked) others."""
    heard, entered = block.heard[warp] | block.heard_soon[warp], load_lanes(block.entered)
    if heard != 0 or block.phases[warp] != 0 or any_of((entered != 0) & (entered < known(block, warp))):
        return True
    return block.peers is None or any_of(load_lanes(block.peers + (warp * RANKS + rank) * 32) != 0)


@rule
def share_peers(block: Block, came: u32, waiting: u32) -> None:
    """At a barrier: what other blocks of the cluster did before a warp of `came` now comes before all of `waiting`."""
    if block.peers is None:
        return
    peers = block.peers
    for rank in range(RANKS):
        known = load_lanes(peers + (first(came) * RANKS + rank) * 32)
        for warp in lanes_of(came):
            known = maximum(known, load_lanes(peers + (warp * RANKS + rank) * 32))
        for warp in lanes_of(waiting):
            store_lanes(peers + (warp * RANKS + rank) * 32, known)
