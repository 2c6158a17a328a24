"""The checks of the stepping engine: which instructions are checked, and with which arguments the rules are called.

`Checker` belongs to a launch, `BlockChecks` (in `block_checks`) to one of its blocks; `checked_warp` has the warp whose
loads, stores and atomics are checked. The rules are in `emulate/rules`; their notes become findings there
(`findings.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ptxlab.emulate.language import Pointer
from ptxlab.emulate.program.lane_types import LANES
from ptxlab.emulate.program.model import Code
from ptxlab.emulate.program.program import Program
from ptxlab.emulate.program.register_flow import Flow, RegisterFlow, register_flow
from ptxlab.emulate.program.warpgroup_flow import orders_proxies, warpgroup_flow
from ptxlab.emulate.rules import (
    async_proxy,
    barriers,
    lane_masks,
    launches,
    race_order,
    race_rows,
    race_words,
    races,
    records,
    register_values,
    warpgroup_registers,
)
from ptxlab.emulate.rules.instructions import may_come, members_of, wide
from ptxlab.emulate.rules.kinds import Note
from ptxlab.emulate.rules.local_memory import copied
from ptxlab.emulate.rules.mbarrier_book import Early, passed_early
from ptxlab.emulate.rules.notes import noted, serial
from ptxlab.emulate.step.access import Region
from ptxlab.emulate.step.bodies import body_of
from ptxlab.emulate.step.body import Look
from ptxlab.emulate.step.checked_warp import CheckedWarp
from ptxlab.emulate.step.lanes import mask_bits
from ptxlab.emulate.step.warp import Warp
from ptxlab.isa.actions import Action

if TYPE_CHECKING:
    from ptxlab.emulate.runtime.report import Launch
    from ptxlab.emulate.step.translate import Step, Translator


class Checker:
    """The checks of one launch on the stepping engine."""

    def __init__(self, program: Program, launch: Launch, translator: Translator) -> None:
        self.program, self.launch = program, launch
        self.init, self.race, self.sync = (f"{c}check" in launch.checks for c in ("init", "race", "sync"))
        self.granule = races.granule(program)
        self.record = launches.begin(program, launch)
        self.offsets = Pointer[int](np.zeros(LANES, np.uint32))  # of the access that is checked
        self.flow = register_flow(program) if self.init else RegisterFlow((), {}, {}, {}, frozenset())
        self.warpgroups = warpgroup_flow(program)
        self.releases = [code.properties.releases for code in program.codes]
        self.strong = [code.properties.strong and not code.properties.mbarrier for code in program.codes]
        self._values = np.zeros(LANES * 64, np.uint8)
        self._stored: Region | None = None  # where a store went last
        self.record.store.values, self.record.store.narrow = Pointer(self._values), self.offsets
        self._members: dict[tuple[int, int], Pointer[int]] = {}
        self._pieces: dict[tuple[int, int], Pointer[int]] = {}
        self.notes: dict[tuple[int, int, int], Note] = {}  # those of mbarriers
        self.early: Early = {}
        self.translator = translator
        self._shadows: dict[int, tuple[np.ndarray, races.Shadow | None, Pointer[int] | None]] = {}

    @staticmethod
    def wanted(launch: Launch) -> bool:
        """Whether a launch has checks besides memcheck."""
        return bool(set(launch.checks) - {"memcheck"})

    # -- notes ---------------------------------------------------------------------------------------------------------

    def begin(self, mask: int = 0) -> None:
        """The next warp-instruction begins."""
        serial(self.record, mask)

    def found(self) -> list[Note]:
        """All notes."""
        return [*passed_early(noted(self.record, self.program), self.early), *self.notes.values()]

    def storing(self, region: Region, values: tuple[Any, ...], start: int) -> None:
        """A plain store is checked next: `values` to `start` and the offsets."""
        store = self.record.store
        if self._stored is not region:
            store.memory, store.memory_start = Pointer(region.data), int(region.base)
            self._stored = region
        width = values[0].itemsize
        store.components, store.width, store.start = len(values), width, start
        for k, value in enumerate(values):
            self._values[k * LANES * width : (k + 1) * LANES * width].view(value.dtype)[:] = value

    def members(self, code: Code, size: int) -> Pointer[int]:
        """The table `members` of one access (see `rules.race_accesses`)."""
        found = self._members.get((code.index, size))
        if found is None:
            found = self._members[code.index, size] = Pointer(np.array([1, 0, size, _flags(code)], np.uint64))
        return found

    def pieces(self, code: Code, size: int) -> Pointer[int]:
        """The table `pieces` of one access (see `rules.race_accesses`)."""
        found = self._pieces.get((code.index, size))
        if found is None:
            words = -(-size // self.granule)
            table = [1, 0, words, *[_flags(code)] * words, *[0] * (-words % race_words.ROW)]
            found = self._pieces[code.index, size] = Pointer(np.array(table, np.uint64))
        return found

    # -- what is remembered of memory ----------------------------------------------------------------------------------

    def shadow(self, region: Region) -> tuple[races.Shadow | None, Pointer[int] | None]:
        """racecheck's records of a region and, for global memory with unwritten bytes, initcheck's."""
        found = self._shadows.get(id(region.data))
        if found is None or found[0] is not region.data:
            raced = self.race and region.name not in ("local memory", "parameters")
            race = races.Shadow(region.data.size, self.granule) if raced else None
            found = region.data, race, None if region.written is None else Pointer[int](region.written)
            self._shadows[id(region.data)] = found
        return found[1], found[2]

    def shadow_shared(self, region: Region, written: Pointer[int] | None) -> races.Shadow | None:
        """racecheck's records of a block's shared memory, whose bytes are written as `written` says: to all blocks of
        its cluster."""
        race, _ = self.shadow(region)
        if race is not None:
            race.records[3 * race.stride + race_rows.OF_A_BLOCK] = True
        self._shadows[id(region.data)] = region.data, race, written
        return race

    def forget(self, region: Region) -> None:
        """Drops the records of a region, the shared memory of a block that has ended."""
        self._shadows.pop(id(region.data), None)

    # -- steps ---------------------------------------------------------------------------------------------------------

    def wrap(self, steps: list[Step]) -> list[Step]:
        """The steps, each preceded by the checks of its instruction."""
        return [self._wrapped(code, step) for code, step in zip(self.program.codes, steps, strict=True)]

    def _wrapped(self, code: Code, step: Step) -> Step:
        look: list[Look] = []
        if code.properties.barrier:
            if self.sync:
                look.append(self._at_barrier(code))
        elif code.properties.converges:
            if self.sync and code.form.op.kind != "warp":
                look.append(self._at_sync(code))
            if self.race:
                look.append(self._orders(code))
        elif code.action is Action.CLUSTER_BARRIER:
            if self.race:
                look.append(self._at_cluster_barrier(code))
        elif code.properties.releases and self.race:
            at = code.index, wide(code)
            look.append(lambda w, mask: race_order.fence(self.record, w.spaces.check.record, w.warp, *at))
        body = body_of(code)
        if body is not None:
            step = body.checked(self, code, self._touching(code, step) if body.checked_after else step)
            look += body.looks(self, code)
        if code.copy is not None and self.init:
            source, dest, size = code.copy
            look.append(lambda w, mask: copied(w.spaces.check.record, w.warp, mask_bits(mask), source, dest, size))
        if self.sync:
            look += self._at_warpgroup(code)
        if code.index in self.flow.flows:
            look.append(self._follow(self.flow.flows[code.index], code))
        guards = self._follow(self.flow.guards[code.index], code) if code.index in self.flow.guards else None
        if not look and guards is None:
            return step
        guard = code.guard

        def run(w: Warp) -> int | None:
            mask = w.mask
            if guards is not None:
                guards(w, mask)
            if guard is not None:
                p = w.regs[guard[0]]
                mask = np.greater(mask, p) if guard[1] else mask & p
            if mask.any():
                self.begin()
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

    def _follow(self, flow: Flow, code: Code) -> Look:
        """initcheck: what an instruction does to the registers that are followed."""
        table = Pointer[int](np.array(flow.table(), np.uint32))

        def look(w: Warp, mask: np.ndarray) -> None:
            block = w.spaces.check.record
            register_values.executed(self.record, block, w.warp, mask_bits(mask), code.index, table)

        return look

    def _at_warpgroup(self, code: Code) -> list[Look]:
        """What an instruction does to registers of products of `wgmma`."""
        flow, record, look = self.warpgroups, self.record, list[Look]()

        def watch(rule: Callable[..., None], table: list[int]) -> None:
            listed = Pointer[int](np.array(table, np.uint32))
            look.append(
                lambda w, mask: rule(
                    record, w.spaces.check.record, w.warp, mask_bits(mask), w.in_flight, code.index, listed
                )
            )

        if code.index in flow.touches:
            watch(warpgroup_registers.touched, flow.listed(flow.touches[code.index]))
        if code.index in flow.unfenced:
            watch(warpgroup_registers.unfenced, flow.numbered(code.index))
        if code.index in flow.writers:
            number = flow.writers[code.index]
            look.append(lambda w, mask: warpgroup_registers.wrote(w.in_flight, mask_bits(mask), number))
        if code.action is Action.WARPGROUP_FENCE and flow.writers:
            look.append(lambda w, mask: warpgroup_registers.fenced(w.in_flight, flow.words))
        if orders_proxies(code):
            look.append(lambda w, mask: async_proxy.fenced(record, w.spaces.check.record, w.warp))
        return look

    def _touching(self, code: Code, step: Step) -> Step:
        """An instruction whose body tells of its accesses: they are checked after it."""

        def run(w: Warp) -> int | None:
            kept, w.touches = w.touches, []
            result = step(w)
            touches, w.touches = w.touches, kept
            if kept is not None:
                kept += touches
            assert isinstance(w, CheckedWarp)
            self.begin()
            for touch in touches:
                w.look(code, touch, touch.what)
            return result

        return run

    # -- synccheck -----------------------------------------------------------------------------------------------------

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
            barriers.arrive(self.record, block, w.warp, lanes, barrier, count, whole, code.index)
            away = mask_bits(w.live) & ~lanes
            if whole and away:
                pcs, waiting, here = _standing(w, code)
                barriers.diverged(
                    self.record, block, w.warp, lanes, away & ~here, mask_bits(w.mask) & ~lanes, waiting, pcs, behind,
                    comes, code.index,
                )  # fmt: skip

        return look

    def opened(self, run: Any, barrier: int, warps: list[Warp], *, overfull: bool) -> None:
        """A barrier releases these warps."""
        checks = run.check
        began, live = np.zeros(LANES, np.uint32), np.zeros(LANES, np.uint32)
        for w in run.warps:
            threads = min(LANES, self.launch.threads - LANES * w.warp)
            began[w.warp], live[w.warp] = (1 << threads) - 1, mask_bits(w.live)
        waiting = sum(1 << w.warp for w in warps)
        barriers.opened(
            self.record, checks.record, barrier, waiting, Pointer(began), Pointer(live),
            len(warps) == len(run.running), overfull,
        )  # fmt: skip

    def arrived(self, block: Any, barrier: int, warp: Warp) -> None:
        """A warp has passed `bar.arrive`."""
        if self.race:
            race_order.arrived(block.check.record, warp.warp, barrier)

    def _orders(self, code: Code) -> Look:
        """racecheck: an instruction that synchronizes lanes of a warp orders them."""
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
            self.begin()
            named, lanes = np.broadcast_to(members(w), LANES), mask_bits(mask)
            threads = min(LANES, self.launch.threads - LANES * w.warp)
            gone = (1 << threads) - 1 & ~mask_bits(w.live)
            lane_masks.named(self.record, w.spaces.check.record, w.warp, lanes, gone, named, code.index)
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
            lane_masks.shuffled(
                self.record, w.spaces.check.record, w.warp, lanes, mask_bits(w.live), named, b, c, mode, asked,
                code.index,
            )  # fmt: skip

        return look


def _flags(code: Code) -> int:
    """The fields of an access's record that describe its instruction."""
    return code.index << records.CODE | code.properties.strong << records.STRONG


def _standing(w: Warp, code: Code) -> tuple[Pointer[int], int, int]:
    """Of a diverged warp: twice the code index at which each lane goes on, the lanes that wait at a barrier of the
    block, and those of them that wait at this instruction."""
    pcs, waiting, here = np.zeros(LANES, np.uint32), 0, 0
    for part in w.others:
        pcs[part.mask] = 2 * part.pc
        if part.wait is not None and part.wait.members is None:
            waiting |= mask_bits(part.mask)
            here |= mask_bits(part.mask) if part.wait.code is code else 0
    return Pointer(pcs), waiting, here
