"""From a worker's fault record to the error: which access of which lane was invalid, and why."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

import numpy as np

from ptxlab.emulate.jit.emitter.access_groups import plan_groups
from ptxlab.emulate.jit.running.workers import Slot, Worker
from ptxlab.emulate.language import lanes_of, u64
from ptxlab.emulate.program.flat_program import Mem, Reg
from ptxlab.emulate.program.lane_types import LANES
from ptxlab.emulate.program.program import Program
from ptxlab.emulate.rules.faults import (
    FaultingThread,
    bulk_fault,
    deadlocked,
    disagreeing_lanes,
    incomplete_warp,
    invalid_mbarrier,
    source_size,
    spent,
)
from ptxlab.emulate.rules.instructions import barrier_before, is_bulk
from ptxlab.emulate.rules.mbarrier_deadlocks import Spin, in_words
from ptxlab.emulate.rules.memcheck import VALID, judge, space_of
from ptxlab.emulate.rules.warp_positions import Place
from ptxlab.emulate.rules.warpgroup_faults import THE_OTHERS, incomplete_warpgroup, no_warpgroup, outside
from ptxlab.emulate.runtime import state as S
from ptxlab.emulate.runtime.memory import Memory, memory_map
from ptxlab.emulate.runtime.report import Launch
from ptxlab.emulate.runtime.state import SHARED, SPACES
from ptxlab.errors import DeviceFault
from ptxlab.isa import types

Waits = Callable[[Slot], list[tuple[int, list[int], int, str]]]
"""Gives the lanes of a block that wait for an mbarrier: warp, lanes, code index, what they wait for."""


def noted_fault(
    program: Program,
    launch: Launch,
    memory: Memory,
    worker: Worker,
    workers: Sequence[Worker],
    mbarrier_waits: Waits | None,
) -> DeviceFault:
    """The error that one of the workers has stopped with. mbarrier_waits: the lanes of a block that wait for an
    mbarrier, where the checks follow them."""
    noted, slot = worker.context.fault, worker.slot
    warp, lane, code, address = noted.warp, noted.lane, noted.code, noted.address
    if noted.kind == S.DEADLOCK:
        cluster = slot.cta.cluster
        mates = worker.slots[cluster.first : cluster.first + cluster.count]
        here = places(program, mates, mbarrier_waits)
        return deadlocked(program, launch, memory, [mate.cta.linear for mate in mates], slot.cta.linear, here)
    if code & S.GROUP_FLAG and noted.kind == S.OUT_OF_MEMORY_RANGE:
        lanes = {k: noted.addresses[k] for k in lanes_of(noted.lanes)} or {lane: address}
        code, lane, address = first_invalid(program, launch, memory, code, lanes)
    known = program.codes[min(code, len(program.codes) - 1)]  # a budget may be spent behind the last instruction
    at = FaultingThread(program, launch, memory, known, slot.cta.linear, LANES * warp + lane)
    if noted.kind == S.INCOMPLETE_WARPGROUP:
        return incomplete_warpgroup(at, [(int(count), int(last)) for count, last, _ in slot.warps["products"].tolist()])
    if noted.kind == S.BUDGET_SPENT:
        return spent(at, places(program, resident(workers), mbarrier_waits))
    return explain(at, noted.kind, address, noted.count, noted.multiple)


def explain(at: FaultingThread, kind: int, address: int, count: int, align: int) -> DeviceFault:
    code = at.code
    if kind == S.OUT_OF_MEMORY_RANGE:
        (access,) = code.accesses
        space = access.space
        if code.properties.rows or code.properties.mbarrier:
            space = "shared"  # also for a generic address
            if space_of(SPACES[code.space], address)[0] == SHARED:
                address = space_of(SPACES[code.space], address)[1]
        return at.access_fault(access.what, space, address, access.size, fragment=code.properties.fragment)
    if kind in (S.BAD_BULK, S.BAD_MBARRIER, S.COPY_FROM, S.COPY_TO) and is_bulk(code):
        return bulk_fault(at, kind, address, count, align)
    if kind == S.COPY_SIZE:
        return source_size(at, address)
    if kind in (S.COPY_FROM, S.COPY_TO):
        access = code.accesses[kind - S.COPY_FROM]
        return at.access_fault(access.what, access.space, address, access.size)
    if kind == S.BAD_MBARRIER:
        return invalid_mbarrier(at, address)
    if kind == S.INCOMPLETE:
        return incomplete_warp(at, address & 0xFFFFFFFF, guarded=bool(address >> 32))
    if kind == S.DISAGREE:
        return disagreeing_lanes(at)
    if kind == S.BAD_DESCRIPTOR:
        return outside(at.in_lane(0), address & (S.DESCRIPTOR_B - 1), of_b=bool(address & S.DESCRIPTOR_B))
    if kind == S.NO_WARPGROUP:
        return no_warpgroup(at.in_lane(0))
    if kind == S.BAD_INDEX:
        message = f"the index {address} is outside the list of {len(code.targets)} branch targets"
        return at.fault("trap", message)
    if kind == S.BAD_BARRIER:
        number, wanted = address & 0xFFFFFFFF, address >> 32
        if number > 15:
            return at.fault("trap", f"there is no barrier {number}: a block has barriers 0 to 15")
        return at.fault("trap", f"barrier {number} waits for {wanted} threads, which is not a multiple of 32")
    return at.fault("trap", code.reason or f"the kernel executed {code.form.op.name}")


def first_invalid(
    program: Program, launch: Launch, memory: Memory, code: int, lanes: Mapping[int, int]
) -> tuple[int, int, int]:
    """The invalid access: its code index, lane and address. A check covers a group of accesses with one base, from
    `lanes` on: the lowest address that the group may access, by lane. Here is its first instruction that is invalid for
    some lane, and the first of these."""
    found = program.codes[code & ~S.GROUP_FLAG]
    block = program.blocks[found.block]
    groups = plan_groups(program, block.first, block.last)
    group, reach = groups[found.index], memory_map(program, launch, memory.live())
    base = next(s.base for s in found.sources if isinstance(s, Mem))
    bits = types.width(program.registers[base.index].type) if isinstance(base, Reg) else 64
    for index, offset, size in sorted(group.members):
        member = program.codes[index]
        for lane, low in lanes.items():
            at = (low + offset - group.low) % (1 << bits)
            if judge(reach, SPACES[member.space], u64(at), size, size, member.properties.stores)[0] != VALID:
                return index, lane, at
    lane, low = next(iter(lanes.items()))
    return found.index, lane, low + next(o for c, o, _ in group.members if c == found.index) - group.low


def groups_of_lanes(
    program: Program, warps: np.ndarray, spinning: Sequence[tuple[int, list[int], int, str]]
) -> Iterator[tuple[int, list[int], int, str]]:
    """The lanes of a block that have not exited, by warp and place: warp, lanes, code index, and what they wait for, ""
    where they do not. `warps`: the warps' states, an array of `Warp`. spinning: the lanes that wait for an mbarrier."""
    for index, warp in enumerate(warps):
        live, diverged = int(warp["live"]), bool(warp["diverged"])
        waits = [(code, what, lanes) for at, lanes, code, what in spinning if at == index]
        groups: dict[tuple[int, str], list[int]] = {}
        for lane in (k for k in range(LANES) if live >> k & 1):
            pc = int(warp["pc"][lane] if diverged else warp["converged_pc"])
            barriers = [b for b, waiting in enumerate(warp["bar"].tolist()) if waiting >> lane & 1]
            place = pc // 2, ""
            if warp["awaited"]:
                place = barrier_before(program, pc), THE_OTHERS
            elif warp["sync_kind"][lane]:
                whole = program.codes[pc // 2].form.op.kind == "warp"
                place = pc // 2, "the other lanes of its warp" if whole else "the lanes of its mask"
            elif int(warp["cluster_waits"]) >> lane & 1:
                place = barrier_before(program, pc), "the barrier of the cluster"
            elif barriers:
                place = barrier_before(program, pc), f"barrier {barriers[0]}"
            elif any(lane in lanes for _, _, lanes in waits):
                continue
            groups.setdefault(place, []).append(lane)
        for code, what, lanes in [*waits, *((code, what, lanes) for (code, what), lanes in sorted(groups.items()))]:
            yield index, lanes, code, what


def resident(workers: Iterable[Worker]) -> list[Slot]:
    return [slot for worker in workers for slot in worker.slots if slot.cta.active]


def places(program: Program, slots: Iterable[Slot], mbarrier_waits: Waits | None) -> Iterator[Place]:
    for slot in slots:
        waits = [] if mbarrier_waits is None else mbarrier_waits(slot)
        waits = waits or spinning(program, slot.shared, slot.warps)
        for warp, lanes, code, what in groups_of_lanes(program, slot.warps, waits):
            yield Place(slot.cta.linear, warp, lanes, code, what)


def spinning(program: Program, shared: np.ndarray, warps: np.ndarray) -> list[tuple[int, list[int], int, str]]:
    """The lanes of a block that wait for an mbarrier; `shared`: its shared memory, `warps`: its warps' states."""
    waits: list[Spin] = []

    def word(at: int) -> int:
        return int(shared[at - program.shared_start :][:8].view(np.uint64)[0])

    for index, warp in enumerate(warps):
        for lane in lanes_of(int(warp["spins"] & warp["live"] & ~warp["wait"])):
            at, asked = int(warp["spin_at"][lane]), int(warp["spin_for"][lane])
            waits.append((LANES * index + lane, int(warp["spin_code"][lane]), at, asked))
    return list(in_words(program, waits, word))
