"""Builds a program or loads it from the cache: machine code, and what the runner must know beside it."""

from __future__ import annotations

import functools
from collections import OrderedDict
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ptxlab import forks
from ptxlab.emulate.jit.affine.block_rows import Rows
from ptxlab.emulate.jit.building.program_summary import ProgramSummary
from ptxlab.emulate.jit.building.rule_objects import GOOD, QUICK, object_codes
from ptxlab.emulate.jit.building.rule_parts import Part
from ptxlab.emulate.jit.instruments.selection import Instruments
from ptxlab.emulate.jit.native import code as native
from ptxlab.emulate.jit.native.code import Cpu
from ptxlab.emulate.runtime import disk_cache

if TYPE_CHECKING:
    from ptxlab.emulate.jit.instruments.tracing import Flat
    from ptxlab.emulate.program.program import Program

HOT = 4_000_000
"""The work that a program may do in QUICK code before it is built again, in the background. It is counted, not timed:
two runs do the same on a busy machine. The unit is a warp-instruction as `ProgramSummary.block_work` weighs them; this
is about 0.1 seconds of most kernels."""
SHORT = 160
"""PTX instructions of a program whose function for diverged warps is built again, too, if nothing is checked.
`recursion`, which runs in it nearly all of the time, then takes three quarters of it."""
CHECKED = 8
"""How many times as much an instruction costs where it is checked."""


class Half(NamedTuple):
    """One of a program's two functions."""

    blob: bytes
    state_size: int
    sites: int
    quality: int
    """QUICK or GOOD. GOOD code runs up to three times as fast, or no faster."""
    rules: tuple[Part, ...]
    """The rules that are loaded beside it."""
    clears: bool
    """Whether warps begin with registers that must be cleared, or the carry flag."""
    summary: ProgramSummary
    recalled: bool = False
    """Whether it was on disk."""


def _notes(half: Half) -> dict[str, Any]:
    """What is kept beside its code in the cache."""
    notes = {name: getattr(half, name) for name in ("state_size", "sites", "quality", "clears")}
    return notes | {"rules": [part.note for part in half.rules], "summary": half.summary._asdict()}


