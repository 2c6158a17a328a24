"""The function for a diverged warp: every lane has its own program counter, and groups of lanes take turns.

`ptxlab.emulate.rules.lane_scheduling` chooses the group that runs a block next, its writes masked. Once all live lanes
are at the start of one block, and the registers that should be uniform there are, the warp returns to the
function for converged warps.

Lanes at a `.sync` instruction wait for the other lanes that it names. They leave their operands in the warp's state;
when the last has arrived (`sync_lanes`), all of them receive their results before any group has its next turn.
"""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

from ptxlab.emulate.jit.control.blocks import Blocks
from ptxlab.emulate.jit.control.control_flow import ControlFlow
from ptxlab.emulate.jit.emitter.semantics import resized
from ptxlab.emulate.jit.llvm.ir_text import SIGNATURE, W
from ptxlab.emulate.jit.llvm.values import Value
from ptxlab.emulate.jit.translation.rule_calls import call, declaration
from ptxlab.emulate.program.flat_program import Block, Code, Literal
from ptxlab.emulate.program.liveness import bit_set, reads
from ptxlab.emulate.program.reconvergence import waits_for_others
from ptxlab.emulate.rules.diverging import gather_up, sync_lanes, sync_waiting
from ptxlab.emulate.rules.instructions import is_members, members_of
from ptxlab.emulate.rules.lane_scheduling import go_on
from ptxlab.emulate.runtime import state as S
from ptxlab.isa import types


