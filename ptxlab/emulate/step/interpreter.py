"""The interpreter: runs a kernel one warp-instruction at a time, everything observable.

Reading order: `lanes` (arithmetic on 32 lanes), `access` (memory), `warp` (registers, divergence and reconvergence),
`operands` and `translate` (an instruction as a Python function), `control_flow` (branches, calls, barriers), `schedule`
(a block's warps). This file is the loop that drives them.
"""

from __future__ import annotations

import functools
import gc
import random
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from ptxlab.emulate.program.flat_program import Code
from ptxlab.emulate.program.lane_types import DTYPE, LANES
from ptxlab.emulate.program.liveness import registers_of
from ptxlab.emulate.program.program import Program
from ptxlab.emulate.rules.clusters import blocks_of
from ptxlab.emulate.rules.findings import findings
from ptxlab.emulate.runtime.counter_totals import collect
from ptxlab.emulate.runtime.memory import Memory
from ptxlab.emulate.runtime.progress import Progress
from ptxlab.emulate.runtime.report import MIXED, RESIDENT, Launch, Report, block_order, by_line
from ptxlab.emulate.step.access import Touch
from ptxlab.emulate.step.checks import CheckedSteps
from ptxlab.emulate.step.counting import Watch
from ptxlab.emulate.step.launch_checks import LaunchChecks
from ptxlab.emulate.step.launch_state import LaunchState
from ptxlab.emulate.step.operands import Translator
from ptxlab.emulate.step.schedule import BlockRun, blocks_of_cluster
from ptxlab.emulate.step.translate import translate, translated
from ptxlab.emulate.step.warp import Warp
from ptxlab.errors import DeviceFault
from ptxlab.findings import Finding

SLICE = 2048
"""Instructions that a warp may run before the next warp's turn."""
SHORT_SLICE = 256
"""Instructions of such a turn in a program that may wait for other threads."""
PATIENT_TURNS = 16
"""Turns of the resident blocks before one more becomes resident."""


MOST_ENDED = 64 << 20
"""Bytes of local memory of blocks that have ended, when Python is asked to give them back."""


@dataclass(frozen=True, slots=True)
class Step:
    """One executed warp-instruction, as a recorder sees it.

    block, warp: linear indices. mask: bool (32,), the lanes at this instruction, before its guard. writes: (register
    number, old values, new values) of each destination. touches: its accesses to memory. registers: all of the warp's
    registers after the step, by number; the arrays may be kept, the list changes.
    """

    block: int
    warp: int
    code: Code
    mask: np.ndarray = field(repr=False)
    writes: tuple[tuple[int, np.ndarray, np.ndarray], ...] = field(repr=False)
    touches: tuple[Touch, ...] = field(repr=False)
    registers: list[np.ndarray] = field(repr=False)


class Recorder(Protocol):
    """Observes a launch (`Launch.trace`): `wants` chooses warps, `record` gets every step of those."""

    def wants(self, block: int, warp: int) -> bool: ...
    def record(self, step: Step) -> None: ...


