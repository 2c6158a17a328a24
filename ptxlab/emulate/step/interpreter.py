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
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from ptxlab.emulate.program.flat_program import Code
from ptxlab.emulate.program.lane_types import DTYPE, LANES
from ptxlab.emulate.program.liveness import registers_of
from ptxlab.emulate.program.program import Program
from ptxlab.emulate.rules.clusters import blocks_of
from ptxlab.emulate.rules.faults import interrupted, spent, waits_for_others
from ptxlab.emulate.rules.findings import findings
from ptxlab.emulate.rules.lane_scheduling import DIVERGED_TURNS
from ptxlab.emulate.rules.notes import Note
from ptxlab.emulate.rules.warp_positions import Place
from ptxlab.emulate.runtime.counter_totals import collect
from ptxlab.emulate.runtime.memory import Memory
from ptxlab.emulate.runtime.progress import Progress
from ptxlab.emulate.runtime.report import MIXED, Launch, Report, block_order, by_line
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
            checked = CheckedSteps(checker, translator)
            known = translate(translator)
            self.steps = checked.wrap(known.steps)
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
        self.patience, self.ran, self.vain = PATIENT_TURNS, -1, 0
        self.progress = Progress(program.title, launch.blocks, lambda: (self.done, self.executed()))
        self.now: Warp | None = None
        self.first: dict[int, None] = {}
        """The blocks that begin first."""

    def run(self) -> None:
        """Runs all blocks: in order, and several at a time when they wait for each other or a seed shuffles them."""
        launch = self.launch
        order = random.Random(launch.seed) if launch.shuffled else None
        recorder: Recorder | None = launch.trace
        waiting, begun = [*{**self.first, **dict.fromkeys(block_order(self.program, launch))}], 0
        working = self.working
        each = launch.cluster_blocks
        several = launch.resident_clusters if self.program.may_wait else 1
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
                if begun < len(waiting) and self.program.waiting:
                    if len(working) > most - each:
                        turns = self._look(turns)
                    elif block.only_waits():
                        turns = PATIENT_TURNS

    def _look(self, turns: int) -> int:
        """There is no room for another block: after so many turns, looks whether all blocks wait in vain for those that
        have not begun, and raises the fault. See `jit.running.vain_waits`; returns the turns since the last look."""
        blocks = [block for block, _ in self.working]
        if turns < self.patience * len(blocks):
            return turns
        self.patience = PATIENT_TURNS * (DIVERGED_TURNS if any(block.diverged() for block in blocks) else 1)
        before, self.ran = self.ran, sum(self.threads) - sum(self.threads[at] for at in self.program.waiting)
        self.vain = self.vain + 1 if before == self.ran and all(block.only_waits() for block in blocks) else 0
        if self.vain > 1:
            first = min(blocks, key=lambda block: block.index)
            warp, group = next((warp, groups[0]) for warp in first.running if (groups := warp.ready()))
            at = warp.faulting(self.program.codes[group.pc], int(group.mask.argmax()))
            raise waits_for_others(at, sorted(block.index for block in blocks))
        return 0

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

    def _spend(self) -> None:
        assert self.launch.budget is not None
        self.left = self.launch.budget - self.executed()
        if self.left < 0:
            w = self.now
            assert w is not None
            raise spent(w.faulting(self.program.codes[w.pc], int(w.mask.argmax())), self.places())

    def places(self) -> Iterator[Place]:
        for block, _ in self.working:
            yield from block.places()

    def found(self, *, stopped: bool = False) -> list[Finding]:
        """The findings of the checks; stopped: before the launch's end."""
        if self.checker is None:
            return []
        for block, _ in self.working if stopped else ():
            if block.check is not None:
                block.check.phases.unfinished()
        if not stopped:
            self.values_left()
        return findings(self.program, self.launch, self.memory, self.checker.found())

    def values_left(self) -> None:
        """initcheck: the launch has ended, and the host gets its arrays."""
        if self.checker is not None:
            self.checker.values.ended(a for a in self.live if a.host)

    def report(self, seconds: float) -> Report:
        counters = None
        issued = [sum(of_each) for of_each in zip(*self.issued, strict=True)]
        if self.watch is not None:
            counters = collect(self.program, self.watch.tally(issued, self.threads), np.array(self.issued, np.int64))
        executed = np.array([issued, self.threads], np.int64).T
        report = Report(functools.partial(by_line, self.program, executed), seconds, counters=counters)
        report.trace = self.launch.trace
        return report


def run(program: Program, launch: Launch, memory: Memory) -> Report:
    """Runs a kernel to its end; see `ptxlab.emulate.execute`. Raises `DeviceFault` and `LaunchKeyboardInterrupt`."""
    start = time.perf_counter()
    engine = Interpreter(program, launch, memory)
    with np.errstate(all="ignore"), engine.progress:
        try:
            engine.run()
        except KeyboardInterrupt:
            by_hand = interrupted(program, launch, engine.executed(), engine.places())
            by_hand.findings = engine.found(stopped=True)
            raise by_hand from None
        except DeviceFault as stopped:
            stopped.findings = engine.found(stopped=True)
            raise
    report = engine.report(time.perf_counter() - start)
    report.findings += engine.found()
    return report


FOLLOWED = 300_000
"""Warp-instructions of a launch of compiled code in which values are followed: some seconds."""


def follow(program: Program, launch: Launch, memory: Memory, blocks: list[int]) -> list[Note]:
    """What initcheck finds when a launch runs again, as far as `FOLLOWED` allows. blocks: where compiled code has read
    what has no value; they come first, as blocks may run in any order."""
    budget = FOLLOWED if launch.budget is None else min(FOLLOWED, launch.budget)
    launch = launch._replace(checks=("memcheck", "initcheck"), counters=False, trace=None, budget=budget)
    engine = Interpreter(program, launch, memory)
    if launch.cluster_blocks == 1:
        engine.first = dict.fromkeys(blocks)
    with np.errstate(all="ignore"), engine.progress:
        try:
            engine.run()
            engine.values_left()
        except KeyboardInterrupt:
            raise interrupted(program, launch, engine.executed(), engine.places()) from None
        except DeviceFault as stopped:  # the host gets no arrays then, but where only this run's budget has ended
            if stopped.kind == "budget" and budget == FOLLOWED:
                engine.values_left()
    assert engine.checker is not None
    return [*engine.checker.values.notes.values()]
