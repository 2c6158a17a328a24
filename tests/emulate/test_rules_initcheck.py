"""The rules of initcheck and of notes: in Python and compiled, on random accesses, with the same answers and memory."""

from __future__ import annotations

import functools
import random
from typing import Any

import numpy as np
import pytest

from ptxlab.emulate.jit.rulecode import Compiled
from ptxlab.emulate.language import Pointer, lanes_of
from ptxlab.emulate.program.model import lower
from ptxlab.emulate.rules import initcheck, notes
from ptxlab.emulate.rules.accesses import (
    ALL_THE_SAME,
    HALVES_IN_A_ROW,
    HALVES_THE_SAME,
    IN_A_ROW,
    IN_ONE_ALLOCATION,
)
from ptxlab.emulate.rules.findings import SAME, UNINITIALISED, Note
from ptxlab.emulate.rules.records import CODE, ENTRIES, MANY, Block, Launch, access
from ptxlab.text import parse

BYTES = 1 << 13
PROGRAM = lower(parse(".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k()\n{\n    ret;\n}\n"))
PATTERNS = (IN_A_ROW, ALL_THE_SAME, IN_ONE_ALLOCATION, HALVES_IN_A_ROW, HALVES_THE_SAME)


@functools.cache
def compiled() -> Compiled:
    return Compiled(
        [
            initcheck.first_unwritten, initcheck.all_written, initcheck.group_written, initcheck.report, initcheck.mark,
            notes.note, notes.serial,
        ]
    )  # fmt: skip


def call(engine: str, rule: Any, *arguments: Any) -> Any:
    return rule(*arguments) if engine == "step" else compiled()(rule, *arguments)


def group(accesses: list[tuple[int, int]]) -> tuple[Pointer[int], Pointer[int]]:
    """The tables of a group of accesses (offset, size): its members and its ranges."""
    members = [x for k, (at, size) in enumerate(accesses) for x in (at, size, k << CODE)]
    ranges = [x for at, size in accesses for x in (at, size)]
    n = len(accesses)
    return Pointer(np.array([n, *members], np.uint64)), Pointer(np.array([n, *ranges], np.uint64))


def places(draw: random.Random, pattern: int, size: int) -> np.ndarray:
    """32 offsets that lie as a pattern says."""
    lane = np.arange(32)
    low, high = (16 * draw.randrange(BYTES // 64) for _ in range(2))
    if pattern == IN_ONE_ALLOCATION:
        return np.array([size * draw.randrange(BYTES // 2 // size) for _ in lane], np.uint32)
    step = size if pattern in (IN_A_ROW, HALVES_IN_A_ROW) else 0
    if pattern in (IN_A_ROW, ALL_THE_SAME):
        return (low + step * lane).astype(np.uint32)
    return np.where(lane < 16, low + step * lane, high + step * (lane - 16)).astype(np.uint32)


@pytest.mark.parametrize("size", [1, 2, 4, 8, 16])
@pytest.mark.parametrize("pattern", PATTERNS)
def test_a_group_is_written_where_all_its_bytes_are(pattern: int, size: int) -> None:
    draw, seen = random.Random(pattern << 8 | size), set()
    for _ in range(60):
        accesses = [(size * k, size) for k in sorted(draw.sample(range(6), draw.randrange(1, 4)))]
        members, ranges = group(accesses)
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
            arguments = mask, Pointer(written), Pointer(offsets), pattern, ranges, members
            assert call(engine, initcheck.group_written, *arguments) == wanted, engine
    assert seen == {True, False}


@pytest.mark.parametrize("size", [1, 2, 4, 8, 16])
@pytest.mark.parametrize("pattern", [IN_A_ROW, IN_ONE_ALLOCATION, HALVES_IN_A_ROW])
def test_what_is_stored_is_written(pattern: int, size: int) -> None:
    draw = random.Random(pattern << 8 | size)
    for _ in range(20):
        offsets = places(draw, pattern, size)
        mask = 0xFFFFFFFF if pattern != IN_ONE_ALLOCATION else draw.getrandbits(32)
        wanted = np.zeros(BYTES, np.uint8)
        for lane in lanes_of(mask):
            wanted[int(offsets[lane]) + size : int(offsets[lane]) + 2 * size] = 255
        for engine in ("step", "jit"):
            written = np.zeros(BYTES, np.uint8)
            call(engine, initcheck.mark, mask, Pointer(written), Pointer(offsets), pattern, size, size)
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
    launch, block = Launch.new(), Block.new()
    block.linear, block.now = 7, access(7, 0, 0, 0)
    written = np.full(BYTES, 255, np.uint8)
    written[[4 * 5 + 2, 4 * 9, 2048 + 4 * 31 + 3]] = 0
    members, _ = group([(0, 4), (1024, 4), (2048, 4)])
    offsets = Pointer(np.arange(0, 128, 4, dtype=np.uint32))
    for mask in (0xFFFFFFFF, 0xFFFFFF00):
        call(engine, initcheck.report, launch, block, 3, mask, Pointer(written), offsets, 0x1000, members)
    assert list(notes.noted(launch, PROGRAM)) == [
        Note(UNINITIALISED, 0, 7, 3, 5, address=0x1000 + 22, count=2, other_block=-1),
        Note(UNINITIALISED, 2, 7, 3, 31, address=0x1000 + 2048 + 127, count=2, other_block=-1),
    ]


@pytest.mark.parametrize("engine", ["step", "jit"])
def test_notes_of_one_kind_at_the_same_instructions_are_one(engine: str) -> None:
    launch, block = Launch.new(), Block.new()
    block.linear = 70_000  # blocks beyond 65,535 share numbers in records, but not in what is noted
    me, other = access(70_000, 5, 1, 2) | 1 << MANY, access(70_000, 5, 1, 2) | 1 << MANY
    for mask in (0b1100, 0b1100, 0b1100):
        call(engine, notes.serial, launch, mask)
        for value in (mask, 0):
            call(engine, notes.note, launch, block, SAME, me, other, 64, value)
    call(engine, notes.note, launch, block, SAME, me, 0, notes.NOWHERE, 0)
    # of lanes that did it together, the first is one party and the next the other
    first, second = sorted(notes.noted(launch, PROGRAM), key=lambda note: note.other)
    assert (first.other, first.address, first.count) == (-1, -1, 1)
    assert second == Note(SAME, 5, 70_000, 1, 3, 5, 70_000, 1, 2, 64, 0b1100, 3)


@pytest.mark.parametrize("engine", ["step", "jit"])
def test_a_full_table_counts_what_it_cannot_keep(engine: str) -> None:
    launch, block = Launch.new(), Block.new()
    for code in range(ENTRIES + 10):
        call(engine, notes.note, launch, block, UNINITIALISED, access(0, code, 0, 0), 0, 0, 0)
    assert launch.lost == 10
    assert sorted(note.code for note in notes.noted(launch, PROGRAM)) == list(range(ENTRIES))
