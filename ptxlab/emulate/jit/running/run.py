"""A launch from its beginning to its report: the workers run it, the caller's thread watches. What only some launches
need is imported in functions, so that a new process whose code is cached starts quickly."""

from __future__ import annotations

import functools
import os
import random
import time
from typing import TYPE_CHECKING

import numpy as np

from ptxlab.emulate.jit.affine.block_rows import Rows
from ptxlab.emulate.jit.building.build import Loaded, prepare
from ptxlab.emulate.jit.instruments.selection import instruments_of
from ptxlab.emulate.jit.native.code import Code, Cpu
from ptxlab.emulate.jit.running.memory_image import Image
from ptxlab.emulate.jit.running.worker_threads import Team
from ptxlab.emulate.jit.running.workers import LaunchState, Worker
from ptxlab.emulate.language import Pointer
from ptxlab.emulate.language.records import zeroed
from ptxlab.emulate.program.program import Program
from ptxlab.emulate.runtime import state as S
from ptxlab.emulate.runtime.memory import Memory, memory_map
from ptxlab.emulate.runtime.progress import Progress
from ptxlab.emulate.runtime.report import MIXED, Launch, Report, block_order, by_line, leaders_first
from ptxlab.emulate.runtime.state import Context, MemoryMap
from ptxlab.errors import DeviceFault, LaunchKeyboardInterrupt, stopped_while

if TYPE_CHECKING:
    from ptxlab.emulate.jit.running.callbacks import Callback, MbarrierChecks, TraceReports
    from ptxlab.emulate.jit.running.shadow_memory import ReadOnly
    from ptxlab.emulate.jit.running.vain_waits import VainWaits
    from ptxlab.emulate.runtime.counters import Counters
    from ptxlab.findings import Finding

SLICE = 1 << 13
"""Instructions that a warp may issue before its worker checks whether to stop."""
SHORT_SLICE = 1 << 9
"""The time slice where blocks wait for each other."""

ENDLESS = 1 << 62
"""More steps of a scheduler, and more instructions, than there can be."""

TICK = 0.1
"""Seconds between two looks at a launch that runs."""

HERE, GROWTH = 5e-3, 8
"""Seconds for which the caller's thread runs the first worker itself; how much longer a stretch is than that before."""


