"""Builds a program or loads it from the cache: machine code, and what the runner must know beside it."""

from __future__ import annotations

import functools
import threading
from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ptxlab.emulate.jit import compile as native
from ptxlab.emulate.jit import llvm_thread
from ptxlab.emulate.jit.affine_registers import affine_registers
from ptxlab.emulate.jit.analysis import uniform_registers
from ptxlab.emulate.jit.block_rows import Rows
from ptxlab.emulate.jit.compile import Cpu
from ptxlab.emulate.jit.counting import work_of_blocks
from ptxlab.emulate.jit.divergence import diverging_blocks
from ptxlab.emulate.jit.instruments import Instruments
from ptxlab.emulate.jit.instruments import function as emit_function
from ptxlab.emulate.jit.linked_rules import called, parts, scheduler
from ptxlab.emulate.jit.registers import RegisterFile
from ptxlab.emulate.jit.rulecode import GOOD, QUICK, call, declaration, object_codes
from ptxlab.emulate.jit.values import BITS
from ptxlab.emulate.language.rules import rule_of
from ptxlab.emulate.program.liveness import live_in
from ptxlab.emulate.program.model import Program
from ptxlab.emulate.rules.beginning import clear_registers
from ptxlab.emulate.rules.bulk_instructions import copies_in_bulk
from ptxlab.emulate.rules.halves import narrowed, widened
from ptxlab.emulate.rules.launches import scheduled
from ptxlab.emulate.rules.warpgroup_products import Products
from ptxlab.text.collection import resting

if TYPE_CHECKING:
    from ptxlab.emulate.jit.workers import Image

_ALWAYS = """!0 = !{!"branch_weights", i32 2000, i32 1}
declare i32 @llvm.cttz.i32(i32, i1)
declare i32 @llvm.ctpop.i32(i32)
declare i64 @llvm.fshr.i64(i64, i64, i64)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
"""


HOT = 4_000_000
"""The work that a program may do in QUICK code before it is built again, in the background. It is counted, not timed:
two runs do the same on a busy machine. The unit is a warp-instruction as `counting.work_of_blocks` weighs them; this is
about 0.1 seconds of most kernels."""
CHECKED = 8
"""How many times as much an instruction costs where it is checked."""


@dataclass(frozen=True)
class Half:
    """One of a program's two functions."""

    blob: bytes
    state_size: int
    sites: int
    quality: int
    """QUICK or GOOD. GOOD code runs up to three times as fast, or no faster."""
    rules: tuple[str, ...]
    """The symbols of the rules that it calls."""
    clears: bool
    """Whether warps begin with registers that must be cleared, or the carry flag."""
    recalled: bool = False
    """Whether it was on disk."""


class Loaded:
    """Machine code of a program, and what the runner must know of it.

    It begins as QUICK code with QUICK rules; `ran` adds up the work done in that and replaces it when it is hot. The
    function for diverged warps is built when it is first needed. What runs stays alive until it is done.
    """

    def __init__(self, program: Program, cpu: Cpu, instruments: Instruments, rows: Rows, entry: str) -> None:
        self.program, self.cpu, self.instruments, self.rows, self.entry = program, cpu, instruments, rows, entry
        self.block_work, self.bulk = work_of_blocks(program), copies_in_bulk(program)
        self.scheduled = scheduled(program.codes)
        self.images: dict[tuple[int, int, int], Image] = {}
        """What launches have in common, by the size of their blocks."""
        self._halves: dict[str, Half] = {}
        self._slow: native.Code | None = None
        self._which = ""
        """Which slow function that is."""
        self._lock = threading.Lock()  # held for a moment only: LLVM's thread takes it too
        self._making = threading.Lock()
        self._work = 0
        half, self.fast, rules = self._made("fast", QUICK, QUICK)
        self.cached = half.recalled
        self.state_size, self.sites, self.clears = half.state_size, half.sites, half.clears
        self._good = half.quality == GOOD and rules == GOOD
        """Whether there is no better code, or it is being made."""

    def _made(self, which: str, quality: int, rules: int) -> tuple[Half, native.Code, int]:
        """One of the functions ("fast", "slow", or "part" of the slow one), of this quality or better; its code, loaded
        with rules of that quality or better; and the lowest quality of the rules."""
        half = self._halves.get(which) or self._recalled(which)
        if half is None or half.quality < quality:
            with resting():
                small, slow = quality == QUICK, which != "fast"
                only = self._part if which == "part" else None
                module = module_text(
                    self.program, self.cpu, self.instruments, self.rows, slow=slow, small=small, only=only
                )
            blob = llvm_thread.begin(native.build, module.text, self.cpu, quality)
            blobs, lowest = self._rules(which, module.rules, rules)  # translated, in Python, while LLVM builds
            half = Half(blob(), module.state_size, module.sites, quality, module.rules, module.clears)
            names = ("state_size", "sites", "quality", "rules", "clears")
            notes = {name: getattr(half, name) for name in names}
            native.remember(self._name(which), notes, half.blob)
        else:
            blobs, lowest = self._rules(which, half.rules, rules)
        self._halves[which] = half
        return half, native.load([half.blob, *blobs], self.cpu), lowest

    def _name(self, which: str) -> str:
        """The name of a function's cache entry."""
        return self.entry if which == "fast" else f"{self.entry}-{which}"

    def _recalled(self, which: str) -> Half | None:
        """A function out of the cache on disk."""
        found = native.recall(self._name(which))
        if found is None:
            return None
        notes, blob = found
        return Half(blob, **notes | {"rules": tuple(notes["rules"])}, recalled=True)

    def _rules(self, which: str, symbols: tuple[str, ...], quality: int) -> tuple[list[bytes], int]:
        """The object codes of the rules that a function calls, and their lowest quality."""
        wanted = parts(symbols, self.program, self.instruments, self.cpu)
        if which == "fast":
            checked = bool(self.instruments.checks)
            wanted.append(scheduler(self.program.codes, checked, self.instruments.trace, self.cpu))
        return object_codes(wanted, quality)

    @functools.cached_property
    def _part(self) -> frozenset[int] | None:
        """The blocks in which lanes may diverge, if they are few. A recorded warp keeps to the slow function."""
        if self.instruments.trace:
            return None
        return diverging_blocks(self.program, uniform_registers(self.program, self.rows))

    def slow(self, *, whole: bool = False) -> native.Code:
        """The function for diverged warps, compiled now if it has not been. whole: the blocks in which warps were
        expected to diverge do not suffice."""
        with self._making:
            slow = self._slow
            if slow is None or (whole and self._which == "part"):
                which = "slow" if whole or self._part is None else "part"
                _, slow, rules = self._made(which, QUICK, QUICK)
                with self._lock:
                    self._slow, self._which = slow, which
                    self._good = self._good and rules == GOOD
            return slow

    def ran(self, work: int) -> None:
        """Notes that the code did so much work; hot QUICK code is built again while the caller goes on."""
        with self._lock:
            self._work += work * (CHECKED if self.instruments.checks else 1)
            hot = not self._good and self._work > HOT
            if hot:
                self._good = True
        if hot:
            llvm_thread.later(self.improve)

    def improve(self) -> None:
        """Builds GOOD code now, for later launches, and for one that runs from its next block on. Diverged warps keep
        QUICK code, with GOOD rules: they are few, and their function takes longest to build."""
        self._good = True
        _, fast, _ = self._made("fast", GOOD, GOOD)
        with self._lock:
            which = self._which
        slow = self._made(which, QUICK, GOOD)[1] if which else None
        with self._lock:
            self.fast = fast
            if which and which == self._which:
                self._slow = slow


