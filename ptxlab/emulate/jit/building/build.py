"""Builds a program or loads it from the cache: machine code, and what the runner must know beside it."""

from __future__ import annotations

import functools
from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ptxlab import forks
from ptxlab.emulate.jit.affine.block_rows import Rows
from ptxlab.emulate.jit.building.rule_objects import TIER_0, TIER_1, RuleObject, object_codes
from ptxlab.emulate.jit.instruments.selection import Instruments
from ptxlab.emulate.jit.native import code as native
from ptxlab.emulate.jit.native import llvm_thread
from ptxlab.emulate.jit.native.code import Cpu
from ptxlab.emulate.runtime import disk_cache

if TYPE_CHECKING:
    from ptxlab.emulate.jit.instruments.tracing import Flat
    from ptxlab.emulate.program.program import Program

HOT = 4_000_000
"""The work that a program may do in code of tier 0 before it is built again, in the background. It is counted, not
timed: two runs do the same on a busy computer. The unit is a warp-instruction as `ProgramSummary.block_work` weighs
them; this is about 0.1 seconds of most kernels."""
SHORT = 160
"""PTX instructions of a program whose function for diverged warps is built again, too, if nothing is checked.
`recursion`, which runs in it nearly all of the time, then takes three quarters of it."""
CHECKED = 8
"""How many times as much an instruction costs where it is checked."""
PRODUCTS = 128
"""Floating-point operations of a matrix product that take a CPU about as long as an ordinary warp-instruction."""
SPACES = ("global", "generic")
"""The spaces in which threads of several workers may be in each other's way."""


