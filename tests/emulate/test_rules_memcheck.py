"""memcheck's rules: what they say, and that they say it in Python as compiled."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from compiled_rules import Compiled

from ptxlab.emulate.language import Pointer, Record
from ptxlab.emulate.language.records import address_of
from ptxlab.emulate.program.addresses import LOCAL_WINDOW, PARAM_WINDOW, SHARED_WINDOW
from ptxlab.emulate.rules import memcheck
from ptxlab.emulate.rules.memcheck import FINE, MISALIGNED, OUTSIDE, READ_ONLY, REMEMBERED, SCATTERED, WRONG, judge
from ptxlab.emulate.runtime.state import (
    GENERIC,
    GLOBAL,
    LOCAL,
    PARAM,
    SHARED,
    Allocation,
    Context,
    Cta,
    Found,
    MemoryMap,
    Site,
    Warp,
)

BASES = (0x1000, 0x2000, 0x4000)
ROOMS = (64, 256, 0x40)
FOUND = slice(Context.offset("found"), Context.offset("found") + Found.size)


class World:
    """A launch's memory: three allocations, the second not writable, 96 bytes of shared memory from 1024 on, 32 bytes
    of local memory, 16 of parameters."""

    def __init__(self) -> None:
        self.bytes = [np.arange(room, dtype=np.uint8) for room in ROOMS]
        self.written = np.zeros(ROOMS[0], np.uint8)
        self.memory = MemoryMap.new()
        self.memory.allocations, self.memory.count = Allocation.many(len(BASES)), len(BASES)
        for k, (base, room) in enumerate(zip(BASES, ROOMS, strict=True)):
            row = self.memory.allocations[k]
            row.base, row.room, row.writable, row.host = base, room, int(k != 1), Pointer(self.bytes[k])
        self.memory.allocations[0].written = Pointer(self.written)
        self.memory.shared_start, self.memory.shared_size = 1024, 96
        self.memory.local_size, self.memory.local_stride, self.memory.param_size = 32, 32, 16
        self.shared, self.local = np.arange(96, dtype=np.uint8), np.arange(1024, dtype=np.uint64).view(np.uint8)[:1024]
        self.params = np.arange(16, dtype=np.uint8)
        self.context, self.cta, self.warp, self.site = Context.new(), Cta.new(), Warp.new(), Site.new()
        self.context.memory, self.context.params = self.memory, Pointer(self.params)
        self.cta.shared, self.cta.shared_size = Pointer(self.shared), 96
        self.warp.local, self.warp.warp_id = Pointer(self.local), 3

    @property
    def places(self) -> list[Record]:
        """What rules about accesses are told of first."""
        return [self.context, self.cta, self.warp]

    def noted(self) -> tuple[int, ...]:
        """What was noted of a fault."""
        fault = self.context.fault
        return fault.kind, fault.code, fault.lane, fault.warp, fault.address


@pytest.fixture(scope="module")
def compiled() -> Compiled:
    """All rules about accesses."""
    rules = (judge, memcheck.resolve, memcheck.miss, memcheck.miss_lanes, memcheck.access_lanes, memcheck.mark_lanes)
    return Compiled((*rules, memcheck.forget))


@pytest.mark.parametrize(
    ("space", "address", "size", "write", "told"),
    [
        (GLOBAL, 0x1000, 64, True, (FINE, GLOBAL, 0, 0)),
        (GLOBAL, 0x103C, 8, False, (OUTSIDE, GLOBAL, 0, 0x3C)),  # begins in it and ends behind it
        (GLOBAL, 0x0FFC, 8, False, (OUTSIDE, GLOBAL, 0, 0x0FFC)),  # in front of all
        (GLOBAL, 0x2004, 8, False, (MISALIGNED, GLOBAL, 1, 4)),
        (GLOBAL, 0x2008, 8, True, (READ_ONLY, GLOBAL, 1, 8)),
        (GLOBAL, 0x2004, 8, True, (MISALIGNED, GLOBAL, 1, 4)),  # the address is told of first
        (GENERIC, 0x4020, 16, True, (FINE, GLOBAL, 2, 0x20)),
        (SHARED, 1024, 4, True, (FINE, SHARED, 0, 0)),
        (SHARED, 1020, 4, False, (OUTSIDE, SHARED, 0, (1 << 64) - 4)),
        (GENERIC, SHARED_WINDOW + 1024 + 92, 4, True, (FINE, SHARED, 0, 92)),
        (GENERIC, LOCAL_WINDOW + 28, 8, True, (OUTSIDE, LOCAL, 0, 28)),
        (LOCAL, 0, 64, True, (OUTSIDE, LOCAL, 0, 0)),  # more than there is
        (GENERIC, PARAM_WINDOW, 4, True, (READ_ONLY, PARAM, 0, 0)),
        (PARAM, 12, 4, False, (FINE, PARAM, 0, 12)),
    ],
)
def test_an_access_is_judged(space: int, address: int, size: int, write: bool, told: tuple[int, ...]) -> None:
    align = size & -size
    assert judge(World().memory, space, address, size, align, write) == told


def _addresses(rng: random.Random, count: int) -> list[int]:
    """Addresses in and around everything."""
    places = [*BASES, *(b + r for b, r in zip(BASES, ROOMS, strict=True)), 1024, 1120, 0, 16, 32]
    places += [w + p for w in (SHARED_WINDOW, LOCAL_WINDOW, PARAM_WINDOW) for p in (0, 16, 32, 1024, 1120)]
    return [max(0, rng.choice(places) + rng.randrange(-24, 24)) for _ in range(count)]


@pytest.mark.long
def test_compiled_rules_judge_alike(compiled: Compiled) -> None:
    rng, world = random.Random(1), World()
    seen = set()
    for address in _addresses(rng, 4000):
        size = rng.choice((1, 2, 4, 8, 16, 12))
        given = (world.memory, rng.randrange(6), address, size, size & -size, rng.random() < 0.5)
        told = judge(*given)
        assert compiled(judge, *given) == told, given[1:]
        seen.add(told[0])
    assert seen == {FINE, OUTSIDE, MISALIGNED, READ_ONLY}


def test_an_address_leads_to_its_place(compiled: Compiled) -> None:
    """A pointer into the host's memory, the bytes that say what was written, and what a site remembers."""
    rng, world = random.Random(2), World()
    for address in _addresses(rng, 1500):
        size, lane = rng.choice((1, 2, 4, 8)), rng.randrange(32)
        rest: tuple[Any, ...] = (lane, address, size, size.bit_length() - 1, rng.randrange(6), rng.randrange(2))
        site = rng.choice((None, world.site))
        here = memcheck.resolve(*world.places, *rest, site)  # type: ignore[arg-type]
        left = world.context.buffer.copy(), world.site.buffer.copy()
        world.context.buffer[FOUND] = 0
        world.site.clear()
        there = compiled(memcheck.resolve, *world.places, *rest, site)
        assert there == (0 if here is None else here.address)
        if here is not None:
            if rest[4] in (GLOBAL, SHARED):  # local memory and parameters have no records
                assert (world.context.buffer[FOUND] == left[0][FOUND]).all()
            assert site is None or (world.site.buffer == left[1]).all() or rest[4] in (LOCAL, PARAM)
        world.site.clear()


