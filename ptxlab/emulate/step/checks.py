"""The checks of the interpreter: which instructions are checked, and with which arguments the rules are called.

`launch_checks` has what they remember of a launch. `checked_warp` has what they remember of a block (`BlockChecks`),
and the warp whose loads, stores and atomics are checked. The rules are in `emulate/rules`. What they note becomes
findings in `rules.findings`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ptxlab.emulate.language import Pointer
from ptxlab.emulate.program.flat_program import Code
from ptxlab.emulate.program.lane_types import LANES
from ptxlab.emulate.program.warpgroup_flow import orders_proxies, warpgroup_flow
from ptxlab.emulate.rules import async_proxy, barrier_checks, lane_masks, race_order, register_checks
from ptxlab.emulate.rules.instructions import may_come, members_of, wide
from ptxlab.emulate.step.bodies import Look, body_of
from ptxlab.emulate.step.checked_warp import CheckedWarp
from ptxlab.emulate.step.following import Following, used_at_once
from ptxlab.emulate.step.lanes import mask_bits
from ptxlab.emulate.step.launch_checks import LaunchChecks
from ptxlab.emulate.step.operands import Step, Translator
from ptxlab.emulate.step.warp import Warp
from ptxlab.isa.actions import Action


class CheckedSteps:
    """The steps of one program, with the checks of its instructions before or after them."""

    def __init__(self, checks: LaunchChecks, translator: Translator) -> None:
        self.checks, self.record, self.translator = checks, checks.record, translator
        self.program, self.launch = checks.program, checks.launch
        self.warpgroups = warpgroup_flow(checks.program)
        self.following = Following(checks.values, translator)
        if checks.init:
            translator.instrument = self.following.instrument

    def wrap(self, steps: list[Step]) -> list[Step]:
        """The steps with the checks of their instructions. (Loads, stores and atomics: see `CheckedWarp`.)"""
        return [self._wrapped(code, step) for code, step in zip(self.program.codes, steps, strict=True)]

    def _wrapped(self, code: Code, step: Step) -> Step:
        look: list[Look] = []
        if code.properties.barrier:
            if self.checks.sync:
                look.append(self._at_barrier(code))
        elif code.properties.converges:
            if self.checks.sync and code.form.op.kind != "warp":
                look.append(self._at_sync(code))
            if self.checks.more:
                look.append(self._orders(code))
        elif code.action is Action.CLUSTER_BARRIER:
            if self.checks.more:
                look.append(self._at_cluster_barrier(code))
        elif code.properties.releases and self.checks.more:
            at = code.index, wide(code)
            look.append(lambda w, mask: race_order.fence(self.record, w.spaces.check.record, w.warp, *at))
        body = body_of(code)
        if body is not None:
            step = body.checked(self.checks, code, self._touching(code, step) if body.checked_after else step)
            look += body.looks(self.checks, code)
        if self.checks.sync:
            look += self._at_warpgroup(code)
        guard, used = code.guard, used_at_once(code) if code.form.op.kind == "flow" else []
        if not look and not (self.checks.init and (guard is not None or used)):
            return step
        guards = [guard[0]] if guard is not None and self.checks.init else []

        def run(w: Any) -> int | None:
            if guards and w.lacks:
                self.following.used(w, code, guards, w.mask)
            mask = w.mask if guard is None else w.held(*guard)
            if mask.any():
                self.checks.begin()
                if used and w.lacks:
                    self.following.used(w, code, used, mask)
                for each in look:
                    each(w, mask)
            return step(w)

        return run

    def _at_cluster_barrier(self, code: Code) -> Look:
        assert code.form is not None
        arrives, released = bool(code.form.arrive), code.form.order != "relaxed"

        def look(w: Warp, mask: np.ndarray) -> None:
            if arrives:
                race_order.cluster_arrived(w.spaces.check.record, w.warp, released)
            else:
                race_order.cluster_waited(w.spaces.check.record, w.warp)

        return look

    def _at_warpgroup(self, code: Code) -> list[Look]:
        """What an instruction does to registers of products of `wgmma`."""
        flow, record, look = self.warpgroups, self.record, list[Look]()

        def watch(rule: Callable[..., None], table: list[int]) -> None:
            listed = Pointer[int](np.array(table, np.uint32))

            def watched(w: Warp, mask: np.ndarray) -> None:
                at = record, w.spaces.check.record, w.warp
                rule(*at, mask_bits(mask), w.in_flight, code.index, listed)

            look.append(watched)

        if code.index in flow.touches:
            watch(register_checks.touched, flow.listed(flow.touches[code.index]))
        if code.index in flow.unfenced:
            watch(register_checks.unfenced, flow.numbered(code.index))
        if code.index in flow.writers:
            number = flow.writers[code.index]
            look.append(lambda w, mask: register_checks.wrote(w.in_flight, mask_bits(mask), number))
        if code.action is Action.WARPGROUP_FENCE and flow.writers:
            look.append(lambda w, mask: register_checks.fenced(w.in_flight, flow.words))
        if orders_proxies(code):
            look.append(lambda w, mask: async_proxy.fenced(record, w.spaces.check.record, w.warp))
        return look

    def _touching(self, code: Code, step: Step) -> Step:
        """An instruction whose body reports its accesses: they are checked after it."""

        def run(w: Warp) -> int | None:
            before, w.touches = w.touches, []
            result = step(w)
            touches, w.touches = w.touches, before
            if before is not None:
                before += touches
            assert isinstance(w, CheckedWarp)
            self.checks.begin()
            for touch in touches:
                w.look(code, touch, touch.what)
            w.settle()
            return result

        return run

    def _at_barrier(self, code: Code) -> Look:
        sources = [s for s in code.sources if s is not None]
        if code.form.red:
            sources = sources[:-1]
        numbers = [self.translator.read(s, "u32", code) for s in sources]
        whole, behind = code.properties.aligned, 2 * self.translator.following[code.index]
        comes = Pointer[int](np.array(may_come(self.program, code), np.uint8))

        def look(w: Warp, mask: np.ndarray) -> None:
            lane, lanes, block = int(mask.argmax()), mask_bits(mask), w.spaces.check.record
            barrier = int(numbers[0](w)[lane]) if numbers else 0
            count = int(numbers[1](w)[lane]) if len(numbers) > 1 else 0
            barrier_checks.arrive(self.record, block, w.warp, lanes, barrier, count, whole, code.index)
            away = mask_bits(w.live) & ~lanes
            if whole and away:
                pcs, waiting, here = _standing(w, code)
                others = away & ~here, mask_bits(w.mask) & ~lanes, waiting
                barrier_checks.diverged(self.record, block, w.warp, lanes, *others, pcs, behind, comes, code.index)

        return look

    def _orders(self, code: Code) -> Look:
        """An instruction that synchronizes lanes of a warp orders them."""
        given = members_of(code)
        if given is None or code.form.op.kind == "warp":
            return lambda w, mask: race_order.sync_warp(w.spaces.check.record, w.warp)
        members = self.translator.read(given, "b32", code)

        def look(w: Warp, mask: np.ndarray) -> None:
            named = np.broadcast_to(members(w), LANES)
            race_order.sync_lanes(w.spaces.check.record, w.warp, mask_bits(w.live), mask_bits(mask), named)

        return look

    def _at_sync(self, code: Code) -> Look:
        """synccheck: the member masks; of a diverged warp when all lanes have arrived, since others may exit before."""
        members = self.translator.members(code)
        if code.form.warp:
            members = self.translator.read(code.sources[0], "b32", code)
        assert members is not None
        shuffle = self._at_shuffle(code) if code.action is Action.SHUFFLE else None

        def synced(w: Warp, mask: np.ndarray) -> None:
            self.checks.begin()
            named, lanes = np.broadcast_to(members(w), LANES), mask_bits(mask)
            threads = min(LANES, self.launch.threads - LANES * w.warp)
            exited = (1 << threads) - 1 & ~mask_bits(w.live)
            lane_masks.named(self.record, w.spaces.check.record, w.warp, lanes, exited, named, code.index)
            if shuffle is not None:
                shuffle(w, lanes, named)

        def look(w: Warp, mask: np.ndarray) -> None:
            if not w.diverged:
                synced(w, mask)

        self.translator.synced[code.index] = synced
        return look

    def _at_shuffle(self, code: Code) -> Callable[[Warp, int, np.ndarray], None]:
        form = code.form
        by, clamp = (self.translator.read(code.sources[k], code.source_types[k], code) for k in (1, 2))
        asked = len(code.dests) > 1 and code.dests[1] is not None
        mode = lane_masks.MODES[str(form.mode)]

        def look(w: Warp, lanes: int, named: np.ndarray) -> None:
            b, c = (np.broadcast_to(np.asarray(value, np.uint32), LANES) for value in (by(w), clamp(w)))
            where = self.record, w.spaces.check.record, w.warp
            lane_masks.shuffled(*where, lanes, mask_bits(w.live), named, b, c, mode, asked, code.index)

        return look


def _standing(w: Warp, code: Code) -> tuple[Pointer[int], int, int]:
    """For a diverged warp: twice the code index at which each lane goes on, the lanes that wait at a barrier of the
    block, and which of these wait at this instruction."""
    pcs, waiting, here = np.zeros(LANES, np.uint32), 0, 0
    for part in w.others:
        pcs[part.mask] = 2 * part.pc
        if part.wait is not None and part.wait.members is None:
            waiting |= mask_bits(part.mask)
            here |= mask_bits(part.mask) if part.wait.code is code else 0
    return Pointer(pcs), waiting, here