@dataclass(frozen=True)
class ProgramSummary:
    """Facts that launches need about a program's instructions, so that a process that recalls the code needs none."""

    block_work: list[int]
    """The work of each basic block, in warp-instructions; a matrix product is as many of them as it has operations."""
    instructions: int
    first: int
    """The first of the kernel."""
    scheduled: dict[str, bool]
    """See `rules.instructions.scheduled`."""
    contended: bool
    """Whether threads may change global memory by atomic operations."""

    @classmethod
    def of(cls, program: Program) -> ProgramSummary:
        from ptxlab.emulate.rules.instructions import scheduled

        codes = program.codes
        costs = [1 + (w.flops // PRODUCTS if w.type == "tensor" else 0) for w in (c.properties.work for c in codes)]
        block_work = [sum(costs[block.first : block.last]) for block in program.blocks]
        contended = any(code.properties.atomic and code.space in SPACES for code in codes)
        return cls(block_work, len(codes), program.blocks[program.entry].first, scheduled(codes), contended)


@dataclass(frozen=True)
class FunctionCode:
    """One of a program's two functions, as it is kept in the cache."""

    blob: bytes
    state_size: int
    sites: int
    tier: int
    """Code of tier 1 runs up to three times as fast, or no faster."""
    rules: tuple[RuleObject, ...]
    """The rules that are loaded beside it."""
    clears: bool
    """Whether warps begin with registers that must be cleared, or the carry flag."""
    summary: ProgramSummary


class Loaded:
    """Machine code of a program, and what the runner must know of it.

    Code and rules begin in tier 0; `ran` adds up the work done in that and replaces it when it is hot. The function for
    diverged warps is built when it is first needed. What runs stays alive until it is done.

    tier: "quick" code is never replaced, "optimized" code is of tier 1 from the beginning.
    """

    def __init__(
        self, program: Program, cpu: Cpu, instruments: Instruments, rows: Rows, entry: str, tier: str | None
    ) -> None:
        self.program, self.cpu, self.instruments, self.rows, self.entry = program, cpu, instruments, rows, entry
        self.tier, self.first = tier, TIER_1 if tier == "optimized" else TIER_0
        self.images: dict[tuple[int, int, int], object] = {}
        """What launches have in common, by the size of their blocks (see `running.memory_image`)."""
        self._functions: dict[str, FunctionCode] = {}
        self._diverged: native.Code | None = None
        self._which = ""
        """Which function for diverged warps that is."""
        self._lock = forks.lock()  # held for a moment only: LLVM's thread takes it too
        self._making = forks.lock()
        self._work = 0
        recalled = self._recalled("converged")
        self.cached = recalled is not None
        self.summary = recalled.summary if recalled is not None else ProgramSummary.of(program)
        self.block_work, self.scheduled = np.array(self.summary.block_work, np.int64), self.summary.scheduled
        self.bulk = self.scheduled["Context.bulk_copies"]
        function, self.converged, rules = self._made("converged", self.first, self.first)
        self.state_size, self.sites, self.clears = function.state_size, function.sites, function.clears
        self._settled = function.tier == TIER_1 and rules == TIER_1
        """Whether there is no better code, or it is being made."""
        self._improving = False

    def _made(self, which: str, tier: int, rules: int) -> tuple[FunctionCode, native.Code, int]:
        """One of the functions ("converged", "diverged", or "partial", blocks of that one), of this tier or better;
        its code, loaded with rules of that tier or better; and the lowest tier of the rules."""
        function = self._recalled(which)
        if function is None or function.tier < tier:
            function, (blobs, lowest) = self._built(which, tier, rules)
            self._functions[which] = function
            disk_cache.remember(self._name(which), {"function": function}, b"")
        else:
            blobs, lowest = object_codes(function.rules, rules)
        return function, native.Code([function.blob, *blobs], self.cpu), lowest

    def _built(self, which: str, tier: int, rules: int) -> tuple[FunctionCode, tuple[list[bytes], int]]:
        """Builds one of the functions; its code, and the object codes of its rules."""
        from ptxlab.emulate.jit.building.linked_rules import rule_objects, scheduler
        from ptxlab.emulate.jit.building.module_text import module_text

        diverged = which != "converged"
        small = diverged or tier == TIER_0
        only = self._diverging if which == "partial" else None
        module = module_text(
            self.program, self.cpu, self.instruments, self.rows, diverged=diverged, small=small, only=only
        )
        building = native.build(module.text, self.cpu, tier)
        wanted = rule_objects(module.declared, self.program, self.instruments, self.cpu)
        if which == "converged":
            checked, traced = bool(self.instruments.checks), self.instruments.trace
            wanted.append(scheduler(self.scheduled, checked, traced, self.cpu))
        codes = object_codes(wanted, rules)  # translated, in Python, while LLVM builds
        function = FunctionCode(
            building(), module.state_size, module.sites, tier, tuple(wanted), module.clears, self.summary
        )
        return function, codes

    def _name(self, which: str) -> str:
        return self.entry if which == "converged" else f"{self.entry}-{which}"

    def _recalled(self, which: str) -> FunctionCode | None:
        """A function that this process has met, or one from the cache on disk."""
        if which not in self._functions:
            found = disk_cache.recall(self._name(which))
            if found is None:
                return None
            self._functions[which] = found[0]["function"]
        return self._functions[which]

    @functools.cached_property
    def recorded(self) -> Flat:
        """What its recorded steps have beside them."""
        from ptxlab.emulate.jit.instruments.tracing import Flat

        return Flat(self.program)

    @functools.cached_property
    def _diverging(self) -> frozenset[int] | None:
        """The blocks in which lanes may diverge, if they are few. A recorded warp stays in the diverged function."""
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
            if code is None or (whole and self._which == "partial"):
                which = "diverged" if whole or self._diverging is None else "partial"
                function, code, rules = self._made(which, min(self.first, self._best_diverged), self.first)
                with self._lock:
                    self._diverged, self._which = code, which
                    self._settled = self._settled and rules == TIER_1 and function.tier >= self._best_diverged
            return code

    @property
    def _best_diverged(self) -> int:
        """The best tier in which the function for diverged warps is built. Its text is that of tier 0 anyway."""
        return TIER_1 if self.summary.instructions <= SHORT and not self.instruments.checks else TIER_0

    def ran(self, work: int) -> None:
        """Notes that the code did so much work; hot code of tier 0 is built again while the caller goes on."""
        with self._lock:
            self._work += work * (CHECKED if self.instruments.checks else 1)
            hot = not self._settled and self.tier is None and self._work > HOT
            if hot:
                self._settled = self._improving = True
        if hot:
            llvm_thread.later(self.improve)

    def improve(self) -> None:
        """Builds code of tier 1 now, for later launches, and for one that runs from its next block on. Diverged warps
        of longer programs keep tier 0, with rules of tier 1: they are few, and their function takes longest."""
        self._settled = True
        _, converged, _ = self._made("converged", TIER_1, TIER_1)
        with self._lock:
            which = self._which
        diverged = self._made(which, self._best_diverged, TIER_1)[1] if which else None
        with self._lock:
            self.converged = converged
            self._improving = False
            if which and which == self._which:
                self._diverged = diverged

    def forget_threads(self) -> None:
        """Forgets, in the child after a fork, what other threads were building: it will never be ready."""
        if self._improving:
            self._settled = self._improving = False


_recent: OrderedDict[tuple[str, str | None], Loaded] = OrderedDict()
_lock = forks.lock()


def _forget_threads() -> None:
    for loaded in tuple(_recent.values()):
        loaded.forget_threads()


forks.in_child(_forget_threads)
MOST_LOADED = 64
"""Programs whose machine code stays loaded; those used longest ago go first."""


def prepare(
    program: Program,
    cpu: Cpu | None = None,
    instruments: Instruments | None = None,
    rows: Rows | None = None,
    tier: str | None = None,
) -> tuple[Loaded, bool]:
    """Machine code of a program for blocks whose threads lie in these rows; and whether it was found, in memory or on
    disk. Programs whose texts differ in comments and line numbers share it: what faults say is taken from the text."""
    cpu, instruments, rows = cpu or native.host(), instruments or Instruments(), rows or Rows()
    what = f"{instruments.key} {program.shared_gap} {tuple(rows)}"
    what += " quick" * (tier == "quick")  # has a place of its own on disk, where the others' code may be of tier 1
    entry = native.key(program.digest, program.name, program.arch, cpu, what)
    with _lock:
        found = _recent.get((entry, tier))
        if found is not None:
            _recent.move_to_end((entry, tier))
            return found, True
    loaded = Loaded(program, cpu, instruments, rows, entry, tier)
    with _lock:
        _recent[entry, tier] = loaded
        while len(_recent) > MOST_LOADED:
            _recent.popitem(last=False)
    return loaded, loaded.cached
