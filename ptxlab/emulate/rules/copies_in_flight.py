"""Accesses in flight: those of `cp.async` and of bulk copies, made at some time before their thread waits for them.

In the record of such an access (`races`) the time is IN_FLIGHT, the kind of wait, and the group that the thread commits
it with, counted from 1; 0 if it has none: a bulk copy that reports to an mbarrier is in flight until it has been
performed. It becomes the time of the first wait of the thread for that group, or, if an mbarrier is waited for, of the
thread's arrival there (`cp.async.mbarrier.arrive`). Until then the access is ordered before nothing, not even in its
own thread.

The last KEPT waits of each warp and kind are remembered. What was waited for before them counts as ordered.
"""

from __future__ import annotations

from typing import Any

from ptxlab.emulate.language import *
from ptxlab.emulate.program.flat_program import Code
from ptxlab.emulate.rules.race_order import published
from ptxlab.emulate.rules.records import *
from ptxlab.emulate.runtime.state import ROOM, Queue, Transfer
from ptxlab.isa.actions import Action, AsyncGroup

AT_KIND, LAST_GROUP = 15, (1 << 15) - 1
"""In such a time: where the kind of wait begins; the last group that is told from later ones."""
LANES, BULK_READS, BULK_WRITES = range(KINDS)
"""What a wait is for: copies of `cp.async`; what bulk copies read (`.read`); what they write as well."""
BUT_TIME = (1 << 64) - 1 - (LAST_TIME << TIME)
"""All fields of a record but the time."""


def followed(code: Code) -> tuple[Any, tuple[int, ...]] | None:
    """The rule that is told when an instruction commits copies to a group or waits for some, and what else it takes."""
    bulk, read = code.properties.group is AsyncGroup.BULK, code.form.read
    kind = LANES if not bulk else BULK_READS if read else BULK_WRITES
    if code.action in (Action.COMMIT, Action.COPIES_ARRIVE):  # who waits for the mbarrier waits for these copies, too
        return commit, (kind,)
    if code.action is Action.WAIT_ALL:
        return wait_all, ()
    return (wait_group, (kind, code.number("n"))) if code.action is Action.WAIT_GROUP else None


@rule
def commit(launch: Launch, block: Block, warp: u32, mask: u32, kind: u32) -> None:
    """Each lane commits the copies that it has issued so far as a group."""
    if block.copies == 0:
        block.copies = 1
        fill_bytes(published(launch, block.now).waits, 0, Wait.size * 32 * KINDS * (KEPT + 1))
    counts = block.committed.row(min(kind, 1))
    for lane in lanes_of(mask):
        counts[warp << 5 | lane] += 1


@rule
def wait_group(launch: Launch, block: Block, warp: u32, mask: u32, kind: u32, left: u32) -> None:
    """Each lane waits until no more than `left` of its groups are in flight."""
    counts = load_lanes(block.committed.row(min(kind, 1)) + (warp << 5))
    rest = mask
    while rest:
        group = extract(counts, first(rest))
        of_group = rest & bits(counts == group)
        rest &= ~of_group
        if group > left:
            settle(launch, block, warp, of_group, kind, group - left, u32(block.now >> TIME & LAST_TIME))
            if kind == BULK_WRITES:
                settle(launch, block, warp, of_group, BULK_READS, group - left, u32(block.now >> TIME & LAST_TIME))


@rule
def wait_all(launch: Launch, block: Block, warp: u32, mask: u32) -> None:
    """Each lane waits for all copies of `cp.async` that it has issued, committed or not."""
    commit(launch, block, warp, mask, LANES)
    wait_group(launch, block, warp, mask, LANES, 0)


@rule
def settle(launch: Launch, block: Block, warp: u32, mask: u32, kind: u32, group: u32, time: u32) -> None:
    """The groups of some lanes up to this one are in flight no more since a time."""
    waits, at = published(launch, block.now).waits, (warp * KINDS + kind) * (KEPT + 1)
    for k in range(at, at + KEPT):
        one = waits[k]
        if one.group == group and one.time == time:
            one.lanes |= mask
            return
        if one.group >= group and one.time <= time and mask & ~one.lanes == 0:
            return
    waits[at + KEPT].group = max(waits[at + KEPT].group, waits[at + KEPT - 1].group)
    waits[at + KEPT].lanes |= waits[at + KEPT - 1].lanes
    for back in range(1, KEPT):
        newer, older = waits[at + KEPT - back - 1], waits[at + KEPT - back]
        older.lanes, older.group, older.time = newer.lanes, newer.group, newer.time
    waits[at].lanes, waits[at].group, waits[at].time = mask, group, time


