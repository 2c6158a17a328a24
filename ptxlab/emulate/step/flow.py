"""Branches, calls, barriers and what makes lanes wait for each other, for the stepping engine.

Each function here gives a step as `ptxlab.emulate.step.translate` wants it. A guard on one of these parts the lanes:
those it holds for do what the instruction says, the others go on behind it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ptxlab.emulate.program.lane_types import DTYPE, LANES
from ptxlab.emulate.program.model import Code, Literal, Reg
from ptxlab.emulate.rules.faults import fault, unsupported
from ptxlab.emulate.step.warp import GONE, NONE, Part, Wait, Warp
from ptxlab.isa.actions import Action
from ptxlab.isa.machine import Value

if TYPE_CHECKING:
    from ptxlab.emulate.step.translate import Read, Step, Translator, Write
    from ptxlab.isa.table import Form


def translate(t: Translator, code: Code) -> Step:
    """The step of a branch, call, return, barrier or trap. Raises `UnsupportedInstruction` for any other instruction
    that the engine would have to run by itself."""
    assert code.form is not None
    if code.action is Action.WARP_BARRIER:
        return converging(t, code, [], lambda w, value: None, t.read(code.sources[0], "b32", code))
    make = _MAKERS.get(code.action)
    if make is None:
        raise unsupported(t.program, code)
    act = make(t, code)
    return act if code.guard is None else parted(act, t.following[code.index], *code.guard)


def parted(act: Step, following: int, predicate: int, negated: bool) -> Step:
    """`@p`: lanes that it holds for act, the others go on at `following`."""

    def run(w: Warp) -> int | None:
        p = w.regs[predicate]
        mask = np.greater(w.mask, p) if negated else w.mask & p
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
    target = t.program.blocks[code.target].first
    return lambda w: target


def _scatter(w: Warp, places: Value) -> int:
    """Each running lane goes on at its own place (an array of program counters)."""
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
            raise _fault(w, code, "trap", message, lane)
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
        w.retire(w.mask)
        return GONE

    return leave if register < 0 else lambda w: _scatter(w, first[w.regs[register]])


def _trap(t: Translator, code: Code) -> Step:
    assert code.form is not None
    message = code.reason or f"the kernel executed {code.form.op.name}"

    def run(w: Warp) -> int | None:
        raise _fault(w, code, "trap", message, int(w.mask.argmax()))

    return run


def _fault(w: Warp, code: Code, kind: str, message: str, lane: int) -> Exception:
    machine = w.machine
    return fault(
        machine.program, machine.launch, kind, message, line=code.line, block=w.block_index,
        thread=w.warp * LANES + lane,
    )  # fmt: skip


# -- barriers of the block ---------------------------------------------------------------------------------------------


def _barrier(t: Translator, code: Code) -> Step:
    """`bar.sync a, b`, `.arrive` and `.red`: the lanes stop, and `ptxlab.emulate.step.schedule` lets them go."""
    form = code.form
    assert form is not None
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
            raise _fault(w, code, "trap", f"there is no barrier {barrier}: a block has barriers 0 to 15", lane)
        count = int(numbers[1](w)[lane]) if len(numbers) > 1 else 0
        if count % LANES:
            message = f"barrier {barrier} wants {count} threads, which is not a multiple of {LANES}"
            raise _fault(w, code, "trap", message, lane)
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


_MAKERS: dict[Action, Callable[[Translator, Code], Step]] = {
    Action.BRANCH: _branch, Action.INDEXED_BRANCH: _indexed, Action.CALL: _call, Action.RETURN: _return,
    Action.EXIT: _return, Action.TRAP: _trap, Action.BARRIER: _barrier,
}  # fmt: skip


# -- lanes of a warp that wait for each other --------------------------------------------------------------------------


def converging(t: Translator, code: Code, readers: list[Read], write: Write, members: Read) -> Step:
    """A `.sync` instruction with a member mask: all live lanes it names take part, wherever they come from. Lanes that
    wait at the same instruction simply join; those at another one of the same kind exchange their own operands."""
    form = code.form
    assert form is not None
    sem, exchanges = form.op.sem, t.exchanges
    exchanges[code.index] = (readers, write)

    def run(w: Warp) -> int | None:
        partners: list[Part] = []
        if w.apart:
            named = members(w)
            for word in np.unique(named[w.mask]):  # several groups of lanes may have come here together
                partners += _gather(w, code, w.mask & (named == word), word)
            if not w.mask.any():
                return GONE
        if sem is not None:
            values = [read(w) for read in readers]
            if not partners:
                write(w, sem(w, form, *values))
                return None
            _exchange(w, sem, form, values, write, partners, exchanges)
        for part in partners:
            part.pc, part.wait = t.following[part.pc], None
        return None

    return run if code.guard is None else parted(run, t.following[code.index], *code.guard)


def _gather(w: Warp, code: Code, group: np.ndarray, word: int) -> list[Part]:
    """Joins the lanes that wait here for `group`, running lanes that name the lanes in `word`. Parts that wait at
    another instruction of the same kind are given back. While named lanes are missing the group waits."""
    assert code.form is not None
    members = (np.uint32(word) >> w.lane_id() & np.uint32(1)).astype(DTYPE["i1"])
    missing = members & w.live & ~w.mask
    if not missing.any():
        return []
    same, partners = [], []
    for part in w.others:
        wait = part.wait
        if wait is None or wait.members is None or not (part.mask & missing).any():
            continue
        if part.pc == code.index:
            same.append(part)
        elif wait.code.form is not None and wait.code.form.opcode == code.form.opcode:
            partners.append(part)
    if (missing & ~_union([*same, *partners])).any():
        w.others.append(Part(code.index, group, Wait(code, members=members)))
        w.run_lanes(w.mask & ~group)
        return []
    for part in same:
        w.others.remove(part)
    if same:
        w.run_lanes(w.mask | _union(same))
    return partners


def _union(parts: list[Part]) -> np.ndarray:
    mask = np.zeros(LANES, np.bool_)
    for part in parts:
        mask |= part.mask
    return mask


def _exchange(
    w: Warp, sem: Any, form: Form, values: list[Any], write: Write, partners: list[Part], exchanges: dict[int, Any]
) -> None:
    """One exchange of data between lanes that stand at different instructions: each brings its own operands, and gets
    the result in its own registers."""
    for part in partners:
        for k, read in enumerate(exchanges[part.pc][0]):
            if isinstance(values[k], np.ndarray):
                values[k] = np.where(part.mask, read(w), values[k])
    own = w.mask
    w.mask = own | _union(partners)
    w.full = bool(w.mask.all())
    result = sem(w, form, *values)
    w.full = False
    for part in partners:
        w.mask = part.mask
        exchanges[part.pc][1](w, result)
    w.mask = own
    write(w, result)


def waiting_for(wait: Wait) -> str:
    """What a part waits for, in words."""
    opcode = wait.code.form.opcode if wait.code.form is not None else wait.code.name
    together = wait.code.form is not None and wait.code.form.op.kind == "warp"
    what = "the other lanes of its warp" if together else "the lanes of its mask"
    what = f"barrier {wait.barrier}" if wait.members is None else what
    return f"{what} ({opcode}, line {wait.code.line})"
