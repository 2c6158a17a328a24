"""What all rules about the checks of mbarriers share: parties, their seats, and what is reported to Python."""

from __future__ import annotations

from typing import Any

from ptxlab.emulate.language import *
from ptxlab.emulate.program.addresses import SHARED_WINDOW
from ptxlab.emulate.rules.mbarrier_records import CODE, NOBODY, RANK, THREADS, Mbarrier, Mbarriers, Place, Seat
from ptxlab.emulate.rules.note_kinds import INIT_UNORDERED
from ptxlab.emulate.rules.races import between_warps
from ptxlab.emulate.rules.records import LAST_TIME, TIME, Launch
from ptxlab.emulate.runtime.state import Transfer

BEGUN, MADE, CHANGED, EARLY, REFUSED = range(100, 105)
"""What is reported besides notes: another block has begun; an mbarrier is used that is not known yet; one has been
initialised (`by` whom, what it held) or invalidated; a wait has passed while a copy was in flight; an operation is
invalid."""


@rule(pointer="report")
def report(held: Mbarriers, what: u32, by: u64, other: u64, at: u64, value: u64) -> u32:
    """Reports what is rare: a note of a kind, or one of the above. by, other: parties. Compiled code calls back."""
    known: Any = held
    known.phases.reported(what, by, other, at, value)
    return 0


@rule(inline=True)
def party(code: u32, warp: u32, lane: u32) -> u64:
    """A lane that executes an instruction."""
    return u64(code) << CODE | warp << 5 | lane


@rule(inline=True)
def shared_offset(address: u64) -> u64:
    """A generic or shared address as an offset in shared memory."""
    return address - SHARED_WINDOW if address >= SHARED_WINDOW else address


@rule(inline=True)
def renewed(held: Mbarriers) -> None:
    """Begins the records of a block, if they are still those of the block before it."""
    if held.linear != held.block.linear + 1:
        report(held, BEGUN, NOBODY, NOBODY, 0, 0)


@rule(inline=True)
def seen_from(home: Mbarriers, held: Mbarriers, by: u64) -> u64:
    """A party of a block as it is known in another one, or in its own."""
    return by if home.block.rank == held.block.rank else by | held.block.rank + 1 << RANK


@rule(inline=True)
def place_of(held: Mbarriers, at: u64, by: u64) -> Place:
    """The place of an mbarrier, which may not have been initialised by `mbarrier.init`."""
    place = held.places[(at - held.start) >> 3]
    if place.held is None:
        report(held, MADE, by, NOBODY, at, 0)
    return place


@rule(inline=True)
def seat_of(held: Mbarriers, one: Mbarrier, by: u64) -> Seat:
    """What a party has done at an mbarrier."""
    return one.seats[(by >> RANK & THREADS) * held.threads + (by & THREADS)]


@rule
def comes_after_init(launch: Launch, held: Mbarriers, one: Mbarrier, by: u64) -> None:
    """A thread uses an mbarrier: is that ordered after its `init`, which another warp may have executed?"""
    warp = u32(by & THREADS) >> 5
    if not launch.racecheck or one.record == 0 or by >> RANK & THREADS != 0 or one.ordered >> warp & 1 != 0:
        return
    one.ordered |= u32(1) << warp
    block, maker = held.block, u32(one.made & THREADS) >> 5
    fenced = block.fenced[maker] > u32(one.record >> TIME & LAST_TIME) and block.phases[warp] != 0
    if not fenced and not between_warps(block, one.record, warp):
        report(held, INIT_UNORDERED, by, one.made, one.at, 0)


@rule(inline=True)
def next_order(one: Mbarrier) -> u32:
    """The next number that says who was first."""
    one.order += 1
    return one.order


@rule(inline=True)
def reports_to(transfer: Transfer, held: Mbarriers, one: Mbarrier) -> boolean:
    """Whether a bulk copy that is in flight has been issued in this phase of an mbarrier, and reports to it."""
    if transfer.open == 0 or transfer.group != 0 or transfer.phase != one.phase:
        return False
    return transfer.owner == held.block.rank and transfer.barrier == one.at


@rule
def copier(held: Mbarriers, transfer: Transfer) -> u64:
    """The party that has issued a copy."""
    by = u64(transfer.code) << CODE | transfer.thread
    return seen_from(held, held.mates[transfer.rank].mbarriers.cast(Mbarriers)[0], by)
