"""Branches, calls, barriers and `.sync` instructions, in the interpreter.

Each function here returns a step as `ptxlab.emulate.step.translate` expects it. A guard makes the warp diverge: lanes
whose predicate holds execute the instruction, the others continue after it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ptxlab.emulate.language import lanes
from ptxlab.emulate.program.flat_program import Code, Literal, Reg
from ptxlab.emulate.program.lane_types import LANES
from ptxlab.emulate.program.liveness import registers_of
from ptxlab.emulate.rules import clusters
from ptxlab.emulate.rules.faults import unsupported
from ptxlab.emulate.rules.warpgroup_faults import THE_OTHERS
from ptxlab.emulate.step.lanes import mask_bits
from ptxlab.emulate.step.operands import Read, Step, Translator, Write
from ptxlab.emulate.step.warp import NO_GROUP, NONE, LaneGroup, Wait, Warp
from ptxlab.isa.actions import Action
from ptxlab.isa.machine import Value
from ptxlab.isa.table import Form

CLUSTER_BARRIER = 16
"""The number of the cluster's barrier, after those of the block."""
WARPGROUP_BEGUN = 17
"""Instead of a barrier: the other warps of the warpgroup have begun the products that this one has waited for."""


def control_step(t: Translator, code: Code) -> Step:
    """The step of a branch, call, return, barrier or trap. Raises `UnsupportedInstruction` for any other instruction
    without semantics in the table."""
    if code.action is Action.WARP_BARRIER:
        return converging(t, code, [], lambda w, value: None, t.read(code.sources[0], "b32", code))
    make = _MAKERS.get(code.action)
    if make is None:
        raise unsupported(t.program, code)
    act = _ended(t, code) if code.leaves >= 0 else make(t, code)
    return act if code.guard is None else diverging(act, t.following[code.index], *code.guard)


def diverging(act: Step, following: int, predicate: int, negated: bool) -> Step:
    """`@p`: lanes whose predicate holds act, the others continue at `following`."""

    def run(w: Warp) -> int | None:
        mask = w.held(predicate, negated)
        bits = mask.tobytes()
        if bits == NONE:
            return None
        if bits != w.bits:
            w.leave(w.mask & ~mask, following)
            w.run_lanes(mask)
        return act(w)

    return run


# -- branches and calls ------------------------------------------------------------------------------------------------


def _branch(t: Translator, code: Code) -> Step:
    target, rounds = t.program.blocks[code.target].first, code.rounds
    if not rounds:
        return lambda w: target

    def back(w: Warp) -> int | None:
        if w.diverged:
            w.turns.rounds += rounds
        return target

    return back


def _ended(t: Translator, code: Code) -> Step:
    """A branch to a block that only ends the thread: its lanes exit at the branch."""
    end = t.program.blocks[code.target].first
    return lambda w: w.leave_by_branch(end)


def _scatter(w: Warp, places: Value) -> int:
    """Each running lane continues at its own program counter."""
    wanted = np.unique(places[w.mask])
    for pc in wanted[1:].tolist():
        w.leave(w.mask & (places == pc), pc)
    if wanted.size > 1:
        w.run_lanes(w.mask & (places == wanted[0]))
    return int(wanted[0])


def _indexed(t: Translator, code: Code) -> Step:
    places = np.array([t.program.blocks[b].first for b in code.targets], np.int64)
    read = t.read(code.sources[0], "u32", code)

    def run(w: Warp) -> int | None:
        index = read(w)
        outside = w.mask & (index >= places.size)
        if outside.any():
            lane = int(outside.argmax())
            message = f"the index {int(index[lane])} is outside the list of {places.size} branch targets"
            raise w.faulting(code, lane).fault("trap", message)
        return _scatter(w, places[np.minimum(index, np.uint32(places.size - 1))])

    return run


def _call(t: Translator, code: Code) -> Step:
    target, register = t.program.blocks[code.target].first, code.register
    back = np.full(LANES, max(t.program.blocks[code.block].next, 0), np.uint32)  # -1: the callee never returns

    def run(w: Warp) -> int | None:
        w.regs[register] = np.where(w.mask, back, w.regs[register])
        return target

    return run