@pytest.mark.parametrize("run", ["python", "compiled"])
def test_a_site_remembers_what_all_its_lanes_need(compiled: Compiled, run: str) -> None:
    def call(rule: Any, *given: Any) -> Any:
        return rule(*given) if run == "python" else compiled(rule, *given)

    world = World()
    addresses = np.full(32, 0x1000, np.uint64)
    rest = (4, 2, GLOBAL, 1, world.site, 77)
    assert call(memcheck.miss, *world.places, 0xFFFFFFF0, 0x1008, *rest) == REMEMBERED
    assert (world.site.base, world.site.places) == (0x1000, 16)
    addresses[3] = 0x4004
    assert call(memcheck.miss_lanes, *world.places, 0xFFFFFFFF, Pointer(addresses), *rest) == SCATTERED
    addresses[5:7] = 0x2000, 0x4100  # read-only; behind the last
    assert call(memcheck.miss_lanes, *world.places, 0xFFFFFFFF, Pointer(addresses), *rest) == WRONG
    assert world.noted() == (1, 77, 5, 3, 0x2000)
    assert call(memcheck.miss_lanes, *world.places, 0xFFFFFFDF, Pointer(addresses), *rest) == WRONG
    assert world.noted() == (1, 77, 6, 3, 0x4100)
    assert call(memcheck.miss_lanes, *world.places, 0x1F, Pointer(addresses), *rest) == SCATTERED


@pytest.mark.parametrize("run", ["python", "compiled"])
@pytest.mark.parametrize(("width", "parts"), [(1, 1), (2, 2), (4, 4), (8, 2)])
def test_lane_by_lane(compiled: Compiled, run: str, width: int, parts: int) -> None:
    """Values lie part by part, the bytes of each lane's access together; what is stored counts as written."""

    def call(rule: Any, *given: Any) -> Any:
        return rule(*given) if run == "python" else compiled(rule, *given)

    world, size = World(), width * parts
    rng = np.random.default_rng(3)
    addresses = np.array([(0x1000, 0x4000)[k % 2] + k // 2 % (64 // size) * size for k in range(32)], np.uint64)
    data = rng.integers(0, 255, 32 * size, np.uint8, endpoint=True)
    log2 = size.bit_length() - 1
    rest = (Pointer(data), width, parts, log2, GLOBAL, 1, 9)
    want = [part.copy() for part in world.bytes]
    for lane in (0, 1, 30):
        for k in range(parts):
            value = data[(k * 32 + lane) * width :][:width]
            want[2 if lane % 2 else 0][(int(addresses[lane]) & 0xFFF) + k * width :][:width] = value
    mask = 1 | 2 | 1 << 30
    assert call(memcheck.access_lanes, *world.places, mask, Pointer(addresses), 0, *rest) == 0
    assert all((a == b).all() for a, b in zip(world.bytes, want, strict=True))
    marked = np.zeros(64, np.uint8)
    for lane in (0, 30):
        marked[int(addresses[lane]) - 0x1000 :][:size] = 255
    assert (world.written == marked).all()
    read = np.zeros_like(data)
    rest = (Pointer(read), width, parts, log2, GLOBAL, 0, 9)
    assert call(memcheck.access_lanes, *world.places, mask, Pointer(addresses), 0, *rest) == 0
    for lane in (0, 1, 30):
        for k in range(parts):
            at = (k * 32 + lane) * width
            assert (read[at : at + width] == data[at : at + width]).all()
    assert call(memcheck.access_lanes, *world.places, 4, Pointer(addresses), 64, *rest) == WRONG
    assert world.noted() == (1, 9, 2, 3, int(addresses[2]) + 64)


def test_sites_forget(compiled: Compiled) -> None:
    context = Context.new()
    context.sites, context.site_count = Site.many(3), 2
    for k in range(3):
        context.sites[k].places = 5
    compiled(memcheck.forget, context)
    assert [context.sites[k].places for k in range(3)] == [0, 0, 5]


def test_records_of_a_launch_are_found_by_their_addresses() -> None:
    world = World()
    at = Context.offset("memory")
    assert int(world.context.buffer[at : at + 8].view(np.uint64)[0]) == address_of(world.memory)
