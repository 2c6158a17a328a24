"""Which pieces of a program are segments (see `segments`)."""

from __future__ import annotations

from ptxlab.emulate.jit.analysis.if_conversion import sides_of
from ptxlab.emulate.jit.control.converged_flow import ConvergedFlow
from ptxlab.emulate.jit.control.regions import Regions
from ptxlab.emulate.jit.control.warp_loop import Segment
from ptxlab.emulate.jit.emitter.emitter import Emitter
from ptxlab.emulate.jit.emitter.part import Part
from ptxlab.emulate.program.basic_blocks import waits_for_others
from ptxlab.emulate.program.flat_program import Block
from ptxlab.emulate.program.liveness import successors
from ptxlab.emulate.rules.scheduling_rounds import AT_BARRIER, EXITED, NONE, UNKNOWN, YIELDED
from ptxlab.isa.actions import BODIED, Action

LONGEST = 64
"""PTX instructions of a segment. In longer ones what surrounds them counts for little."""
LOADS = 5
"""Loads and stores of one of more than half that length. LLVM moves what is computed of many loads behind them all, and
keeps it on the stack."""
WHOLE = 128
"""PTX instructions of a segment that is all of a CTA. If it is too long for the others, only CTAs of which all is known
before run in it."""
IN_ALL = 256
"""PTX instructions of all segments together: they are emitted a second time."""


class SegmentSearch(Part):
    """Finds segments. barriers_pass: see `WarpLoop.barriers_pass`."""

    def __init__(self, e: Emitter, converged: ConvergedFlow, regions: Regions, *, barriers_pass: bool) -> None:
        super().__init__(e)
        self.converged, self.regions, self.barriers_pass = converged, regions, barriers_pass

    def find(self) -> list[Segment]:
        """All segments."""
        found, left = list[Segment](), IN_ALL
        for start in self._starts():
            segment = self._segment(start) or self._segment(start, stays=True)
            if segment is None:
                continue
            left -= self._size(segment.blocks)
            if left < 0:
                break
            found.append(segment)
        return found

    def _starts(self) -> list[int]:
        """The blocks where turns begin."""
        behind = [b.next for b in self.program.blocks if self._ended(b) >= AT_BARRIER]
        behind += [code.target for code in self.program.codes if code.ends_turn]
        return list(dict.fromkeys([self.program.entry, *sorted(behind)]))

    def _ended(self, block: Block) -> int:
        """How the turn of a whole warp ends with a block; `NONE` where it does not, or not like that."""
        code = self.program.codes[block.last - 1]
        if code.ends_thread or code.leaves >= 0:
            return EXITED
        if code.ends_turn:
            return YIELDED
        return self.converged.barrier(code) if code.action is Action.BARRIER and block.next >= 0 else NONE

    def _size(self, blocks: tuple[int, ...]) -> int:
        return sum(self.program.blocks[b].last - self.program.blocks[b].first for b in blocks)

    def _too_long(self, blocks: tuple[int, ...]) -> bool:
        """Whether blocks are too long to run in them whatever is known."""
        size = self._size(blocks)
        if size <= LONGEST // 2:
            return False
        codes = [
            c for b in blocks for c in self.program.codes[self.program.blocks[b].first : self.program.blocks[b].last]
        ]
        return size > LONGEST or sum(code.properties.plain for code in codes) > LOADS

    def _segment(self, start: int, *, stays: bool = False) -> Segment | None:
        """The segment that starts at a block, if it is one. stays: what follows the end of a loop is not in it."""
        left = dict[int, int]()
        order, open_, ends, behind = list[int](), set[int](), set[int](), set[int]()
        todo = [(start, False)]
        while todo:  # depth first: a way back to a block that is open is a loop
            at, done = todo.pop()
            if done:
                open_.discard(at)
                continue
            if at in open_:
                return None
            if at in order:
                continue
            block = self.program.blocks[at]
            ended = self._ended(block)
            if not self._simple(block, ended):
                return None
            order.append(at)
            if self._size(tuple(order)) > WHOLE:
                return None
            if ended != NONE:
                ends.add(ended)
                behind.add(self._behind(block, ended))
            if ended == YIELDED:
                if block.next >= 0:
                    left[at] = block.next
            elif ended < AT_BARRIER:
                open_.add(at)
                if stays and self._ends_loop(block):
                    left[at] = block.next
                todo += [(at, True), *((s, False) for s in successors(self.program, at) if s != left.get(at))]
        if len(ends) != 1 or any(self.e.loops.of[at] or at in order for at in left.values()):
            return None
        goes_on = [at for at in order if self._ended(self.program.blocks[at]) < AT_BARRIER]
        goes_back = any(s <= at for at in goes_on for s in successors(self.program, at))
        ended = ends.pop()
        whole = start == self.program.entry and ended == EXITED and not goes_back
        one = behind.pop() if len(behind) == 1 else UNKNOWN
        blocks = (start, *sorted(set(order) - {start}))
        sure = ended != YIELDED and self._too_long(blocks)
        if (sure and not whole) or (ended == YIELDED and one != self.e.pc(start)):
            return None
        return Segment(blocks, ended, goes_back, whole, sure, one, tuple(sorted(set(left.values()))))

    def _behind(self, block: Block, ended: int) -> int:
        """The program counter at which warps go on behind an end, unless a rule lets them or they exit."""
        if ended == YIELDED:
            return self.e.pc(self.program.codes[block.last - 1].target)
        return self.e.pc(block.next) if ended >= AT_BARRIER and self.barriers_pass else UNKNOWN

    def _ends_loop(self, block: Block) -> bool:
        """Whether whole warps go on at the head of a loop, or leave it."""
        last = self.program.codes[block.last - 1]
        uniform = last.guard is not None and self.e.uniform[last.guard[0]]
        return uniform and last.action is Action.BRANCH and last.target <= block.index and block.next >= 0

    def _simple(self, block: Block, ended: int) -> bool:
        """Whether a block is of the kinds that segments may have."""
        codes = self.program.codes[block.first : block.last]
        if waits_for_others(codes[0]):
            return False
        for code in codes:
            if code.form.op.kind in BODIED and not code.properties.atomic:
                return False
        last = codes[-1]
        if last.leaves >= 0 and (last.guard is None or block.next < 0):
            return False
        if ended != NONE or not last.properties.ends_block or last.action is Action.WARP_BARRIER:
            return True
        if last.action is not Action.BRANCH:
            return False
        lanes_part = last.guard is not None and not self.e.uniform[last.guard[0]]
        if not lanes_part or sides_of(self.program, self.e.scalars, self.e.alive, block, last) is not None:
            return True
        return block.index not in self.regions.of
