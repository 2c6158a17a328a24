"""What is known of a program's registers before code is emitted, found out once for all of its functions."""

from __future__ import annotations

import functools

from ptxlab.emulate.jit.affine.block_rows import Rows
from ptxlab.emulate.jit.affine.forms import Form
from ptxlab.emulate.jit.analysis.affine_registers import affine_registers, still_level
from ptxlab.emulate.jit.analysis.uniformity import uniform_registers
from ptxlab.emulate.program.liveness import live_in
from ptxlab.emulate.program.program import Program


class Analyses:
    """Of a program for blocks whose threads lie in such rows. What is found is not to be changed."""

    def __init__(self, program: Program, rows: Rows) -> None:
        self.program, self.rows = program, rows

    @functools.cached_property
    def alive(self) -> list[int]:
        """The registers that may be read after the start of each block, as bit sets."""
        return live_in(self.program)

    @property
    def uniform(self) -> list[bool]:
        """Whether each register is the same in all lanes of a converged warp."""
        return self._registers[0]

    @property
    def affine(self) -> dict[int, Form]:
        """The forms of registers whose lanes differ by constants."""
        return self._registers[1]

    @functools.cached_property
    def _registers(self) -> tuple[list[bool], dict[int, Form]]:
        """Both. A register that turns out to be affine with steps that are all 0 is uniform, and so is what
        follows from it: `row = tid / 32`, what is loaded at `first[row]`, a loop that ends at `first[row + 1]`."""
        program, rows, alive = self.program, self.rows, self.alive
        uniform = uniform_registers(program, rows, alive)
        affine = affine_registers(program, rows, uniform, alive)
        level = frozenset[int]()
        while found := {r for r, form in affine.items() if form.level}:
            level |= found
            wider = uniform_registers(program, rows, alive, level)
            if sum(wider) == sum(uniform) + len(found):
                break
            wider_affine = affine_registers(program, rows, wider, alive)
            if not still_level(program, rows, wider, wider_affine, level):
                break
            uniform, affine = wider, wider_affine
        return uniform, affine


def analyses(program: Program, rows: Rows) -> Analyses:
    """Those of a program, the same each time."""
    found = program.found.setdefault(rows, Analyses(program, rows))
    assert isinstance(found, Analyses)
    return found