class Interpreter(LaunchState):
    """Drives a launch: the program's steps, the blocks at work, limits, the report."""

    def __init__(self, program: Program, launch: Launch, memory: Memory) -> None:
        if LaunchChecks.wanted(launch):  # what lanes that synchronize have to check is added to the translator
            translator, checker = Translator(program), LaunchChecks(program, launch)
            known = translate(translator)
            self.steps = CheckedSteps(checker, translator).wrap(known.steps)
            super().__init__(program, launch, memory, checker)
        else:
            known = translated(program)
            self.steps = known.steps
            super().__init__(program, launch, memory, None)
        self.following, self.turning = known.following, known.turning
        self.watch = None if self.moved is None else Watch(program, self.moved)
        if self.watch is not None:
            self.steps = self.watch.wrap(self.steps)
        zeros = {lane: np.zeros(LANES, dtype) for lane, dtype in DTYPE.items()}
        self.registers = [zeros[r.lane] for r in program.registers] + known.constants
        self.slice = SHORT_SLICE if program.may_wait else SLICE
        self.working: deque[tuple[BlockRun, Callable[[Warp, int], None]]] = deque()
        self.left = launch.budget
        self.ended_bytes = 0
        self.done = 0
        self.progress = Progress(program.name, launch.blocks, lambda: (self.done, self.executed()))
        self.now: Warp | None = None

    # -- running -------------------------------------------------------------------------------------------------------

    def run(self) -> None:
        """Runs all blocks: in order, and several at a time when they wait for each other or a seed shuffles them."""
        launch = self.launch
        order = None if launch.seed is None else random.Random(launch.seed)
        recorder: Recorder | None = launch.trace
        waiting, begun = block_order(self.program, launch), 0
        working = self.working
        each = launch.cluster_blocks
        several = RESIDENT if self.program.may_wait else 1
        most = launch.blocks if launch.cooperative else several * each
        turns, mixed = 0, each if order is None else MIXED * each
        while begun < len(waiting) or working:
            while begun < len(waiting) and (
                len(working) <= mixed - each or launch.cooperative or (turns >= PATIENT_TURNS and len(working) < most)
            ):
                indices = blocks_of(launch.grid, launch.cluster_size, waiting[begun])
                for block in blocks_of_cluster(self, indices, self.registers):
                    watched = recorder is not None and any(recorder.wants(block.index, w.warp) for w in block.warps)
                    working.append((block, self._run_recorded if watched else self._run))
                begun += 1
                turns = 0
            block, run = working[0]
            if block.advance(run, self.slice, order):
                working.popleft()
                self.done += 1
                self._give_back(block)
            elif order is not None or not block.goes_on:
                working.rotate(-1)
                turns += 1

    def _give_back(self, block: BlockRun) -> None:
        """A block has ended. It and its warps refer to each other, so that only the cycle collector finds their memory,
        and that goes by the number of objects."""
        self.ended_bytes += sum(warp.local.data.nbytes for warp in block.warps)
        if self.ended_bytes > MOST_ENDED:
            self.ended_bytes = 0
            gc.collect()

    def _run(self, w: Warp, length: int) -> None:
        """Runs a warp for `length` instructions, or until it stops. The hot loop."""
        steps, following, issued, threads = self.steps, self.following, self.issued_by(w.warp), self.threads
        turning = self.turning
        self.now = w
        self.progress.tick()
        pc = w.pc
        try:
            for _ in range(length if self.left is None else min(length, self.left + 1)):
                issued[pc] += 1
                threads[pc] += w.lanes
                before = pc
                jump = steps[pc](w)
                pc = following[pc] if jump is None else jump
                if w.diverged and turning[before]:
                    pc = w.choose(pc)
                if pc < 0:
                    w.stopped = True
                    break
                w.pc = pc
        finally:
            if self.left is not None:
                self._spend()

    def _run_recorded(self, w: Warp, length: int) -> None:
        """Runs a warp one instruction at a time, and records each step."""
        recorder: Recorder = self.launch.trace
        if not recorder.wants(w.block_index, w.warp):
            self._run(w, length)
            return
        for _ in range(length):
            code, mask = self.program.codes[w.pc], w.mask
            registers = [r for dest in code.dests for r in registers_of(dest)]
            old = [w.regs[n] for n in registers]
            w.touches = []
            self._run(w, 1)
            writes = tuple((n, o, w.regs[n]) for n, o in zip(registers, old, strict=True))
            recorder.record(Step(w.block_index, w.warp, code, mask, writes, tuple(w.touches), w.regs))
            w.touches = None
            if w.stopped:
                break

    # -- limits --------------------------------------------------------------------------------------------------------

    def _spend(self) -> None:
        """Stops the launch when it has used its budget."""
        assert self.launch.budget is not None
        self.left = self.launch.budget - self.executed()
        if self.left < 0:
            message = f"the launch has run its {self.launch.budget:,} warp-instructions and has not ended"
            raise self.stop("budget", message, "look for an endless loop, or give a larger budget=")

    def stop(self, kind: str, message: str, hint: str = "") -> DeviceFault:
        """A fault at the instruction that runs now."""
        w = self.now
        assert w is not None
        return w.faulting(self.program.codes[w.pc], int(w.mask.argmax())).fault(kind, message, hint=hint)

    def found(self, *, stopped: bool = False) -> list[Finding]:
        """The findings of the checks; stopped: before the launch's end."""
        if self.checker is None:
            return []
        for block, _ in self.working if stopped else ():
            if block.check is not None:
                block.check.phases.unfinished()
        return findings(self.program, self.launch, self.memory, self.checker.found())

    def report(self, seconds: float) -> Report:
        """The counts, by PTX line."""
        counters = None
        issued = [sum(of_each) for of_each in zip(*self.issued, strict=True)]
        if self.watch is not None:
            counters = collect(self.program, self.watch.tally(issued, self.threads), np.array(self.issued, np.int64))
        executed = np.array([issued, self.threads], np.int64).T
        report = Report(functools.partial(by_line, self.program, executed), seconds, counters=counters)
        report.trace = self.launch.trace
        return report


def run(program: Program, launch: Launch, memory: Memory) -> Report:
    """Runs a kernel to its end; see `ptxlab.emulate.execute`. Raises `DeviceFault`."""
    start = time.perf_counter()
    engine = Interpreter(program, launch, memory)
    with np.errstate(all="ignore"), engine.progress:
        try:
            engine.run()
        except KeyboardInterrupt:
            if engine.now is None:
                raise
            stopped = engine.stop("interrupt", f"stopped by hand after {engine.executed():,} warp-instructions")
            stopped.findings = engine.found(stopped=True)
            raise stopped from None
        except DeviceFault as stopped:
            stopped.findings = engine.found(stopped=True)
            raise
    report = engine.report(time.perf_counter() - start)
    report.findings += engine.found()
    return report