class DivergedFunction(ControlFlow):
    """Writes `@diverged`. only: the blocks that it has, if not all (see `jit.analysis.divergence`)."""

    def __init__(self, blocks: Blocks, only: frozenset[int] | None = None) -> None:
        super().__init__(blocks)
        self.only = only
        self.exchanges = any(code.properties.converges for code in self.program.codes)

    def function(self) -> str:
        if not self.exchanges:  # where lanes wait within blocks
            self.e.registers.private = self.e.registers.not_needed(range(len(self.program.blocks)))
        return self.text(f"i32 @{self.e.name}({SIGNATURE}%ws)")

    # -- whose turn it is ----------------------------------------------------------------------------------------------

    def dispatch(self) -> None:
        cases = [f"i32 {self.e.pc(b.index)}, label %b{b.index}" for b in self.program.blocks]
        for code in self.program.codes:
            if code.properties.converges and (self.only is None or code.block in self.only):
                cases += [f"i32 {2 * code.index + 1}, label %given{code.index}"]
                if self.program.blocks[code.block].last > code.index + 1:
                    cases += [f"i32 {2 * code.index + 2}, label %after{code.index}"]
        resume = self.t.field(S.Warp, "resume")
        self.t.declared.add(declaration(go_on))
        self.t.lines += f"""
  %d.lanes = load i32, ptr {resume}
  store i32 %d.lanes, ptr %mask.p
  store i32 0, ptr {resume}
  %d.anew = icmp eq i32 %d.lanes, 0
  br i1 %d.anew, label %dispatch, label %d.go
dispatch:
  %d.mask = {call(go_on, "%ctx", "%ws")}
  store i32 %d.mask, ptr %mask.p
  %d.none = icmp eq i32 %d.mask, 0
  br i1 %d.none, label %d.stop, label %d.go
d.stop:
  %d.live = load i32, ptr %live.at
  %d.wait = load i32, ptr %wait.at
  %d.wait.not = xor i32 %d.wait, -1
  %d.ready = and i32 %d.live, %d.wait.not
  %d.done = icmp eq i32 %d.ready, 0
  %d.why = select i1 %d.done, i32 {S.DONE}, i32 {S.SUSPENDED}
  ret i32 %d.why
d.go:
  %d.these = load i32, ptr %mask.p
  %d.lane = call i32 @llvm.cttz.i32(i32 %d.these, i1 false)
  %d.pc.p = getelementptr i32, ptr %pcs.at, i32 %d.lane
  %d.pc = load i32, ptr %d.pc.p
  switch i32 %d.pc, label %d.missing [{" ".join(cases)}]
d.missing:
  store i32 %d.these, ptr {resume}
  ret i32 {S.LACKING}""".splitlines()[1:]

    # -- blocks --------------------------------------------------------------------------------------------------------

    def block(self, block: Block) -> None:
        self.t.at(f"b{block.index}")
        bits = self.t.load("i32", "%mask.p")
        keeps = [each.stays for each in self.e.instruments if each.stays]
        with self.t.unless(*keeps) if keeps else nullcontext():
            self._go_back(block, bits)
        if self.only is not None and block.index not in self.only:  # all that can be done at its start is to go back
            self.t.go("d.missing")
            return
        self.blocks.count(block, bits)
        self._run(block, block.first, bits)

    def _go_back(self, block: Block, bits: str) -> None:
        """Returns to the function for converged warps if all live lanes are here and its scalars are uniform."""
        t = self.t
        live = t.load("i32", "%live.at")
        converged = t.eq("i32", bits, live)
        if waits_for_others(self.program.codes[block.first]):  # it would come here again, to wait
            none = t.eq("i32", self.waiting(block, bits), 0)
            converged = t.and_("i1", converged, none)
        with t.if_then(converged):
            name, count = self.e.registers.scalar_table(self.e.alive_at(block.index))
            changed = t.get(S.Warp, "changed")
            with t.ends_if("true" if not count else t.eq("i64", changed, 0)):
                self._converges(block)
            if count:
                same = t.let(call(gather_up, "%ws", name, count, live, changed))
                with t.ends_if(same):
                    self._converges(block)

    def _converges(self, block: Block) -> None:
        """The warp goes back to the function for converged warps."""
        self.t.store("i32", self.e.pc(block.index), "%converged.pc.at")
        self.t.ret("i32", S.CONVERGED)

    def _run(self, block: Block, first: int, bits: str) -> None:
        """The code of a block from an index on, for some lanes."""
        self.blocks.begin(bits)
        for code in self.program.codes[first : block.last]:
            self.blocks.instruction(code)
            if self.is_control(code):
                self.end(block, code)
                return
            if code.properties.converges:
                self._offer(block, code)
                self._given(block, code)
                if code.index + 1 < block.last:
                    self.t.at(f"after{code.index}")
                    for group in self.e.groups.values():  # checks made before the exchange do not dominate
                        group.pointer = ""
                    bits = self.t.load("i32", "%mask.p")
                    self._count_rest(block, code.index, 1, bits)
                    self._run(block, code.index + 1, bits)
                return
            self.blocks.execute(code)
        self.e.registers.flush(self.e.alive_after(block))
        self.go(block.next)

    def _count_rest(self, block: Block, index: int, sign: int, bits: str) -> None:
        """Corrects the counts: the rest of a block after an exchange may be run by other lanes than its beginning."""
        t = self.t
        if index + 1 == block.last:
            return
        rest = t.get(S.Context, "rest")
        if self.blocks.by_warpgroup:
            rest = t.let(self.blocks.of_warpgroup(rest, len(self.program.codes)))
        executions = t.offset(rest, S.Executions.size * index)
        t.bump(t.field(S.Executions, "warps", executions), t.add, "i64", sign)
        threads = t.field(S.Executions, "threads", executions)
        t.bump(threads, t.add if sign > 0 else t.sub, "i64", self.active.count(bits))

    def _set_pc(self, bits: str, target: str) -> None:
        """Program counters of the lanes in `bits`; `target` is a vector."""
        self._put("%pcs.at", "i32", self.m.lanes_of(bits), target)

    def _put(self, pointer: str, type_: str, mask: str, values: str) -> None:
        """Lanes of a mask (vectors) get other values in memory."""
        vec = f"<{W} x {type_}>"
        old = self.t.load(vec, pointer, align=64)
        new = self.t.select(mask, vec, values, old, of=f"<{W} x i1>")
        self.t.store(vec, new, pointer, align=64)

    def go(self, block: int) -> None:
        self._set_pc(self.active.block_bits, self.e.pcs(block))
        self.t.go("dispatch")

    def jump(self, block: Block, target: Value) -> None:
        t = self.t
        if self.e.code.rounds:
            rounds = t.select(self.active.any(), "i32", self.e.code.rounds, 0)
            t.bump(t.field(S.Warp, "turns.rounds"), t.add, "i32", rounds)
        if block.next >= 0:
            self._set_pc(self.active.block_bits, self.e.pcs(block.next))
        self._set_pc(self.active.bits, self.m.vector(target))
        self.t.go("dispatch")

    def leave(self, block: Block) -> None:
        t = self.t
        self.end_by_branch(self.e.code)
        others = t.xor("i32", self.active.bits, -1)
        t.bump("%live.at", t.and_, "i32", others)
        if self.e.code.guard is not None and block.next >= 0:
            self._set_pc(self.active.block_bits, self.e.pcs(block.next))
        if self.exchanges:
            t.do(call(sync_waiting, "%ws"))  # other lanes no longer wait for exited ones
        t.go("dispatch")

    def wait(self, block: Block) -> None:
        self.go(block.next)

    def pause(self, block: Block) -> None:
        self.go(block.next)

    # -- lanes that wait for each other --------------------------------------------------------------------------------

    def _vectors(self, code: Code) -> list[int]:
        """The positions of the operands that are exchanged; immediates in an `int` position are part of the form."""
        return [
            k
            for k, (s, t) in enumerate(zip(code.sources, code.source_types, strict=True))
            if s is not None and not (t == "int" and isinstance(s, Literal)) and not is_members(code, k)
        ]

    def _offer(self, block: Block, code: Code) -> None:
        """Stores the operands of these lanes and makes them wait; those whose guard fails go on."""
        t, form = self.t, code.form
        for instrument in self.e.instruments:
            instrument.arrives(code)
        warpwide = form.op.kind == "warp"
        if warpwide and code.guard is not None:  # it has to hold in all of the lanes or in none
            with t.unless(t.or_("i1", self.active.none(), self.active.all_active())):
                self.e.faults.unless_all_lanes(code, self.active.block_bits)
        for slot, k in enumerate([] if warpwide else self._vectors(code)):
            value = self.e.operands.read(code.sources[k], code.source_types[k])
            wide = resized(self.m, value, "i64", signed=False)
            self._put(t.field(S.Warp, f"offered.{slot}"), "i64", self.active.vector, self.m.vector(wide))
        if warpwide:
            members = self.m.const("i32", -1)
        else:
            members = self.e.operands.read(members_of(code), "b32")
        for name, vector in (("members", self.m.vector(members)), ("sync_kind", f"splat (i32 {self._kind(code)})")):
            self._put(t.field(S.Warp, name), "i32", self.active.vector, vector)
        rest = self.program.codes[code.index + (0 if warpwide else 1) : block.last]
        self.e.registers.flush(self.e.alive_after(block) | bit_set([r for each in rest for r in reads(each)]))
        self._count_rest(block, code.index, -1, self.active.block_bits)
        if code.guard is not None:
            self._set_pc(self.active.block_bits, f"splat (i32 {self._behind(block, code)})")
        self._set_pc(self.active.bits, f"splat (i32 {2 * code.index + 1})")
        t.bump("%wait.at", t.or_, "i32", self.active.bits)
        with t.unless(self.active.none()):
            t.do(call(sync_lanes, "%ws", self.active.bits))
        t.go("dispatch")

    def _behind(self, block: Block, code: Code) -> int:
        return 2 * code.index + 2 if code.index + 1 < block.last else self.e.pc(block.next)

    def _kind(self, code: Code) -> int:
        """A number, not 0, of what lanes synchronize at: any instruction with this opcode, or this instruction alone if
        it is one of the whole warp."""
        if code.form.op.kind == "warp":
            return len(self.program.codes) + code.index
        names = sorted({c.form.opcode for c in self.program.codes if c.properties.converges})
        return names.index(code.form.opcode) + 1

    def _given(self, block: Block, code: Code) -> None:
        """Where lanes go on when all have arrived: the semantics, on the operands of all."""
        t, form = self.t, code.form
        t.at(f"given{code.index}")
        every = t.load("i32", "%mask.p")
        lead = self.active.first(every)
        p = t.element("i32", t.field(S.Warp, "given_members"), lead, by="i32")
        members = t.load("i32", p)
        bits = t.and_("i32", every, members)  # the lanes of one member mask; the next ones follow
        t.store("i32", bits, "%mask.p")
        t.bump(t.field(S.Warp, "synced"), t.and_, "i32", t.xor("i32", bits, -1))
        self.blocks.begin(bits)
        self.active.all_of_block()
        after = [then for instrument in self.e.instruments if (then := instrument.before(code))]
        body = self.blocks.bodies.of(code)
        if body is not None:
            body.emit(code)
        else:
            brought = self._brought(code, members) if form.op.sem is not None else []
            for instrument in self.e.instruments:
                instrument.synced(code, brought)
            if form.op.sem is not None:
                self.active.narrow(members)
                result = form.op.sem(self.m, form, *brought)
                self.active.all_of_block()
                self.blocks.semantics.results(code, result)
        for then in reversed(after):
            then()
        self.e.registers.flush(-1)
        self._set_pc(bits, f"splat (i32 {self._behind(block, code)})")
        t.go("dispatch")

    def _brought(self, code: Code, members: str) -> list[Any]:
        sources: list[Any] = [None] * len(code.sources)
        for slot, k in enumerate(self._vectors(code)):
            wide = self.t.load(f"<{W} x i64>", self.t.field(S.Warp, f"given.{slot}"), align=64)
            sources[k] = resized(self.m, Value(wide, "i64", False), types.lane(code.source_types[k]), signed=False)
        for k, s in enumerate(code.sources):
            if isinstance(s, Literal) and code.source_types[k] == "int":
                sources[k] = s.value
            elif is_members(code, k):
                sources[k] = Value(members, "i32", True)
        return sources
