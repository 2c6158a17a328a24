"""The compiling engine: a program as native code, run by worker threads. The default engine of the CPU machine.

Reading order: `state` (where everything lies), `values` (lanes as LLVM IR), `access` and `transfer` (loads and
stores), `registers` and `control`, then `fast` and `slow` (a program's two functions), `grid.ll` (CTAs, warps and
barriers), `build` and `compile` (to machine code, and the cache), `threads` (the workers). This file lays out a launch
in memory, has it run and reads the counts.
"""

from __future__ import annotations

import ctypes
import functools
import os
import random
import time
from typing import Any

import numpy as np

from ptxlab.emulate.jit import state as S
from ptxlab.emulate.jit.build import Loaded, prepare
from ptxlab.emulate.jit.compile import Code, Cpu
from ptxlab.emulate.jit.counting import RECORD, executions, tally
from ptxlab.emulate.jit.faults import explain, spinning, who_waits
from ptxlab.emulate.jit.instruments import instruments_of
from ptxlab.emulate.jit.mbarrier_phases import Callback
from ptxlab.emulate.jit.shadows import Watched
from ptxlab.emulate.jit.threads import Team
from ptxlab.emulate.jit.tracing import Tape, chosen, transcribe
from ptxlab.emulate.program.model import Program
from ptxlab.emulate.rules.findings import findings
from ptxlab.emulate.runtime.counters import collect
from ptxlab.emulate.runtime.faults import fault
from ptxlab.emulate.runtime.memory import Memory
from ptxlab.emulate.runtime.progress import Progress
from ptxlab.emulate.runtime.report import Launch, Report
from ptxlab.emulate.runtime.seeded_order import MIXED, RESIDENT, block_order
from ptxlab.errors import DeviceFault
from ptxlab.findings import Finding

QUANTUM = 1 << 13
"""Instructions a warp may issue before its worker looks whether to stop."""

_GRID = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)


def aligned(size: int) -> np.ndarray:
    """`size` zeroed bytes at a multiple of 128."""
    raw = np.zeros(size + 128, np.uint8)
    start = -raw.ctypes.data % 128
    return raw[start : start + size]


def put(kind: str, where: np.ndarray, offset: int, value: int) -> None:
    """Writes one field: kind "q" (i64), "i" (i32) or "I" (u32)."""
    dtype = {"q": np.int64, "i": np.int32, "I": np.uint32}[kind]
    where[offset : offset + np.dtype(dtype).itemsize].view(dtype)[0] = value


class Slot:
    """What one CTA at work needs: its record, its warps' states, shared and local memory."""

    def __init__(self, run: Run) -> None:
        launch, program, size = run.launch, run.program, run.built.state_size
        self.cta = aligned(S.CTA_SIZE)
        self.states = aligned(size * launch.warps)
        self.shared = aligned(run.shared_size + 64)
        self.local = aligned(S.local_stride(program) * 32 * launch.warps)
        for offset, value in ((S.SHARED, self.shared.ctypes.data), (S.SHARED_SIZE, run.shared_size),
                              (S.WARP_STATES, self.states.ctypes.data), (S.CTA_LOCAL, self.local.ctypes.data),
                              (S.CTA_LOCAL_SIZE, self.local.size)):  # fmt: skip
            put("q", self.cta, offset, value)
        self.checked = None if run.checks is None else run.checks.slot(self.cta, run.shared_size)
        x, y, _ = launch.block
        for warp in range(launch.warps):
            state = self.states[warp * size : (warp + 1) * size]
            threads = np.arange(32, dtype=np.uint32) + np.uint32(32 * warp)
            state[S.TID_X : S.TID_X + 128].view(np.uint32)[:] = threads % x
            state[S.TID_Y : S.TID_Y + 128].view(np.uint32)[:] = threads // x % y
            state[S.TID_Z : S.TID_Z + 128].view(np.uint32)[:] = threads // (x * y)
            present = int(np.count_nonzero(threads < launch.threads))
            put("I", state, S.FIRST_LIVE, (1 << present) - 1)
            put("i", state, S.WARP_ID, warp)
            put("q", state, S.LOCAL, self.local.ctypes.data + warp * 32 * S.local_stride(program))


