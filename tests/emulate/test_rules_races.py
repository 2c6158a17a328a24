"""The rules of racecheck: what a block begins with, and what follows a release and an acquire in two blocks."""

from __future__ import annotations

import numpy as np
import pytest

from ptxlab.emulate.language import Pointer
from ptxlab.emulate.program.addresses import GLOBALS_BASE
from ptxlab.emulate.rules import barrier_checks, race_order, races
from ptxlab.emulate.rules.records import CLOCK_END, CODE, SWAPS, TIME, WARP, Block, Launch, Published, started


class World:
    """Two blocks of a launch, one of whose instructions is an exchange."""

    def __init__(self) -> None:
        self.launch, self.blocks = Launch.new(), [Block.new(), Block.new()]
        self.launch.granule, self.launch.published = 4, Published.many(4)
        self.launch.masks = Pointer(np.zeros(12 * 32, np.uint32))
        self.launch.traits = Pointer(np.array([SWAPS if code == 7 else 0 for code in range(12)], np.uint16))
        for k, block in enumerate(self.blocks):
            started(block, k)


@pytest.mark.parametrize("warps", [3, 32])
def test_a_block_that_begins_knows_nothing_of_the_one_before(warps: int) -> None:
    """All that the warps of a block may have changed is as in new records."""
    used, new = Block.new(), Block.new()
    for block in (used, new):
        block.warps = warps
    kept = {"warps", "rank", "stride", "followed", "shared_size", "local_stride"}  # of what these blocks have none of
    for name, field in Block.fields.items():
        if not field.indirect and name not in kept:
            size = field.kind.size * field.elements
            of_warps = field.shape is not None and field.shape.sizes[0] in (32, 1024)
            used.buffer[Block.offset(name) :][: size * warps // 32 if of_warps else size] = 0xFF
    for block in (used, new):
        started(block, 5)
    assert (used.buffer == new.buffer).all()


def test_a_clock_that_has_run_out_reports_nothing() -> None:
    world = World()
    block = world.blocks[0]
    block.now |= CLOCK_END << TIME
    stored = block.now | 5 << CODE
    assert race_order.tick(block) == CLOCK_END
    barrier_checks.order(block, 0, 3, True, False)
    assert races.ordered(world.launch, block, stored, block.now | 1 << WARP, True)


def test_what_is_acquired_must_have_been_released_since_the_access() -> None:
    world = World()
    writer, reader = world.blocks

    def release(word: int) -> None:
        race_order.fence(world.launch, writer, 0, 1, True)
        race_order.publish(world.launch, writer, 0, 2, True, 1, _word(word), 4)

    def acquire(word: int, warp: int = 0) -> None:
        race_order.acquire(world.launch, reader, warp, 3, True, True, 1, _word(word), 4)

    def comes_after(record: int, warp: int) -> bool:
        return bool(races.ordered(world.launch, reader, record, reader.now | warp << WARP, True))

    release(0)
    acquire(0)
    stored = writer.now | 5 << CODE
    release(1)
    assert not comes_after(stored, 0)  # word 0 says nothing of what was stored since
    acquire(1)
    assert comes_after(stored, 0)
    assert not comes_after(stored, 1)  # the other warp has not acquired anything
    barrier_checks.order(reader, 0, 3, True, False)
    assert comes_after(stored, 1)
    for _ in range(20):
        release(2)
    assert comes_after(stored, 1)  # the release that counts is forgotten


def test_a_lane_releases_what_its_warp_did_before_they_synchronized() -> None:
    world = World()
    writer, reader = world.blocks
    before = writer.now
    race_order.sync_warp(writer, 0)
    after = writer.now
    race_order.sync_subset(writer, 0, 0xF0)
    race_order.fence(world.launch, writer, 0, 1, True)
    race_order.publish(world.launch, writer, 0, 2, True, 0x12, _word(0), 4)
    race_order.acquire(world.launch, reader, 0, 3, True, True, 1, _word(0), 4)

    def released(record: int) -> list[int]:
        return [lane for lane in range(32) if races.ordered(world.launch, reader, record | lane, reader.now, True)]

    assert released(before) == [*range(32)]
    assert released(after) == [1, 4, 5, 6, 7]  # lanes 1 and 4 release; 5 to 7 have synchronized with 4


def _word(number: int) -> Pointer[int]:
    return Pointer[int](np.full(32, GLOBALS_BASE + 4 * number, np.uint64))
