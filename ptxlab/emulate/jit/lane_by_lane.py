"""The checks of scattered accesses, lane by lane: in several allocations, or atomic ones."""

from __future__ import annotations

from ptxlab.emulate.language import Pointer, fill_bytes, lanes_of, reversed_bits, rule, u32, u64
from ptxlab.emulate.rules import initcheck, races
from ptxlab.emulate.rules.accesses import READS, WRITES
from ptxlab.emulate.rules.findings import OVERRUN, UNINITIALISED
from ptxlab.emulate.rules.memcheck import resolve
from ptxlab.emulate.rules.notes import note, serial
from ptxlab.emulate.rules.records import LANE, MANY, WARP, WRITTEN, Block, Launch
from ptxlab.emulate.runtime.state import Context, Cta, Warp

OTHER_LANE = (1 << MANY) | (31 << LANE)
"""The bits in which the records of one instruction's lanes differ."""


@rule
def each(
    context: Context, cta: Cta, warp: Warp, mask: u32, addresses: Pointer[u64], extra: u64, size: u64, log2: u64,
    space: u32, action: u32, access: u64,
) -> None:  # fmt: skip
    """Lanes access `addresses` plus `extra`. access: the code index and strength, as in the record of an access.
    Addresses out of range are left to the access itself, which faults."""
    launch, block = context.check.cast(Launch)[0], cta.checks.cast(Block)[0]
    serial(launch, mask)
    me = block.now | u64(warp.warp_id) << WARP | access
    write = action != READS
    found, words = context.found, size // launch.granule
    for lane in lanes_of(mask):
        address = u64(addresses[lane] + extra)
        place = resolve(context, cta, warp, lane, address, size, log2, space, u32(write), None)
        if place is None:
            return
        if found.written is not None:
            past = size
            if launch.gaps:
                past = initcheck.first_in_gap(found.written, size)
            if past != size:
                note(launch, block, OVERRUN, me | lane, 0, address + past, 0)
            else:
                if launch.initcheck and action != WRITES:
                    missing = initcheck.first_unwritten(found.written, size)
                    if missing != size:
                        note(launch, block, UNINITIALISED, me | lane, 0, address + missing, 0)
                if write:
                    fill_bytes(found.written, WRITTEN, size)
        if launch.racecheck and found.accesses is not None:
            launch.store.memory, launch.store.memory_start = place, address
            at = found.accesses + found.at // launch.granule
            for k in range(words):
                races.hazard(launch, block, at + k, found.stride, address + k * launch.granule, me | lane, write)
    if launch.racecheck:  # the lowest lane's record stays
        for opposite in lanes_of(reversed_bits(mask)):
            lane = 31 - opposite
            address = u64(addresses[lane] + extra)
            place = resolve(context, cta, warp, lane, address, size, log2, space, u32(write), None)
            if place is not None and found.accesses is not None:
                at = found.accesses + found.at // launch.granule
                for k in range(words):
                    mine = me | lane
                    if write and (at[k] ^ mine) & ~OTHER_LANE == 0:
                        mine |= 1 << MANY
                    races.remember(launch, block, at + k, found.stride, mine, write)
