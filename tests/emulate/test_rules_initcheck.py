"""The rules of initcheck and of notes: in Python and compiled, on random accesses, with the same answers and memory."""

from __future__ import annotations

import functools
import random
from typing import Any

import numpy as np
import pytest
from compiled_rules import Compiled

from ptxlab.emulate.language import Pointer, lanes_of
from ptxlab.emulate.program.addresses import LOCAL_WINDOW
from ptxlab.emulate.program.lowering_cache import lower
from ptxlab.emulate.rules import initcheck, initcheck_local, notes, records, register_checks
from ptxlab.emulate.rules.notes import OVERRUN, SAME, UNINITIALISED, Note
from ptxlab.emulate.rules.records import (
    BLOCK,
    BLOCKS,
    CHANGES,
    CODE,
    CONTIGUOUS,
    ENTRIES,
    GAP,
    HALVES_CONTIGUOUS,
    HALVES_UNIFORM,
    IN_ONE_ALLOCATION,
    MANY,
    UNIFORM,
    WARP,
    Block,
    Launch,
)
from ptxlab.text import parse

BYTES = 1 << 13
PROGRAM = lower(parse(".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k()\n{\n    ret;\n}\n"))
PATTERNS = (CONTIGUOUS, UNIFORM, IN_ONE_ALLOCATION, HALVES_CONTIGUOUS, HALVES_UNIFORM)


@functools.cache
def compiled() -> Compiled:
    return Compiled(
        [
            initcheck.first_unwritten,
            initcheck.all_written,
            initcheck.report,
            initcheck.mark,
            initcheck.stored,
            notes.note,
            notes.serial,
            initcheck_local.loaded,
            initcheck_local.stored,
            initcheck_local.copied,
            initcheck_local.accessed_anywhere,
            register_checks.read,
            register_checks.written,
            records.started,
        ]
    )


def call(engine: str, rule: Any, *arguments: Any) -> Any:
    return rule(*arguments) if engine == "step" else compiled()(rule, *arguments)


def access(block: int, code: int, warp: int, lane: int) -> int:
    """The record of an access; `block` is the block's number in the grid."""
    return (block % BLOCKS + 1) << BLOCK | code << CODE | warp << WARP | lane


def new_launch() -> Launch:
    """The record of a launch whose instructions are none of those that checks ask for."""
    launch = Launch.new()
    launch.traits = Pointer(np.zeros(2 * ENTRIES, np.uint16))
    return launch


def group(accesses: list[tuple[int, int]]) -> Pointer[int]:
    """The table of a group of accesses (offset, size)."""
    members = [x for k, (at, size) in enumerate(accesses) for x in (at, size, k << CODE)]
    return Pointer(np.array([len(accesses), *members], np.uint64))


