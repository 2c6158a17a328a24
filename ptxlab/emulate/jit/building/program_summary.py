"""What launches must know of a program's instructions: found when it is built, and cached beside its code."""

from __future__ import annotations

from typing import NamedTuple

from ptxlab.emulate.program.program import Program

PRODUCTS = 128
"""Floating-point operations of a matrix product that take a CPU about as long as an ordinary warp-instruction."""
SPACES = ("global", "generic")
"""In which threads of several workers may be in each other's way."""


class ProgramSummary(NamedTuple):
    """See the first line of this module. A process that recalls the code needs no instructions."""

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
        """Of a program's instructions."""
        from ptxlab.emulate.rules.instructions import scheduled

        codes = program.codes
        costs = [1 + (w.flops // PRODUCTS if w.type == "tensor" else 0) for w in (c.properties.work for c in codes)]
        block_work = [sum(costs[block.first : block.last]) for block in program.blocks]
        contended = any(code.properties.atomic and code.space in SPACES for code in codes)
        return cls(block_work, len(codes), program.blocks[program.entry].first, scheduled(codes), contended)
