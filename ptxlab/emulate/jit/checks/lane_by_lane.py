"""The checks of accesses in several allocations, of atomic operations and of the pieces of a matrix: lane by lane.

These are rules for compiled code only: the interpreter sorts lanes by allocation itself (`step.access`).
"""

from __future__ import annotations

from ptxlab.emulate.language import *
from ptxlab.emulate.rules import initcheck, race_accesses
from ptxlab.emulate.rules.memcheck import resolve
from ptxlab.emulate.rules.notes import OVERRUN, UNINITIALISED, note, serial
from ptxlab.emulate.rules.records import *
from ptxlab.emulate.runtime.state import SHARED, Context, Cta, Warp


@rule
def each(
    context: Context,
    cta: Cta,
    warp: Warp,
    mask: u32,
    addresses: Pointer[u64],
    extra: u64,
    size: u64,
    log2: u64,
    space: u32,
    kind: u32,
    access: u64,
) -> None:
    """initcheck and racecheck of lanes that access `addresses` plus `extra`. kind: READS, WRITES or CHANGES. access:
    code index and strength, as in an access's record. Addresses out of range are left to the access, which faults."""
    launch, block = context.check.cast(Launch)[0], cta.checks.cast(Block)[0]
    serial(launch, mask)
    me = block.now | u64(warp.warp_id) << WARP | access
    write, found = kind != READS, context.found
    if traits_of(launch, access) & ATOMIC != 0:  # where one lane faults, no lane has access
        for lane in lanes_of(mask):
            address = u64(addresses[lane] + extra)
            if resolve(context, cta, warp, lane, address, size, log2, space, u32(write), None) is None:
                return
    noted = False  # of what is read in shared memory only the first lane, as in `initcheck.report`
    for lane in lanes_of(mask):
        address = u64(addresses[lane] + extra)
        place = resolve(context, cta, warp, lane, address, size, log2, space, u32(write), None)
        if place is not None and found.written is not None:
            past = size
            if launch.gaps:
                past = initcheck.first_in_gap(found.written, size)
            if past != size:
                if not noted:
                    note(launch, block, OVERRUN, me | lane, 0, address + past, 0)
                    noted = space == SHARED and kind != WRITES
            else:
                if launch.initcheck and kind != WRITES and not noted:
                    missing = initcheck.first_unwritten(found.written, size)
                    if missing != size:
                        noted = space == SHARED
                        note(launch, block, UNINITIALISED, me | lane, 0, address + missing, 0)
                if write:
                    fill_bytes(found.written, WRITTEN, size)
    if launch.racecheck:
        raced(context, cta, warp, mask, addresses, extra, size, log2, space, write, access)


@rule(cold=True)
def raced(
    context: Context,
    cta: Cta,
    warp: Warp,
    mask: u32,
    addresses: Pointer[u64],
    extra: u64,
    size: u64,
    log2: u64,
    space: u32,
    write: boolean,
    access: u64,
) -> None:
    """racecheck of such an access: finds the lanes in each allocation, and checks these at once."""
    launch, block, found = context.check.cast(Launch)[0], cta.checks.cast(Block)[0], context.found
    offsets, members, left = local(u32, 32), local(u64, 4), mask
    members[0], members[2], members[3] = 1, size, access & (LAST_CODE << CODE | 1 << STRONG)
    while left != 0:
        lane = first(left)
        place = resolve(context, cta, warp, lane, u64(addresses[lane] + extra), size, log2, space, u32(write), None)
        if place is None or found.accesses is None:
            left &= left - 1
            continue
        records, stride, start, here = found.accesses, found.stride, u64(addresses[lane] + extra - found.at), u32(0)
        launch.store.memory, launch.store.memory_start = place, u64(addresses[lane] + extra)
        far = found.at >> 32 << 32  # offsets have 32 bits
        for other in lanes_of(left):
            address = u64(addresses[other] + extra)
            there = resolve(context, cta, warp, other, address, size, log2, space, u32(write), None)
            if there is not None and u64(address - found.at) == start and found.at >> 32 << 32 == far:
                here |= u32(1 << other)
                offsets[other] = u32(found.at)
        left &= ~here
        members[1], at = far, warp.warp_id
        race_accesses.at_addresses(launch, block, at, here, records, stride, offsets, start, members, write)
