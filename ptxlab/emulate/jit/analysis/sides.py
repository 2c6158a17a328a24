"""Short sides of a branch: a converged warp runs one after the other under masks instead of diverging.

`if (t < w) s[t] += s[t + w];` is a branch around a few lines. Where the lanes disagree, the fast function runs the
lines under a mask for those that take them, and continues with all. The slow function would run the same blocks for the
same lanes in the same order (smallest program counter first), but it would have to spread registers over lanes and
choose groups.
"""

from __future__ import annotations

from typing import NamedTuple

from ptxlab.emulate.program.liveness import writes
from ptxlab.emulate.program.model import Block, Code
from ptxlab.emulate.program.program import Program
from ptxlab.isa.actions import Action

LONGEST = 32
"""PTX instructions of a side. They are emitted twice: for all lanes and for some."""


class Sides(NamedTuple):
    """What lanes do between a branch and `join`, where all of them continue: those that do not branch run the block
    `falls`, those that do `jumps`, where there is such a block."""

    join: int
    falls: Block | None
    jumps: Block | None


def sides_of(program: Program, scalars: list[bool], alive: list[int], block: Block, code: Code) -> Sides | None:
    """The sides of the branch that ends a block; None where the warp has to diverge. scalars: the registers that are
    kept as scalars."""
    if code.action is not Action.BRANCH or block.next < 0:
        return None
    falls, jumps = program.blocks[block.next], program.blocks[code.target]
    if falls is jumps:
        return Sides(falls.index, None, None) if falls.index > block.index else None
    if _onward(program, falls) == jumps.index:
        found = Sides(jumps.index, falls, None)
    elif _onward(program, jumps) == falls.index:
        found = Sides(falls.index, None, jumps)
    elif _onward(program, falls) == _onward(program, jumps) >= 0:
        found = Sides(_onward(program, falls), falls, jumps)
    else:
        return None
    ran = [side for side in (found.falls, found.jumps) if side is not None]
    if not all(block.index < side.index < found.join for side in ran):
        return None
    for side in ran:  # what is kept as a scalar may only be written if nobody reads it any more
        needed = alive[found.join]
        for other in ran:
            needed |= alive[other.index] if other is not side else 0
        for each in program.codes[side.first : side.last]:
            if any(scalars[r] and needed >> r & 1 for r in writes(each)):
                return None
    return found


def only_side(program: Program, block: Block, code: Code) -> Sides | None:
    """The side of a branch by which lanes exit, for the others, which then exit there as well."""
    side = program.blocks[block.next]
    ordered = block.index < side.index < code.target
    return Sides(code.target, side, None) if ordered and _onward(program, side) == code.target else None


def _onward(program: Program, block: Block) -> int:
    """The block that follows a short one without calls, exits, barriers or exchanges; -1 where it is not like that."""
    codes = program.codes[block.first : block.last]
    if len(codes) > LONGEST:
        return -1
    last = codes[-1]
    jumps = last.action is Action.BRANCH and last.guard is None
    if not all(simple(code) for code in (codes[:-1] if jumps else codes)):
        return -1
    return last.target if jumps else block.next


def simple(code: Code) -> bool:
    """Whether an instruction concerns the lanes that execute it and no other."""
    properties = code.properties
    kind = code.form.op.kind
    return not (properties.ends_block or properties.converges or kind in ("flow", "warp", "async"))
