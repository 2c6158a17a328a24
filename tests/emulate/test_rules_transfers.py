"""The rules of `cp.async`, of atomic accesses and of matrices in memory: in Python and compiled, and what they say."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ptxlab.emulate.language import Pointer
from ptxlab.emulate.program.addresses import LOCAL_WINDOW, SHARED_WINDOW
from ptxlab.emulate.rules import async_copies, matrix_access, memcheck
from ptxlab.emulate.runtime.state import (
    COPY_FROM,
    COPY_TO,
    GENERIC,
    GLOBAL,
    OUT_OF_MEMORY_RANGE,
    SHARED,
    Allocation,
    Context,
    Cta,
    MemoryMap,
    Place,
    Site,
    Warp,
)

rules_in_llvm = pytest.importorskip("compiled_rules")
FULL = 0xFFFFFFFF
BASES, ROOM = (0x1000, 0x9000), 4096
START, SHARED_ROOM = 1024, 2048
LANES = np.arange(32)


@pytest.fixture(scope="module")
def compiled() -> Any:
    rules = (async_copies.copy, memcheck.find_lanes, matrix_access.find, matrix_access.mark)
    return rules_in_llvm.Compiled(rules)


@pytest.fixture(params=["python", "compiled"])
def call(request: pytest.FixtureRequest, compiled: Any) -> Any:
    if request.param == "python":
        return lambda rule, *given: rule(*given)
    return compiled


class World:
    """Two allocations of 4096 bytes, the second without a record of written bytes, and 2048 bytes of shared memory."""

    def __init__(self) -> None:
        rng = np.random.default_rng(7)
        self.bytes = [rng.integers(0, 256, ROOM, np.uint8) for _ in BASES]
        self.written, self.shared = np.zeros(ROOM, np.uint8), rng.integers(0, 256, SHARED_ROOM, np.uint8)
        self.context, self.cta, self.warp = Context.new(), Cta.new(), Warp.new()
        self.sites = {size: Site.new() for size in (4, 8, 16)}  # an instruction has one, and one size
        memory = self.context.memory = MemoryMap.new()
        memory.allocations, memory.count = Allocation.many(2), 2
        for row, base, held in zip((memory.allocations[k] for k in (0, 1)), BASES, self.bytes, strict=True):
            row.base, row.room, row.writable, row.host = base, ROOM, 1, Pointer(held)
        memory.allocations[0].written = Pointer(self.written)
        memory.shared_start, memory.shared_size, memory.local_size, memory.local_stride = START, SHARED_ROOM, 64, 64
        self.cta.shared, self.warp.local = Pointer(self.shared), Pointer(np.zeros(2048, np.uint8))
        self.warp.warp_id = 2

    @property
    def places(self) -> tuple[Context, Cta, Warp]:
        return self.context, self.cta, self.warp

    def fault(self) -> tuple[int, ...]:
        fault = self.context.fault
        return fault.kind, fault.code, fault.lane, fault.warp, fault.address

    def left(self) -> tuple[Any, ...]:
        held = *self.bytes, self.shared, self.written
        sites = [(site.base, site.places) for site in self.sites.values()]
        return *(one.tobytes() for one in held), self.fault(), sites

    def where(self, place: Place) -> tuple[int, int]:
        """Which memory a place is in (-1: shared), and how far from its start."""
        (address,) = place.buffer[:8].view(np.uint64).tolist()
        for k, held in ((-1, self.shared), *enumerate(self.bytes)):
            if 0 <= address - held.ctypes.data < held.size:
                return k, address - held.ctypes.data
        raise AssertionError(f"{address:#x} is in no memory")


# -- cp.async ----------------------------------------------------------------------------------------------------------


def copy(call: Any, world: World, size: int, to: Any, source: Any, counts: Any = None, mask: int = FULL) -> bool:
    """A `cp.async` of the given addresses; 16 and 32 are added to them in the instruction."""
    to, source = (Pointer(np.asarray(at).astype(kind)) for at, kind in ((to - 16, np.uint32), (source - 32, np.uint64)))
    counts = None if counts is None else Pointer(np.asarray(counts).astype(np.uint32))
    stops: bool = call(async_copies.copy, *world.places, mask, to, 16, source, 32, counts, world.sites[size], 5, size)
    return stops


@pytest.mark.parametrize("size", [4, 8, 16])
def test_all_lanes_copy(call: Any, size: int) -> None:
    world = World()
    order = np.random.default_rng(size).permutation(32)
    for _ in range(2):  # once to learn the allocation, then all lanes at once
        expected = world.shared.copy()
        for lane in range(32):
            given = world.bytes[1][64 + size * order[lane] :][:size]
            expected[size * lane :][:size] = given
        assert not copy(call, world, size, START + size * LANES, BASES[1] + 64 + size * order)
        assert (world.shared == expected).all()
        assert world.sites[size].base == BASES[1]
        world.bytes[1][:] = world.bytes[1][::-1].copy()


def test_what_is_not_read_is_zero(call: Any) -> None:
    world = World()
    expected = world.shared.copy()
    counts = np.resize([0, 3, 8, 16, 99], 32)
    for lane in (1, 2, 3, 4, 5, 31):
        count = min(int(counts[lane]), 16)
        expected[16 * lane :][:16] = 0
        expected[16 * lane :][:count] = world.bytes[0][32 * lane :][:count]
    at = BASES[0] + 32 * LANES
    at[5] = 0x100  # counts[5] is 0: nothing is read there
    assert not copy(call, world, 16, START + 16 * LANES, at, counts, 0x8000003E)
    assert (world.shared == expected).all()


@pytest.mark.parametrize(
    ("side", "address", "kind"),
    [
        ("to", START - 16, COPY_TO),
        ("to", START + SHARED_ROOM, COPY_TO),
        ("to", START + 8, COPY_TO),
        ("from", BASES[0] + ROOM, COPY_FROM),
        ("from", BASES[0] + 8, COPY_FROM),
        ("from", SHARED_WINDOW + START, COPY_FROM),
    ],
)
def test_a_wrong_copy_stops_at_its_lane(call: Any, side: str, address: int, kind: int) -> None:
    world = World()
    to, source = START + 16 * LANES, BASES[0] + 16 * LANES
    assert not copy(call, world, 16, to, source)
    world.shared[:] = 0
    (to if side == "to" else source)[9] = address
    assert copy(call, world, 16, to, source)
    assert world.fault() == (kind, 5, 9, 2, address)
    assert (world.shared[: 16 * 9] == world.bytes[0][: 16 * 9]).all()
    assert not world.shared[16 * 9 :].any()


def test_copies_leave_the_same_compiled(compiled: Any) -> None:
    rng = np.random.default_rng(3)
    worlds = World(), World()
    stopped = 0
    for _ in range(300):
        size = int(rng.choice([4, 8, 16]))
        to = START + size * rng.integers(0, SHARED_ROOM // size, 32)
        source = rng.choice(BASES) + size * rng.integers(0, ROOM // size, 32)
        if rng.random() < 0.5:
            (to, source)[int(rng.integers(2))][rng.integers(32)] += int(rng.choice([2, size, ROOM, 1 << 20]))
        counts = rng.choice([0, 3, size, 100], 32) if rng.random() < 0.4 else None
        mask = FULL if rng.random() < 0.5 else int(rng.integers(1, 1 << 32))
        calls = (lambda rule, *given: rule(*given)), compiled
        stops = [copy(one, world, size, to, source, counts, mask) for one, world in zip(calls, worlds, strict=True)]
        assert stops[0] == stops[1]
        assert worlds[0].left() == worlds[1].left()
        stopped += stops[0]
    assert 30 < stopped < 270


# -- atomics -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("space", [GLOBAL, GENERIC])
def test_places_of_lanes(call: Any, space: int) -> None:
    world, places = World(), Place.many(32)
    at = np.where(LANES % 3 == 0, BASES[1], BASES[0]) + 8 * LANES
    expected = [(1 if lane % 3 == 0 else 0, 8 * lane) for lane in range(32)]
    if space == GENERIC:
        at[::4] = SHARED_WINDOW + START + 8 * LANES[::4]
        expected[::4] = [(-1, 8 * lane) for lane in range(0, 32, 4)]
    given = Pointer(at.astype(np.uint64)), 8, 3, space, 5, places
    assert not call(memcheck.find_lanes, *world.places, 0x7FFFFFFF, *given)
    assert [world.where(places[lane]) for lane in range(31)] == expected[:31]
    marked = np.zeros(ROOM, np.uint8)
    for lane in range(31):
        if expected[lane][0] == 0:
            marked[8 * lane :][:8] = 255
    assert (world.written == marked).all()


def test_places_in_shared_memory(call: Any) -> None:
    world, places = World(), Place.many(32)
    at = Pointer((START + 4 * LANES[::-1]).astype(np.uint64))
    assert not call(memcheck.find_lanes, *world.places, FULL, at, 4, 2, SHARED, 5, places)
    assert [world.where(places[lane]) for lane in range(32)] == [(-1, 4 * (31 - lane)) for lane in range(32)]


def test_a_wrong_lane_stops_all(call: Any) -> None:
    world, places = World(), Place.many(32)
    at = (BASES[0] + 4 * LANES).astype(np.uint64)
    at[6], at[9] = BASES[0] + ROOM, 0
    assert call(memcheck.find_lanes, *world.places, FULL, Pointer(at), 4, 2, GLOBAL, 5, places)
    assert world.fault() == (OUT_OF_MEMORY_RANGE, 5, 6, 2, BASES[0] + ROOM)
    assert not world.written.any()


# -- matrices ----------------------------------------------------------------------------------------------------------


def matrix(rows: int, length: int, *, stores: bool) -> tuple[matrix_access.Tile, Any]:
    """A matrix of so many rows, each of `length` bytes in pieces of 16."""
    tile, each = matrix_access.Tile.new(), length // 16
    tile.count, tile.last, tile.length, tile.log2, tile.write = rows * each, rows - 1, length, 4, int(stores)
    pieces = matrix_access.Piece.many(rows * each)
    for k in range(rows * each):
        pieces[k].line, pieces[k].start, pieces[k].lane = k // each, k % each * 16, k % 32
    return tile, pieces


@pytest.mark.parametrize("stride", [32, 48, 64])
@pytest.mark.parametrize("space", [GLOBAL, SHARED, GENERIC])
def test_pieces_of_a_matrix(call: Any, space: int, stride: int) -> None:
    world, places = World(), Place.many(32)
    tile, pieces = matrix(16, 32, stores=True)
    base, memory = {GLOBAL: (BASES[0], 0), SHARED: (START, -1), GENERIC: (SHARED_WINDOW + START, -1)}[space]
    assert not call(matrix_access.find, *world.places, base + 16, stride, space, 5, tile, pieces, places)
    expected = [k // 2 * stride + k % 2 * 16 + 16 for k in range(32)]
    assert [world.where(places[k]) for k in range(32)] == [(memory, offset) for offset in expected]
    call(matrix_access.mark, tile, places)
    marked = np.zeros(ROOM, np.uint8)
    for offset in expected if space == GLOBAL else ():
        marked[offset:][:16] = 255
    assert (world.written == marked).all()


def test_rows_in_two_allocations(call: Any) -> None:
    world, places = World(), Place.many(32)
    tile, pieces = matrix(2, 32, stores=False)
    stride = BASES[1] - BASES[0]
    assert not call(matrix_access.find, *world.places, BASES[0], stride, GLOBAL, 5, tile, pieces, places)
    assert [world.where(places[k]) for k in range(4)] == [(0, 0), (0, 16), (1, 0), (1, 16)]


@pytest.mark.parametrize(
    ("base", "stride", "lane", "address"),
    [
        (BASES[0] + ROOM - 64, 32, 4, BASES[0] + ROOM),
        (BASES[0] + 8, 32, 0, BASES[0] + 8),
        (BASES[0], 40, 2, BASES[0] + 40),
        (LOCAL_WINDOW, 32, 0, LOCAL_WINDOW),  # each lane has local memory of its own
        (BASES[0], 1 << 40, 2, BASES[0] + (1 << 40)),
    ],
)
def test_a_matrix_that_is_not_all_there(call: Any, base: int, stride: int, lane: int, address: int) -> None:
    world, places = World(), Place.many(32)
    tile, pieces = matrix(16, 32, stores=False)
    assert call(matrix_access.find, *world.places, base, stride, GENERIC, 5, tile, pieces, places)
    assert world.fault() == (OUT_OF_MEMORY_RANGE, 5, lane, 2, address)