class Worker:
    """One thread's context, the CTAs it has at work, its sites and counts."""

    def __init__(self, run: Run) -> None:
        launch, program, built = run.launch, run.program, run.built
        self.run = run
        self.context = aligned(S.CONTEXT_SIZE)
        self.slots: list[Slot] = []
        self.table = np.zeros(run.resident, np.int64)
        self.sites = aligned(S.SITE_SIZE * built.sites + 32)
        self.counts = np.zeros(2 * (len(program.blocks) + len(program.codes)), np.int64)
        self.tally = aligned(RECORD * len(program.codes) if built.instruments.counters else 0)
        self.tape = None if run.chosen is None else Tape(launch.trace, *run.chosen)
        if self.tape is not None:
            put("q", self.context, S.TRACE, self.tape.record.ctypes.data)
        self.result = S.DONE
        self.began = self.ended = 0.0
        for offset, value in (
            (S.NEXT, run.next.ctypes.data), (S.STOP, run.stop.ctypes.data), (S.BUDGET, run.budget.ctypes.data),
            (S.TOTAL, launch.blocks), (S.PARAMS, run.params.ctypes.data), (S.PARAM_SIZE, program.param_size),
            (S.ALLOCS, run.table.ctypes.data), (S.ALLOC_COUNT, run.count), (S.SITES, self.sites.ctypes.data),
            (S.COUNTS, self.counts.ctypes.data), (S.QUANTUM, run.quantum), (S.QUANTUM_SIZE, run.quantum),
            (S.WARPS, launch.warps), (S.THREADS, launch.threads), (S.ORDER, run.order.ctypes.data),
            (S.SLOTS, self.table.ctypes.data), (S.SLOT_LIMIT, run.resident), (S.TALLY, self.tally.ctypes.data),
        ):  # fmt: skip
            put("q", self.context, offset, value)
        if launch.seed is not None:
            draw = random.Random(launch.seed)
            put("q", self.context, S.RANDOM, draw.getrandbits(62) | 1)
            first = min(run.quantum, draw.randint(1, 255))
            put("q", self.context, S.QUANTUM, first)
            put("q", self.context, S.QUANTUM_SIZE, first)
            put("q", self.context, S.BLOCK_ORDER, run.blocks.ctypes.data)
        if run.checks is not None:
            put("q", self.context, S.CHECK, run.checks.table.ctypes.data)
        if run.callback is not None:
            put("q", self.context, S.PHASES, run.callback.address)
        for k in range(3):
            put("i", self.context, S.GRID + 4 * k, launch.grid[k])
            put("i", self.context, S.BLOCK + 4 * k, launch.block[k])
        self.add_slot()

    def add_slot(self) -> None:
        """Room for one more CTA, which is the next to run."""
        slot, number = Slot(self.run), len(self.slots)
        self.slots.append(slot)
        self.table[number] = slot.cta.ctypes.data
        put("q", self.context, S.SLOT, number)
        put("q", self.context, S.SLOT_COUNT, number + 1)
        put("q", self.context, S.CTA, slot.cta.ctypes.data)
        self.sites[:] = 0  # a site knows no allocation yet

    @property
    def slot(self) -> Slot:
        """The CTA that runs, or ran last."""
        return self.slots[self.get(S.SLOT, np.int64)]

    def get(self, offset: int, dtype: Any = np.int32) -> int:
        """A field of the context."""
        return int(self.context[offset : offset + np.dtype(dtype).itemsize].view(dtype)[0])


