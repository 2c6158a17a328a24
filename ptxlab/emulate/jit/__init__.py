"""The compiling engine: a program as native code, run by worker threads. The default engine of the CPU machine.

Reading order: `ptxlab.emulate.runtime.state` (the records of a launch), `irtext` (LLVM IR as text), `values` (lanes in
it), `affine` (lanes that differ by constants), `emit` (what emits a function) and its parts: `machine`, `active_mask`,
`registers`, `operands`, `access` and `transfer` (loads and stores), `execution`. Then `control`, `fast` and `slow` (a
program's two functions), `instrument` (how counters, checks and traces hook into them),
`ptxlab.emulate.rules.scheduling` (CTAs, warps and barriers), `warp_loop` (what of that the fast function does itself),
`rulecode` and `linked_rules` (the rules that they call), `build` and `compile` (to machine code, and the cache),
`threads` (the workers). This file lays out a launch in memory, runs it and reads the counts.
"""

from __future__ import annotations

import ctypes
import functools
import os
import random
import time
from collections.abc import Iterator
from weakref import WeakValueDictionary

import numpy as np

from ptxlab.emulate.jit.affine import Rows
from ptxlab.emulate.jit.build import Loaded, prepare
from ptxlab.emulate.jit.bulk import Reductions, Reports
from ptxlab.emulate.jit.compile import Code, Cpu
from ptxlab.emulate.jit.counting import executions, tally, work_of_blocks
from ptxlab.emulate.jit.faults import explain, spinning, who_waits
from ptxlab.emulate.jit.instruments import instruments_of
from ptxlab.emulate.jit.mbarrier_phases import Callback
from ptxlab.emulate.jit.shadows import Watched
from ptxlab.emulate.jit.threads import Team
from ptxlab.emulate.jit.tracing import Tape, chosen, transcribe
from ptxlab.emulate.language import Pointer
from ptxlab.emulate.language.records import address_of, zeroed
from ptxlab.emulate.program.model import Program
from ptxlab.emulate.rules.bulk_instructions import copies_in_bulk
from ptxlab.emulate.rules.faults import fault, unravel
from ptxlab.emulate.rules.findings import findings
from ptxlab.emulate.rules.launches import scheduled
from ptxlab.emulate.rules.memory_maps import memory_map
from ptxlab.emulate.rules.memory_model import Counted
from ptxlab.emulate.rules.records import Mates
from ptxlab.emulate.runtime import state as S
from ptxlab.emulate.runtime.counters import WARPGROUP, collect
from ptxlab.emulate.runtime.memory import Memory
from ptxlab.emulate.runtime.progress import Progress
from ptxlab.emulate.runtime.report import Launch, Report
from ptxlab.emulate.runtime.seeded_order import MIXED, RESIDENT, block_order
from ptxlab.emulate.runtime.state import Cluster, Context, Cta, Executions, Resident, Site, Warp
from ptxlab.emulate.runtime.transfers import MOVED, Queue
from ptxlab.errors import DeviceFault
from ptxlab.findings import Finding

QUANTUM = 1 << 13
"""Instructions that a warp may issue before its worker checks whether to stop."""

TICK = 0.1
"""Seconds between two looks at a launch that runs."""

FULL = 0xFFFFFFFF
"""All lanes of a warp."""
_running: WeakValueDictionary[int, Run] = WeakValueDictionary()
"""The launches of this process that run now, by their ids."""
_wide_lock = np.zeros(1, np.uint32)
"""The lock of 128-bit atomic operations, one for all: a program's fast and slow function, and better code of both, may
be at work at once. A host instruction would do without, if memory were sure to be aligned on the host."""
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=lambda: _wide_lock.fill(0))
_GRID = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)


class Slot:
    """The memory of one resident CTA: its record, its warps' states, shared and local memory."""

    def __init__(self, run: Run, mates: Pointer[Mates] | None, rank: int) -> None:
        launch, each = run.launch, 32 * run.program.local_stride
        self.cta = Cta.new()
        states = zeroed(run.built.state_size * launch.warps)
        self.shared = zeroed(run.shared_size + 64)
        local = zeroed(each * launch.warps)
        self.cta.shared, self.cta.shared_size = Pointer(self.shared), run.shared_size
        self.cta.states = Pointer(states)
        self.cta.local, self.cta.local_size = Pointer(local), local.size
        self.checked = None if run.checks is None else run.checks.slot(self.cta, run.shared_size, mates, rank)
        warps = self.warps = states.reshape(launch.warps, -1)[:, : Warp.size].view(Warp.dtype)[:, 0]
        """The warps' states without their registers, a numpy array of records."""
        threads = np.arange(32 * launch.warps, dtype=np.uint32).reshape(-1, 32)
        warps["tid_x"], warps["tid_y"], warps["tid_z"] = unravel(threads, launch.block)
        warps["first_live"] = FULL
        warps["first_live"][-1] = FULL >> (-launch.threads % 32)  # the last one may have fewer threads
        warps["warp_id"] = np.arange(launch.warps)
        warps["local"] = local.ctypes.data + np.arange(launch.warps) * each

    def can_run(self) -> Iterator[tuple[int, int]]:
        """The warps that have not exited, each with the lanes that wait only for their turn."""
        for warp, (live, wait) in enumerate(zip(self.warps["live"].tolist(), self.warps["wait"].tolist(), strict=True)):
            if live:
                yield warp, live & ~wait