_recent: OrderedDict[str, Loaded] = OrderedDict()
_lock = threading.Lock()
KEPT = 64
"""Programs whose machine code stays loaded; those used longest ago go first."""


def prepare(
    program: Program, cpu: Cpu | None = None, instruments: Instruments | None = None, rows: Rows | None = None
) -> tuple[Loaded, bool]:
    """Compiles a program for blocks whose threads lie in such rows, or finds it in memory or on disk; and whether it
    was found.

    The same code may come again with other comments and line numbers: faults are reported by the new text."""
    cpu, instruments, rows = cpu or native.host(), instruments or Instruments(), rows or Rows()
    what = f"{instruments.key} {program.shared_gap} {rows.width}"
    entry = native.key(program.text, program.name, program.arch, cpu, what)
    with _lock:
        found = _recent.get(entry)
        if found is not None:
            _recent.move_to_end(entry)
            return found, True
    loaded = Loaded(program, cpu, instruments, rows, entry)
    with _lock:
        _recent[entry] = loaded
        while len(_recent) > KEPT:
            _recent.popitem(last=False)
    return loaded, loaded.cached


@dataclass(frozen=True)
class ModuleText:
    """The LLVM module of a program's fast or slow function, the size of a warp's state, the number of access sites, the
    symbols of the rules that it calls, and whether warps begin with registers that must be cleared."""

    text: str
    state_size: int
    sites: int
    rules: tuple[str, ...]
    clears: bool


def module_text(
    program: Program, cpu: Cpu, instruments: Instruments, rows: Rows | None = None, *, slow: bool, small: bool,
    only: frozenset[int] | None = None,
) -> ModuleText:  # fmt: skip
    """The module of one of a program's two functions. rows: how threads lie in a block. small: rather short, and so
    built quickly, than fast. only: the blocks that it has, if not all."""
    rows, alive = rows or Rows(), live_in(program)
    uniform = uniform_registers(program, rows)
    affine = affine_registers(program, rows, uniform, alive)
    file = RegisterFile(program, uniform, affine)
    e, function = emit_function(
        instruments, program, file, uniform, affine, alive, cpu, rows=rows, slow=slow, small=small, only=only
    )
    at_start = [
        (file.vector[r], 4 if register.lane == "i1" else 4 * BITS[register.lane])
        for r, register in enumerate(program.registers)
        if alive[program.entry] >> r & 1
    ]
    at_start += [
        (file.scalar[r], 8) for r in range(len(program.registers)) if alive[program.entry] >> r & 1 and uniform[r]
    ]
    if file.products:
        at_start.append((file.products, Products.offset("entries")))
    clears = bool(at_start) or e.machine.carries  # nor may a carry be an earlier warp's
    known = set(_ALWAYS.splitlines())
    declared = "\n".join(sorted(d for d in e.t.declared if d not in known))
    metadata = "\n".join(f"!{number} = {text}" for text, number in e.t.metadata.items())
    lines = [_ALWAYS, declared, metadata, *e.helpers.values(), function]
    if cpu.without_halves and any(" half" in part for part in lines):
        lines.append(_conversions())
    if not slow:
        lines.append(_clear_registers(at_start))
    text = "\n".join(lines)
    rules = called(text, instruments)
    symbols = tuple(rule_of(function).symbol for function in rules)
    return ModuleText("\n".join([text, *map(declaration, rules)]), file.size, e.sites, symbols, clears)


def _conversions() -> str:
    """The functions that LLVM calls to convert halves on x86 CPUs without an instruction for it, under its names."""
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
        lines += [
            f"  %r{k} = getelementptr i8, ptr %ws, i64 {offset}",
            f"  call void @llvm.memset.p0.i64(ptr %r{k}, i8 0, i64 {size}, i1 false)",
        ]
    return "\n".join([*lines, "  ret void", "}"])