def places(draw: random.Random, pattern: int, size: int) -> np.ndarray:
    """32 offsets that lie as a pattern says."""
    lane = np.arange(32)
    low, high = (16 * draw.randrange(BYTES // 64) for _ in range(2))
    if pattern == IN_ONE_ALLOCATION:
        far = draw.choice([BYTES // 2, 160])
        order = draw.choice([list, sorted])
        return np.array(order([size * draw.randrange(far // size) for _ in lane]), np.uint32)
    step = size if pattern in (CONTIGUOUS, HALVES_CONTIGUOUS) else 0
    if pattern in (CONTIGUOUS, UNIFORM):
        return (low + step * lane).astype(np.uint32)
    return np.where(lane < 16, low + step * lane, high + step * (lane - 16)).astype(np.uint32)


@pytest.mark.long
@pytest.mark.sweep(5)
@pytest.mark.parametrize("size", [1, 2, 4, 8, 16])
@pytest.mark.parametrize("pattern", PATTERNS)
def test_a_group_is_written_where_all_its_bytes_are(pattern: int, size: int) -> None:
    draw, seen = random.Random(pattern << 8 | size), set()
    for _ in range(100):
        reach = size * draw.choice([1, 1, 16, 32])  # rows may follow one another
        accesses = [(reach * k, size) for k in sorted(draw.sample(range(6), draw.randrange(1, 4)))]
        members = group(accesses)
        offsets = places(draw, pattern, size)
        mask = 0xFFFFFFFF if pattern != IN_ONE_ALLOCATION else draw.getrandbits(32)
        bytes_ = [int(offsets[k]) + at + b for k in lanes_of(mask) for at, n in accesses for b in range(n)]
        written = np.zeros(BYTES, np.uint8)
        written[bytes_] = 255
        if bytes_ and draw.random() < 0.6:
            written[draw.choice(bytes_)] = 0
        wanted = all(written[b] for b in bytes_)
        seen.add(wanted)
        for engine in ("step", "jit"):
            arguments = mask, Pointer(written), Pointer(offsets), members
            assert call(engine, initcheck.all_written, *arguments) == wanted, engine
    assert seen == {True, False}


@pytest.mark.parametrize("size", [1, 2, 4, 8, 16])
@pytest.mark.parametrize("pattern", [CONTIGUOUS, IN_ONE_ALLOCATION, HALVES_CONTIGUOUS])
def test_what_is_stored_is_written(pattern: int, size: int) -> None:
    draw = random.Random(pattern << 8 | size)
    for _ in range(20):
        offsets = places(draw, pattern, size)
        some = draw.choice((draw.getrandbits(32), 1 << draw.randrange(32), 0x80000101))
        mask = 0xFFFFFFFF if pattern != IN_ONE_ALLOCATION else some
        before = np.zeros(BYTES, np.uint8)
        if draw.random() < 0.5:
            before[: BYTES // 2] = 255
            before[draw.randrange(160)] = 0
        wanted = before.copy()
        for lane in lanes_of(mask):
            wanted[int(offsets[lane]) + size : int(offsets[lane]) + 2 * size] = 255
        for engine in ("step", "jit"):
            written = before.copy()
            call(engine, initcheck.mark, mask, Pointer(written), Pointer(offsets), size, size)
            assert np.array_equal(written, wanted), engine


def test_the_first_unwritten_byte_is_found_wherever_it_is() -> None:
    written = np.full(300, 255, np.uint8)
    for size in (0, 1, 3, 4, 7, 63, 64, 65, 130, 256):
        for missing in {0, min(1, size), size // 2, max(size - 1, 0), size}:
            written[:] = 255
            written[8 + missing] = 0
            for engine in ("step", "jit"):
                assert call(engine, initcheck.first_unwritten, Pointer(written, 8), size) == missing


@pytest.mark.parametrize("engine", ["step", "jit"])
def test_each_access_of_a_group_is_noted_with_its_first_lane(engine: str) -> None:
    launch, block = new_launch(), Block.new()
    block.linear, block.now = 7, access(7, 0, 0, 0)
    written = np.full(BYTES, 255, np.uint8)
    written[[4 * 5 + 2, 4 * 9, 2048 + 4 * 31 + 3]] = 0
    members = group([(0, 4), (1024, 4), (2048, 4)])
    offsets = Pointer(np.arange(0, 128, 4, dtype=np.uint32))
    for mask in (0xFFFFFFFF, 0xFFFFFF00):
        call(engine, initcheck.report, launch, block, 3, mask, Pointer(written), offsets, 0x1000, members)
    assert list(notes.noted(launch, PROGRAM)) == [
        Note(UNINITIALISED, 0, 7, 3, 5, address=0x1000 + 22, count=2, other_block=-1),
        Note(UNINITIALISED, 2, 7, 3, 31, address=0x1000 + 2048 + 127, count=2, other_block=-1),
    ]


@pytest.mark.parametrize("engine", ["step", "jit"])
def test_notes_of_one_kind_at_the_same_instructions_are_one(engine: str) -> None:
    launch, block = new_launch(), Block.new()
    block.linear = 70_000  # blocks beyond 65,535 share numbers in records, but not in what is noted
    me, other = access(70_000, 5, 1, 2) | 1 << MANY, access(70_000, 5, 1, 2) | 1 << MANY
    for mask in (0b1100, 0b1100, 0b1100):
        call(engine, notes.serial, launch, mask)
        for value in (mask, 0):
            call(engine, notes.note, launch, block, SAME, me, other, 64, value)
    call(engine, notes.note, launch, block, SAME, me, 0, notes.NOWHERE, 0)
    # of lanes that did it in one instruction, the first is one party and the next the other
    first, second = sorted(notes.noted(launch, PROGRAM), key=lambda note: note.other)
    assert (first.other, first.address, first.count) == (-1, -1, 1)
    assert second == Note(SAME, 5, 70_000, 1, 3, 5, 70_000, 1, 2, 64, 0b1100, 3)


@pytest.mark.parametrize("engine", ["step", "jit"])
def test_a_full_table_counts_what_it_cannot_keep(engine: str) -> None:
    launch, block = new_launch(), Block.new()
    for code in range(ENTRIES + 10):
        call(engine, notes.note, launch, block, UNINITIALISED, access(0, code, 0, 0), 0, 0, 0)
    assert launch.lost == 10
    assert sorted(note.code for note in notes.noted(launch, PROGRAM)) == list(range(ENTRIES))


def local_block(stride: int, warps: int) -> Block:
    """A block whose threads have so many bytes of local memory each."""
    block = Block.new()
    block.local_stride, block.local = stride, Pointer(np.zeros(warps * stride, np.uint32))
    return block


def written_locally(block: Block, warp: int) -> set[tuple[int, int, int]]:
    """Warp, lane and byte of what counts as written of a warp's local memory."""
    held = block.local.array.reshape(-1, int(block.local_stride))[warp]
    return {(warp, lane, byte) for byte, mask in enumerate(held.tolist()) for lane in lanes_of(mask)}


@pytest.mark.sweep(3)
@pytest.mark.parametrize("size", [1, 2, 4, 8, 16])
def test_local_memory_is_each_lanes_own(size: int) -> None:
    draw, stride = random.Random(size), 64
    engines = {engine: (new_launch(), local_block(stride, 2)) for engine in ("step", "jit")}
    written: set[tuple[int, int, int]] = set()  # warp, lane, byte
    for code in range(120):
        warp, mask = draw.randrange(2), draw.getrandbits(32)
        offsets = np.array([size * draw.randrange(stride // size) for _ in range(32)], np.uint32)
        if draw.random() < 0.3:
            offsets[:] = offsets[0]
        do = draw.choice(["load", "load", "store", "copy", "generic"])
        here, there, moved_bytes = draw.randrange(8), 32 + draw.randrange(8), draw.randrange(1, 24)
        if draw.random() < 0.5:
            here, there, moved_bytes = here & ~3, there & ~3, 4 + moved_bytes & ~3
        spots = {lane: [(warp, lane, int(offsets[lane]) + k) for k in range(size)] for lane in lanes_of(mask)}
        lacking = [lane for lane, spot in spots.items() if do in ("load", "generic") and not written >= {*spot}]
        for engine, (launch, block) in engines.items():
            if do == "load":
                call(engine, initcheck_local.loaded, launch, block, warp, mask, Pointer(offsets), size, code)
            elif do == "store":
                call(engine, initcheck_local.stored, block, warp, mask, Pointer(offsets), size)
            elif do == "copy":
                call(engine, initcheck_local.copied, block, warp, mask, here, there, moved_bytes)
            else:
                wide = offsets.astype(np.uint64) + np.uint64(LOCAL_WINDOW - 8)
                given = mask, Pointer(wide), 8, size, code, CHANGES
                call(engine, initcheck_local.accessed_anywhere, launch, block, warp, *given)
            new = [note.lane for note in notes.noted(launch, PROGRAM) if note.code == code]
            assert new == lacking[:1], (engine, do)
        if do in ("store", "generic"):
            written |= {place for spot in spots.values() for place in spot}
        if do == "copy":
            for lane in spots:
                moved = {(warp, lane, there + k) for k in range(moved_bytes) if (warp, lane, here + k) in written}
                written = written - {(warp, lane, there + k) for k in range(moved_bytes)} | moved
        (_, one), (_, other) = engines.values()
        assert np.array_equal(one.local.array, other.local.array)
        assert written == written_locally(one, 0) | written_locally(one, 1)


def test_a_register_is_read_where_no_lane_has_written_it() -> None:
    draw, count = random.Random(5), 6
    written = {(warp, lane, r): False for warp in range(2) for lane in range(32) for r in range(count)}
    blocks = {engine: Block.new() for engine in ("step", "jit")}
    for block in blocks.values():
        block.followed, block.values = count, Pointer(np.zeros(2 * count, np.uint32))
    for _ in range(200):
        warp, mask = draw.randrange(2), draw.getrandbits(32)
        listed = draw.sample(range(count), draw.randrange(3))
        touched = [(warp, lane, r) for lane in lanes_of(mask) for r in listed]
        given = warp, mask, len(listed), Pointer(np.array([*listed, 0], np.uint32))
        for engine, block in blocks.items():
            launch = new_launch()
            call(engine, register_checks.read, launch, block, *given[:2], 7, *given[2:])
            found = [(note.code, note.warp, note.lane) for note in notes.noted(launch, PROGRAM)]
            assert found == sorted({(7, warp, lane) for warp, lane, r in touched if not written[warp, lane, r]})[:1]
            call(engine, register_checks.written, block, *given)
        written.update(dict.fromkeys(touched, True))


@pytest.mark.parametrize("size", [1, 2, 4, 16])
def test_a_store_between_two_arrays_is_noted_and_not_written(size: int) -> None:
    draw = random.Random(size)
    for engine in ("step", "jit"):
        for _ in range(20):
            launch, block = new_launch(), Block.new()
            launch.gaps, block.shared_size = True, BYTES
            block.written = Pointer(np.zeros(BYTES, np.uint8))
            block.gaps = Pointer(np.array([2, 1024, 128, 4096, 1024], np.uint64))
            call(engine, records.started, block, 3)
            assert (block.linear, block.written.array.sum()) == (3, GAP * (128 + 1024))
            start = draw.choice([1024, 4096, 5120]) - size * draw.randrange(40)
            offsets = (start + size * np.arange(32)).astype(np.uint32)
            gone = [k for k in range(32) if 1024 <= offsets[k] < 1152 or 4096 <= offsets[k] < 5120]
            given = 0xFFFFFFFF, block.written, Pointer(offsets), 0, size, 7 << CODE, 0x400
            call(engine, initcheck.stored, launch, block, 1, *given)
            found = [(note.kind, note.code, note.lane, note.address) for note in notes.noted(launch, PROGRAM)]
            assert found == [(OVERRUN, 7, k, 0x400 + offsets[k]) for k in gone[:1]]
            wanted = [int(offsets[k]) + byte for k in range(32) if k not in gone for byte in range(size)]
            assert np.flatnonzero(block.written.array == 255).tolist() == wanted