class Loaded:
    """Machine code of a program, and what the runner must know of it.

    It begins as QUICK code with QUICK rules; `ran` adds up the work done in that and replaces it when it is hot. The
    function for diverged warps is built when it is first needed. What runs stays alive until it is done.
    """

    def __init__(self, program: Program, cpu: Cpu, instruments: Instruments, rows: Rows, entry: str) -> None:
        self.program, self.cpu, self.instruments, self.rows, self.entry = program, cpu, instruments, rows, entry
        self.images: dict[tuple[int, int, int], object] = {}
        """What launches have in common, by the size of their blocks (see `running.workers`)."""
        self._halves: dict[str, Half] = {}
        self._diverged: native.Code | None = None
        self._which = ""
        """Which function for diverged warps that is."""
        self._lock = forks.lock()  # held for a moment only: LLVM's thread takes it too
        self._making = forks.lock()
        self._work = 0
        recalled = self._recalled("converged")
        if recalled is not None:
            self._halves["converged"] = recalled
        self.summary = recalled.summary if recalled is not None else ProgramSummary.of(program)
        self.block_work, self.scheduled = np.array(self.summary.block_work, np.int64), self.summary.scheduled
        self.bulk = self.scheduled["Context.bulk_copies"]
        half, self.converged, rules = self._made("converged", QUICK, QUICK)
        self.cached = half.recalled
        self.state_size, self.sites, self.clears = half.state_size, half.sites, half.clears
        self._good = half.quality == GOOD and rules == GOOD
        """Whether there is no better code, or it is being made."""
        self._improving = False

    def _made(self, which: str, quality: int, rules: int) -> tuple[Half, native.Code, int]:
        """One of the functions ("converged", "diverged", or "part" of that one), of this quality or better; its code,
        loaded with rules of that quality or better; and the lowest quality of the rules."""
        half = self._halves.get(which) or self._recalled(which)
        if half is None or half.quality < quality:
            half, (blobs, lowest) = self._built(which, quality, rules)
            disk_cache.remember(self._name(which), _notes(half), half.blob)
        else:
            blobs, lowest = object_codes(half.rules, rules)
        self._halves[which] = half
        return half, native.load([half.blob, *blobs], self.cpu), lowest

    def _built(self, which: str, quality: int, rules: int) -> tuple[Half, tuple[list[bytes], int]]:
        """One of the functions as it has not been built before, and the object codes of its rules."""
        from ptxlab.emulate.jit.building.linked_rules import parts, scheduler
        from ptxlab.emulate.jit.building.module_text import module_text
        from ptxlab.emulate.jit.native import compile, llvm_thread

        diverged = which != "converged"
        small = diverged or quality == QUICK
        only = self._part if which == "part" else None
        module = module_text(
            self.program, self.cpu, self.instruments, self.rows, diverged=diverged, small=small, only=only
        )
        building = llvm_thread.begin(compile.build, module.text, self.cpu, quality)
        wanted = parts(module.rules, self.program, self.instruments, self.cpu)
        if which == "converged":
            checked, traced = bool(self.instruments.checks), self.instruments.trace
            wanted.append(scheduler(self.scheduled, checked, traced, self.cpu))
        codes = object_codes(wanted, rules)  # translated, in Python, while LLVM builds
        half = Half(building(), module.state_size, module.sites, quality, tuple(wanted), module.clears, self.summary)
        return half, codes

    def _name(self, which: str) -> str:
        """The name of a function's cache entry."""
        return self.entry if which == "converged" else f"{self.entry}-{which}"

    def _recalled(self, which: str) -> Half | None:
        """A function out of the cache on disk."""
        found = disk_cache.recall(self._name(which))
        if found is None:
            return None
        notes, code = found
        rules = tuple(Part.noted(note, self.cpu) for note in notes["rules"])
        summary = ProgramSummary(**notes.pop("summary"))
        return Half(code, **notes | {"rules": rules}, summary=summary, recalled=True)

    @functools.cached_property
    def recorded(self) -> Flat:
        """What its recorded steps have beside them."""
        from ptxlab.emulate.jit.instruments.tracing import Flat

        return Flat(self.program)

    @functools.cached_property
    def _part(self) -> frozenset[int] | None:
        """The blocks in which lanes may diverge, if they are few. A recorded warp keeps to the function for diverged
        warps."""
        from ptxlab.emulate.jit.analysis.affine_registers import analyses
        from ptxlab.emulate.jit.analysis.divergence import diverging_blocks

        if self.instruments.trace:
            return None
        return diverging_blocks(self.program, analyses(self.program, self.rows).uniform)

    def diverged(self, *, whole: bool = False) -> native.Code:
        """The function for diverged warps, compiled now if it has not been. whole: the blocks in which warps were
        expected to diverge do not suffice."""
        with self._making:
            code = self._diverged
            if code is None or (whole and self._which == "part"):
                which = "diverged" if whole or self._part is None else "part"
                half, code, rules = self._made(which, QUICK, QUICK)
                with self._lock:
                    self._diverged, self._which = code, which
                    self._good = self._good and rules == GOOD and half.quality >= self._best_diverged
            return code

    @property
    def _best_diverged(self) -> int:
        """The best quality in which the function for diverged warps is built. Its text is that of QUICK code anyway."""
        return GOOD if self.summary.instructions <= SHORT and not self.instruments.checks else QUICK

    def ran(self, work: int) -> None:
        """Notes that the code did so much work; hot QUICK code is built again while the caller goes on."""
        with self._lock:
            self._work += work * (CHECKED if self.instruments.checks else 1)
            hot = not self._good and self._work > HOT
            if hot:
                self._good = self._improving = True
        if hot:
            from ptxlab.emulate.jit.native import llvm_thread

            llvm_thread.later(self.improve)

    def improve(self) -> None:
        """Builds GOOD code now, for later launches, and for one that runs from its next block on. Diverged warps of
        longer programs keep QUICK code, with GOOD rules: they are few, and their function takes longest to build."""
        self._good = True
        _, converged, _ = self._made("converged", GOOD, GOOD)
        with self._lock:
            which = self._which
        diverged = self._made(which, self._best_diverged, GOOD)[1] if which else None
        with self._lock:
            self.converged = converged
            self._improving = False
            if which and which == self._which:
                self._diverged = diverged

    def forget_threads(self) -> None:
        """In the child after a fork: what other threads were building will never be ready."""
        if self._improving:
            self._good = self._improving = False


_recent: OrderedDict[str, Loaded] = OrderedDict()
_lock = forks.lock()


def _forget_threads() -> None:
    for loaded in tuple(_recent.values()):
        loaded.forget_threads()


forks.in_child(_forget_threads)
MOST_LOADED = 64
"""Programs whose machine code stays loaded; those used longest ago go first."""


def prepare(
    program: Program, cpu: Cpu | None = None, instruments: Instruments | None = None, rows: Rows | None = None
) -> tuple[Loaded, bool]:
    """Compiles a program for blocks whose threads lie in such rows, or finds it in memory or on disk; and whether it
    was found.

    The same code may come again with other comments and line numbers: faults are reported by the new text."""
    cpu, instruments, rows = cpu or native.host(), instruments or Instruments(), rows or Rows()
    what = f"{instruments.key} {program.shared_gap} {tuple(rows)}"
    entry = native.key(program.digest, program.name, program.arch, cpu, what)
    with _lock:
        found = _recent.get(entry)
        if found is not None:
            _recent.move_to_end(entry)
            return found, True
    loaded = Loaded(program, cpu, instruments, rows, entry)
    with _lock:
        _recent[entry] = loaded
        while len(_recent) > MOST_LOADED:
            _recent.popitem(last=False)
    return loaded, loaded.cached
