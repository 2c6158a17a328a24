"""Which registers calls save and restore in vain.

A call of a function whose frame lies on the stack saves all registers of the caller (see `program.calls`). Of these
only some are read again after the call. The others' saves and restores are part of the program, and run where they are
counted or traced; other code leaves them out. To initcheck they count as made.
"""

from __future__ import annotations

from ptxlab.emulate.program.liveness import live_in, reads, successors, writes
from ptxlab.emulate.program.program import Program
from ptxlab.isa.actions import Action


def needless_saves(program: Program) -> frozenset[int]:
    """The indices of the codes that save registers before calls, or restore them after these, though nobody reads them
    until they are written anew: at first all of them, and then no more those whose register somebody reads."""
    found = frozenset(code.index for code in program.codes if code.saves >= 0 or code.restores >= 0)
    before = None
    while found and found != before:
        before, found = found, found & _needless(program, live_in(program, found), found)
    return found


def _needless(program: Program, alive: list[int], without: frozenset[int]) -> set[int]:
    """The same, if those of `without` are not run. alive: the registers that blocks may read then, as bit sets."""
    out = set[int]()
    for block in program.blocks:
        if program.codes[block.last - 1].action is not Action.CALL or block.next < 0:
            continue
        behind, dead, live = program.blocks[block.next], set[int](), 0
        for successor in successors(program, behind.index):
            live |= alive[successor]
        for code in reversed(program.codes[behind.first : behind.last]):
            if code.restores in writes(code) and not live >> code.restores & 1:
                dead.add(code.restores)
            if code.index not in without:
                for r in writes(code):
                    live &= ~(1 << r)
                for r in reads(code):
                    live |= 1 << r
        out.update(code.index for code in program.codes[block.first : block.last] if code.saves in dead)
        out.update(code.index for code in program.codes[behind.first : behind.last] if code.restores in dead)
    return out
