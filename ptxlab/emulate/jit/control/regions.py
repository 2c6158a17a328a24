"""Regions that a warp runs diverged without leaving the function for converged warps.

A region is what lies between a branch that lanes take differently and its immediate post-dominator, the join: a loop
that lanes leave one by one, or an `if` with its sides. Each of its blocks has a second copy, under a mask, and a word
that tells which lanes wait to run it:

    for each block of the region, by rising program counter:
        if lanes wait at it: they run it, and wait at the blocks where it leads them;
                             if some of them go backwards, go on at the block where they wait
    all lanes are at the join

This is the order that `ptxlab.emulate.rules.lane_scheduling` asks for, smallest program counter first, with everything
about it decided when the kernel is built. Where the rule gives turns otherwise (lanes have made `PATIENCE` rounds), or
where the slice is spent, each lane gets its program counter and the function for diverged warps goes on. With the
warp's next slice the region goes on where its lanes are by then, if they are all in it.

A call in a region is a jump to a block of the region, and a return leads each lane to one of the blocks behind calls. A
function that diverges in itself, as a recursive one does, is a region, too: all of its blocks, until all lanes are at
one block behind a call of it. Lanes that return to some other block end the region.

Registers that are scalars and that the region writes to are kept for all lanes in it. Those that are read at the join
have to be the same in all lanes there, or the warp stays diverged.
"""

from __future__ import annotations

from ptxlab.emulate.jit.control.converged_flow import ConvergedFlow
from ptxlab.emulate.jit.control.masked_regions import MaskedRegion, masked_regions
from ptxlab.emulate.jit.emitter.emitter import Part
from ptxlab.emulate.jit.llvm.ir_text import COLD, W
from ptxlab.emulate.jit.llvm.values import Value
from ptxlab.emulate.jit.translation.rule_calls import call
from ptxlab.emulate.program.flat_program import Block, Code
from ptxlab.emulate.program.liveness import bit_set, successors
from ptxlab.emulate.rules.diverging import gather_up
from ptxlab.emulate.rules.lane_scheduling import PATIENCE
from ptxlab.emulate.runtime import state as S
from ptxlab.isa.actions import Action

LEFT, WAITS = "left", "waits"
"""How a region is left: some lanes have returned to other blocks, which their program counters already say; some wait
for others, so that the warp does not go on in it."""


