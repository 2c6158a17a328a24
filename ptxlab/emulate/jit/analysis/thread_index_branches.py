"""Branches whose condition follows from `%tid.x` alone: which lanes take a side is known when the kernel is built.

Such are the steps of a tree reduction in shared memory, `if (t < 16) s[t] += s[t + 16];`, and `if (t == 0) y[b] =
s[0];` at its end. The stepping engine's arithmetic computes the conditions, for all warps that a CTA of one row can
have.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ptxlab.emulate.jit.analysis.if_conversion import only_side, sides_of
from ptxlab.emulate.jit.llvm.ir_text import W
from ptxlab.emulate.program.block_order import reachable
from ptxlab.emulate.program.flat_program import Block, Code, Inverted, Literal, Reg, Source, Special
from ptxlab.emulate.program.lane_types import DTYPE
from ptxlab.emulate.program.liveness import bit_set, reads, successors, writes
from ptxlab.emulate.program.program import Program
from ptxlab.emulate.step.lanes import Lanes
from ptxlab.isa import types
from ptxlab.isa.actions import Action
from ptxlab.targets import WARPS_PER_BLOCK

Numbers = np.ndarray[Any, Any]


class ThreadIndexBranch(NamedTuple):
    """A side that the same lanes of some warps take, and no lane of others. The block `ahead` ends with the branch, and
    all go on at `join`, a barrier or an exit. first: the instructions ahead that the side needs; lanes, warps: which
    take it, bit sets."""

    ahead: Block
    side: Block
    join: Block
    first: tuple[Code, ...]
    lanes: int
    warps: int


class SideFinder:
    """Finds such sides in a program. scalars: the registers that are kept as scalars; alive: those that may be read
    after the start of each block."""

    def __init__(self, program: Program, scalars: list[bool], alive: list[int]) -> None:
        self.program, self.scalars, self.alive = program, scalars, alive
        self.lanes = _Lanes(program)

    def side(self, start: int) -> ThreadIndexBranch | None:
        """That of the branch at the end of a block, if it is one."""
        program, alive = self.program, self.alive
        ahead = program.blocks[start]
        *before, branch = program.codes[ahead.first : ahead.last]
        if branch.action is not Action.BRANCH or branch.guard is None or ahead.next < 0:
            return None
        leaves = branch.leaves >= 0
        sides = only_side(program, ahead, branch) if leaves else sides_of(program, self.scalars, alive, ahead, branch)
        if sides is None or len(sides.falls) + len(sides.jumps) != 1:
            return None
        (side,) = sides.falls + sides.jumps
        join = program.blocks[sides.join]
        written = bit_set([r for code in before for r in writes(code)])
        if join.last - join.first != 1 or alive[join.index] & written or not all(_only_computes(c) for c in before):
            return None
        needed, first = alive[side.index], list[Code]()
        for code in reversed(before):
            if needed & bit_set(writes(code)):
                first.insert(0, code)
                needed |= bit_set(reads(code))
        masks = self.lanes.masks(branch, jumps=bool(sides.jumps))
        taking = {warp: lanes for warp, lanes in enumerate(masks) if lanes}
        if len(set(taking.values())) != 1:
            return None
        return ThreadIndexBranch(ahead, side, join, tuple(first), next(iter(taking.values())), bit_set(taking))


def _only_computes(code: Code) -> bool:
    """Whether an instruction does no more than to write its destinations."""
    return code.form.op.kind == "pure" and code.form.op.sem is not None and code.copy is None


class _Lanes:
    """What follows from `%tid.x` alone, as numbers for the lanes of each warp."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.writers = dict[int, list[Code]]()
        for code in program.codes:
            for r in writes(code):
                self.writers.setdefault(r, []).append(code)

    def masks(self, branch: Code, *, jumps: bool) -> list[int]:
        """For each warp the lanes that jump, or that do not."""
        assert branch.guard is not None
        number, inverted = branch.guard
        out, machine = [], Lanes()
        for warp in range(WARPS_PER_BLOCK):
            self.known = dict[tuple[int, int], Numbers | None]()
            self.tid = (np.arange(W) + W * warp).astype(DTYPE["i32"])
            with np.errstate(all="ignore"):
                holds = self._register(machine, number, branch)
            if holds is None:
                return []
            out.append(sum(1 << k for k in range(W) if bool(holds[k]) ^ inverted == jumps))
        return out

    def _register(self, machine: Lanes, r: int, reader: Code) -> Numbers | None:
        """What an instruction reads in a register; None where that is not known."""
        writer = self._writer(r, reader)
        if writer is None:
            return None
        key = writer.index, r
        if key not in self.known:
            self.known[key] = self._written(machine, writer, r)
        return self.known[key]

    def _writer(self, r: int, reader: Code) -> Code | None:
        """The instruction that has written what another one reads: the last one before it in its block, or the only
        one that there is, which all threads have executed that come there."""
        writers = self.writers.get(r, [])
        before = [code for code in writers if code.block == reader.block and code.index < reader.index]
        if before or len(writers) != 1:
            return before[-1] if before else None
        (writer,), program = writers, self.program
        without = writer.block
        met = reachable([program.entry], lambda at: [] if at == without else successors(program, at))
        return None if reader.block in {*met, without} else writer

    def _written(self, machine: Lanes, code: Code, r: int) -> Numbers | None:
        """What an instruction writes to a register."""
        form, sem = code.form, code.form.op.sem
        if code.guard is not None or sem is None or not _only_computes(code):
            return None
        values = [self._read(machine, code, *each) for each in zip(code.sources, code.source_types, strict=True)]
        if any(value is None for value in values):
            return None
        found = sem(machine, form, *values)
        found = found[code.dests.index(Reg(r))] if len(code.dests) > 1 else found
        return found if found.dtype == DTYPE[self.program.registers[r].lane] else None

    def _read(self, machine: Lanes, code: Code, source: Source | None, type_: str) -> Numbers | None:
        """An operand, if it needs no conversion."""
        value: Numbers | None = None
        if isinstance(source, Inverted):
            value = self._register(machine, source.operand.index, code)
            return None if value is None else ~value
        if isinstance(source, Literal) and source.kind == "int" and type_ in types.INTEGERS:
            value = machine.const(types.lane(type_), source.as_type(type_))
        elif isinstance(source, Special) and source.name == "%tid.x":
            value = self.tid
        elif isinstance(source, Reg):
            value = self._register(machine, source.index, code)
        fits = value is not None and (type_ == "any" or value.dtype == DTYPE[types.lane(type_)])
        return value if fits else None