class Worker:
    """One thread's context, its resident CTAs, its sites and counts."""

    def __init__(self, run: Run) -> None:
        launch, program, built = run.launch, run.program, run.built
        self.slots: list[Slot] = []
        self.sites = zeroed(Site.size * built.sites)
        warpgroups = -(-launch.warps // WARPGROUP) if built.instruments.counters else 1
        self.counts = np.zeros((warpgroups, len(program.blocks)), Executions.dtype)
        self.rest = np.zeros((warpgroups, len(program.codes)), Executions.dtype)
        self.exits = np.array(program.exits, np.uint32)
        self.tally = zeroed(Counted.size * len(program.codes) if built.instruments.counters else 0)
        self.moved = np.zeros((len(program.codes), len(MOVED)), np.uint64)
        self.tape = None if run.chosen is None else Tape(launch.trace, *run.chosen)
        self.result = S.DONE
        self.began = self.ended = 0.0
        self.context = context = Context.new()
        context.next, context.stop, context.budget = Pointer(run.next), Pointer(run.stop), Pointer(run.budget)
        context.wide_lock = Pointer(_wide_lock)
        context.total, context.warps = launch.blocks // launch.cluster_blocks, launch.warps
        context.params, context.memory = Pointer(run.params), run.map
        context.only = context.alone = run.workers_wanted == 1
        context.sites, context.site_count = Site.many(self.sites), built.sites
        context.counts, context.rest = (Executions.many(a.ravel().view(np.uint8)) for a in (self.counts, self.rest))
        context.all_counts, context.all_rest = context.counts, context.rest
        if warpgroups > 1:
            context.basic_blocks, context.instructions = len(program.blocks), len(program.codes)
        context.exits, context.tally = Pointer(self.exits), Pointer(self.tally)
        if built.instruments.counters:
            context.moved = Pointer(self.moved)
        context.entry = 2 * program.blocks[program.entry].first
        context.quantum = context.quantum_size = run.quantum
        context.order, context.state_size = Pointer(run.order), built.state_size
        context.clears = built.clears
        context.slots, context.slot_limit = Resident.many(run.resident), run.resident
        if launch.seed is not None:
            draw = random.Random(launch.seed)
            context.random = draw.getrandbits(62) | 1
            context.quantum = context.quantum_size = min(run.quantum, draw.randint(1, 255))
            context.block_order = Pointer(run.blocks)
        if self.tape is not None:
            context.trace, context.traced = self.tape.record, True
        if run.checks is not None:
            context.check, context.checked = Pointer(run.checks.record.buffer), True
        for name, needed in scheduled(program.codes).items():
            setattr(context, name.partition(".")[2], needed)
        context.combine = run.reductions.address
        context.issued, context.completed = run.reports.issued, run.reports.completed
        if run.callback is not None:
            context.phases = run.callback.address
        context.grid_x, context.grid_y, context.grid_z = launch.grid
        context.block_x, context.block_y, context.block_z = launch.block
        context.cluster_x, context.cluster_y, context.cluster_z = launch.cluster_size
        context.explicit_cluster = launch.cluster is not None
        self.add_slots(run)

    def add_slots(self, run: Run) -> None:
        """Room for the CTAs of one more cluster, which is the next to run."""
        first, context, size = len(self.slots), self.context, run.launch.cluster_blocks
        cluster = Cluster.new()
        cluster.first, cluster.count = first, size
        if run.bulk:
            queue, threads = Queue.many(1), 32 * run.launch.warps
            queue[0].committed = Pointer(np.zeros(size * threads, np.uint32))
            queue[0].threads, queue[0].first_rank = threads, first
            cluster.queue = queue
        mates = Mates.many(1) if size > 1 else None
        for rank in range(size):
            slot = Slot(run, mates, rank)
            self.slots.append(slot)
            context.slots[first + rank].cta = slot.cta
            slot.cta.cluster, slot.cta.rank = cluster, rank
        context.cta = self.slots[first].cta
        context.slot, context.slot_count = first, first + size
        self.sites[:] = 0  # no allocation is cached yet

    @property
    def slot(self) -> Slot:
        """The CTA that runs, or ran last."""
        return self.slots[self.context.slot]


class Run:
    """One launch: what all workers share, and the workers."""

    def __init__(self, program: Program, built: Loaded, launch: Launch, memory: Memory) -> None:
        self.program, self.built, self.launch, self.memory = program, built, launch, memory
        self.fast = built.fast
        """The code that this launch runs."""
        self.kept: list[Code] = [self.fast]
        """All code that workers may be in."""
        self.block_work, self.noted = work_of_blocks(program), 0
        self.compiling = 0.0
        self.shared_size = program.dynamic_start - program.shared_start + launch.shared
        self.next, self.stop = np.zeros(1, np.uint64), np.zeros(1, np.int32)
        self.checks = Watched(program, launch) if built.instruments.checks else None
        self.callback = Callback(self) if self.checks is not None else None
        self.bulk = copies_in_bulk(program)
        self.reductions, self.reports = Reductions(self), Reports(self)
        alone = launch.seed is not None or self.checks is not None or (self.bulk and launch.trace is not None)
        count = 1 if alone else launch.workers or os.cpu_count() or 1
        self.workers_wanted = max(1, min(count, launch.blocks // launch.cluster_blocks))
        budget = min(launch.budget, 1 << 62) if launch.budget is not None else 1 << 62
        self.quantum = max(1, min(QUANTUM, budget // self.workers_wanted))
        self.budget = np.array([budget], np.int64)
        self.params = zeroed(max(program.param_size, 16) + 16)
        self.params[: len(launch.params)] = np.frombuffer(launch.params, np.uint8)
        self.order = np.arange(launch.warps, dtype=np.uint32)  # with a seed, shuffled again for every round
        self.blocks = np.array(block_order(program, launch) if launch.seed is not None else [], np.uint64)
        live = [a for a in memory.live() if a.size]
        self.map = memory_map(program, launch, live)
        if self.checks is not None:
            self.checks.shadow(self.map, live)
        self._live = live  # keeps the buffers alive while compiled code points at them
        several = RESIDENT if program.may_wait else 1 if launch.seed is None else MIXED
        clusters = launch.blocks // launch.cluster_blocks
        self.resident = (clusters if launch.cooperative else min(several, clusters)) * launch.cluster_blocks
        self.chosen = None if launch.trace is None else chosen(launch.trace, launch.blocks, launch.warps)
        self.errors: list[BaseException] = []
        self.workers: list[Worker] = [Worker(self)]

    def work(self, worker: Worker) -> None:
        """The body of a worker thread."""
        try:
            grid = _GRID(self.fast.address("grid"))
            worker.began = time.perf_counter()
            while True:
                worker.result = grid(address_of(worker.context))
                if worker.result == S.NEEDS_SLOW:
                    start = time.perf_counter()
                    slow = self.built.slow(whole=worker.context.slow != 0)
                    self.kept.append(slow)
                    worker.context.slow = slow.address("slow")
                    self.compiling = max(self.compiling, time.perf_counter() - start)
                elif worker.result == S.NEEDS_CODE:
                    grid = _GRID(self.fast.address("grid"))
                    worker.context.slow = 0
                elif worker.result == S.NEEDS_SLOT:
                    worker.add_slots(self)
                else:
                    break
            worker.ended = time.perf_counter()
        except BaseException as error:  # handed to the caller's thread, which raises it
            self.errors.append(error)
            self.stop[0] = 1

    def wait(self) -> None:
        """Runs the workers to their end. The caller's thread waits in short slices, so that Ctrl-C reaches it."""
        team = Team([functools.partial(self.work, self.workers[0])], self.stop)
        interrupted = False
        try:
            self.announce()
            with Progress(self.program.name, self.launch.blocks, self.progress) as progress:
                progress.woken_by(team.wake)
                team.start()
                self.add_workers(team)
                team.wait(lambda: self.tick(progress), TICK)
        except KeyboardInterrupt:
            interrupted = True
        finally:  # twice: a second exception may interrupt the first call before it has begun
            try:
                team.dismiss()
            finally:
                team.dismiss()
                _running.pop(id(self), None)
        if self.errors:
            raise self.errors[0]
        for worker in self.workers:
            if worker.result == S.FAULT:
                raise self._fault(worker)
        if interrupted:
            ran = sum(int(w.counts["warps"].sum()) for w in self.workers)
            message = f"stopped by hand after {ran:,} blocks of instructions"
            raise fault(self.program, self.launch, "interrupt", message, line=0, block=0, thread=0)

    def announce(self) -> None:
        """Launches that run at the same time, from several threads, may share memory: no worker of theirs is alone."""
        _running[id(self)] = self
        found = [run for known in _running.valuerefs() if (run := known()) is not None]
        for run in found if len(found) > 1 else []:
            for worker in run.workers:
                worker.context.alone = False

    def add_workers(self, team: Team) -> None:
        """More workers while the first one runs, as long as there are blocks that nobody has begun. To make one takes
        0.15 ms, in which the first one is through with many a launch."""
        clusters = self.launch.blocks // self.launch.cluster_blocks
        while len(self.workers) < self.workers_wanted and int(self.next[0]) < clusters and not self.stop[0]:
            worker = Worker(self)
            self.workers.append(worker)
            team.add(functools.partial(self.work, worker))

    def tick(self, progress: Progress) -> None:
        """Called every `TICK` seconds: shows how far the launch is, and brings it to better code once that is ready.

        What a kernel does is the same in any code, so it does not matter when that is."""
        progress.tick()
        self.note_work()
        if self.built.fast is not self.fast:
            self.fast = self.built.fast
            self.kept.append(self.fast)
            for worker in self.workers:
                worker.context.outdated = 1

    def note_work(self) -> None:
        """Notes what the launch has done since the last call."""
        done = sum(int(worker.counts["warps"].sum(axis=0) @ self.block_work) for worker in self.workers)
        self.built.ran(done - self.noted)
        self.noted = done

    def progress(self) -> tuple[int, int]:
        """The blocks that are done and the warp-instructions that have run."""
        return sum(w.context.finished for w in self.workers), sum(w.context.clock for w in self.workers)

    def _fault(self, worker: Worker) -> BaseException:
        noted, slot = worker.context.fault, worker.slot
        warp, lane, code = noted.warp, noted.lane, noted.code
        waiting: list[str] = []
        if noted.kind == S.DEADLOCK:
            waits = [] if self.callback is None else self.callback.spinning(slot)
            waits = waits or spinning(self.program, slot.shared, slot.warps)
            warp, lane, code, waiting = who_waits(self.program, slot.warps, waits)
        return explain(
            self.program, self.launch, self.memory, kind=noted.kind, code=code, lane=lane, address=noted.address,
            block=slot.cta.linear, warp=warp, waiting=waiting, count=noted.count, align=noted.multiple,
            begun=[(int(count), int(last)) for count, last, _ in slot.warps["products"].tolist()],
        )  # fmt: skip

    def found(self, *, stopped: bool = False) -> list[Finding]:
        """The findings of the checks; stopped: before the launch's end."""
        if self.checks is None or self.callback is None:
            return []
        notes = self.callback.finish(self.checks.notes(), stopped=stopped)
        return findings(self.program, self.launch, self.memory, notes)

    def report(self, seconds: float) -> Report:
        """The counts by PTX line."""
        counts, rest = (
            functools.reduce(np.add, [array.view(np.int64).reshape(*array.shape, 2) for array in arrays])
            for arrays in ([w.counts for w in self.workers], [w.rest for w in self.workers])
        )
        executed, counters = executions(self.program, counts.sum(axis=0), rest.sum(axis=0)), None
        if self.launch.counters:
            records = np.sum([w.tally.view(np.int64) for w in self.workers], axis=0).view(Counted.dtype)
            moved = np.sum([w.moved for w in self.workers], axis=0)
            each = [executions(self.program, *of_one) for of_one in zip(counts, rest, strict=True)]
            issued = np.array(each, np.int64).reshape(len(each), -1, 2)[:, :, 0]
            counters = collect(self.program, tally(self.program, executed, records, moved), issued)
        return Report.of(self.program, executed, seconds, counters)


def run(program: Program, launch: Launch, memory: Memory, cpu: Cpu | None = None) -> Report:
    """Runs a kernel to its end; see `ptxlab.emulate.execute`. Raises `DeviceFault`.

    cpu: what to make code for, if not this computer's CPU in full (a lesser one, to see what it would do).
    """
    start = time.perf_counter()
    built, cached = prepare(program, cpu, instruments_of(launch), Rows.of(launch.block))
    build_seconds = time.perf_counter() - start
    this = Run(program, built, launch, memory)
    start = time.perf_counter()
    try:
        this.wait()
    except DeviceFault as stopped:
        stopped.findings = this.found(stopped=True)
        raise
    finally:
        seconds = time.perf_counter() - start - this.compiling
        if launch.trace is not None:
            transcribe(launch.trace, program, [w.tape for w in this.workers if w.tape is not None])
    this.note_work()
    report = this.report(seconds)
    report.findings += this.found()
    report.build_seconds, report.cached = build_seconds + this.compiling, cached
    return report