@rule(inline=True)
def flight(kind: u32, group: u32) -> u64:
    """The time of an access in flight, in its place in a record. group: what the thread commits it with, or 0."""
    return u64(IN_FLIGHT | kind << AT_KIND | min(group, u32(LAST_GROUP))) << TIME


@rule
def repeated(queue: Queue, one: Transfer) -> boolean:
    """Whether a lane before its own has just issued the same copy to global memory, with the same bytes: like plain
    stores of one value, such copies do not race (those of FlashAttention-4, which all lanes of a warp issue)."""
    last = queue.transfers[(queue.behind - 2) % ROOM]
    if one.group == 0 or queue.behind < 2 or last.code != one.code or last.rank != one.rank or last.group != one.group:
        return False
    for k in range(5):
        if last.place[k] != one.place[k]:
            return False
    same = last.at == one.at and last.address == one.address and last.count == one.count
    return same and last.thread != one.thread and last.thread >> 5 == one.thread >> 5


@rule(cold=True)
def landed(launch: Launch, record: u64) -> u64:
    """The record of an access in flight, with the time of the wait for it if there was one."""
    group, kind = u32(record >> TIME & LAST_GROUP), u32(record >> TIME + AT_KIND & 3)
    waits, found = published(launch, record).waits, u32(LAST_TIME)
    at = (u32(record >> WARP & 31) * KINDS + kind) * (KEPT + 1)
    for k in range(at, at + KEPT + 1):
        if group != 0 and waits[k].group >= group and waits[k].lanes >> u32(record & 31) & 1 != 0:
            found = min(found, waits[k].time)
    return record if found == LAST_TIME else record & BUT_TIME | u64(found) << TIME


@rule(cold=True)
def landed_lanes(launch: Launch, records: lanes_u64) -> lanes_u64:
    """`landed` of records of one block, that of the first access in flight; the others are as they were."""
    one = u64(extract(records, first(bits(records & IN_FLIGHT << TIME != 0))))
    waits, found = published(launch, one).waits.cast(u32), narrow(splat(LAST_TIME))
    mine, time = (records ^ one) & (0xFFFF << BLOCK | IN_FLIGHT << TIME) == 0, narrow(records >> TIME)
    warp, lane, group = narrow(records >> WARP) & 31, narrow(records) & 31, time & LAST_GROUP
    at = (warp * KINDS + (time >> AT_KIND & 3)) * (Wait.size // 4 * (KEPT + 1))
    mine &= group != 0
    for _ in range(KEPT + 1):
        waited = (gather(waits, at, mine) >> lane & 1 != 0) & (gather(waits, at + 1, mine) >= group)
        found = select(waited, minimum(found, gather(waits, at + 2, mine)), found)
        at += Wait.size // 4
    return select(mine & (found != LAST_TIME), records & BUT_TIME | widen(found) << TIME, records)


@rule(cold=True)
def departed(
    launch: Launch,
    block: Block,
    warp: u32,
    mask: u32,
    records: Pointer[u64],
    stride: u64,
    offsets: Pointer[u32],
    members: Pointer[u64],
    write: boolean,
) -> None:
    """What has just been recorded of a `cp.async` is in flight; arguments as of `race_accesses.at_addresses`."""
    mine = access_of(block, warp, u32(members[3] >> CODE & LAST_CODE))
    for lane in lanes_of(mask):
        begin = u64(offsets[lane]) + members[1]
        time = flight(LANES, block.committed[LANES, warp << 5 | lane] + 1)
        for word in range(begin // launch.granule, (begin + members[2]) // launch.granule):
            for third in range(0 if write else 1, 1 if write else 3):
                record = records[third * stride + word]
                if (record ^ mine) & ~u64(1 << MANY) == lane:
                    records[third * stride + word] = record & BUT_TIME | time
