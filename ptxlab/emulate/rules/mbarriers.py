"""Operations on mbarriers; what one holds is described in `ptxlab.isa.mbarrier`.

A wait never blocks: `try_wait` answers at once, which the manual allows, and the loop around it lets others run.
"""

from __future__ import annotations

from typing import NamedTuple

from ptxlab.emulate.language import *
from ptxlab.emulate.program.flat_program import Code
from ptxlab.emulate.rules.bulk_copies import complete_at
from ptxlab.emulate.rules.clusters import others_run
from ptxlab.emulate.rules.lane_scheduling import tried
from ptxlab.emulate.rules.mbarrier_words import *
from ptxlab.emulate.rules.memcheck import in_shared, resolve, space_of, stop
from ptxlab.emulate.rules.records import CHANGES, READS, WRITES, Block
from ptxlab.emulate.runtime.state import BAD_MBARRIER, CLUSTER, OUT_OF_MEMORY_RANGE, SHARED, Context, Cta, Warp
from ptxlab.isa.actions import Action

REPORTED_EVERY = 256
"""One in so many failing waits in a loop is reported to the checks."""


# -- what an instruction does ------------------------------------------------------------------------------------------


class Operation(NamedTuple):
    """Operation of an instruction. action: one of the four above. arrivals, bytes: how many, the name of the operand
    that says it, or "-" and the name for its negative. state: the operand that a wait compares."""

    action: int
    arrivals: int | str = 0
    bytes: int | str = 0
    state: str = ""
    drop: bool = False
    incomplete: bool = False
    copies: bool = False
    relaxed: bool = False

    @property
    def flags(self) -> int:
        """For `operated`, of the word and of the checks."""
        announces = isinstance(self.bytes, str) and self.bytes[0] != "-"
        arrives = self.copies or self.arrivals != 0
        word = DROP * self.drop | NO_COMPLETE * self.incomplete
        return word | ARRIVES * arrives | ANNOUNCES * announces | COPIES * self.copies | RELAXED * self.relaxed


def operation(code: Code) -> Operation:
    form, action = code.form, code.action
    if action is Action.COPIES_ARRIVE:  # without .noinc this arrival has just been added to the pending ones
        return Operation(UPDATE, arrivals=int(bool(form.noinc)), copies=True)
    if action in (Action.COPY, Action.COPY_REDUCE):  # a bulk copy reports its bytes
        return Operation(UPDATE, bytes="-size")
    if action is Action.MBARRIER_INIT:
        return Operation(INIT, arrivals="count")
    if action is Action.MBARRIER_INVALIDATE:
        return Operation(INVAL)
    if action in (Action.MBARRIER_TEST, Action.MBARRIER_WAIT):
        return Operation(WAIT, state="parity" if form.parity else "state", relaxed=form.order == "relaxed")
    if action is Action.MBARRIER_COUNT_BYTES:
        return Operation(UPDATE, bytes="bytes" if form.expect_tx else "-bytes", relaxed=True)
    drop, names = bool(form.arrive_drop), [s.name for s in form.op.operands]
    relaxed = form.order == "relaxed"
    if form.expect_tx:
        return Operation(UPDATE, arrivals=1, bytes="bytes", drop=drop, relaxed=relaxed)
    given = dict(zip(names[len(code.dests) :], code.sources, strict=True)).get("count")
    return Operation(
        UPDATE, "count" if given is not None else 1, drop=drop, incomplete=bool(form.noComplete), relaxed=relaxed
    )


def access_kind(code: Code) -> int:
    """What racecheck and initcheck see an instruction do to the mbarrier's 8 bytes: READS, WRITES or CHANGES."""
    if code.action in (Action.MBARRIER_TEST, Action.MBARRIER_WAIT):
        return READS
    return WRITES if code.action is Action.MBARRIER_INIT else CHANGES


# -- the JIT: all lanes of an instruction ------------------------------------------------------------------------------