class Run:
    """One launch: what all workers share, and the workers."""

    def __init__(self, program: Program, built: Loaded, launch: Launch, memory: Memory) -> None:
        self.program, self.built, self.launch, self.memory = program, built, launch, memory
        self.fast = built.fast  # the code that this launch runs, even if better code is ready before it ends
        self.kept: list[Code] = []
        self.compiling = 0.0
        self.shared_size = program.dynamic_start - program.shared_start + launch.shared
        self.next, self.stop = np.zeros(1, np.int64), np.zeros(1, np.int32)
        self.checks = Watched(program, launch) if built.instruments.checks else None
        self.callback = Callback(self) if self.checks is not None else None
        alone = launch.seed is not None or self.checks is not None
        count = 1 if alone else launch.workers or os.cpu_count() or 1
        self.workers_wanted = max(1, min(count, launch.blocks))
        budget = min(launch.budget, 1 << 62) if launch.budget is not None else 1 << 62
        self.quantum = max(1, min(QUANTUM, budget // self.workers_wanted))
        self.budget = np.array([budget], np.int64)
        self.params = aligned(max(program.param_size, 16) + 16)
        self.params[: len(launch.params)] = np.frombuffer(launch.params, np.uint8)
        self.order = np.arange(launch.warps, dtype=np.int32)  # with a seed, shuffled again for every round
        self.blocks = np.array(block_order(program, launch) if launch.seed is not None else [], np.int64)
        live = [a for a in memory.live() if a.size]
        self.count = len(live)
        self.table = np.zeros((max(1, len(live)), S.ALLOC_SIZE // 8), np.uint64)
        for row, a in zip(self.table, live, strict=False):
            row[:5] = (a.address, a.size, a.data.ctypes.data, 0 if a.written is None else a.written.ctypes.data,
                      int(a.writable))  # fmt: skip
        if self.checks is not None:
            self.checks.shadow(self.table, live)
        self._live = live  # keeps the buffers alive while compiled code points at them
        several = RESIDENT if program.may_wait else 1 if launch.seed is None else MIXED
        self.resident = launch.blocks if launch.cooperative else min(several, launch.blocks)
        self.chosen = None if launch.trace is None else chosen(launch.trace, launch.blocks, launch.warps)
        self.errors: list[BaseException] = []
        self.workers: list[Worker] = []
        self.workers += [Worker(self) for _ in range(self.workers_wanted)]

    def work(self, worker: Worker) -> None:
        """The body of a worker thread."""
        try:
            grid = _GRID(self.fast.address("grid"))
            worker.began = time.perf_counter()
            while True:
                worker.result = grid(worker.context.ctypes.data)
                if worker.result == S.NEEDS_SLOW:
                    start = time.perf_counter()
                    slow = self.built.slow()
                    self.kept.append(slow)
                    put("q", worker.context, S.SLOW, slow.address("slow"))
                    self.compiling = max(self.compiling, time.perf_counter() - start)
                elif worker.result == S.NEEDS_SLOT:
                    worker.add_slot()
                else:
                    break
            worker.ended = time.perf_counter()
        except BaseException as error:  # handed to the caller's thread, which raises it
            self.errors.append(error)
            self.stop[0] = 1

    def wait(self) -> None:
        """Runs the workers to their end. The caller's thread waits in short slices, so that Ctrl-C reaches it."""
        team = Team([functools.partial(self.work, w) for w in self.workers], self.stop)
        interrupted = False
        try:
            with Progress(self.program.name, self.launch.blocks, self.progress) as progress:
                team.start()
                team.wait(progress.tick, 0.1)
        except KeyboardInterrupt:
            interrupted = True
        finally:  # twice: a second exception may come before the first dismissal has begun
            try:
                team.dismiss()
            finally:
                team.dismiss()
        if self.errors:
            raise self.errors[0]
        for worker in self.workers:
            if worker.result == S.FAULT:
                raise self._fault(worker)
        if interrupted:
            ran = sum(int(w.counts[: 2 * len(self.program.blocks) : 2].sum()) for w in self.workers)
            message = f"stopped by hand after {ran:,} blocks of instructions"
            raise fault(self.program, self.launch, "interrupt", message, line=0, block=0, thread=0)

    def progress(self) -> tuple[int, int]:
        """The blocks that are done and the warp-instructions that have run."""
        fields = [[w.get(field, np.int64) for w in self.workers] for field in (S.FINISHED, S.CLOCK)]
        return sum(fields[0]), sum(fields[1])

    def _fault(self, worker: Worker) -> BaseException:
        kind, warp = worker.get(S.FAULT_KIND), worker.get(S.FAULT_WARP)
        code, lane = worker.get(S.FAULT_CODE), worker.get(S.FAULT_LANE)
        waiting: list[str] = []
        if kind == S.DEADLOCK:
            states = worker.slot.states.reshape(self.launch.warps, -1)
            waits = [] if self.callback is None else self.callback.spinning(worker.slot)
            waits = waits or spinning(self.program, worker.slot.shared, states)
            warp, lane, code, waiting = who_waits(self.program, states, waits)
        block = int(worker.slot.cta[S.LINEAR : S.LINEAR + 8].view(np.int64)[0])
        return explain(
            self.program, self.launch, self.memory, kind=kind, code=code, lane=lane,
            address=worker.get(S.FAULT_ADDRESS, np.uint64), block=block, warp=warp, waiting=waiting,
        )  # fmt: skip

    def found(self, *, stopped: bool = False) -> list[Finding]:
        """What the checks noticed; stopped: before the launch's end."""
        if self.checks is None or self.callback is None:
            return []
        notes = [*self.checks.notes(), *self.callback.finish(stopped=stopped)]
        return findings(self.program, self.launch, self.memory, notes)

    def report(self, seconds: float) -> Report:
        """The counts by PTX line. What lowering added (the copies around a call) does not count."""
        counts = np.sum([w.counts for w in self.workers], axis=0)
        lines: dict[int, tuple[int, int]] = {}
        for code, (warps, threads) in zip(self.program.codes, executions(self.program, counts), strict=True):
            if warps and code.instruction is not None:
                a, b = lines.get(code.line, (0, 0))
                lines[code.line] = a + warps, b + threads
        counters = None
        if self.launch.counters:
            records = np.sum([w.tally.view(np.int64).reshape(-1, RECORD // 8) for w in self.workers], axis=0)
            counters = collect(self.program, tally(self.program, counts, records))
            lines = counters.lines
        return Report(
            seconds=seconds, warp_instructions=sum(a for a, _ in lines.values()),
            thread_instructions=sum(b for _, b in lines.values()), lines=lines, counters=counters,
        )  # fmt: skip


def run(program: Program, launch: Launch, memory: Memory, cpu: Cpu | None = None) -> Report:
    """Runs a kernel to its end; see `ptxlab.emulate.execute`. Raises `DeviceFault`.

    cpu: what to make code for, if not this computer's CPU in full (a lesser one, to see what it would do).
    """
    start = time.perf_counter()
    built, cached = prepare(program, cpu, instruments_of(launch))
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
    built.spent(seconds)
    report = this.report(seconds)
    report.findings += this.found()
    report.build_seconds, report.cached = build_seconds + this.compiling, cached
    return report
