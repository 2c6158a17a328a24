"""The rest of a segment for a warp of which some lanes have exited, where lanes of most warps part.

    if (x[i] < 0) return;        if (x[i] > 0) y[i] = x[i];        if ((i + j) % 2) y[i] = x[i];
    y[i] = sqrtf(x[i]);

Nearly every warp then has lanes of both kinds, and for all of these the compiler emits a branch out of the kernel. So
what follows this branch in the segment has a second copy, under the mask of the lanes that are left. It ends where the
warp exits: nothing needs to be noted in its state, and the next warp, or the next CTA, follows in the segment.

Where indices decide, in another way than by a comparison of what is affine, that copy is for all warps. Then each comes
there, and where its rows lie is asked once for all of them (`loop_versioning`).
"""

from __future__ import annotations

from collections.abc import Callable

from ptxlab.emulate.jit.analysis.divergence import ask_data
from ptxlab.emulate.jit.analysis.if_conversion import simple
from ptxlab.emulate.jit.control.blocks import Blocks
from ptxlab.emulate.jit.control.control_flow import ControlFlow
from ptxlab.emulate.jit.control.warp_loop import ENDED, Segment
from ptxlab.emulate.jit.emitter.part import Part
from ptxlab.emulate.jit.llvm.ir_text import PROMOTED
from ptxlab.emulate.jit.translation.rule_calls import call, declaration
from ptxlab.emulate.program.block_order import reachable
from ptxlab.emulate.program.flat_program import Block, Code
from ptxlab.emulate.program.liveness import successors
from ptxlab.emulate.rules.lane_scheduling import count_ends
from ptxlab.emulate.rules.scheduling_rounds import EXITED
from ptxlab.emulate.runtime import state as S

LONGEST = 64
"""PTX instructions of such a copy."""


class PartialExits(Part):
    """Finds such blocks of a segment, and writes them."""

    def __init__(self, blocks: Blocks, block: Callable[[Block, str], None]) -> None:
        super().__init__(blocks.e)
        self.blocks, self.block = blocks, block
        self.ways: dict[int, list[tuple[str, str]]] = {}
        """For each block that has a copy: the lanes that come to it, and from which label."""
        self.counted: list[int] = []
        """The blocks of the segment of which the function counts what ran with some lanes."""
        self.expected = False
        """Whether lanes of most warps are expected to exit wherever some may."""
        self.lanes = ""
        """Those that are left in the block of which a copy is being written, if one is."""

    def plan(self, segment: Segment) -> None:
        """The blocks that a segment needs twice; none, if it is not that simple."""
        program, self.ways = self.program, {}
        ends = [program.codes[program.blocks[at].last - 1] for at in segment.blocks]
        starts = [program.blocks[c.block].next for c in ends if self._leaves(c)]
        copied = sorted(reachable([at for at in starts if at >= 0], lambda at: successors(program, at)))
        size = sum(program.blocks[at].last - program.blocks[at].first for at in copied)
        if segment.ended == EXITED and size <= LONGEST and all(self._fits(program.blocks[at]) for at in copied):
            self.ways = {at: [] for at in copied}
        self.counted = [at for at in copied if at in self.ways]

    def _leaves(self, code: Code) -> bool:
        """Whether some lanes of a warp may exit at an instruction, and others go on."""
        lanes_part = code.guard is not None and not self.e.uniform[code.guard[0]]
        return lanes_part and (code.leaves >= 0 or code.ends_thread)

    def parts(self, block: Block) -> bool:
        """Whether data decide which lanes exit at the end of a block, so that those that are left need a copy of what
        follows."""
        return block.next in self.ways and ask_data(self.program, [self.e.code])

    def thins(self, block: Block) -> bool:
        """Whether most warps have lanes that exit at the end of a block and others that do not, so that the copy is for
        all: which they are is no comparison of an affine register, whose lanes nearly always agree."""
        guard = self.active.guard
        if guard is None or guard.uniform or block.next not in self.ways:
            return False
        return self.expected or not (guard.bits or self.parts(block))

    def _fits(self, block: Block) -> bool:
        """Whether lanes do nothing but what concerns themselves, and go forward."""
        *codes, last = self.program.codes[block.first : block.last]
        forward = all(to > block.index for to in successors(self.program, block.index))
        return forward and all(map(simple, codes if ControlFlow.is_control(last) else [*codes, last]))

    def counters(self) -> list[str]:
        """Names of these counts."""
        return [name(at) for at in self.counted for name in (self.ran, self.threads)]

    @staticmethod
    def ran(block: int) -> str:
        """How many warps have run the copy of a block."""
        return f"%{PROMOTED}.copy{block}"

    @staticmethod
    def threads(block: int) -> str:
        """How many of their lanes have, and how many have exited by a branch to it."""
        return f"%{PROMOTED}.lanes{block}"

    def count(self, block: Block, bits: str) -> None:
        """These lanes run the copy of a block."""
        t = self.t
        t.bump(self.ran(block.index), t.add, "i64", 1)
        t.bump(self.threads(block.index), t.add, "i64", self.active.count(bits))
        if block.index in self.program.exits:
            others = ~(1 << self.program.exits.index(block.index))
            t.bump(t.field(S.Warp, "ended"), t.and_, "i32", others)

    def exits(self, code: Code) -> None:
        """The active lanes exit by a branch to a block (see `ControlFlow.end_by_branch`)."""
        if code.leaves < 0:
            return
        t = self.t
        t.bump(self.threads(code.target), t.add, "i64", self.active.count())
        ended = t.select(self.active.any(), "i32", 1 << code.leaves, 0)
        t.bump(t.field(S.Warp, "ended"), t.or_, "i32", ended)

    def goes_to(self, block: int, lanes: str) -> None:
        """These lanes, all that are left, go on at a block."""
        self.ways[block].append((lanes, self.t.here))
        self.t.go(f"partial.{block}")

    def emit(self) -> None:
        """The copies of the blocks to which lanes come."""
        t = self.t
        for at, ways in self.ways.items():
            if ways:
                self.blocks.plan(self.program.blocks[at])
                self.e.registers.own = self.e.registers.not_needed([])  # those that have exited read nothing
                t.at(f"partial.{at}")
                self.lanes = t.phi("i32", *ways)
                self.block(self.program.blocks[at], self.lanes)
        self.e.registers.own, self.lanes = 0, ""
        if any(self.ways.values()):
            t.at(ENDED)
            ended = t.field(S.Warp, "ended")
            with t.unless(t.eq("i32", t.load("i32", ended), 0), cold=True):
                t.declared.add(declaration(count_ends))
                t.do(call(count_ends, "%ctx", "%ws"))
                t.store("i32", 0, ended)
            t.go("warp.done")
