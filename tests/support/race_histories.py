"""Random histories of two blocks for the rules of racecheck, run in Python and compiled."""

from __future__ import annotations

import functools
import random
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from compiled_rules import Compiled

from ptxlab.emulate.jit.checks.scattered_races import (
    one_place,
    recorded_as_one,
    recorded_reads,
    recorded_writes,
    whole_row,
)
from ptxlab.emulate.language import Pointer
from ptxlab.emulate.program.addresses import GLOBALS_BASE
from ptxlab.emulate.rules import (
    barriers,
    race_accesses,
    race_chunks,
    race_deferred,
    race_line_records,
    race_order,
    races,
)
from ptxlab.emulate.rules.accesses import (
    ALL_THE_SAME,
    HALVES_IN_A_ROW,
    HALVES_THE_SAME,
    IN_A_ROW,
    IN_ONE_ALLOCATION,
)
from ptxlab.emulate.rules.block_reset import started
from ptxlab.emulate.rules.notes import serial, taking_part
from ptxlab.emulate.rules.records import (
    ATOMIC,
    CODE,
    NARROW,
    ONLY_STORES,
    STRONG,
    SWAPS,
    VOLATILE,
    Block,
    Entry,
    Launch,
    Published,
)

RULES = [
    race_order.sync_warp, race_order.sync_lanes, race_order.fence, race_order.publish, race_order.acquire,
    race_order.arrived, race_order.release, race_order.learn, races.storing, races.stored, barriers.order,
    race_accesses.at_one_address, race_accesses.at_addresses, taking_part, race_accesses.rows, serial,
    started, race_deferred.watched_rows, race_chunks.chunks_stored,
]  # fmt: skip
ALL = 0xFFFFFFFF
WORDS, CODES, START = 96, 12, 0x1000
Call = Callable[..., Any]


def in_python(rule: Call, *arguments: Any) -> Any:
    return rule(*arguments)


