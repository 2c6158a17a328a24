"""Registers of a warp that diverges or reconverges, and how lanes of a diverged warp synchronize.

While a warp is converged, compiled code keeps the registers that are the same in all its lanes, or differ by constants
(see `jit.affine`), as scalars.
"""

from __future__ import annotations

from ptxlab.emulate.language import (
    Pointer,
    any_of,
    bits,
    boolean,
    extract,
    first,
    lanes,
    lanes_of,
    lanes_u64,
    load_lanes,
    narrow,
    rule,
    select,
    splat,
    store_lanes,
    u8,
    u16,
    u32,
    u64,
    widen,
)
from ptxlab.emulate.runtime.state import ScalarRegister, Warp


@rule
def steps_of(table: Pointer[ScalarRegister], register: ScalarRegister) -> lanes_u64:
    """The steps of an affine register."""
    steps: lanes_u64 = load_lanes((table.cast(u8) + register.steps).cast(u64))
    return steps


@rule
def all_lanes(state: Pointer[u8], table: Pointer[ScalarRegister], register: ScalarRegister) -> lanes_u64:
    """The lanes of an affine register: base + steps, or base + scale * extend(inner + steps)."""
    scalar = state + register.scalar
    base = scalar.cast(u64)[0] if register.width == 8 else u64(scalar.cast(u32)[0])
    more = steps_of(table, register)
    if register.inner != 0:
        inner = (state + register.inner).cast(u32)[0]
        more = widen(narrow(splat(u64(inner)) + more))
        if register.signed != 0:
            more = (more ^ splat(0x80000000)) - splat(0x80000000)
        more = more * splat(register.scale)
    values: lanes_u64 = more + splat(base)
    return values


@rule
def lanes_apart(state: Pointer[u8], table: Pointer[ScalarRegister], register: ScalarRegister, mask: u32) -> boolean:
    """Whether some lanes of an affine register do not differ by its steps. If all do, its scalars hold their values;
    those of a register with two are chosen such that no sum wraps around."""
    lead = first(mask)
    apart = steps_of(table, register)
    if register.inner != 0:
        apart = apart * splat(register.scale)
    vector = state + register.vector
    scalar = state + register.scalar
    if register.width == 4:
        word = u32(vector.cast(u32)[lead] - u32(extract(apart, lead)))
        scalar.cast(u32)[0] = word
        expected = narrow(splat(u64(word)) + apart)
        return any_of((load_lanes(vector.cast(u32)) != expected) & lanes(mask))
    wide = u64(vector.cast(u64)[lead] - extract(apart, lead))
    different = any_of((load_lanes(vector.cast(u64)) != splat(wide) + apart) & lanes(mask))
    if register.inner != 0:
        (state + register.inner).cast(u32)[0] = u32(0 - register.low)
        wide = u64(wide + register.low * register.scale)
    scalar.cast(u64)[0] = wide
    return different


@rule(symbol="spread")
def spread(state: Pointer[u8], table: Pointer[ScalarRegister], number: u32) -> None:
    """A warp diverges: every register of the table is written to all its lanes. `state`: the warp's state."""
    for k in range(number):
        register = table[k]
        vector = state + register.vector
        scalar = state + register.scalar
        if register.steps != 0:
            values = all_lanes(state, table, register)
            if register.width == 8:
                store_lanes(vector.cast(u64), values)
            else:
                store_lanes(vector.cast(u32), narrow(values))
        elif register.width == 8:
            store_lanes(vector.cast(u64), splat(scalar.cast(u64)[0]))
        elif register.width == 4:
            store_lanes(vector.cast(u32), narrow(splat(scalar.cast(u32)[0])))
        elif register.width == 2:
            for lane in range(32):
                vector.cast(u16)[lane] = scalar.cast(u16)[0]
        elif register.width == 1:
            for lane in range(32):
                vector[lane] = scalar[0]
        else:
            vector.cast(u32)[0] = u32(0xFFFFFFFF if scalar[0] != 0 else 0)


@rule(symbol="gather.up")
def gather_up(state: Pointer[u8], table: Pointer[ScalarRegister], number: u32, mask: u32) -> boolean:
    """Lanes of a warp are about to reconverge: whether the table's registers are the same in all of them, or differ by
    their steps. If so, the scalars hold their values."""
    lead = first(mask)
    for k in range(number):
        register = table[k]
        vector = state + register.vector
        scalar = state + register.scalar
        same = True
        if register.steps != 0:
            same = not lanes_apart(state, table, register, mask)
        elif register.width == 8:
            wide = vector.cast(u64)[lead]
            same = not any_of((load_lanes(vector.cast(u64)) != wide) & lanes(mask))
            scalar.cast(u64)[0] = wide
        elif register.width == 4:
            word = vector.cast(u32)[lead]
            same = not any_of((load_lanes(vector.cast(u32)) != word) & lanes(mask))
            scalar.cast(u32)[0] = word
        elif register.width == 2:
            half = vector.cast(u16)[lead]
            for lane in lanes_of(mask):
                same = same and vector.cast(u16)[lane] == half
            scalar.cast(u16)[0] = half
        elif register.width == 1:
            octet = vector[lead]
            for lane in lanes_of(mask):
                same = same and vector[lane] == octet
            scalar[0] = octet
        else:
            held = vector.cast(u32)[0] & mask
            same = held == 0 or held == mask
            scalar[0] = u8(1 if held == mask else 0)
        if not same:
            return False
    return True


@rule(symbol="sync.lanes")
def sync_lanes(warp: Warp, mask: u32) -> None:
    """Lanes of a diverged warp have arrived at a `.sync` instruction. When all live lanes that one of them names have
    arrived at an instruction of the same kind, their operands are handed over and they may go on."""
    left = mask
    while left:
        lead = first(left)
        need = (warp.members[lead] | u32(1 << lead)) & warp.live
        kinds = load_lanes(warp.sync_kind)
        if bits(kinds == warp.sync_kind[lead]) & need != need:
            left = left & (left - 1)
            continue
        store_lanes(warp.sync_kind, select(lanes(need), 0, kinds))
        members = load_lanes(warp.given_members)
        store_lanes(warp.given_members, select(lanes(need), need, members))
        for k in range(3):
            given = warp.given.row(k)
            store_lanes(given, select(lanes(need), load_lanes(warp.offered.row(k)), load_lanes(given)))
        warp.wait = warp.wait & ~need
        warp.synced = warp.synced | need
        left = left & ~need


@rule
def sync_waiting(warp: Warp) -> None:
    """Lanes of a diverged warp have exited: lanes that waited only for them go on."""
    sync_lanes(warp, bits(load_lanes(warp.sync_kind) != 0) & warp.live)