class Run(LaunchState):
    """One launch: what all workers share, and the workers."""

    def __init__(self, program: Program, built: Loaded, launch: Launch, memory: Memory) -> None:
        self.program, self.built, self.launch, self.memory = program, built, launch, memory
        self._prepare()

    def _prepare(self, *, again: bool = False) -> None:
        """Makes all that the launch needs. again: it has stored to what was taken for read only."""
        program, built, launch = self.program, self.built, self.launch
        self.converged = built.converged
        """The code that this launch runs."""
        self.in_use: list[Code] = [self.converged]
        """All code that workers may be in."""
        self.image, self.noted, self.compiling = Image.of(program, built, launch), 0, 0.0
        self.shared_size = program.dynamic_start - program.shared_start + launch.shared
        self.bulk, self.mbarriers = built.bulk, built.scheduled["Context.mbarriers"]
        self.clustered = built.scheduled["Context.cluster_barriers"]
        self.next, self.stop, self.errors = np.zeros(1, np.uint64), np.zeros(1, np.int32), []
        self.workers = []
        self._add_what_is_asked_for()
        single = launch.seed is not None or self.checks is not None or (self.bulk and launch.trace is not None)
        many = 1 if built.summary.contended else os.cpu_count() or 1  # or they would wait for each other's cache lines
        count = 1 if single else launch.workers or many
        self.clusters = launch.blocks // launch.cluster_blocks
        self.workers_wanted = max(1, min(count, self.clusters))
        live = [a for a in self.memory.live() if a.size]
        memory_of_launch = memory_map(program, launch, live)
        self.read_only: ReadOnly | None = None
        if self.checks is not None:
            if self.checks.race and not (again or self.bulk or launch.trace):
                from ptxlab.emulate.jit.running.shadow_memory import ReadOnly

                self.read_only = ReadOnly(program, launch, live, memory_of_launch)
            self.checks.shadow(memory_of_launch, live)
            taken = [] if self.read_only is None else self.read_only.taken
            if self.checks.init or taken:
                self.checks.keep([a for a in live if a.writable and a not in taken])
        self._live = live  # keeps the buffers alive while compiled code points at them
        several = -(-launch.resident_clusters // self.workers_wanted)
        several = several if program.may_wait else MIXED if launch.shuffled else 1
        resident = self.clusters if launch.cooperative else min(several, self.clusters)
        self.resident = resident * launch.cluster_blocks
        self.context = self._context(memory_of_launch)
        self.workers.append(Worker(self))

    def _add_what_is_asked_for(self) -> None:
        """What only launches with checks, bulk copies or a trace have. Most have none, and do not load its modules."""
        self.checks, self.follow, self.chosen = None, None, None
        self.mbarrier_checks: MbarrierChecks | None = None
        self.reductions: Callback | None = None
        self.reports: TraceReports | None = None
        if self.built.instruments.checks:
            from ptxlab.emulate.jit.running.callbacks import MbarrierChecks
            from ptxlab.emulate.jit.running.shadow_memory import ShadowMemory

            self.checks, self.mbarrier_checks = ShadowMemory(self.program, self.launch), MbarrierChecks(self)
            if self.mbarriers or self.bulk:
                self.follow = self.mbarrier_checks.follow
        if self.bulk:
            from ptxlab.emulate.jit.running.callbacks import TraceReports, reductions

            self.reductions = reductions(self)
            if self.launch.trace is not None:
                self.reports = TraceReports(self, self.workers)
        if self.launch.trace is not None:
            from ptxlab.emulate.jit.instruments.tracing import chosen

            self.chosen = chosen(self.launch.trace, self.launch.blocks, self.launch.warps)

    def _context(self, memory_of_launch: MemoryMap) -> Context:
        """What the contexts of all workers begin with."""
        launch, context = self.launch, Context(self.image.context.buffer.copy())
        budget = ENDLESS if launch.budget is None else min(launch.budget, ENDLESS)
        params = zeroed(max(self.program.param_size, 16) + 16)
        params[: len(launch.params)] = np.frombuffer(launch.params, np.uint8)
        context.next, context.stop, context.params = Pointer(self.next), Pointer(self.stop), Pointer(params)
        context.budget = Pointer(np.array([budget], np.int64))
        context.total, context.memory = self.clusters, memory_of_launch
        in_order = launch.leaders_first and self.program.may_wait
        waits = launch.cooperative or in_order or self.program.may_wait_for_blocks
        time_slice = SHORT_SLICE if waits else SLICE
        time_slice = max(1, min(time_slice, budget // self.workers_wanted))
        self.patience = S.PATIENT_SLICES if not launch.shuffled and not launch.cooperative else 1
        context.asks_at, context.slot_limit = self.patience, self.resident
        if self.program.waiting:
            only_waits = np.zeros(self.program.waiting[-1] + 1, np.uint8)
            only_waits[list(self.program.waiting)] = 1
            context.waiting, context.waiting_end = Pointer(only_waits), only_waits.size
        if launch.leaders_first:
            context.random, context.leaders_first = 1, True
            context.order = Pointer(np.array(leaders_first(launch.warps), np.uint32))
        elif launch.shuffled:  # then there is one worker
            draw = random.Random(launch.seed)
            context.random = draw.getrandbits(62) | 1
            time_slice = min(time_slice, draw.randint(1, 255))
            context.order = Pointer(self.image.order.copy())
            context.block_order = Pointer(np.array(block_order(self.program, launch), np.uint64))
        context.slice = context.slice_size = time_slice
        if self.checks is not None:
            context.check, context.checked = Pointer(self.checks.record.buffer), True
        if self.reductions is not None:
            context.combine = self.reductions.address
        if self.reports is not None:
            context.issued, context.completed = self.reports.issued.address, self.reports.completed.address
        context.grid_x, context.grid_y, context.grid_z = launch.grid
        context.cluster_x, context.cluster_y, context.cluster_z = launch.cluster_size
        context.explicit_cluster = launch.cluster is not None
        return context

    def work(self, worker: Worker) -> None:
        try:
            worker.context.steps_left = ENDLESS
            self.go_on(worker)
        except BaseException as error:  # handed to the caller's thread, which raises it
            self.errors.append(error)
            self.stop[0] = 1

    def go_on(self, worker: Worker) -> None:
        grid = self.converged.grid
        while True:
            worker.result = grid(worker.address)
            if worker.result == S.NEEDS_DIVERGED:
                start = time.perf_counter()
                diverged = self.built.diverged(whole=worker.context.run_diverged != 0)
                self.in_use.append(diverged)
                worker.context.run_diverged = diverged.address("diverged")
                self.compiling = max(self.compiling, time.perf_counter() - start)
            elif worker.result == S.NEEDS_CODE:
                grid = self.converged.grid
                worker.context.run_diverged = 0
            elif worker.result == S.NEEDS_SLOT:
                if len(worker.slots) < self.resident:
                    worker.add_slots(self)
                    worker.context.asks_at = worker.context.suspensions + self.patience
                elif not self.program.waiting:
                    worker.context.asks_at = ENDLESS
                elif fault := self._vain_waits.look(worker):
                    self.errors.append(fault)
                    self.stop[0], worker.result = 1, S.STOPPED
                    return
            else:
                return

    @functools.cached_property
    def _vain_waits(self) -> VainWaits:
        from ptxlab.emulate.jit.running.vain_waits import VainWaits

        return VainWaits(self)

    def begin_here(self) -> bool:
        """Runs the first worker in the caller's thread for a while, because many a launch takes no longer than a
        thread to begin. Whether it has ended.

        Ctrl-C has to wait meanwhile, for a step at worst: a round of a block. Python that compiled code calls would
        lose it, so launches with such calls have threads from the beginning."""
        if self.reductions is not None or (self.mbarrier_checks is not None and self.mbarriers):
            return False
        worker, steps = self.workers[0], 1
        began = now = time.perf_counter()
        while now - began < HERE:
            worker.context.steps_left = steps
            self.go_on(worker)
            now = time.perf_counter()
            if worker.result != S.PAUSED:
                return True
            if GROWTH * (now - began) < HERE:
                steps *= GROWTH
        return False

    def begin_all(self, team: Team) -> None:
        """Runs all workers that are wanted in threads of their own."""
        team.begin(functools.partial(self.work, self.workers[0]))
        while len(self.workers) < self.workers_wanted and int(self.next[0]) < self.clusters:
            self.workers.append(Worker(self))
            team.begin(functools.partial(self.work, self.workers[-1]))

    def wait(self) -> None:
        """Runs the launch to its end, from the beginning once more if it stores to what was taken for read only."""
        if not self._ended():
            assert self.checks is not None
            self.checks.restore()
            self._prepare(again=True)
            self._ended()

    def _ended(self) -> bool:
        """Runs the workers to their end, or to what may be a store to memory that was taken for read only.
        The caller's thread waits in short slices, so that Ctrl-C reaches it."""
        team = Team(self.stop)
        interrupted = False
        try:
            with Progress(self.program.title, self.launch.blocks, self.progress) as progress:
                progress.woken_by(team.wake)
                if not self.begin_here():
                    self.begin_all(team)
                team.wait(lambda: self.tick(progress), TICK)
        except KeyboardInterrupt:
            interrupted = True
        finally:  # twice: a second exception may interrupt the first call before it has begun
            try:
                team.dismiss()
            finally:
                team.dismiss()
        if self.errors:
            raise self.errors[0]
        kinds = [worker.context.fault.kind for worker in self.workers if worker.result == S.FAULT]
        if self.read_only is not None and S.OUT_OF_MEMORY_RANGE in kinds and not interrupted:
            if self.read_only.taken:
                return False
        spinning = self.mbarrier_checks.spinning if self.mbarrier_checks is not None else None
        for worker in self.workers:
            if worker.result == S.FAULT:
                from ptxlab.emulate.jit.running.faults import noted_fault

                raise noted_fault(self.program, self.launch, self.memory, worker, self.workers, spinning)
        if interrupted:
            from ptxlab.emulate.jit.running.faults import places, resident
            from ptxlab.emulate.rules.faults import interrupted as stopped

            _, ran = self.progress()
            raise stopped(self.program, self.launch, ran, places(self.program, resident(self.workers), spinning))
        return True

    def tick(self, progress: Progress) -> None:
        """Called every `TICK` seconds: shows how far the launch is, and brings it to better code once that is ready.

        What a kernel does is the same in any code, so it does not matter when that is."""
        progress.tick()
        self.note_work()
        if self.built.converged is not self.converged:
            self.converged = self.built.converged
            self.in_use.append(self.converged)
            for worker in self.workers:
                worker.context.outdated = 1

    def note_work(self) -> None:
        """Notes what the launch has done since the last call."""
        done = sum(int(worker.counts["warps"].sum(axis=0) @ self.built.block_work) for worker in self.workers)
        self.built.ran(done - self.noted)
        self.noted = done

    def progress(self) -> tuple[int, int]:
        return sum(w.context.finished for w in self.workers), sum(w.context.clock for w in self.workers)

    def found(self, *, stopped: bool = False, interrupted: bool = False) -> list[Finding]:
        """The findings of the checks; stopped: before the launch's end, interrupted: by hand."""
        if self.checks is None or self.mbarrier_checks is None:
            return []
        from ptxlab.emulate.rules.findings import findings

        notes = self.mbarrier_checks.finish(self.checks.notes(), stopped=stopped)
        notes = self.checks.followed(self.memory, notes, again=not interrupted)
        return findings(self.program, self.launch, self.memory, notes)

    def report(self, seconds: float) -> Report:
        counts, rest = [w.counts for w in self.workers], [w.rest for w in self.workers]
        counters = self._counters(_sum(counts), _sum(rest)) if self.launch.counters else None
        return Report(functools.partial(_lines, self.program, counts, rest), seconds, counters=counters)

    def _counters(self, counts: np.ndarray, rest: np.ndarray) -> Counters:
        """What counted code has counted; given what `executions` takes, of each warpgroup."""
        from ptxlab.emulate.jit.instruments.execution_counts import executions, tally
        from ptxlab.emulate.rules.memory_model import Counted
        from ptxlab.emulate.runtime.counter_totals import collect

        records = np.sum([w.tally.view(np.int64) for w in self.workers], axis=0).view(Counted.dtype)
        moved = np.sum([w.moved for w in self.workers], axis=0)
        executed = executions(self.program, counts.sum(axis=0), rest.sum(axis=0))
        issued = np.stack([executions(self.program, *of_one)[:, 0] for of_one in zip(counts, rest, strict=True)])
        return collect(self.program, tally(self.program, executed, records, moved), issued)


def _sum(arrays: list[np.ndarray]) -> np.ndarray:
    return functools.reduce(np.add, [array.view(np.int64).reshape(*array.shape, 2) for array in arrays])


def _lines(program: Program, counts: list[np.ndarray], rest: list[np.ndarray]) -> dict[int, tuple[int, int]]:
    """`Report.lines`. It does not refer to the launch, whose memory may be large."""
    from ptxlab.emulate.jit.instruments.execution_counts import executions

    return by_line(program, executions(program, _sum(counts).sum(axis=0), _sum(rest).sum(axis=0)))


def run(program: Program, launch: Launch, memory: Memory, cpu: Cpu | None = None) -> Report:
    """Runs a kernel to its end; see `ptxlab.emulate.execute`. Raises `DeviceFault` and
    `LaunchKeyboardInterrupt`.

    cpu: what to make code for, if not this computer's CPU in full (a lesser one, to see what it would do).
    """
    start = time.perf_counter()
    with stopped_while(f"kernel {program.title} was being compiled"):
        built, cached = prepare(program, cpu, instruments_of(launch), Rows.of(launch.block), launch.tier)
    build_seconds = time.perf_counter() - start
    this = Run(program, built, launch, memory)
    start = time.perf_counter()
    try:
        this.wait()
    except (DeviceFault, LaunchKeyboardInterrupt) as stopped:
        stopped.findings = this.found(stopped=True, interrupted=isinstance(stopped, KeyboardInterrupt))
        raise
    finally:
        seconds = time.perf_counter() - start - this.compiling
        if launch.trace is not None:
            from ptxlab.emulate.jit.instruments.tracing import transcribe

            transcribe(launch.trace, built.recorded, [w.tape for w in this.workers if w.tape is not None])
    this.note_work()
    report = this.report(seconds)
    report.findings += this.found()
    report.build_seconds, report.cached = build_seconds + this.compiling, cached
    return report
