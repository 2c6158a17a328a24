"""What is known of a program's registers before code is emitted, found out once for all of its functions."""

from __future__ import annotations

import functools

from ptxlab.emulate.jit.affine_registers import affine_registers
from ptxlab.emulate.jit.aligned_registers import aligned_registers
from ptxlab.emulate.jit.analysis import uniform_registers
from ptxlab.emulate.jit.block_rows import Rows
from ptxlab.emulate.jit.forms import Form
from ptxlab.emulate.program.liveness import live_in
from ptxlab.emulate.program.model import Program
from ptxlab.emulate.program.saves import needless_saves


class Analyses:
    """Of a program for blocks whose threads lie in such rows. What is found is not to be changed."""

    def __init__(self, program: Program, rows: Rows) -> None:
        self.program, self.rows = program, rows

    @functools.cached_property
    def alive(self) -> list[int]:
        """The registers that may be read after the start of each block, as bit sets."""
        return live_in(self.program)

    @functools.cached_property
    def needless(self) -> frozenset[int]:
        """The instructions that save and restore registers in vain."""
        return needless_saves(self.program)

    @functools.cached_property
    def uniform(self) -> list[bool]:
        """Whether each register is the same in all lanes of a converged warp."""
        return uniform_registers(self.program, self.rows, self.alive)

    @functools.cached_property
    def aligned(self) -> dict[int, int]:
        """How many low bits are 0 in uniform registers."""
        return aligned_registers(self.program, self.uniform)

    @functools.cached_property
    def affine(self) -> dict[int, Form]:
        """The forms of registers whose lanes differ by constants."""
        return affine_registers(self.program, self.rows, self.uniform, self.alive, self.aligned)


def analyses(program: Program, rows: Rows) -> Analyses:
    """Those of a program, the same each time."""
    found = program.found.setdefault(rows, Analyses(program, rows))
    assert isinstance(found, Analyses)
    return found
