"""A program made ready to run: compiled or recalled from the cache, with what the runner must know beside the code."""

from __future__ import annotations

import threading
from collections import OrderedDict

from ptxlab.emulate.jit import compile as native
from ptxlab.emulate.jit.analysis import uniform_registers
from ptxlab.emulate.jit.compile import Cpu
from ptxlab.emulate.jit.instruments import Instruments
from ptxlab.emulate.jit.instruments import function as emit_function
from ptxlab.emulate.jit.linked_rules import linked, rules_objects, scheduler
from ptxlab.emulate.jit.registers import RegisterFile
from ptxlab.emulate.jit.rulecode import call, declaration
from ptxlab.emulate.jit.values import BITS
from ptxlab.emulate.language.rules import rule_of
from ptxlab.emulate.program.liveness import live_in
from ptxlab.emulate.program.model import Program
from ptxlab.emulate.rules.halves import narrowed, widened
from ptxlab.emulate.rules.scheduling import clear_registers

_ALWAYS = """!0 = !{!"branch_weights", i32 2000, i32 1}
declare i32 @llvm.cttz.i32(i32, i1)
declare i32 @llvm.ctpop.i32(i32)
declare i64 @llvm.fshr.i64(i64, i64, i64)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
"""


QUICK, GOOD = 0, 1
"""Levels of code generation. QUICK builds three times as fast; GOOD runs up to three times as fast, or no faster."""
HOT = 0.1
"""Seconds that a program may run in QUICK code before it is built again, in the background."""


class Loaded:
    """Machine code of a program. `state_size` and `sites` size a worker's memory.

    It starts out as QUICK code; `spent` counts what it costs to run that, and in time has it replaced. The function for
    warps that have split is made when it is first needed. What a launch has begun with stays alive until it is done.
    """

    def __init__(self, program: Program, cpu: Cpu, instruments: Instruments, entry: str) -> None:
        self.program, self.cpu, self.instruments, self.entry = program, cpu, instruments, entry
        self._slow: native.Code | None = None
        self._lock = threading.Lock()
        self._seconds = 0.0
        recalled = native.recall(entry)
        self.cached = recalled is not None
        if recalled is None:
            blob, notes = self._build("fast", QUICK)
        else:
            notes, blob = recalled
        self.state_size, self.sites, self.level = notes["state_size"], notes["sites"], notes["level"]
        self.rules = rules_objects(program, instruments, cpu)
        self.scheduler = scheduler(instruments, cpu)
        self.fast = native.load((blob, self.scheduler, *self.rules), cpu)

    def _build(self, half: str, level: int) -> tuple[bytes, dict[str, int]]:
        """Builds one of the two functions and keeps it on disk."""
        text, state_size, sites = module_text(self.program, self.cpu, self.instruments, slow=half == "slow")
        blob = native.build(text, self.cpu, level)
        notes = {"state_size": state_size, "sites": sites, "level": level}
        native.remember(self.entry if half == "fast" else f"{self.entry}-slow", notes, blob)
        return blob, notes

    def slow(self) -> native.Code:
        """The function for warps that have split, compiled now if it has not been."""
        with self._lock:
            if self._slow is None:
                recalled = native.recall(f"{self.entry}-slow")
                blob = self._build("slow", QUICK)[0] if recalled is None else recalled[1]
                self._slow = native.load((blob, *self.rules), self.cpu)
            return self._slow

    def spent(self, seconds: float) -> None:
        """Notes that the code ran for so long; hot QUICK code is built again while the caller goes on."""
        with self._lock:
            self._seconds += seconds
            hot = self.level == QUICK and self._seconds > HOT
            if hot:
                self.level = GOOD
        if hot:
            threading.Thread(target=self.improve, name="ptxlab-build").start()

    def improve(self) -> None:
        """Builds GOOD code now and lets later launches use it. Warps that have split keep QUICK code: they are few, and
        their function takes longest to build."""
        self.level = GOOD
        self.fast = native.load((self._build("fast", GOOD)[0], self.scheduler, *self.rules), self.cpu)


_recent: OrderedDict[str, Loaded] = OrderedDict()
_lock = threading.Lock()
KEPT = 64
"""Programs whose machine code stays loaded; those used longest ago go first."""


def prepare(program: Program, cpu: Cpu | None = None, instruments: Instruments | None = None) -> tuple[Loaded, bool]:
    """Compiles a program, or finds it among those compiled lately or kept on disk; and whether it was found.

    The same code may come again with other comments and line numbers: faults are reported by the new text."""
    cpu, instruments = cpu or native.host(), instruments or Instruments()
    entry = native.key(program.text, program.name, program.arch, cpu, f"{instruments.key} {program.shared_gap}")
    with _lock:
        found = _recent.get(entry)
        if found is not None:
            _recent.move_to_end(entry)
            return found, True
    loaded = Loaded(program, cpu, instruments, entry)
    with _lock:
        _recent[entry] = loaded
        while len(_recent) > KEPT:
            _recent.popitem(last=False)
    return loaded, loaded.cached


def module_text(program: Program, cpu: Cpu, instruments: Instruments, *, slow: bool) -> tuple[str, int, int]:
    """The LLVM module of a program (its `fast` half with the grid loop, or its `slow` half), the size of a warp's state
    and the number of access sites."""
    uniform = uniform_registers(program)
    alive = live_in(program)
    file = RegisterFile(program, uniform)
    e, function = emit_function(instruments, program, file, uniform, alive, cpu, slow=slow)
    at_start = [
        (file.vector[r], 4 if register.lane == "i1" else 4 * BITS[register.lane])
        for r, register in enumerate(program.registers)
        if alive[program.entry] >> r & 1
    ]
    at_start += [
        (file.scalar[r], 8) for r in range(len(program.registers)) if alive[program.entry] >> r & 1 and uniform[r]
    ]
    known = set(_ALWAYS.splitlines())
    declared = "\n".join(sorted(d for d in e.t.declared if d not in known))
    parts = [
        _ALWAYS, declared, *map(declaration, linked(instruments)),
        *e.helpers.values(), function,
    ]  # fmt: skip
    if cpu.without_halves and any(" half" in part for part in parts):
        parts.append(_conversions())
    if not slow:
        parts.append(_clear_registers(at_start))
    return "\n".join(parts), file.size, e.sites


def _conversions() -> str:
    """What LLVM calls to convert halves on x86 CPUs that have no instruction for it, under its names."""
    return f"""define float @__extendhfsf2(half %a) noinline nounwind {{
  %bits = bitcast half %a to i16
  %wide = {call(widened, "%bits")}
  %d = bitcast i32 %wide to float
  ret float %d
}}
define half @__truncsfhf2(float %a) noinline nounwind {{
  %bits = bitcast float %a to i32
  %narrow = {call(narrowed, "%bits")}
  %d = bitcast i16 %narrow to half
  ret half %d
}}
"""


def _clear_registers(registers: list[tuple[int, int]]) -> str:
    """The function that the scheduler calls for each warp that begins: registers that may be read before they are
    written, given as (offset, bytes), start as zeros."""
    lines = [f"define void @{rule_of(clear_registers).symbol}(ptr %ws) nounwind {{"]
    for k, (offset, size) in enumerate(registers):
        lines += [f"  %r{k} = getelementptr i8, ptr %ws, i64 {offset}",
                  f"  call void @llvm.memset.p0.i64(ptr %r{k}, i8 0, i64 {size}, i1 false)"]  # fmt: skip
    return "\n".join([*lines, "  ret void", "}"])
