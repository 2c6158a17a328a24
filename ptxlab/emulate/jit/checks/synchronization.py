"""The checks in compiled code: barriers, fences, and instructions that synchronize lanes of a warp."""

from __future__ import annotations

from typing import Any

from ptxlab.emulate.jit.checks.check_instrument import CheckInstrument
from ptxlab.emulate.jit.llvm.ir_text import W
from ptxlab.emulate.jit.llvm.values import Value
from ptxlab.emulate.jit.translation.rule_calls import THERE, call
from ptxlab.emulate.program.flat_program import Block, Code
from ptxlab.emulate.program.warpgroup_flow import orders_proxies
from ptxlab.emulate.rules import async_proxy, barrier_checks, lane_masks, race_order
from ptxlab.emulate.rules import instructions as rules
from ptxlab.emulate.runtime import state as S
from ptxlab.isa.actions import Action


class CheckedControl(CheckInstrument):
    """Barriers, fences, and instructions that synchronize lanes of a warp."""

    def before(self, code: Code) -> None:
        if self.checks.more and code.action is Action.FENCE:
            self.checks.if_any([self.checks.fence(code)])
        if self.checks.sync and orders_proxies(code):
            self.checks.if_any([call(async_proxy.fenced, *THERE)])

    def arrives(self, code: Code) -> None:
        given = rules.members_of(code)
        if self.checks.more and rules.of_whole_warp(code):
            self.checks.if_any([call(race_order.sync_warp, "%check.block", "%check.warp")])
        elif self.checks.more:
            named = self.m.vector(self.e.operands.read(given, "b32"))
            live = self.t.load("i32", "%live.at")
            self.t.do(call(race_order.sync_lanes, "%check.block", "%check.warp", live, self.active.bits, named))

    def synced(self, code: Code, brought: list[Any] | None) -> None:
        """Checks the member masks of the lanes that have synchronized."""
        given = rules.members_of(code)
        if not self.checks.sync or given is None or code.form.op.kind == "warp":
            return
        shuffles = code.action is Action.SHUFFLE
        if brought is None:
            members, sources = self.e.operands.read(given, "b32"), []
            if shuffles:
                sources = [self.e.operands.read(code.sources[k], code.source_types[k]) for k in (0, 1, 2)]
        else:
            p = self.t.field(S.Warp, "members")
            members = Value(self.t.load(f"<{W} x i32>", p, align=64), "i32", False)
            sources = brought
        live = self.t.load("i32", "%live.at")
        first = self.t.get(S.Warp, "first_live")
        exited = self.t.and_("i32", first, self.t.xor("i32", live, -1))
        named = self.m.vector(members)
        self.t.do(call(lane_masks.named, *THERE, self.active.bits, exited, named, str(code.index)))
        if shuffles:
            asked = len(code.dests) > 1 and code.dests[1] is not None
            lanes = [self.m.vector(source) for source in sources[1:3]]
            numbers = lane_masks.MODES[str(code.form.mode)], int(asked), code.index
            self.t.do(call(lane_masks.shuffled, *THERE, self.active.bits, live, named, *lanes, *map(str, numbers)))

    def barrier(self, block: Block, code: Code) -> None:
        if self.checks.sync:
            sources = [s for s in code.sources if s is not None]
            if code.form.red:
                sources.pop()
            numbers = [self.active.first_value(self.e.operands.read(s, "u32")) for s in sources]
            count = numbers[1] if len(numbers) > 1 else "0"
            skips = self.t.xor("i32", self.active.bits, self.active.block_bits)
            lanes = self.active.bits, skips, numbers[0], count
            table = self.e.constant("may.come", "i8", map(int, rules.may_come(self.program, code)))
            given = str(int(code.properties.aligned)), str(self.e.pc(block.next)), table, str(code.index)
            self.t.do(call(barrier_checks.arrived, *THERE[:2], "%ws", *lanes, *given))

    def cluster_barrier(self, code: Code) -> None:
        if not self.checks.more or code.form is None:
            return
        if code.form.arrive:
            releases = str(int(code.form.order != "relaxed"))
            self.checks.if_any([call(race_order.cluster_arrived, "%check.block", "%check.warp", releases)])
        else:
            self.checks.if_any([call(race_order.cluster_waited, "%check.block", "%check.warp")])

    def barrier_arrives(self, offset: str) -> None:
        if self.checks.more:
            barrier = self.t.trunc("i64", self.t.lshr("i64", offset, 2), "i32")
            self.t.do(call(barrier_checks.passed_arrive, *THERE, barrier))
