"""mbarriers in the stepping engine, lane by lane in lane order; what they hold is in `ptxlab.isa.mbarrier`.

A wait never blocks: `try_wait` answers at once, which the manual allows, and the loop around it lets others run.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ptxlab.emulate.program.model import Code
from ptxlab.emulate.rules.instructions import spins
from ptxlab.emulate.runtime.faults import access_fault, fault
from ptxlab.emulate.runtime.memory import SHARED_WINDOW, WINDOW_SIZE
from ptxlab.emulate.runtime.report import Launch
from ptxlab.emulate.step.access import Region, Touch
from ptxlab.emulate.step.lanes import LANES
from ptxlab.errors import DeviceFault
from ptxlab.isa import mbarrier
from ptxlab.isa.actions import Action

if TYPE_CHECKING:
    from ptxlab.emulate.program.model import Program
    from ptxlab.emulate.step.translate import Step, Translator
    from ptxlab.emulate.step.warp import Warp

INIT, INVAL, UPDATE, WAIT = range(4)


@dataclass(frozen=True)
class Operation:
    """What a form does. action: one of the four above. arrivals, bytes: how many, the name of the operand that says
    it, or "-" and the name for its negative. state: the operand that a wait compares."""

    action: int
    arrivals: int | str = 0
    bytes: int | str = 0
    state: str = ""
    drop: bool = False
    incomplete: bool = False

    @property
    def flags(self) -> int:
        """As the compiled function wants them."""
        return int(self.drop) | int(self.incomplete) << 1


def is_mbarrier(code: Code) -> bool:
    """Whether an instruction works on an mbarrier."""
    return code.properties.mbarrier


def operation(code: Code) -> Operation:
    """What an instruction does to an mbarrier."""
    form, action = code.form, code.action
    assert form is not None
    if action is Action.COPIES_ARRIVE:  # without .noinc this arrival has just been added to the pending ones
        return Operation(UPDATE, arrivals=int(bool(form.noinc)))
    if action is Action.MBARRIER_INIT:
        return Operation(INIT, arrivals="count")
    if action is Action.MBARRIER_INVALIDATE:
        return Operation(INVAL)
    if action in (Action.MBARRIER_TEST, Action.MBARRIER_WAIT):
        return Operation(WAIT, state="parity" if form.parity else "state")
    if action is Action.MBARRIER_COUNT_BYTES:
        return Operation(UPDATE, bytes="bytes" if form.expect_tx else "-bytes")
    drop, names = bool(form.arrive_drop), [s.name for s in form.op.operands]
    if form.expect_tx:
        return Operation(UPDATE, arrivals=1, bytes="bytes", drop=drop)
    given = dict(zip(names[len(code.dests) :], code.sources, strict=True)).get("count")
    return Operation(UPDATE, "count" if given is not None else 1, drop=drop, incomplete=bool(form.noComplete))


def problem(program: Program, launch: Launch, code: Code, *, which: int, block: int, thread: int) -> DeviceFault:
    """The fault of an operation that cannot be done."""
    assert code.form is not None
    message = f"{code.form.opcode}: {mbarrier.Problem(which).words}"
    return fault(program, launch, "trap", message, line=code.line, block=block, thread=thread)


def translate(t: Translator, code: Code) -> Step:
    """The step of an mbarrier instruction."""
    form, what = code.form, operation(code)
    assert form is not None
    names = [s.name for s in form.op.operands if s.role != "dst"]
    reads = dict(zip(names, t.readers(code), strict=True))
    write = t.write(code)

    def amount(w: Warp, given: int | str) -> np.ndarray:
        if isinstance(given, int):
            return np.full(LANES, given, np.int64)
        values: np.ndarray = reads[given.lstrip("-")](w).astype(np.int64)
        return -values if given[0] == "-" else values

    spinning = what.action == WAIT and spins(t.program, code)

    def run(w: Warp) -> int | None:
        w.polled = True
        addresses = reads["a"](w).astype(np.uint64)
        touch = Touch("atomic", code.space, addresses, 8, w.mask)
        if w.touches is not None:
            w.touches.append(touch)
        check = w.spaces.check
        if check is not None:
            check.touched(w, code, touch)
        arrivals, bytes_ = amount(w, what.arrivals), amount(w, what.bytes)
        state: Any = reads[what.state](w).astype(np.uint64) if what.state else None
        if what.state == "parity":
            state = state << np.uint64(mbarrier.PHASE_SHIFT)
        out = np.zeros(LANES, np.uint64)
        words: list[tuple[int, int]] = []
        failed = False
        for lane in np.flatnonzero(w.mask).tolist():
            region, at = _find(w, code, int(addresses[lane]), lane)
            cell = region.data[at : at + 8].view(np.uint64)
            before = int(cell[0])
            out[lane] = before
            after: int = before
            if what.action == INIT:
                after = mbarrier.new(int(arrivals[lane]))
            elif what.action == UPDATE:
                after = mbarrier.update(before, int(arrivals[lane]), int(bytes_[lane]), drop=what.drop,
                                        may_complete=not what.incomplete)  # fmt: skip
            elif before >> mbarrier.TAG_SHIFT & 3 != mbarrier.TAG:
                after = mbarrier.Problem.NOT_INITIALISED
            elif what.action == INVAL:
                after = 0
            else:
                out[lane] = over = mbarrier.phase(before) ^ mbarrier.phase(int(state[lane]))
                if spinning and not over:
                    failed = True
                    place = at + int(region.base)
                    w.spaces.spins.waits[w.warp * LANES + lane] = (
                        w.warp * LANES + lane, code.index, place, int(state[lane])
                    )  # fmt: skip
                else:
                    w.spaces.spins.waits.pop(w.warp * LANES + lane, None)
            if isinstance(after, mbarrier.Problem):
                machine, thread = w.machine, w.warp * LANES + lane
                if check is not None:
                    check.operated(w, code, addresses, state, words)
                    check.phases.refused(code, thread, int(addresses[lane]), after)
                raise problem(machine.program, machine.launch, code, which=after, block=w.block_index, thread=thread)
            cell[0] = after
            words.append((before, after))
        if code.dests:
            write(w, out.astype(np.bool_) if what.action == WAIT else out)
        if check is not None and words:
            check.operated(w, code, addresses, state, words)
        if spinning and failed and w.spaces.spins.stuck():
            raise w.spaces.deadlock()
        return None

    return run


def _find(w: Warp, code: Code, address: int, lane: int) -> tuple[Region, int]:
    if code.space == "generic" and 0 <= address - SHARED_WINDOW < WINDOW_SIZE:
        address -= SHARED_WINDOW
    region = w._region("shared", address)
    offset = -1 if region is None else address - int(region.base)
    if region is None or not 0 <= offset <= region.size - 8 or address % 8:
        machine = w.machine
        raise access_fault(
            machine.program, machine.launch, machine.memory, line=code.line, block=w.block_index,
            thread=w.warp * LANES + lane, what="atomic", space="shared", address=address, size=8,
        )  # fmt: skip
    return region, offset
