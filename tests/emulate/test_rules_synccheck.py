"""synccheck's rules do the same compiled as in Python, on random histories of one block."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from emulate_programs import ENGINES

from ptxlab.emulate.language import Pointer, Record
from ptxlab.emulate.rules import barriers, block_reset, lane_masks, race_order
from ptxlab.emulate.rules import copies_in_flight as copies
from ptxlab.emulate.rules.records import Block, Launch

LANES, WARPS, WORDS = 32, 4, 64
ALL = 0xFFFFFFFF
RULES = [
    barriers.arrive,
    barriers.diverged,
    barriers.opened,
    copies.start,
    copies.commit,
    copies.wait_group,
    copies.wait_all,
    copies.touched,
    lane_masks.named,
    lane_masks.shuffled,
]


class World:
    """What the checks know of a launch and of one of its blocks."""

    def __init__(self) -> None:
        self.launch, self.block = Launch.new(), Block.new()
        self.launch.barriers = Pointer(
            np.arange(40, dtype=np.uint32) // 4
        )  # four are one of a loop, or not to be told apart
        self.pending = np.zeros(WORDS, np.uint64)
        self.block.now = 1 << 48 | 1 << 30
        self.block.simple = 1
        self.block.pending = Pointer(self.pending)

    def notes(self) -> list[tuple[int, int, int, int]]:
        """(kind, lane, lane of the other, value) of each note, by kind."""
        rows = [self.launch.notes[k] for k in range(1024)]
        return sorted((row.key >> 40, row.access & 31, row.other & 31, row.value) for row in rows if row.key)

    def memory(self) -> list[bytes]:
        """All that rules may have changed."""
        return [_octets(self.launch), _octets(self.block), self.pending.tobytes()]


def _octets(record: Record) -> bytes:
    """A record's bytes without its pointers, which differ from world to world."""
    octets = record.buffer[: record.size].copy()
    for field in record.fields.values():
        if field.indirect:
            octets[field.offset : field.offset + 8] = 0
    return octets.tobytes()


def _step(draw: random.Random) -> tuple[Callable[..., None], Callable[[World], list[Any]]]:
    """A rule, and its arguments for a world."""
    rule = draw.choice(RULES)
    warp, code = draw.randrange(WARPS), draw.randrange(40)
    mask = draw.choice([ALL, 0xFFFF, draw.getrandbits(32) or 1])
    some = [np.array([draw.choice([ALL, 5, draw.getrandbits(32)]) for _ in range(LANES)], np.uint32) for _ in range(3)]
    offsets = np.array([4 * draw.randrange(WORDS - 8) for _ in range(LANES)], np.uint32)
    places = np.array([draw.randrange(80) for _ in range(LANES)], np.uint32)
    away, barrier, flag = draw.getrandbits(32) & ~mask, draw.randrange(3), draw.random() < 0.3
    may_come = np.array([draw.random() < 0.2 for _ in range(80)], np.uint8)
    lives = [np.array([draw.choice([ALL, 0xFFFF, 0xFF00]) for _ in range(LANES)], np.uint32) for _ in range(2)]
    waiting = draw.choice([0b1111, draw.randrange(1, 16)])
    came, when = draw.randrange(WARPS), draw.randrange(3)
    given: dict[Any, list[Any]] = {
        barriers.arrive: [warp, mask, barrier, 32 * draw.randrange(3), flag, code],
        barriers.diverged: [warp, mask, away, away & draw.getrandbits(32), away & draw.getrandbits(32),
                            Pointer(places), draw.randrange(80), Pointer(may_come), code],
        barriers.opened: [barrier, waiting, Pointer(lives[0]), Pointer(lives[1]), waiting == 15, flag],
        copies.start: [warp, mask, Pointer(offsets), draw.choice([4, 8, 16]), code],
        copies.commit: [warp, mask], copies.wait_all: [warp, mask],
        copies.wait_group: [warp, mask, draw.randrange(3)],
        copies.touched: [warp, mask, Pointer(offsets), Pointer(np.array([2, 0, 4, 7 << 12, 8, 1, 9 << 12], np.uint64)),
                         1 << 20],
        lane_masks.named: [warp, mask, draw.getrandbits(32) & draw.getrandbits(32), some[0], code],
        lane_masks.shuffled: [warp, mask, draw.getrandbits(32), *some, draw.randrange(4), flag, code],
    }  # fmt: skip

    def arguments(world: World) -> list[Any]:
        if rule is barriers.opened:
            world.block.came[barrier, came] = when
        known: list[Any] = [world.block] if rule in RULES[3:7] else [world.launch, world.block]
        return known + given[rule]

    return rule, arguments


@pytest.mark.long
@pytest.mark.skipif("jit" not in ENGINES, reason="needs llvmlite")
def test_compiled_they_do_what_they_do_in_python() -> None:
    from compiled_rules import Compiled

    compiled = Compiled(RULES)
    for seed in range(12):
        draw, ours, theirs = random.Random(seed), World(), World()
        for k in range(60):
            rule, arguments = _step(draw)
            rule(*arguments(ours))
            compiled(rule, *arguments(theirs))
            assert ours.memory() == theirs.memory(), (seed, k, rule.__name__)
        assert ours.notes()


def test_a_block_begins_without_what_another_has_left_at_barriers() -> None:
    """Warps that have arrived, and wait at no barrier that completes, are not remembered for the next block."""
    block = Block.new()
    block.warps, block.synchronized = WARPS, 1
    clean = block.buffer[: block.size].copy()
    race_order.arrived(block, 2, 3)
    barriers.arrive(Launch.new(), block, 1, ALL, 5, 64, True, 7)
    assert block.came[3, 2] != 0
    assert [int(each[k]) for each, k in ((block.expected, 5), (block.bar_code, 1))] == [65, 8]
    block_reset.started(block, 0)
    sizes = {"came": 16 * 128, "expected": 64, "expected_code": 64, "expected_by": 64, "bar_code": 4 * WARPS}
    for name, size in sizes.items():
        first = Block.offset(name)
        assert np.array_equal(block.buffer[first : first + size], clean[first : first + size]), name