class Regions(Part):
    """Writes the masked copies of blocks, and the ways in and out. Code that is built quickly has no regions."""

    def __init__(self, flow: ConvergedFlow) -> None:
        super().__init__(flow.e)
        self.flow, self.blocks = flow, flow.blocks
        self.of: dict[int, MaskedRegion] = {}
        """The regions by the block of their branch."""
        if not self.e.small:
            exchanges = not self.e.instruments  # which see an exchange once
            of_registers = self.e.facts.uniform, self.e.registers.scalars
            self.of = masked_regions(self.program, *of_registers, exchanges=exchanges)
        self.entered: dict[int, MaskedRegion] = {}
        """Those that are needed, by their numbers."""
        self.leaves: set[tuple[str, int]] = set()
        """The regions that may be left before all lanes have met, with the ways to leave them other than giving up."""
        self.resumed: dict[int, str] = {}
        """Where regions go on that have been left: labels by what stands for a warp's program counter then."""

    def enter(self, block: Block, target: Value) -> bool:
        """A converged warp diverges: lanes whose guard holds go to `target`, into the region if there is one."""
        region = self.of.get(block.index)
        if region is None:
            return False
        self.entered[region.number] = region
        t, registers = self.t, self.e.registers
        waiting, others = self._ways(region, block, target)
        if others:
            with t.ends_unless(t.eq("i32", others, 0)):
                self.flow.split_at(block, target)
        alive = self.e.alive_after(block)
        per_lane = [r for r in sorted(region.per_lane) if alive >> r & 1]
        for r in per_lane:
            registers.read(r)
        for r in per_lane:
            registers.keep_lanes(r)
        for each in region.words:
            t.store("i32", waiting.get(each, 0), region.word(each))
        t.store("i32", self.e.code.rounds * W, region.rounds)
        first = min(waiting)
        if first > block.index:
            t.go(region.label(first))
        else:
            self._go_back(region, first)
        return True

    def _ways(self, region: MaskedRegion, block: Block, target: Value | None) -> tuple[dict[int, str], str]:
        """At the end of a block: which lanes go to which block, and those that leave the region elsewhere, if any may.
        target: the program counter of those that jump, None where nobody does."""
        if self.e.code.leaves >= 0:
            return {block.next: self.t.xor("i32", self.active.bits, self.active.block_bits)}, ""
        if target is None:
            return {block.next: self.active.block_bits} if block.next >= 0 else {}, ""
        jumps, out, others = self.active.bits, dict[int, str](), ""
        inside = sorted(set(block.targets) & {*region.blocks, *region.joins})
        if target.lanes is not None and target.uniform:
            (only,) = (b for b in block.targets if self.e.pc(b) == int(target.text))
            if only in inside:
                out[only] = jumps
            else:  # a trap behind the join
                others = jumps
        else:
            others = jumps
            for to in inside:
                out[to] = self.active.where(self.m.eq(target, self.m.const("i32", self.e.pc(to))))
                others = self.t.xor("i32", others, out[to])
        if self.e.code.guard is not None:
            falls = self.t.xor("i32", jumps, self.active.block_bits)
            out[block.next] = self.t.or_("i32", falls, out[block.next]) if block.next in out else falls
        return out, others

    def emit(self) -> None:
        registers = self.e.registers
        for region in self.entered.values():
            self.blocks.words += [region.rounds, *map(region.word, region.words)]
            registers.per_lane = region.per_lane
            behind = {to for at in region.blocks for to in successors(self.program, at)}
            registers.private = registers.not_needed({*region.blocks, *region.joins, *behind})
            for at in region.blocks:
                self._block(region, self.program.blocks[at])
            registers.per_lane, registers.private = frozenset(), 0
            self._join(region)
            self._give_up(region)
            if (LEFT, region.number) in self.leaves:
                self.blocks.words.append(region.elsewhere)
            for how, number in sorted(self.leaves):
                if number == region.number:
                    self._give_up(region, how)
            if region.repeats:
                self._resume(region)

    def _block(self, region: MaskedRegion, block: Block) -> None:
        """The copy of a block for the lanes that wait at it."""
        t = self.t
        t.at(region.label(block.index))
        bits = t.load("i32", region.word(block.index))
        follows, run = region.blocks.index(block.index) + 1, t.label("run")
        after = region.label(region.blocks[follows] if follows < len(region.blocks) else region.joins[0])
        t.branch(t.eq("i32", bits, 0), after, run)
        t.at(run)
        t.store("i32", 0, region.word(block.index))
        target: Value | None = None
        if region.counts:  # where all lanes have met, rounds are counted anew
            met, rounds = t.eq("i32", bits, t.load("i32", "%live.at")), t.load("i32", region.rounds)
            t.store("i32", t.select(met, "i32", 0, rounds), region.rounds)
        self.blocks.plan(block)
        self.blocks.begin(bits, partly=True)
        self.blocks.count(block, bits)
        for code in self.program.codes[block.first : block.last]:
            self.blocks.instruction(code)
            if self.flow.is_control(code):
                self.flow.ends(code)
                if code.action is Action.TRAP:
                    self.flow.trap()
                elif code.leaves < 0:
                    target = self.flow.target(block, code)
                continue
            if code.properties.converges:
                self._unless_others_are_named(region, block, code)
            self.blocks.execute(code)
        self.e.registers.flush(self.e.alive_after(block))
        self._lead_on(region, block, target, after)

    def _unless_others_are_named(self, region: MaskedRegion, block: Block, code: Code) -> None:
        """Before an exchange: lanes that need absent lanes go to the function for diverged warps, from the start of the
        block, and wait there. Only registers have changed since, and they are not written yet."""
        t, bits = self.t, self.active.block_bits
        absent = t.and_("i32", t.load("i32", "%live.at"), t.xor("i32", bits, -1))
        with t.ends_unless(t.eq("i32", self.flow.named_of(code, absent), 0)):
            t.bump(region.word(block.index), t.or_, "i32", bits)
            self.blocks.count(block, bits, undone=True)
            self._leave_for(WAITS, region)

    def _lead_on(self, region: MaskedRegion, block: Block, target: Value | None, after: str) -> None:
        """The end of a block: lanes wait at its successors. Without a backward jump the region goes on at `after`."""
        t, code = self.t, self.e.code
        if code.leaves >= 0:
            self.flow.branches(None)
            with t.unless(self.active.none()):
                self.flow.end_by_branch(code)
                t.bump("%live.at", t.and_, "i32", t.xor("i32", self.active.bits, -1))
        if target is not None:
            self.flow.branches(target)
            if code.rounds:
                rounds = t.select(self.active.any(), "i32", code.rounds * W, 0)
                t.bump(region.rounds, t.add, "i32", rounds)
        ways, others = self._ways(region, block, target)
        for successor, lanes in ways.items():
            if successor in region.words:
                t.bump(region.word(successor), t.or_, "i32", lanes)
        if others:
            assert target is not None
            with t.ends_unless(t.eq("i32", others, 0)):
                t.store(f"<{W} x i32>", self.m.vector(target), "%pcs.at", align=64)
                t.store("i32", others, region.elsewhere)
                self._leave_for(LEFT, region)
        for successor in sorted(ways):
            if successor <= block.index:
                with t.ends_unless(t.eq("i32", ways[successor], 0)):
                    self._go_back(region, successor)
        t.go(after)

    def _go_back(self, region: MaskedRegion, block: int) -> None:
        """Lanes have gone back to a block, which is next if the rule of turns and the slice allow it."""
        t = self.t
        left = t.sge("i64", t.load("i64", "%slice.at"), 0)
        rounds = t.load("i32", region.rounds)
        goes_on = t.and_("i1", left, t.ult("i32", rounds, PATIENCE * W))
        t.branch(goes_on, region.label(block), f"given.up{region.number}", COLD)

    def _join(self, region: MaskedRegion) -> None:
        """Nobody waits at a block of the region any more: the warp converges where all lanes are at one join."""
        t = self.t
        t.at(region.label(region.joins[0]))
        if region.leaves:
            with t.ends_if(t.eq("i32", t.load("i32", "%live.at"), 0)):
                self.flow.exited()
        if len(region.joins) == 1:
            self._meet(region, region.joins[0])
            return
        live = t.load("i32", "%live.at")
        for join in region.joins:
            lanes = t.load("i32", region.word(join))
            with t.ends_if(t.eq("i32", lanes, live)):
                self._meet(region, join)
        t.go(f"given.up{region.number}")

    def _meet(self, region: MaskedRegion, join: int) -> None:
        """All lanes are at a join, where the warp converges if the registers that are scalars from there allow it."""
        t = self.t
        name, count = self.e.registers.scalar_table(bit_set(region.per_lane) & self.e.alive_at(join))
        if not count:
            t.go(f"b{join}")
            return
        live = t.load("i32", "%live.at")
        with t.ends_if(t.let(call(gather_up, "%ws", name, count, live, -1))):
            t.go(f"b{join}")
        t.go(f"given.up{region.number}")

    def _leave_for(self, how: str, region: MaskedRegion) -> None:
        self.leaves.add((how, region.number))
        self.t.go(f"{how}{region.number}")

    def _give_up(self, region: MaskedRegion, how: str = "given.up") -> None:
        """The warp stays diverged: each lane gets its program counter, and all its registers."""
        t = self.t
        t.at(f"{how}{region.number}")
        pcs, alive = self.e.pcs(region.joins[0]), 0
        if how == LEFT:
            there = self.m.lanes_of(t.load("i32", region.elsewhere))
            held = t.load(f"<{W} x i32>", "%pcs.at", align=64)
            pcs = t.select(there, f"<{W} x i32>", held, pcs, of=f"<{W} x i1>")
            for at in region.blocks:
                alive |= self.e.alive_after(self.program.blocks[at])
        for join in region.joins:
            alive |= self.e.alive_at(join)
        for block in region.words:
            lanes = self.m.lanes_of(t.load("i32", region.word(block)))
            pcs = t.select(lanes, f"<{W} x i32>", self.e.pcs(block), pcs, of=f"<{W} x i1>")
            alive |= self.e.alive_at(block)
        rounds = t.load("i32", region.rounds)
        t.put(S.Warp, "turns.rounds", t.udiv("i32", rounds, W))
        t.put(S.Warp, "turns.lane", t.urem("i32", rounds, W))
        if region.repeats and how != WAITS:
            t.put(S.Warp, "region", self._resumes_at(region))
        changed = 0
        for r in region.per_lane:
            alive &= ~(1 << r)
            changed |= 1 << r % 64
        self.flow.diverge(pcs, alive, changed)

    def _resume(self, region: MaskedRegion) -> None:
        """A warp of which all lanes may be in the region: it goes on there, or stays diverged."""
        t = self.t
        self.resumed[self._resumes_at(region)] = f"resumed{region.number}"
        t.at(f"resumed{region.number}")
        t.put(S.Warp, "region", 0)
        pcs, live = t.load(f"<{W} x i32>", "%pcs.at", align=64), t.load("i32", "%live.at")
        inside, found, alive = "0", "0", 0
        for block in (*region.blocks, *region.joins):
            here = t.eq(f"<{W} x i32>", pcs, self.e.pcs(block))
            lanes = t.and_("i32", t.bitcast(f"<{W} x i1>", here, "i32"), live)
            if block in region.words:
                t.store("i32", lanes, region.word(block))
            if block in region.blocks:
                inside = t.or_("i32", inside, lanes)
            found = t.or_("i32", found, lanes)
            alive |= self.e.alive_at(block)
        stays, all_there = t.label("stays"), t.eq("i32", found, live)
        with t.ends_unless(t.and_("i1", all_there, t.ne("i32", inside, 0))):
            t.go(stays)
        name, count = self.e.registers.scalar_table(alive & ~bit_set(region.per_lane))
        if count:
            changed = t.get(S.Warp, "changed")
            with t.ends_unless(t.let(call(gather_up, "%ws", name, count, live, changed))):
                t.go(stays)
        rounds, lane = (t.get(S.Warp, f"turns.{name}") for name in ("rounds", "lane"))
        t.store("i32", t.or_("i32", t.mul("i32", rounds, W), lane), region.rounds)
        for name in ("rounds", "lane"):
            t.put(S.Warp, f"turns.{name}", 0)
        t.go(region.label(region.blocks[0]))
        t.at(stays)
        t.ret("i32", S.DIVERGED)

    def _resumes_at(self, region: MaskedRegion) -> int:
        """What stands for the program counter of a warp that goes on in a region: no instruction has it."""
        return 2 * (len(self.program.codes) + 1 + region.number)