def _return(t: Translator, code: Code) -> Step:
    register = code.register if code.action is Action.RETURN else -1
    first = np.array([b.first for b in t.program.blocks], np.int64)

    def leave(w: Warp) -> int | None:
        w.left.discard(code.index)
        w.retire(w.mask)
        return NO_GROUP

    return leave if register < 0 else lambda w: _scatter(w, first[w.regs[register]])


def _trap(t: Translator, code: Code) -> Step:
    message = code.reason or f"the kernel executed {code.form.op.name}"

    def run(w: Warp) -> int | None:
        raise w.faulting(code, int(w.mask.argmax())).fault("trap", message)

    return run


# -- barriers of the block ---------------------------------------------------------------------------------------------


def _barrier(t: Translator, code: Code) -> Step:
    """`bar.sync a, b`, `.arrive` and `.red`: the lanes wait until `ptxlab.emulate.step.schedule` releases them."""
    form = code.form
    sources = [s for s in code.sources if s is not None]
    predicate: Read | None = None
    if form.red:
        predicate = t.read(sources.pop(), "pred", code)
    numbers = [t.read(s, "u32", code) for s in sources if isinstance(s, Reg | Literal)]
    following = t.following[code.index]
    finish = _reduction(form, t.write(code)) if predicate is not None else None
    stays = not form.arrive

    def run(w: Warp) -> int | None:
        lane = int(w.mask.argmax())
        barrier = int(numbers[0](w)[lane]) if numbers else 0
        if barrier > 15:
            raise w.faulting(code, lane).fault("trap", f"there is no barrier {barrier}: a block has barriers 0 to 15")
        count = int(numbers[1](w)[lane]) if len(numbers) > 1 else 0
        if count % LANES:
            message = f"barrier {barrier} waits for {count} threads, which is not a multiple of {LANES}"
            raise w.faulting(code, lane).fault("trap", message)
        given = None if predicate is None else predicate(w) & w.mask
        return w.wait(Wait(code, barrier, count, stays, predicate=given, finish=finish), following)

    return run


def _reduction(form: Form, write: Write) -> Callable[[Warp, np.ndarray, int, bool, bool], None]:
    def finish(w: Warp, mask: np.ndarray, count: int, every: bool, some: bool) -> None:
        if form.operation == "popc":
            result: Value = np.full(LANES, count, np.uint32)
        else:
            result = np.full(LANES, every if form.operation == "and" else some, np.bool_)
        before, full = w.mask, w.full
        w.mask, w.full = mask, bool(mask.all())
        write(w, result)
        w.mask, w.full = before, full

    return finish


def _cluster_barrier(t: Translator, code: Code) -> Step:
    """`barrier.cluster.arrive` and `.wait`; `ptxlab.emulate.step.clusters` lets the lanes go on."""
    form, following = code.form, t.following[code.index]
    assert form is not None
    if form.arrive:

        def arrives(w: Warp) -> int | None:
            clusters.arrive(w.record, mask_bits(w.mask))
            return following

        return arrives

    def waits(w: Warp) -> int | None:
        clusters.wait(w.record, mask_bits(w.mask))
        return w.wait(Wait(code, CLUSTER_BARRIER), following)

    return waits


_MAKERS: dict[Action, Callable[[Translator, Code], Step]] = {
    Action.BRANCH: _branch, Action.INDEXED_BRANCH: _indexed, Action.CALL: _call, Action.RETURN: _return,
    Action.EXIT: _return, Action.TRAP: _trap, Action.BARRIER: _barrier,
    Action.CLUSTER_BARRIER: _cluster_barrier,
}  # fmt: skip


# -- lanes of a warp that wait for each other --------------------------------------------------------------------------


