"""If-conversion: a converged warp runs the short sides of a branch one after the other, under masks, and does not
diverge.

`if (t < w) s[t] += s[t + w];` is a branch around a few lines. Where the lanes disagree, the function for converged
warps runs the lines under a mask for those that take them, and continues with all. The function for diverged warps
would run the same blocks for the same lanes in the same order (smallest program counter first), but it would have to
spread registers over lanes and choose groups.
"""

from __future__ import annotations

from typing import NamedTuple

from ptxlab.emulate.program.flat_program import Block, Code
from ptxlab.emulate.program.liveness import writes
from ptxlab.emulate.program.program import Program
from ptxlab.isa.actions import Action

LONGEST = 32
"""PTX instructions of a side. They are emitted twice: for all lanes and for some."""


class Sides(NamedTuple):
    """What lanes do between a branch and `join`, where all of them continue: those that do not branch run the blocks
    `falls`, those that do `jumps`, where there are any."""

    join: int
    falls: tuple[Block, ...]
    jumps: tuple[Block, ...]


def sides_of(program: Program, scalars: list[bool], alive: list[int], block: Block, code: Code) -> Sides | None:
    """The sides of the branch that ends a block; None where the warp has to diverge. scalars: the registers that are
    kept as scalars."""
    if code.action is not Action.BRANCH or block.next < 0:
        return None
    falls, jumps = _follow(program, block.next), _follow(program, code.target)
    join = next((at for at in falls if at in jumps), -1)
    if join < 0:
        return None
    ways = falls[: falls.index(join)], jumps[: jumps.index(join)]
    first, second = sorted(ways)  # one behind the other
    if [block.index, *first, *second, join] != sorted({block.index, *first, *second, join}):
        return None
    for side, other in (ways, ways[::-1]):  # what is kept as a scalar may only be written if nobody reads it any more
        needed = alive[join]
        for at in other:
            needed |= alive[at]
        for at in side:
            for each in program.codes[program.blocks[at].first : program.blocks[at].last]:
                if any(scalars[r] and needed >> r & 1 for r in writes(each)):
                    return None
    sides = (tuple(program.blocks[at] for at in side) for side in ways)
    return Sides(join, *sides)


def only_side(program: Program, block: Block, code: Code) -> Sides | None:
    """The side of a branch by which lanes exit, for the others, which then exit there as well."""
    side = program.blocks[block.next]
    ordered = block.index < side.index < code.target
    return Sides(code.target, (side,), ()) if ordered and _onward(program, side) == code.target else None


def _follow(program: Program, start: int) -> list[int]:
    """The blocks that a side may have from this one on, and the one behind them."""
    found, size = [start], 0
    while (to := _onward(program, program.blocks[found[-1]])) > found[-1]:
        size += program.blocks[found[-1]].last - program.blocks[found[-1]].first
        if size > LONGEST:
            break
        found.append(to)
    return found


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
