"""Each instruction of a program as one Python function, made once: operands resolved, conversions chosen, guard added.

A function takes the warp, executes the instruction for the lanes in `warp.mask`, and returns the next program counter
of a jump, None to continue with the next instruction, `NO_GROUP` when the running lanes have exited or wait.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ptxlab.emulate.program.flat_program import Code, Mem
from ptxlab.emulate.program.lane_types import LANES
from ptxlab.emulate.program.program import Program, once
from ptxlab.emulate.rules.faults import unsupported
from ptxlab.emulate.step import control_flow
from ptxlab.emulate.step.access import Site
from ptxlab.emulate.step.bodies import body_of, step_of
from ptxlab.emulate.step.operands import Read, Step, Translator, Write
from ptxlab.emulate.step.warp import ALL, NONE, Warp
from ptxlab.isa.actions import Action
from ptxlab.isa.machine import Value


@dataclass(slots=True)
class Translated:
    """A program as the interpreter runs it: for each instruction a function, the following program counter, and whether
    a diverged warp may change to another group of lanes after it; and the constants after the program's registers. It
    holds nothing of a launch, so launches share it."""

    steps: list[Step]
    following: list[int]
    turning: list[bool]
    constants: list[Value]


@once
def translated(program: Program) -> Translated:
    """A program's translation, which takes longer than a launch of a few warps."""
    return translate(Translator(program))


def translate(t: Translator) -> Translated:
    steps = [_step(t, code) for code in t.program.codes]
    last = {block.last - 1 for block in t.program.blocks}
    turning = [code.index in last or code.properties.converges for code in t.program.codes]
    return Translated(steps, t.following, turning, t.constants)


def _step(t: Translator, code: Code) -> Step:
    if code.copy is not None:
        step = _copy(code)
    elif code.action is Action.TAKE_REDUCED:  # the barrier itself has written its result
        step = _nothing
    elif code.form.op.kind == "flow":
        return control_flow.control_step(t, code)
    elif code.form.op.kind == "none":
        step = _nothing
    elif (body := body_of(code)) is not None:
        step = step_of(t, body, code)
        if body.guards:
            return step
    elif code.form.op.sem is None:
        raise unsupported(t.program, code)
    elif (members := t.members(code)) is not None:
        return control_flow.converging(t, code, t.readers(code), t.write(code), members)
    else:
        step = _computed(t, code)
    step = t.instrument(code, step)
    return step if code.guard is None else guarded(step, *code.guard)


def _computed(t: Translator, code: Code) -> Step:
    """An instruction with semantics in the table."""
    form = code.form
    sem, readers, write = form.op.sem, t.readers(code), t.write(code)
    if any(isinstance(s, Mem) for s in code.sources):
        return _memory(sem, form, readers, write, Site(code, form), code.polls)
    direct = [t.direct(s, type_) for s, type_ in zip(code.sources, code.source_types, strict=True)]
    sources, dest = [n for n in direct if n is not None], t.direct_dest(code)
    if dest is not None and len(sources) == len(direct):
        return _direct(sem, form, dest, sources)
    return _general(sem, form, readers, write)


def guarded(step: Step, predicate: int, negated: bool) -> Step:
    def run(w: Warp) -> int | None:
        mask = w.held(predicate, negated)
        bits = mask.tobytes()
        if bits == NONE:
            return None
        whole, full = w.mask, w.full
        w.mask, w.full = mask, bits == ALL
        step(w)
        w.mask, w.full = whole, full
        return None

    return run


def _nothing(w: Warp) -> int | None:
    return None


def _direct(sem: Any, form: Any, dest: int, sources: list[int]) -> Step:
    """An instruction whose operands are whole registers: no conversions."""

    def run(w: Warp) -> int | None:
        regs = w.regs
        value = sem(w, form, *[regs[k] for k in sources])
        regs[dest] = value if w.full else np.where(w.mask, value, regs[dest])
        return None

    return run


def _general(sem: Any, form: Any, readers: list[Read], write: Write) -> Step:
    def run(w: Warp) -> int | None:
        write(w, sem(w, form, *[read(w) for read in readers]))
        return None

    return run


def _memory(sem: Any, form: Any, readers: list[Read], write: Write, site: Site, polls: bool) -> Step:
    def run(w: Warp) -> int | None:
        w.site = site
        if polls:
            w.polled = True
        write(w, sem(w, form, *[read(w) for read in readers]))
        return None

    return run


def _copy(code: Code) -> Step:
    """Arguments that are passed in memory, copied within each lane's frame."""
    assert code.copy is not None
    source, dest, size = code.copy

    def run(w: Warp) -> int | None:
        frames = w.local.data.reshape(LANES, -1)
        frames[w.mask, dest : dest + size] = frames[w.mask, source : source + size]
        return None

    return run