def converging(t: Translator, code: Code, readers: list[Read], write: Write, members: Read) -> Step:
    """A `.sync` instruction with a member mask: all live lanes that it names take part. Lanes may arrive at different
    instructions with the same opcode; each brings its own operands and gets the result in its own registers."""
    form = code.form
    sem, following = form.op.sem, t.following[code.index]
    t.exchanges[code.index] = (readers, write)
    converged = t.instrument(code, lambda w: write(w, sem(w, form, *[read(w) for read in readers])) if sem else None)

    def release(w: Warp, group: LaneGroup) -> None:
        wait = group.wait
        assert wait is not None
        assert wait.members is not None
        groups = [group, *_named(w, group, wait.members)]
        if (wait.members & w.live & ~union(groups)).any():
            return
        for pc in sorted({each.pc for each in groups} & t.synced.keys()):
            t.synced[pc](w, union([each for each in groups if each.pc == pc]))
        if sem is not None:
            _exchange(w, sem, form, groups, t)
        for each in groups:
            each.pc, each.wait = t.following[each.pc], None

    def run(w: Warp) -> int | None:
        if not w.diverged:
            converged(w)
            return following
        named, came = members(w), []
        for word in np.unique(named[w.mask]):  # lanes of one group may name different member masks
            wait = Wait(code, members=lanes(int(word)), release=release)
            came.append(LaneGroup(code.index, w.mask & (named == word), wait))
        w.others += came
        for group in came:
            release(w, group)
        return NO_GROUP

    return run if code.guard is None else diverging(run, following, *code.guard)


def _named(w: Warp, group: LaneGroup, members: np.ndarray) -> list[LaneGroup]:
    """The groups of lanes among `members` that wait at this opcode. A group with other lanes in it is split."""
    found = []
    for other in list(w.others):
        wait = other.wait
        if other is group or wait is None or wait.members is None or _opcode(wait) != _opcode(group.wait):
            continue
        inside = other.mask & members
        if inside.any():
            if (inside != other.mask).any():
                w.others.append(LaneGroup(other.pc, other.mask & ~members, wait))
                other.mask = inside
            found.append(other)
    return found


def _opcode(wait: Wait | None) -> str:
    return wait.code.form.opcode if wait is not None else ""


def union(groups: list[LaneGroup]) -> np.ndarray:
    mask = np.zeros(LANES, np.bool_)
    for group in groups:
        mask |= group.mask
    return mask


def _exchange(w: Warp, sem: Any, form: Form, groups: list[LaneGroup], t: Translator) -> None:
    """One exchange of data between lanes that may be at different instructions."""

    def exchange(group: LaneGroup) -> Step:
        def act(w: Warp) -> None:
            values = [read(w) for read in t.exchanges[group.pc][0]]
            for other in groups:
                for k, read in enumerate(t.exchanges[other.pc][0]):
                    if isinstance(values[k], np.ndarray):
                        values[k] = np.where(other.mask, read(w), values[k])
            w.run_lanes(together)
            result = sem(w, form, *values)
            w.run_lanes(group.mask)
            t.exchanges[group.pc][1](w, result)

        return act

    running, together, codes = w.mask, union(groups), [t.program.codes[group.pc] for group in groups]
    regs, made = w.regs, list[list[Any]]()
    for group, code in zip(groups, codes, strict=True):  # each from the same registers
        w.run_lanes(group.mask)
        w.regs = list(regs)
        t.instrument(code, exchange(group), *codes)(w)
        made.append(w.regs)
    for group, code, found in zip(groups, codes, made, strict=True):
        for r in [r for dest in code.dests for r in registers_of(dest)]:
            regs[r] = np.where(group.mask, found[r], regs[r])
    w.regs = regs
    w.run_lanes(running)


def waiting_for(wait: Wait) -> str:
    """What a group waits for, in words."""
    if wait.members is None:
        others = {CLUSTER_BARRIER: "the barrier of the cluster", WARPGROUP_BEGUN: THE_OTHERS}
        return others.get(wait.barrier, f"barrier {wait.barrier}")
    return "the other lanes of its warp" if wait.code.form.op.kind == "warp" else "the lanes of its mask"