@rule
def operate(
    context: Context,
    cta: Cta,
    warp: Warp,
    block: Block | None,
    mask: u32,
    addresses: Pointer[u64],
    xs: Pointer[u64],
    ys: Pointer[u64],
    results: Pointer[u64],
    action: u32,
    flags: u32,
    space: u32,
    code: u32,
) -> boolean:
    """Lane by lane, in order; whether the kernel must stop, with the fault noted. block: the checks' record, if any."""
    words = local(u64, 4 * 32)  # for the checks: see `notify_checks`
    before, after, done = words + 64, words + 96, u32(0)
    failed: u32 = 0
    ended: u32 = 0  # lanes that have waited in vain before
    for lane in lanes_of(mask):
        address = in_shared(space, addresses[lane])
        where, _ = space_of(space, addresses[lane])
        reached = u32(space if where == CLUSTER and action == UPDATE else SHARED)
        place = resolve(context, cta, warp, lane, address, 8, 3, reached, 1, None)
        if place is None:
            stop(context, warp, OUT_OF_MEMORY_RANGE, code, lane, addresses[lane])
            return True
        cell = place.cast(u64)
        if action == WAIT and cta.cluster.queue is not None and not phase_completed(cell[0], xs[lane]):
            complete_at(context, cta.cluster.queue[0], cta.rank, u32(address))
        words[lane], words[32 + lane], before[lane] = addresses[lane], xs[lane], cell[0]
        problem, after[lane], results[lane] = operated(cell[0], action, flags, xs[lane], ys[lane])
        if problem != NO_PROBLEM:
            if block is not None:
                notify_checks(context, block, warp.warp_id, done, code, action, flags, lane, problem, words)
            stop(context, warp, BAD_MBARRIER, code, lane, problem)
            return True
        cell[0] = after[lane]
        if action == WAIT:
            if results[lane] != 0:
                ended |= stops_spinning(warp, lane, address, xs[lane])
            elif flags & SPIN != 0:
                failed |= u32(1 << lane)
                warp.spins |= u32(1 << lane)
                warp.spin_at[lane] = address
                warp.spin_for[lane] = xs[lane]
                warp.spin_code[lane] = code
        done |= u32(1 << lane)
    if action == WAIT and flags & SPIN != 0:
        in_vain: boolean = mask != 0 and failed == mask
        if warp.diverged != 0 and (in_vain or ended != 0):
            tried(warp.turns, ended=not in_vain, others_run=in_vain and others_run(context, cta, warp))
        if in_vain:
            give_up_turn(context)
    if block is not None and worth_reporting(block, warp.warp_id, mask, action, code, results):
        notify_checks(context, block, warp.warp_id, mask, code, action, flags, 0, NO_PROBLEM, words)
    return False


@rule(inline=True)
def stops_spinning(warp: Warp, lane: u32, at: u64, asked: u64) -> u32:
    """A wait of a lane has succeeded. The bit of the lane if it has spun on that phase: between two attempts it may
    have waited for others, too."""
    bit = warp.spins & u32(1 << lane)
    if warp.spin_at[lane] != at or warp.spin_for[lane] != asked:
        return 0
    warp.spins &= ~bit
    return bit


@rule(inline=True)
def give_up_turn(context: Context) -> None:
    """A wait has failed in all its lanes: other warps have their turns now. They are more likely to end it than lanes
    of this warp, which reconverge with these after the wait in most programs (one lane loads for all)."""
    if context.slice >= 0 and context.random == 0:
        context.forgone += context.slice + 1
        context.slice = -1


@rule
def still_spinning(context: Context, cta: Cta, warp: Warp) -> boolean:
    """Whether the phases that lanes spin on are still open. Lanes that wait for something else do not count."""
    for lane in lanes_of(warp.live & ~warp.wait):
        word = (cta.shared + (warp.spin_at[lane] - context.memory.shared_start)).cast(u64)[0]
        if phase_completed(word, warp.spin_for[lane]) or word == 0:
            return False  # 0: it has been made invalid, which stops the next try
    return True


# -- what is reported to the checks ------------------------------------------------------------------------------------


@rule(pointer="phases")
def notify_checks(
    context: Context,
    block: Block,
    warp: u32,
    mask: u32,
    code: u32,
    action: u32,
    flags: u32,
    lane: u32,
    problem: u32,
    words: Pointer[u64],
) -> u32:
    """Reports to the checks (`mbarrier_phases.notified`) what the lanes of `mask` have done and, unless `problem` is
    NO_PROBLEM, the invalid operation of `lane`. words: for each lane the address of its mbarrier, then for each what it
    asks, what the mbarrier held before, and what it holds after."""
    raise AssertionError("the function is known to compiled code only")


@rule
def worth_reporting(block: Block, warp: u32, mask: u32, action: u32, code: u32, results: Pointer[u64]) -> boolean:
    """Whether an operation is reported to the checks. A loop of failing waits is reported at first, and then now and
    again as long as no mbarrier changes."""
    if action != WAIT:
        block.updates += 1
        return mask != 0
    for lane in lanes_of(mask):
        if results[lane] != 0:
            return True
    this = u64(block.updates * 0x9E3779B97F4A7C15) ^ (u64(code) << 32 | mask)
    again = block.polled[warp, 0] == this
    block.polled[warp, 0] = this
    block.polled[warp, 1] = block.polled[warp, 1] + 1 if again else 0
    return mask != 0 and block.polled[warp, 1] % REPORTED_EVERY == 0
