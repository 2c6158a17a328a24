"""mbarriers in the interpreter: looked up lane by lane, changed by `ptxlab.emulate.rules.mbarriers.operated`."""

from __future__ import annotations

from typing import Any

import numpy as np

from ptxlab.emulate.program.flat_program import Code
from ptxlab.emulate.program.lane_types import LANES
from ptxlab.emulate.program.wait_loops import spins
from ptxlab.emulate.rules.bulk_copies import complete_at
from ptxlab.emulate.rules.faults import invalid_mbarrier
from ptxlab.emulate.rules.lane_scheduling import tried
from ptxlab.emulate.rules.mbarrier_records import party
from ptxlab.emulate.rules.mbarrier_words import NO_PROBLEM, UPDATE, WAIT, operated, phase_completed
from ptxlab.emulate.rules.mbarriers import operation
from ptxlab.emulate.rules.memcheck import in_shared, space_of
from ptxlab.emulate.runtime.state import CLUSTER, SPACES
from ptxlab.emulate.step.access import Touch
from ptxlab.emulate.step.bodies import Body, Look, executes
from ptxlab.emulate.step.bodies.copies import group_looks
from ptxlab.emulate.step.launch_checks import LaunchChecks
from ptxlab.emulate.step.operands import Step, Translator
from ptxlab.emulate.step.warp import Warp
from ptxlab.isa import mbarrier
from ptxlab.isa.actions import MBARRIER


def remote_space(space: int, address: int) -> str:
    """The space of an arrival's mbarrier: "cluster" where it may lie in another block, else "shared"."""
    generic = space != CLUSTER and space_of(space, address)[0] == CLUSTER
    return "generic" if generic else "cluster" if space == CLUSTER else "shared"


@executes(*MBARRIER)
class Mbarriers(Body):
    reports = True

    def step(self, t: Translator, code: Code) -> Step:
        return _operation(t, code)

    def looks(self, checker: LaunchChecks, code: Code) -> list[Look]:
        return group_looks(checker, code)


def _operation(t: Translator, code: Code) -> Step:
    what, reads, write = operation(code), t.named(code), t.write(code)

    def amount(w: Warp, given: int | str) -> np.ndarray:
        if isinstance(given, int):
            return np.full(LANES, given, np.int64)
        values: np.ndarray = reads[given.lstrip("-")](w).astype(np.int64)
        return -values if given[0] == "-" else values

    spinning = what.action == WAIT and spins(t.program, code)

    def waits_again(w: Warp, addresses: np.ndarray, asked: np.ndarray) -> bool:
        """Whether all lanes repeat a wait that has failed: the checks have seen it."""
        for lane in np.flatnonzero(w.mask).tolist():
            thread, address = w.warp * LANES + lane, in_shared(SPACES[code.space], int(addresses[lane]))
            if w.spaces.spins.waits.get(thread) != (thread, code.index, address, int(asked[lane])):
                return False
        return True

    def run(w: Warp) -> int | None:
        w.polled |= code.polls
        addresses = reads["a"](w).astype(np.uint64)
        touch = Touch("atomic", code.space, addresses, 8, w.mask)
        if w.touches is not None:
            w.touches.append(touch)
        check = w.spaces.check
        arrivals, bytes_ = amount(w, what.arrivals), amount(w, what.bytes)
        state: Any = reads[what.state](w).astype(np.uint64) if what.state else None
        if what.state == "parity":
            state = state << np.uint64(mbarrier.PHASE_SHIFT)
        again = check is not None and spinning and waits_again(w, addresses, state)
        if check is not None and not again:
            check.touched(w, code, touch)
        out = np.zeros(LANES, np.uint64)
        words: list[tuple[int, int]] = []
        failed = ended = passed = False
        for lane in np.flatnonzero(w.mask).tolist():
            address = in_shared(SPACES[code.space], int(addresses[lane]))
            space = remote_space(SPACES[code.space], int(addresses[lane])) if what.action == UPDATE else "shared"
            region, at = w.place(code, "atomic", space, address, lane, 8)
            cell = region.data[at : at + 8].view(np.uint64)
            x = int(state[lane] if state is not None else arrivals[lane])
            queue = w.spaces.cluster.queue
            if what.action == WAIT and queue is not None and not phase_completed(int(cell[0]), x):
                complete_at(w.spaces.cluster.context, queue, w.spaces.rank, address)
            before = int(cell[0])
            problem, after, out[lane] = operated(before, what.action, what.flags, x, int(bytes_[lane]))
            if problem != NO_PROBLEM:
                if check is not None:
                    check.operated(w, code, addresses, state, words)
                    check.phases.refused(party(code.index, w.warp, lane), int(addresses[lane]), problem)
                raise invalid_mbarrier(w.faulting(code, lane), problem)
            cell[0] = after
            words.append((before, after))
            if what.action == WAIT:
                thread, waits = w.warp * LANES + lane, w.spaces.spins.waits
                if out[lane]:
                    passed = True
                    if waits.get(thread, ())[2:] == (address, x):  # it may have asked for others in between
                        ended = True
                        del waits[thread]
                elif spinning:
                    failed = True
                    waits[thread] = thread, code.index, address, x
        if code.dests:
            write(w, out.astype(np.bool_) if what.action == WAIT else out)
        if check is not None and again and passed:
            check.touched(w, code, touch)
        if check is not None and words:
            check.operated(w, code, addresses, state, words)
        if w.others and (ended or (failed and not passed)):
            tried(w.turns, ended=ended, others_run=not ended and w.spaces.cluster.others_run(w.spaces.rank, w.warp))
        return None

    return run
