"""Regions that a warp runs diverged without leaving the function for converged warps.

A region is what lies between a branch that lanes take differently and its immediate post-dominator, the join: a loop
that lanes leave one by one, or an `if` with its sides. Each of its blocks has a second copy, under a mask, and a word
that tells which lanes wait to run it:

    for each block of the region, by rising program counter:
        if lanes wait at it: they run it, and wait at the blocks where it leads them;
                             if some of them go backwards, go on at the block where they wait
    all lanes are at the join

This is the order that `ptxlab.emulate.rules.turns` asks for, smallest program counter first, with everything about it
decided when the kernel is built. Where the rule gives turns otherwise (lanes have made `PATIENCE` rounds), or where the
quantum is spent, each lane gets its program counter and the function for diverged warps goes on.

Registers that are scalars and that the region writes to are kept for all lanes in it. Those that are read at the join
have to be the same in all lanes there, or the warp stays diverged.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ptxlab.emulate.jit.divergence import Region, regions, size_of
from ptxlab.emulate.jit.irtext import COLD, W
from ptxlab.emulate.jit.part import Part
from ptxlab.emulate.jit.scattered import LARGE
from ptxlab.emulate.jit.sides import simple
from ptxlab.emulate.program.basic_blocks import waits_for_others
from ptxlab.emulate.program.liveness import bit_set, successors, writes
from ptxlab.emulate.program.model import Block, Program
from ptxlab.emulate.rules.turns import PATIENCE
from ptxlab.emulate.runtime import state as S
from ptxlab.isa.actions import Action

if TYPE_CHECKING:
    from ptxlab.emulate.jit.emit import Emitter
    from ptxlab.emulate.jit.fast import Fast

MOST = 256
"""PTX instructions of a region. They are emitted twice."""
IN_ALL = 1024
"""PTX instructions of all regions together."""


@dataclass(frozen=True)
class Masked:
    """A region as it is emitted: its blocks by rising program counter, the block where all lanes meet, the scalars that
    it writes to."""

    number: int
    blocks: tuple[int, ...]
    join: int
    apart: frozenset[int]

    def label(self, block: int) -> str:
        """Where lanes run a block if any wait there."""
        return f"masked{self.number}.{block}" if block in self.blocks else f"joined{self.number}"

    def word(self, block: int) -> str:
        """The name of the word that tells which lanes wait at a block."""
        return f"%waiting{self.number}.{block}"


def masked_regions(program: Program, uniform: list[bool], scalars: list[bool]) -> dict[int, Masked]:
    """By the block of their branch, the regions that run under masks. Those with one join share the copies of their
    blocks where that saves half of them: of a chain of conditions, each region is the rest of the one before.

    uniform: the registers that are the same in all lanes of a converged warp; scalars: those that are kept as scalars.
    """
    if len(program.codes) >= LARGE:
        return {}
    by_join: dict[int, list[Region]] = {}
    for region in regions(program, uniform):
        if _fits(program, region):
            by_join.setdefault(region.join, []).append(region)
    found: dict[int, Masked] = {}
    known: dict[frozenset[int], Masked] = {}
    left = IN_ALL
    for join, alike in sorted(by_join.items(), key=lambda each: size_of(program, _union(each[1]))):
        union = _union(alike)
        shared = sum(size_of(program, blocks) for blocks in {r.blocks for r in alike}) > 2 * size_of(program, union)
        for region in alike:
            blocks = union if shared else region.blocks
            if blocks not in known:
                size = size_of(program, blocks)
                if size > min(MOST, left):
                    continue
                left -= size
                codes = [code for b in blocks for code in program.codes[program.blocks[b].first : _end(program, b)]]
                apart = frozenset(r for code in codes for r in writes(code) if scalars[r])
                known[blocks] = Masked(len(known), tuple(sorted(blocks)), join, apart)
            found[region.branch] = known[blocks]
    return found


def _union(alike: list[Region]) -> frozenset[int]:
    """The blocks of several regions."""
    return frozenset[int]().union(*(region.blocks for region in alike))


def _end(program: Program, block: int) -> int:
    return program.blocks[block].last


def _fits(program: Program, region: Region) -> bool:
    """Whether all that lanes do in a region concerns themselves alone, and its blocks run in the order of their program
    counters, the join last."""
    if not region.blocks or region.join <= max(region.blocks):
        return False
    inside = region.blocks | {region.join}
    if not {program.codes[program.blocks[region.branch].last - 1].target, program.blocks[region.branch].next} <= inside:
        return False
    for at in region.blocks:
        block = program.blocks[at]
        codes = program.codes[block.first : block.last]
        branches = codes[-1].action is Action.BRANCH
        if branches and codes[-1].leaves >= 0:
            return False
        if not all(simple(code) for code in (codes[:-1] if branches else codes)) or waits_for_others(codes[0]):
            return False
        if not set(successors(program, at)) <= inside:
            return False
    return True


class Regions(Part):
    """Writes the masked copies of blocks, and the ways in and out."""

    def __init__(self, e: Emitter, fast: Fast) -> None:
        super().__init__(e)
        self.fast = fast
        self.of = {} if e.slow else masked_regions(self.program, e.uniform, e.scalars)
        """The regions by the block of their branch."""
        self.entered: dict[int, Masked] = {}
        """Those that are needed, by their numbers."""

    def enter(self, block: Block) -> bool:
        """The lanes of a converged warp take the branch of a block differently: into the region, if it has one. Code
        that is built quickly has none, but the sites of its accesses: better code may follow it in a launch."""
        region = self.of.get(block.index)
        if region is None:
            return False
        self.entered[region.number] = region
        if self.e.small:
            return False
        self._enter(block, region)
        return True

    def _enter(self, block: Block, region: Masked) -> None:
        t, code = self.t, self.e.code
        jumps = self.active.bits
        falls = t.let(f"xor i32 {jumps}, {self.active.block_bits}")
        alive, own = self.e.alive_after(block), bit_set(region.apart)
        apart = [r for r in sorted(region.apart) if alive >> r & 1]
        for r in apart:
            self.e.registers.read(r)
        self.e.loops.change(self._kept(region), alive & ~own)
        for r in apart:
            self.e.registers.keep_lanes(r)
        waiting = {code.target: jumps, block.next: falls}  # different blocks: else lanes would not part here
        for each in region.blocks:
            t.do(f"store i32 {waiting.get(each, 0)}, ptr {region.word(each)}")
        t.do(f"store i32 {code.rounds}, ptr {self._rounds(region)}")
        first = min(code.target, block.next)
        if first > block.index:
            t.go(region.label(first))
        else:
            self._go_back(region, first)

    def emit(self) -> None:
        """The regions that are needed."""
        for region in self.entered.values():
            if self.e.small:
                for at in region.blocks:
                    self.e.plan(self.program.blocks[at])
                continue
            self.e.words += [self._rounds(region), *map(region.word, region.blocks)]
            self.e.registers.apart = region.apart
            self.e.registers.own = self.e.registers.not_needed([*region.blocks, region.join])
            self.e.loops.begin(self._kept(region))
            for at in region.blocks:
                self._block(region, self.program.blocks[at])
            self.e.registers.apart, self.e.registers.own = frozenset(), 0
            self._join(region)
            self._give_up(region)

    def _block(self, region: Masked, block: Block) -> None:
        """The copy of a block for the lanes that wait at it."""
        t = self.t
        t.at(region.label(block.index))
        bits = t.let(f"load i32, ptr {region.word(block.index)}")
        follows, run = region.blocks.index(block.index) + 1, t.label("run")
        after = region.label(region.blocks[follows] if follows < len(region.blocks) else region.join)
        t.do(f"br i1 {t.let(f'icmp eq i32 {bits}, 0')}, label %{after}, label %{run}")
        t.at(run)
        t.do(f"store i32 0, ptr {region.word(block.index)}")
        self._forget_rounds(region, bits)
        self.e.plan(block)
        self.e.begin(bits, partly=True)
        self.e.count(block, bits)
        for code in self.program.codes[block.first : block.last]:
            self.e.instruction(code)
            if code.action is Action.BRANCH:
                for instrument in self.e.instruments:
                    instrument.ends(code)
            else:
                self.e.execution.emit(code)
        self.e.registers.flush(self.e.alive_after(block))
        self._lead_on(region, block, after)

    def _lead_on(self, region: Masked, block: Block, after: str) -> None:
        """The end of a block: its lanes wait at its successors. The region goes on at the label `after`, unless some
        have gone backwards."""
        t, code = self.t, self.e.code
        ways = {block.next: self.active.block_bits}
        if code.action is Action.BRANCH:
            for instrument in self.e.instruments:
                instrument.branches(self.m.const("i32", self.e.pc(code.target)))
            falls = t.let(f"xor i32 {self.active.bits}, {self.active.block_bits}")
            if code.guard is None:
                ways = {code.target: self.active.bits}
            elif code.target != block.next:
                ways = {code.target: self.active.bits, block.next: falls}
            if code.rounds:
                rounds = t.let(f"select i1 {self.active.any()}, i32 {code.rounds}, i32 0")
                t.bump(self._rounds(region), "add i32", rounds)
        for successor, lanes in ways.items():
            if successor != region.join:
                t.bump(region.word(successor), "or i32", lanes)
        for successor in sorted(ways):
            if successor <= block.index:
                with t.ends_unless(t.let(f"icmp eq i32 {ways[successor]}, 0")):
                    self._go_back(region, successor)
        t.go(after)

    def _go_back(self, region: Masked, block: int) -> None:
        """Lanes have gone back to a block, which is next if the rule of turns and the quantum allow it."""
        t = self.t
        left = t.let(f"icmp sge i64 {t.let('load i64, ptr %quantum.at')}, 0")
        rounds = t.let(f"load i32, ptr {self._rounds(region)}")
        goes_on = t.let(f"and i1 {left}, {t.let(f'icmp ult i32 {rounds}, {PATIENCE}')}")
        t.do(f"br i1 {goes_on}, label %{region.label(block)}, label %given.up{region.number}{COLD}")

    def _join(self, region: Masked) -> None:
        """All lanes are at the join, where the warp converges if the registers that are scalars from there on allow
        it."""
        t = self.t
        t.at(region.label(region.join))
        alive, loops = self.e.alive[region.join], self.e.loops
        read = bit_set(region.apart) & alive
        name, count = self.e.scalar_table(read)
        if not count:
            t.go(loops.label(region.join))
            return
        loops.settle(read, vectors=True)
        live = t.let("load i32, ptr %live.at")
        same = t.let(f"call i1 @gather.up(ptr %ws, ptr {name}, i32 {count}, i32 {live}, i64 -1)")
        with t.ends_if(same):
            loops.change(loops.of[region.join], alive & ~read)
            loops.load(read)
            t.go(f"b{region.join}")
        t.go(f"given.up{region.number}")

    def _give_up(self, region: Masked) -> None:
        """The warp stays diverged: each lane gets its program counter, and all its registers."""
        t = self.t
        t.at(f"given.up{region.number}")
        self.e.loops.begin(self._kept(region))
        pcs = f"splat (i32 {self.e.pc(region.join)})"
        alive = self.e.alive[region.join]
        for block in region.blocks:
            lanes = self.active.lanes(t.let(f"load i32, ptr {region.word(block)}"))
            here = f"splat (i32 {self.e.pc(block)})"
            pcs = t.let(f"select <{W} x i1> {lanes}, <{W} x i32> {here}, <{W} x i32> {pcs}")
            alive |= self.e.alive[block]
        rounds = t.let(f"load i32, ptr {self._rounds(region)}")
        t.do(f"store i32 {rounds}, ptr {t.field(S.Warp, 'turns.rounds')}")
        self.e.loops.settle(alive & bit_set(region.apart), vectors=True)
        changed = 0
        for r in region.apart:
            alive &= ~(1 << r)
            changed |= 1 << r % 64
        self.fast.diverge(pcs, alive, changed)

    def _forget_rounds(self, region: Masked, bits: str) -> None:
        """Where all lanes have met, rounds are counted anew."""
        if any(self.program.codes[_end(self.program, b) - 1].rounds for b in region.blocks):
            t = self.t
            all_ = t.let(f"icmp eq i32 {bits}, {t.let('load i32, ptr %live.at')}")
            rounds = t.let(f"load i32, ptr {self._rounds(region)}")
            t.do(f"store i32 {t.let(f'select i1 {all_}, i32 0, i32 {rounds}')}, ptr {self._rounds(region)}")

    def _kept(self, region: Masked) -> int:
        """The registers that lie in locals in a region: those of the loops that it is in, or that are in it."""
        kept = 0
        for block in region.blocks:
            kept |= self.e.loops.of[block]
        return kept

    def _rounds(self, region: Masked) -> str:
        """The word that counts rounds of loops."""
        return f"%rounds{region.number}"
