"""Where lanes that diverge reconverge, from the graph alone: what the layout of a program is tested against."""

from __future__ import annotations

from ptxlab.emulate.program.flat_program import Block, Code
from ptxlab.emulate.program.reconvergence import onward


def reconvergence_points(codes: list[Code], blocks: list[Block]) -> list[int]:
    """For each block the one where lanes that diverge at its end reconverge: its immediate post-dominator, within one
    round of the loops around it. -1: they do not reconverge before they exit or return.

    A block that ends threads, returns or stops the kernel has none. From the end of a loop lanes may go wherever the
    loop leads to; from that of an endless one, nowhere.
    """
    count = len(blocks)
    after: list[set[int]] = []
    for block in blocks:
        ways = set(onward(codes, block))
        heads = {way for way in ways if way <= block.index}
        ways -= heads
        last = codes[block.last - 1]
        if last.leaves >= 0:
            ways.discard(last.target)
        for head in heads:
            ways |= _exits(codes, blocks, head, block.index)
        after.append(ways)
    # The graph has no cycle and its edges go upward, so one pass from the end finds all post-dominators.
    points = [count] * count

    def common(a: int, b: int) -> int:
        while a != b:
            if a < b:
                a = points[a]
            else:
                b = points[b]
        return a

    for at in reversed(range(count)):
        found: int | None = None
        for way in after[at]:
            found = way if found is None else common(found, way)
        points[at] = count if found is None else found
    return [-1 if found == count else found for found in points]


def _exits(codes: list[Code], blocks: list[Block], head: int, last: int) -> set[int]:
    """Where a loop leads to: the blocks behind its last that any of it may go to."""
    return {way for b in range(head, last + 1) for way in onward(codes, blocks[b]) if way > last}
