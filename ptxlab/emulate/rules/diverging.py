"""Registers of a warp that diverges or reconverges, and how lanes of a diverged warp synchronize.

While a warp is converged, compiled code keeps the registers that are the same in all its lanes, or differ by constants
or multiples of a stride (see `jit.affine`), as scalars.
"""

from __future__ import annotations

from ptxlab.emulate.language import *
from ptxlab.emulate.runtime.state import ScalarRegister, Warp


@rule(inline=True)
def constants(table: Pointer[ScalarRegister], at: u32) -> Pointer[u64]:
    """The constants of an affine register, 32 of them."""
    return (table.cast(u8) + at).cast(u64)


@rule(inline=True)
def all_lanes(state: Pointer[u8], table: Pointer[ScalarRegister], register: ScalarRegister) -> lanes_u64:
    """The lanes of an affine register: base + steps, or base + scale * extend(inner + steps) + beyond; with a stride,
    the steps and times * stride."""
    scalar = state + register.scalar
    base = scalar.cast(u64)[0] if register.width == 8 else u64(scalar.cast(u32)[0])
    more = load_lanes(constants(table, register.steps))
    if register.times != 0:
        at = state + register.stride
        narrow_stride = register.width == 4 or register.inner != 0
        stride = u64(at.cast(u32)[0]) if narrow_stride else at.cast(u64)[0]
        more = more + load_lanes(constants(table, register.times)) * splat(stride)
    if register.inner != 0:
        inner = (state + register.inner).cast(u32)[0]
        more = widen(narrow(splat(u64(inner)) + more))
        if register.signed != 0:
            more = (more ^ splat(0x80000000)) - splat(0x80000000)
        more = more * splat(register.scale)
    if register.beyond != 0:
        more = more + load_lanes(constants(table, register.beyond))
    values: lanes_u64 = more + splat(base)
    return values


@rule(inline=True)
def magnitude(number: u64) -> u64:
    return number if number >> 63 == 0 else u64(0 - number)


@rule(inline=True)
def lane_of(state: Pointer[u8], register: ScalarRegister, lane: u32) -> u64:
    """The value of a lane, its sign extended."""
    vector = state + register.vector
    if register.width == 8:
        return vector.cast(u64)[lane]
    return u64((u64(vector.cast(u32)[lane]) ^ 0x80000000) - 0x80000000)


@rule(inline=True)
def lanes_match(state: Pointer[u8], table: Pointer[ScalarRegister], register: ScalarRegister, mask: u32) -> boolean:
    """Whether lanes of an affine register hold what its scalars say."""
    values = all_lanes(state, table, register)
    vector = state + register.vector
    if register.width == 8:
        return not any_of((load_lanes(vector.cast(u64)) != values) & lanes(mask))
    return not any_of((load_lanes(vector.cast(u32)) != narrow(values)) & lanes(mask))


@rule
def scalars_found(
    state: Pointer[u8], table: Pointer[ScalarRegister], register: ScalarRegister, lead: u32, mask: u32
) -> boolean:
    """Whether scalars describe the lanes of an affine register; if so it holds them: the stride is the difference of
    two lanes that add it once more and once less, and the second scalar is such that no sum wraps around."""
    lane_offsets, steps = constants(table, register.lane_offsets), constants(table, register.steps)
    first, stride, already = u64(lane_of(state, register, lead) - lane_offsets[lead]), u64(0), u64(0)
    if register.times != 0:
        if lanes_match(state, table, register, mask):
            return True
        times = constants(table, register.times)
        already = times[lead]
        for lane in lanes_of(mask):
            if times[lane] - already == 1:
                stride = u64(lane_of(state, register, lane) - lane_offsets[lane] - first)
    base, held = u64(first - already * stride), stride
    if register.inner != 0:
        held = u64(magnitude(stride) // magnitude(register.scale))
        if (stride ^ register.scale) >> 63 != 0:
            held = u64(0 - held)
        low = i64(steps[lead] + already * held)
        for lane in lanes_of(mask):
            added = u64(0)
            if register.times != 0:
                added = constants(table, register.times)[lane] * held
            low = min(low, i64(steps[lane] + added))
        (state + register.inner).cast(u32)[0] = u32(u64(0 - low))
        base = u64(base + u64(low) * register.scale)
    if register.width == 4:
        (state + register.scalar).cast(u32)[0] = u32(base)
    else:
        (state + register.scalar).cast(u64)[0] = base
    if register.times != 0 and (register.width == 4 or register.inner != 0):
        (state + register.stride).cast(u32)[0] = u32(held)
    elif register.times != 0:
        (state + register.stride).cast(u64)[0] = held
    return lanes_match(state, table, register, mask)


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
        elif register.width != 0:
            for lane in range(32):
                copy_bytes(vector + lane * register.width, scalar, register.width)
        else:
            vector.cast(u32)[0] = u32(0xFFFFFFFF if scalar[0] != 0 else 0)


@rule(symbol="gather.up")
def gather_up(state: Pointer[u8], table: Pointer[ScalarRegister], number: u32, mask: u32, changed: u64) -> boolean:
    """Lanes of a warp are about to reconverge: whether the table's registers are the same in all of them, or differ by
    their constants. If so, the scalars hold their values. changed: the bits of the registers that the diverged warp has
    written to; the scalars of all others still hold what they did."""
    lead = first(mask)
    for k in range(number):
        register = table[k]
        vector = state + register.vector
        scalar = state + register.scalar
        same = True
        if changed >> register.bit & 1 == 0:
            continue
        if register.steps != 0:
            same = scalars_found(state, table, register, lead, mask)
        elif register.width == 8:
            wide = vector.cast(u64)[lead]
            same = not any_of((load_lanes(vector.cast(u64)) != wide) & lanes(mask))
            scalar.cast(u64)[0] = wide
        elif register.width == 4:
            word = vector.cast(u32)[lead]
            same = not any_of((load_lanes(vector.cast(u32)) != word) & lanes(mask))
            scalar.cast(u32)[0] = word
        elif register.width != 0:
            copy_bytes(scalar, vector + lead * register.width, register.width)
            for at in range(register.width):
                for lane in lanes_of(mask):
                    same = same and vector[lane * register.width + at] == scalar[at]
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
    arrived at an instruction of the same kind, their operands are exchanged and they may continue."""
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
    """Lanes of a diverged warp have exited: lanes that waited only for them continue."""
    sync_lanes(warp, bits(load_lanes(warp.sync_kind) != 0) & warp.live)