class World:
    """Two blocks of a launch, the records of one array, and by whom the rules are run."""

    def __init__(self, call: Call, granule: int, *, summaries: bool = False) -> None:
        self.call, self.granule, self.reading = call, granule, False
        self.launch, self.blocks = Launch.new(), [Block.new(), Block.new()]
        self.launch.granule, self.launch.summaries = granule, summaries
        self.launch.published = Published.many(4)
        self.launch.masks = Pointer(np.zeros(CODES * 32, np.uint32))
        traits = {7: SWAPS, 5: NARROW, 3: VOLATILE, 9: ATOMIC, 11: ATOMIC | NARROW, 2: ONLY_STORES, 4: ONLY_STORES}
        self.launch.traits = Pointer(np.array([traits.get(code, 0) for code in range(CODES)], np.uint8))
        self.memory = Pointer[int](np.zeros(4 * WORDS, np.uint8))
        self.shadow = races.Shadow(4 * WORDS, granule, by_rows=summaries)
        for k, block in enumerate(self.blocks):
            call(started, block, k)

    def step(self, draw: random.Random) -> None:
        """Something happens."""
        block, warp = draw.choice(self.blocks), draw.randrange(3)
        what = draw.random()
        mask = draw.choice([0xFFFFFFFF, 0xFFFFFFFF, draw.getrandbits(32), 1 << draw.randrange(32), 0xFFFF])
        if what < 0.7:
            self._access(draw, block, warp, mask)
        elif what < 0.76:
            self.call(race_order.sync_warp, block, warp)
        elif what < 0.82:
            half = draw.choice([0xFFFF, 0xFF00, 0x3F])
            named = np.where(np.arange(32) < 16, np.uint32(half), np.uint32(0xFFFFFFFF & ~half)).astype(np.uint32)
            self.call(race_order.sync_lanes, block, warp, 0xFFFFFFFF, 0xFFFFFFFF, named)
        elif what < 0.88:
            self.call(race_order.fence, self.launch, block, warp, draw.randrange(CODES), draw.random() < 0.7)
        elif what < 0.92:
            write, wide = draw.random() < 0.5, draw.random() < 0.7
            words = draw.choice([GLOBALS_BASE, GLOBALS_BASE + 4, 4]) + np.arange(32) // 16 * 8
            by = self.launch, block, warp, draw.randrange(CODES)
            at = mask, Pointer[int](words.astype(np.uint64)), draw.choice([4, 8])
            self.call(race_order.acquire, *by, draw.random() < 0.6, wide, *at)
            if write:
                self.call(race_order.publish, *by, wide, *at)
        elif what < 0.94:
            self.call(race_order.arrived, block, warp, 1)
        elif what < 0.96:
            known = self.call(race_order.release, block, warp)
            self.call(race_order.learn, block, draw.randrange(3), known)
        else:
            everyone = draw.random() < 0.5
            self.call(barriers.order, block, draw.randrange(2), 7 if everyone else 5, everyone, False)

    def _access(self, draw: random.Random, block: Block, warp: int, mask: int) -> None:
        code = draw.randrange(CODES) << CODE | (draw.random() < 0.2) << STRONG
        write, size = draw.random() < 0.4 and not self.reading, draw.choice([4, 4, 8])
        words = size // self.granule
        pieces = Pointer[int](np.array([1, 0, words, *[code] * words, *[0] * (-words % 16)], np.uint64))
        members = Pointer[int](np.array([1, 0, size, code], np.uint64))
        pattern = draw.choice([ALL_THE_SAME, IN_A_ROW, HALVES_IN_A_ROW, HALVES_THE_SAME, *[IN_ONE_ALLOCATION] * 4])
        first, second = (draw.randrange(8) * size for _ in range(2))
        lane = np.arange(32, dtype=np.uint32)
        offsets = {
            ALL_THE_SAME: np.full(32, first),
            IN_A_ROW: first + lane * size,
            HALVES_IN_A_ROW: np.where(lane < 16, first, second) + lane % 16 * size,
            HALVES_THE_SAME: np.where(lane < 16, first, second),
            IN_ONE_ALLOCATION: np.array([draw.randrange(8) * size for _ in lane]),
        }[pattern].astype(np.uint32)
        places = Pointer[int](offsets)
        if write and draw.random() < 0.7:
            values = np.array([draw.choice([0, 0, 1, 258]) for _ in range(32 * size // 4)], np.uint32)
            octets, where = Pointer[int](values.view(np.uint8)), (self.memory, START, START)
            self.kept = octets, places
            self.call(races.storing, self.launch, octets, 4, size // 4, *where, places, None)
        given = self.launch, block, warp
        memory = self.shadow.records, self.shadow.stride
        if pattern == ALL_THE_SAME and draw.random() < 0.5:
            if self.launch.store.components:
                self.launch.store.start, self.launch.store.narrow = START + first, None
            self.call(race_accesses.at_one_address, *given, mask, *memory, first, START, pieces, members, write)
        else:
            whole = 0xFFFFFFFF if pattern != IN_ONE_ALLOCATION else mask
            self.call(
                race_accesses.at_addresses, *given, whole, *memory, places, pattern, START, pieces, members, write
            )
        self.call(races.stored, self.launch)

    def state(self) -> dict[str, Any]:
        """All that is remembered."""
        apart = "later", "repeats"
        of_blocks = [name for name, field in Block.fields.items() if not field.indirect and name not in apart]
        notes = self.launch.notes.array.view(Entry.dtype)
        return {
            "records": words_of(self.shadow, rows=self.launch.summaries),
            "masks": self.launch.masks.array.tolist(),
            "published": self.launch.published.array.tolist(),
            "now": self.launch.now,
            "notes": notes[notes["key"] != 0].tolist(),
            "blocks": [{name: _plain(getattr(block, name)) for name in of_blocks} for block in self.blocks],
        }


def words_of(shadow: races.Shadow, *, rows: bool) -> list[int]:
    """The three records of each word; rows: lines may be kept as one record."""
    stride, every = shadow.stride, shadow.records.array
    found: list[int] = every[: 3 * stride].tolist()
    if rows and not every[3 * stride + race_line_records.BY_WORDS]:
        epoch, first = (
            int(every[3 * stride + race_line_records.EPOCH]),
            race_line_records.line_of(shadow.records, stride, 0).start,
        )
        for line, (*kept, how) in enumerate(every[first : first + stride // 4].reshape(-1, 4).tolist()):
            if how >> race_line_records.AGE == epoch | race_line_records.JOINT:
                lane, apart = how & 31, how >> 5 & race_line_records.JOINT_APART
                heads = [every[first + 4 * (line + (k - lane) * apart) :][:4].tolist() for k in (0, 1)]
                seen = [[head[2 * (j // 8)] >> 8 * (j % 8) & 0xFF for j in range(16)] for head in heads]
                record = heads[0][1] + lane
                reads, writes = ([record + (more - 1 << CODE) if more else 0 for more in each] for each in seen)
                thirds = [writes, reads, [0] * 16]
            elif how >> race_line_records.AGE == epoch | race_line_records.WOVEN:
                words, before = how & 31, (how & (1 << race_line_records.AGE) - 1) >> race_line_records.POSITION
                seen = [kept[2 * (j // 8)] >> 8 * (j % 8) & 0xFF for j in range(16)]
                lanes = [(before + j) // words for j in range(16)]
                writes = [kept[1] + (more - 1 << CODE) + n if more else 0 for more, n in zip(seen, lanes, strict=True)]
                thirds = [writes, [0] * 16, [0] * 16]
            elif how >> race_line_records.AGE == epoch | race_line_records.OWNED:
                begins = race_line_records.WROTE, race_line_records.READ
                owned, most = found[16 * line : 16 * line + 16], (1 << begins[0] - begins[1]) - 1
                who = [each & race_line_records.OWNER for each in owned]
                codes = [[each >> at & most for each in owned] for at in begins]
                thirds = [
                    [k + (more - 1 << CODE) if more else 0 for k, more in zip(who, what, strict=True)] for what in codes
                ] + [[0] * 16]
            elif how >> race_line_records.AGE == epoch:
                ways = [how >> 8 * third & 0xFF for third in range(3)]
                thirds = [
                    found[k * stride + 16 * line :][:16]
                    if way == race_line_records.OF_WORDS
                    else [record + (j >> way) if record else 0 for j in range(16)]
                    for k, (record, way) in enumerate(zip(kept, ways, strict=True))
                ]
            else:
                thirds = [[0] * 16] * 3
            for k, third in enumerate(thirds):
                found[k * stride + 16 * line : k * stride + 16 * line + 16] = third
    return found


def _plain(value: Any) -> Any:
    return value.array.tolist() if isinstance(value, Pointer) else value


@functools.cache
def compiled_rules(granule: int) -> Compiled:
    """The rules of all tests here."""
    rules = [
        *RULES,
        race_accesses.from_each_lane,
        race_accesses.work_off,
        recorded_as_one,
        recorded_reads,
        recorded_writes,
        one_place,
        whole_row,
    ]
    return Compiled(rules, {"Launch.granule": granule})


def few_and_many(count: int) -> pytest.MarkDecorator:
    """The argument `seeds`: a sixth of so many seeds in the normal run, the others in the long one."""
    few = count // 6
    return pytest.mark.parametrize(
        "seeds", [range(few), pytest.param(range(few, count), marks=pytest.mark.rest)], ids=["few", "many"]
    )


def that_agree(worlds: Sequence[Any], seed: int, steps: int = 60) -> Any:
    """The first of some worlds after the same steps in each. All remember the same then."""
    for world in worlds:
        draw = random.Random(seed)
        for _ in range(steps):
            world.step(draw)
    states = [world.state() for world in worlds]
    assert all(state == states[0] for state in states), seed
    return worlds[0]


def one_of_those_that_agree(kind: Any, compiled: Call, seed: int) -> Any:
    """What the same accesses leave in compiled rules with lines and without, and in Python, which is slow: alike."""
    worlds = [kind(compiled, summaries=True), kind(compiled, summaries=False)]
    return that_agree([*worlds, *[kind(in_python, summaries=True)] * (seed < 4)], seed)
