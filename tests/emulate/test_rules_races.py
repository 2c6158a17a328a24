"""The rules of racecheck: random histories of two blocks come to the same records and notes in Python and compiled."""

from __future__ import annotations

import functools
import random
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from ptxlab.emulate.jit.records_at_once import OTHER_LANE, recorded_as_one, recorded_reads, recorded_writes
from ptxlab.emulate.jit.rulecode import Compiled
from ptxlab.emulate.language import Pointer, lanes, lanes_of, load_lanes, reversed_bits, reversed_lanes
from ptxlab.emulate.rules import (
    barriers,
    race_accesses,
    race_later,
    race_lines,
    race_order,
    race_rows,
    race_watch,
    races,
)
from ptxlab.emulate.rules.accesses import (
    ALL_THE_SAME,
    HALVES_IN_A_ROW,
    HALVES_THE_SAME,
    IN_A_ROW,
    IN_ONE_ALLOCATION,
)
from ptxlab.emulate.rules.blocks import started
from ptxlab.emulate.rules.notes import KIND, serial, taking_part
from ptxlab.emulate.rules.records import (
    CODE,
    MANY,
    NARROW,
    STRONG,
    SWAPS,
    VOLATILE,
    WARP,
    Block,
    Entry,
    Launch,
    Published,
)

RULES = [
    race_order.sync_warp, race_order.sync_lanes, race_order.fence, race_order.publish, race_order.acquire,
    race_order.arrived, race_order.release, race_order.learn, races.storing, races.stored, barriers.order,
    race_accesses.at_one_address, race_accesses.at_addresses, taking_part, race_accesses.rows, serial,
    started, race_watch.watched_rows,
]  # fmt: skip
ALL = 0xFFFFFFFF
WORDS, CODES, START = 96, 12, 0x1000
Call = Callable[..., Any]


def _called(rule: Call, *arguments: Any) -> Any:
    return rule(*arguments)


class World:
    """Two blocks of a launch, the records of one array, and by whom the rules are run."""

    def __init__(self, call: Call, granule: int, *, summaries: bool = False) -> None:
        self.call, self.granule, self.reading = call, granule, False
        self.launch, self.blocks = Launch.new(), [Block.new(), Block.new()]
        self.launch.granule, self.launch.summaries = granule, summaries
        self.launch.published = Published.many(4)
        self.launch.masks = Pointer(np.zeros(CODES * 32, np.uint32))
        self.launch.traits = Pointer(
            np.array([{7: SWAPS, 5: NARROW, 3: VOLATILE}.get(code, 0) for code in range(CODES)], np.uint8)
        )
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
            if draw.random() < 0.5:
                self.call(race_order.publish, self.launch, block, warp, draw.randrange(CODES), draw.random() < 0.7)
            ways = draw.random() < 0.6, draw.random() < 0.7
            self.call(race_order.acquire, self.launch, block, warp, draw.randrange(CODES), *ways)
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
        of_blocks = [name for name, field in Block.fields.items() if not field.indirect and name != "later"]
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
    if rows and not every[3 * stride + race_rows.BY_WORDS]:
        epoch, first = int(every[3 * stride + race_rows.EPOCH]), race_rows.line_of(shadow.records, stride, 0).start
        for line, (*kept, how) in enumerate(every[first : first + stride // 4].reshape(-1, 4).tolist()):
            if how >> race_rows.AGE == epoch | race_rows.PRIVATE:
                seen = [kept[2 * (j // 8)] >> 8 * (j % 8) & 0xFF for j in range(16)]
                thirds = [[0] * 16, [kept[1] + (more - 1 << CODE) if more else 0 for more in seen], [0] * 16]
            elif how >> race_rows.AGE == epoch | race_rows.JOINT:
                lane, apart = how & 31, how >> 5 & race_rows.JOINT_APART
                heads = [every[first + 4 * (line + (k - lane) * apart) :][:4].tolist() for k in (0, 1)]
                seen = [[head[2 * (j // 8)] >> 8 * (j % 8) & 0xFF for j in range(16)] for head in heads]
                record = heads[0][1] + lane
                reads, writes = ([record + (more - 1 << CODE) if more else 0 for more in each] for each in seen)
                thirds = [writes, reads, [0] * 16]
            elif how >> race_rows.AGE == epoch:
                ways = [how >> 8 * third & 0xFF for third in range(3)]
                thirds = [
                    found[k * stride + 16 * line :][:16] if way == race_rows.OF_WORDS
                    else [record + (j >> way) if record else 0 for j in range(16)]
                    for k, (record, way) in enumerate(zip(kept, ways, strict=True))
                ]  # fmt: skip
            else:
                thirds = [[0] * 16] * 3
            for k, third in enumerate(thirds):
                found[k * stride + 16 * line : k * stride + 16 * line + 16] = third
    return found


def _plain(value: Any) -> Any:
    return value.array.tolist() if isinstance(value, Pointer) else value


@functools.cache
def _compiled(granule: int) -> Compiled:
    """The rules of all tests here."""
    rules = [
        *RULES,
        race_accesses.from_each_lane,
        race_accesses.work_off,
        recorded_as_one,
        recorded_reads,
        recorded_writes,
    ]
    return Compiled(rules, {"Launch.granule": granule})


def that_agree(worlds: Sequence[Any], seed: int, steps: int = 60) -> Any:
    """The first of some worlds after the same steps in each. All remember the same then."""
    for world in worlds:
        draw = random.Random(seed)
        for _ in range(steps):
            world.step(draw)
    states = [world.state() for world in worlds]
    assert all(state == states[0] for state in states), seed
    return worlds[0]


@pytest.mark.long
@pytest.mark.parametrize("granule", [4, 2])
def test_histories(granule: int) -> None:
    compiled = _compiled(granule)
    kinds = set()
    for seed in range(20):
        world = that_agree([World(_called, granule), World(compiled, granule)], seed)
        kinds |= {note[0] >> KIND for note in world.state()["notes"]}
    assert len(kinds) == 5  # RAW, WAR, WAW, two lanes in one store, lanes in lockstep


@pytest.mark.long
def test_settled_lines_change_no_record_and_no_note() -> None:
    """Few places, read by most, so that lines settle and are disturbed again."""
    compiled, settled = _compiled(4), 0
    for seed in range(60):
        worlds = [Tiles(compiled, summaries=True), Tiles(compiled), *([Tiles(_called, summaries=True)] * (seed < 8))]
        settled += that_agree(worlds, seed, steps=90).settled
    assert settled > 1000


class Tiles(World):
    """Most accesses are reads of the same few lines, now by this warp and now by that one."""

    def __init__(self, call: Call, *, summaries: bool = False) -> None:
        super().__init__(call, 4, summaries=summaries)
        self.settled = 0

    def step(self, draw: random.Random) -> None:
        self.reading = draw.random() < 0.97
        if draw.random() < 0.05:
            self.call(barriers.order, draw.choice(self.blocks), 0, 7, True, False)
        elif draw.random() < 0.1:
            super().step(draw)
        else:
            self._access(draw, self.blocks[draw.random() < 0.2], draw.randrange(4), 0xFFFFFFFF)
            kept = self.shadow.records.array[3 * self.shadow.stride :]
            lines = kept[race_rows.LINES :][: race_rows.numbers(self.shadow.stride)]
            lines = lines[: lines.size * (int(kept[race_lines.ANY_SETTLED]) == race_lines.SOME)]
            self.settled += int(((lines != 0) & (lines & race_lines.WARPS != race_lines.WARPS)).sum())


@pytest.mark.long
def test_part_of_a_row_is_checked_like_scattered_lanes() -> None:
    compiled, private = _compiled(4), 0
    for seed in range(100):
        worlds = [Rows(compiled, summaries=True), Rows(compiled, summaries=False, scattered=True)]
        worlds += [Rows(_called, summaries=True)] * (seed < 4)
        private += that_agree(worlds, seed).private
    assert private > 300


@pytest.mark.long
def test_lines_of_32_lanes_are_checked_like_scattered_lanes() -> None:
    compiled, joint, apart = _compiled(4), 0, 0
    for seed in range(60):
        worlds = [OwnRows(compiled, summaries=True), OwnRows(compiled, summaries=False, scattered=True)]
        worlds += [OwnRows(_called, summaries=True)] * (seed < 3)
        world = that_agree(worlds, seed)
        joint += world.joint
        apart += int(world.shadow.records.array[3 * world.shadow.stride + race_rows.DISSOLVED])
    assert joint > 32 * 100
    assert apart > 30


class Rows(World):
    """Most accesses are those of some lanes to words in a row, one or two of each lane, side by side or apart; to a row
    for each half of a warp; or to places that are equally far apart, or ascend."""

    size, chance = 640, 0.1

    def __init__(self, call: Call, *, summaries: bool, scattered: bool = False) -> None:
        super().__init__(call, 4, summaries=summaries)
        self.scattered, self.private, self.joint = scattered, 0, 0
        self.shadow = races.Shadow(4 * self.size, 4, by_rows=summaries)

    def step(self, draw: random.Random) -> None:
        self.reading = draw.random() < 0.8
        super().step(draw)
        ages = self.shadow.records.array[race_rows.line_of(self.shadow.records, self.shadow.stride, 0).start :][3::4]
        self.private += int((ages >> race_rows.AGE & race_rows.PRIVATE != 0).sum())
        self.joint += int((ages >> race_rows.AGE & race_rows.JOINT != 0).sum())

    def _access(self, draw: random.Random, block: Block, warp: int, mask: int) -> None:
        if draw.random() < self.chance:
            super()._access(draw, block, warp, mask)
            return
        codes = [draw.randrange(CODES) << CODE | (draw.random() < 0.2) << STRONG for _ in range(2)]
        tables = [
            [1, 0, 1, codes[0], *[0] * 15],
            [1, 4, 2, *codes, *[0] * 14],
            [2, 0, 1, codes[0], *[0] * 15, 40, 1, codes[1], *[0] * 15],
            [1, 0, 9, *codes * 4, codes[0], *[0] * 7],
        ]
        write = draw.random() < 0.6 and not self.reading
        table = tables[0] if write else draw.choice(tables)
        places = [0, 40] if table[0] == 2 else range(table[1], table[1] + 4 * table[2], 4)
        each = [(place, 4, codes[k % 2]) for k, place in enumerate(places)]
        members = Pointer[int](np.array([len(each), *[x for member in each for x in member]], np.uint64))
        pieces = Pointer[int](np.array(table, np.uint64))
        begin = draw.randrange(12)
        mask, words = self.layout(draw, mask or 1, warp)
        offsets = Pointer[int](((begin + words) * 4).astype(np.uint32))
        records = self.shadow.records, self.shadow.stride
        if self.scattered:
            self.call(serial, self.launch, mask)
            self.call(taking_part, self.launch, warp, mask, members)
            mine = block.now | warp << WARP
            given = load_lanes(offsets), START, pieces, mine, mask, write
            assert self.call(race_accesses.from_each_lane, self.launch, block, *records, *given) == 0
        else:
            given = mask, *records, offsets, IN_ONE_ALLOCATION, START, pieces, members, write
            self.call(race_accesses.at_addresses, self.launch, block, warp, *given)

    def layout(self, draw: random.Random, mask: int, warp: int) -> tuple[int, Any]:
        """Which lanes make an access, and at which words they do."""
        lane = np.arange(32)
        layouts = [
            lane, lane, np.where(lane < 16, lane, lane + draw.choice([0, 3, 40, 60])), 60 - lane,
            np.where(lane < 16, lane + 50, lane - 16), *[lane * draw.choice([3, 16, 16, 17])] * 3,
            np.cumsum(lane % 3 + 2),
        ]  # fmt: skip
        return mask, draw.choice(layouts)


class OwnRows(Rows):
    """Most accesses are those of all lanes of a warp, 48 words apart, to lines that are the warp's own."""

    size, chance = 1600, 0.02

    def step(self, draw: random.Random) -> None:
        super().step(draw)
        self.reading = draw.random() < 0.5

    def layout(self, draw: random.Random, mask: int, warp: int) -> tuple[int, Any]:
        """Which lanes make an access, and at which words they do."""
        if draw.random() < 0.02:
            return super().layout(draw, mask, warp)
        return 0xFFFFFFFF, 16 * (warp if draw.random() < 0.995 else 0) + np.arange(32) * 48 + draw.randrange(4)


def one_of_those_that_agree(kind: Any, compiled: Call, seed: int) -> Any:
    """What the same accesses leave in compiled rules with lines and without, and in Python, which is slow: alike."""
    worlds = [kind(compiled, summaries=True), kind(compiled, summaries=False)]
    return that_agree([*worlds, *[kind(_called, summaries=True)] * (seed < 4)], seed)


@pytest.mark.long
def test_records_of_lines_are_those_of_their_words() -> None:
    """Whole lines, parts of them, and now and then a scattered access or another block with the same memory."""
    compiled, seen = _compiled(4), dict.fromkeys(["lines", "words", "by words", "hazards"], 0)
    for seed in range(60):
        world = one_of_those_that_agree(Lines, compiled, seed)
        seen["hazards"] += len(world.state()["notes"])
        for name in world.seen:
            seen[name] += world.seen[name]
    assert min(seen.values()) > 20, seen


def test_reads_that_are_checked_together_leave_what_they_leave_one_by_one() -> None:
    compiled, together = _compiled(4), 0
    for seed in range(80):
        together += one_of_those_that_agree(Groups, compiled, seed).together
    assert together > 1000


class Lines(World):
    """Most accesses begin where a line does. Both blocks have the memory one after the other, or at once."""

    def __init__(self, call: Call, *, summaries: bool) -> None:
        super().__init__(call, 4, summaries=summaries)
        self.seen = {"lines": 0, "words": 0, "by words": 0}

    def step(self, draw: random.Random) -> None:
        if draw.random() < 0.05:  # the memory is another block's now
            for block, holds in zip(self.blocks, draw.choice([(True, False), (False, True)]), strict=True):
                if holds:
                    block.records, block.stride = self.shadow.records, self.shadow.stride
                    self.call(started, block, self.blocks.index(block))
                    block.records = None
        elif draw.random() < 0.15:
            self.call(barriers.order, draw.choice(self.blocks), 0, 7, True, False)
        elif draw.random() < 0.01:
            super()._access(draw, self.blocks[0], 0, 0xFFFFFFFF)
        elif draw.random() < 0.9:
            self._access(draw, self.blocks[draw.random() < 0.2], draw.randrange(3), 0xFFFFFFFF)
        else:
            super().step(draw)
        kept = self.shadow.records.array[3 * self.shadow.stride :]
        lines = kept[race_rows.LINES + race_rows.numbers(self.shadow.stride) :].reshape(-1, 4)
        kinds = lines[lines[:, 3] >> race_rows.AGE == kept[race_rows.EPOCH]]
        self.seen["lines"] += int((kinds[:, :3] != 0).any(axis=1).sum())
        self.seen["words"] += int(
            sum(((kinds[:, 3] >> np.uint64(8 * k)) & np.uint64(255) == 255).sum() for k in range(3))
        )
        self.seen["by words"] += int(kept[race_rows.BY_WORDS])

    def state(self) -> dict[str, Any]:
        """Without the numbers of warp-instructions: those that are recorded as lines have none."""
        found = super().state()
        return found | {"notes": [note[: Entry.offset("serial") // 8] for note in found["notes"]]}

    def _access(self, draw: random.Random, block: Block, warp: int, mask: int) -> None:
        code = draw.randrange(CODES) << CODE | (draw.random() < 0.2) << STRONG
        write, size, pattern = draw.random() < 0.3, draw.choice([4, 4, 8]), draw.choice([IN_A_ROW, HALVES_IN_A_ROW])
        places = [0, 64, 128, 64, 4 * draw.randrange(12) // size * size]
        low, high = draw.choice(places), draw.choice(places)
        if pattern == IN_A_ROW:
            high = low + 16 * size
        offsets = np.arange(32) % 16 * size + np.where(np.arange(32) < 16, low, high)
        pieces = Pointer[int](np.array([1, 0, size // 4, *[code] * (size // 4), *[0] * (-(size // 4) % 16)], np.uint64))
        members, at = Pointer[int](np.array([1, 0, size, code], np.uint64)), Pointer[int](offsets.astype(np.uint32))
        memory = self.shadow.records, self.shadow.stride
        rest = pattern, members, write
        if self.call(race_accesses.rows, self.launch, block, warp, *memory, low, high, *rest):
            return
        given = 0xFFFFFFFF, *memory, at, pattern, START, pieces, members, write
        self.call(race_accesses.at_addresses, self.launch, block, warp, *given)


class Groups(Lines):
    """Most accesses are several reads of rows from one base, which overlap or do not."""

    def __init__(self, call: Call, *, summaries: bool) -> None:
        super().__init__(call, summaries=summaries)
        self.together = 0

    def _access(self, draw: random.Random, block: Block, warp: int, mask: int) -> None:
        if draw.random() < 0.2:
            super()._access(draw, block, warp, mask)
            return
        size, pattern = draw.choice([4, 4, 8]), draw.choice([IN_A_ROW, HALVES_IN_A_ROW])
        codes = [draw.randrange(CODES) << CODE | (draw.random() < 0.2) << STRONG for _ in range(draw.choice([1, 2, 4]))]
        places = draw.choice([[0, 1, 2, 3, 4], [16, 0, 16, 8, 0], [1, 4, 0, 1, 2]])
        rows = [(place * size, size, code) for place, code in zip(places, codes, strict=False)]
        if draw.random() < 0.05:
            rows[-1] = rows[-1][0], 12 - size, rows[-1][2]
        low, high = (draw.choice([0, 0, 64, 4 * draw.randrange(16) // size * size]) for _ in range(2))
        if pattern == IN_A_ROW:
            high = low + 16 * size
        offsets = np.arange(32) % 16 * size + np.where(np.arange(32) < 16, low, high)
        members = Pointer[int](np.array([len(rows), *(number for row in rows for number in row)], np.uint64))
        memory, pieces = (self.shadow.records, self.shadow.stride), Pointer[int](np.array([0], np.uint64))
        if self.call(race_accesses.rows, self.launch, block, warp, *memory, low, high, pattern, members, False):
            self.together += 1
            return
        given = 0xFFFFFFFF, *memory, Pointer[int](offsets.astype(np.uint32)), pattern, START, pieces, members, False
        self.call(race_accesses.at_addresses, self.launch, block, warp, *given)


@pytest.mark.parametrize("shared", [False, True], ids=["global", "shared"])
def test_reads_that_are_put_off_leave_what_they_leave_at_once(shared: bool) -> None:
    """In global memory the same records; in shared memory the same notes, since a barrier forgets what was put off."""
    compiled, forgotten = _compiled(4), 0
    for seed in range(120):
        worlds = [Later(compiled, shared=shared), Later(compiled, shared=shared, room=0)]
        worlds += [Later(_called, shared=shared)] * (seed < 4)
        forgotten += that_agree(worlds, seed).put_off
    assert forgotten > 1000


class Later(World):
    """Accesses and barriers of all warps, of which reads may be put off; `put_off` counts how often some are."""

    writes = 0.15

    def __init__(self, call: Call, *, shared: bool, room: int = 40) -> None:
        given: list[Any] = []  # the tables of reads that are put off stay where they are

        def keeping(rule: Call, *arguments: Any) -> Any:
            given.append(arguments)
            return call(rule, *arguments)

        super().__init__(keeping, 4, summaries=True)
        self.shared, self.put_off = shared, 0
        if shared:
            del self.blocks[1]
            self.block = self.blocks[0]
            self.block.records, self.block.stride = self.shadow.records, self.shadow.stride
        self.later = self.block.later if shared else self.launch.later
        if room:
            race_later.make_room(self.later, room, 0 if shared else CODES, 4 * WORDS if shared else 0)
        if shared:
            call(started, self.block, 0)

    def step(self, draw: random.Random) -> None:
        self.reading = draw.random() >= self.writes
        if draw.random() < 0.15:
            self.call(barriers.order, draw.choice(self.blocks), 0, 7, True, False)
        else:
            mask = draw.choice([0xFFFFFFFF, 0xFFFFFFFF, draw.getrandbits(32) or 1, 0xFFFF, 0x7FF07FF])
            self._access(draw, draw.choice(self.blocks), draw.randrange(3), mask)
        self.put_off += int(self.later.count) > 0

    def state(self) -> dict[str, Any]:
        """What there is once everything has been recorded."""
        self.call(race_accesses.work_off, self.launch, self.blocks[0], self.later)
        found = super().state()
        names = ("masks", "notes") if self.shared else ("masks", "notes", "records")
        return {name: found[name] for name in names} | {"now": [block["now"] for block in found["blocks"]]}


def test_words_of_one_thread_leave_what_they_leave_when_they_are_recorded() -> None:
    compiled, watched, rows, hazards = _compiled(4), 0, 0, 0
    for seed in range(80):
        worlds = [Watched(compiled, shared=True), Watched(compiled, shared=True, room=0)]
        worlds += [Watched(_called, shared=True)] * (seed < 3)
        world = that_agree(worlds, seed)
        watched, hazards = watched + world.watched, hazards + len(world.state()["notes"])
        rows += world.rows
    assert watched > 200
    assert rows > 100
    assert hazards > 20


def test_launches_have_the_room_for_their_reads_one_after_the_other() -> None:
    one, beside, two, larger = (Launch.new().later for _ in range(4))
    race_later.make_room(one, 64, CODES)
    race_later.make_room(beside, 64, CODES)
    assert beside.reads.array is not one.reads.array  # both run
    race_later.give_back(one)
    race_later.make_room(two, 64, CODES)
    assert two.reads.array is one.reads.array
    race_later.give_back(two)
    race_later.make_room(larger, 128, CODES)
    assert larger.reads.array.nbytes > two.reads.array.nbytes


class Watched(Later):
    """Most accesses are those of lanes to words of their own, reads and writes; `watched` counts after how many steps
    writes are put off, `rows` how many accesses of rows are, with no look at the lanes' offsets."""

    writes, watched, rows = 0.5, 0, 0

    def step(self, draw: random.Random) -> None:
        super().step(draw)
        kept = self.shadow.records.array[3 * self.shadow.stride :]
        self.watched += int(kept[race_rows.LATER] == race_later.WATCHED)

    def _access(self, draw: random.Random, block: Block, warp: int, mask: int) -> None:
        if draw.random() < 0.03:
            super()._access(draw, block, warp, mask)
            return
        code = draw.randrange(CODES) << CODE
        size, lane = draw.choice([4, 4, 8]), np.arange(32)
        words = size // 4
        pieces = Pointer[int](np.array([1, 0, words, *[code] * words, *[0] * (16 - words)], np.uint64))
        members, memory = (
            Pointer[int](np.array([1, 0, size, code], np.uint64)),
            (self.shadow.records, self.shadow.stride),
        )
        write = draw.random() < self.writes and not self.reading
        layout = draw.choice([lane, lane, 31 - lane, lane ^ 5, lane, lane, lane % 16 + 16 * (lane // 16)])
        at = 4 * (32 * warp + layout // words * words + draw.choice([0] * 30 + [1, 2, 8]) // words * words)
        mask = mask & 0x55555555 or 1 if words == 2 else mask  # lanes have words of their own
        whole = mask == ALL and draw.random() < 0.5
        state = int(self.shadow.records.array[3 * self.shadow.stride + race_rows.LATER])
        if state == race_later.WATCHED or (state == race_later.TO_BLOCK and write):
            if (layout == lane).all():
                pattern = IN_A_ROW if whole else race_later.PARTS_OF_ROWS
                rows = mask, *memory, int(at[0]), int(at[16]), pattern, members, pieces, write
                if self.call(race_watch.watched_rows, self.launch, block, warp, *rows):
                    self.rows += 1
                    return
        given = mask, *memory, Pointer[int](at.astype(np.uint32)), IN_ONE_ALLOCATION, START, pieces, members, write
        self.call(race_accesses.at_addresses, self.launch, block, warp, *given)


@pytest.mark.long
@pytest.mark.sweep(2)
@pytest.mark.parametrize("room", [8, 200])
def test_reads_in_series_leave_what_they_leave_at_once(room: int) -> None:
    """Loops whose reads alternate, warps that read one after the other, blocks; and what lies between them."""
    compiled, spared = _compiled(4), 0
    for seed in range(60):
        worlds = [Series(compiled, shared=False, room=room), Series(compiled, shared=False, room=0)]
        worlds += [Series(_called, shared=False, room=room)] * (seed < 3)
        spared += that_agree(worlds, seed).spared
    assert spared > 10 * room


class Series(Later):
    """Most reads are those of series, of two or three instructions that read words near one another in turns; `spared`
    counts the reads that need no note of their own."""

    writes = 0.02

    def __init__(self, call: Call, *, shared: bool, room: int = 40) -> None:
        super().__init__(call, shared=shared, room=room)
        self.spared = 0
        self.tables: dict[tuple[int, ...], Pointer[int]] = {}

    def step(self, draw: random.Random) -> None:
        if draw.random() < 0.5:
            super().step(draw)
            return
        begun, notes = int(self.later.serial), int(self.later.count)
        kinds = [
            (draw.randrange(CODES), draw.randrange(6), draw.randrange(12), draw.choice([0, 1, 2, 4])) for _ in range(3)
        ]
        ways = draw.choice([[(0, 0)] * 6, [(0, 2)] * 6, [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2)]])
        for round_, (block, warp) in enumerate(ways):
            for code, layout, at, by in kinds[: draw.choice([2, 2, 2, 3])]:
                self._reads(self.blocks[block], warp, code << CODE, layout, at + round_ * by)
        if self.later.count > notes:  # nothing has been worked off
            self.spared += int(self.later.serial) - begun - (int(self.later.count) - notes)

    def _reads(self, block: Block, warp: int, code: int, layout: int, at: int) -> None:
        lane = np.arange(32)
        members = self._table([1, 0, 4, code])
        pieces = self._table([1, 0, 1, code, *[0] * 15])
        memory = self.shadow.records, self.shadow.stride
        if layout == 0:
            given = 0x7FF, *memory, 4 * at, START, pieces, members, False
            self.call(race_accesses.at_one_address, self.launch, block, warp, *given)
            return
        offsets, pattern = {
            1: (lane, IN_A_ROW),
            2: (lane % 16 + 20 * (lane // 16), HALVES_IN_A_ROW),
            3: (2 * lane, IN_ONE_ALLOCATION),
            4: (3 * (lane % 16), IN_ONE_ALLOCATION),
            5: (lane * 7 % 32, IN_ONE_ALLOCATION),
        }[layout]
        places = Pointer[int](((at + offsets) * 4).astype(np.uint32))
        given = 0xFFFFFFFF, *memory, places, pattern, START, pieces, members, False
        self.call(race_accesses.at_addresses, self.launch, block, warp, *given)

    def _table(self, numbers: list[int]) -> Pointer[int]:
        """A table of an instruction, which is always the same one."""
        key = tuple(numbers)
        if key not in self.tables:
            self.tables[key] = Pointer[int](np.array(numbers, np.uint64))
        return self.tables[key]


class Scattered(World):
    """Accesses are scattered or atomic. `together`: all lanes at once where that is possible; `taken` counts them."""

    def __init__(self, call: Call, granule: int, *, together: bool) -> None:
        super().__init__(call, granule)
        self.together, self.taken = together, dict.fromkeys(["reads", "writes", "as one"], 0)

    def step(self, draw: random.Random) -> None:
        if draw.random() < 0.3:
            self.call(barriers.order, draw.choice(self.blocks), 0, 7, True, False)
        super().step(draw)

    def _access(self, draw: random.Random, block: Block, warp: int, mask: int) -> None:
        size, strong, half = draw.choice([4, 4, 8]), draw.random() < 0.8, 2 * WORDS
        code, write, first = draw.choice([1, 2, 5, 7, 3]), draw.random() < 0.1, 0
        if draw.random() < 0.4:  # atomic operations of one instruction, elsewhere
            code, write, strong, first = 6, True, True, half // size
        count = half // size
        slots = draw.sample(range(count), 24) + [0] * 8 if draw.random() < 0.7 else draw.choices(range(9), k=32)
        if write or draw.random() < 0.5:
            slots = [slot + first for slot in slots]
        else:
            mask &= 0xFFFFFF
        code = code << CODE | strong << STRONG
        if as_one := write and draw.random() < 0.4:
            slots = [slots[0]] * 32
        offsets = np.array(slots, np.uint32) * np.uint32(size)
        me = block.now | warp << WARP | code
        where = self.shadow.records, self.shadow.stride
        serial(self.launch, mask)
        if self.together:
            given = self.launch, block, *where
            if as_one and mask:
                done = self.call(recorded_as_one, *given, int(offsets[0]), mask, size, me)
            elif write:
                addresses = Pointer[int](offsets.astype(np.uint64))
                done = self.call(recorded_writes, *given, addresses, 0, mask, size, me)
            else:
                backwards = reversed_lanes(offsets), lanes(reversed_bits(mask))
                done = self.call(recorded_reads, *given, *backwards, size, me)
            if done:
                self.taken["as one" if as_one and mask else "writes" if write else "reads"] += 1
                return
        words = [(lane, self.shadow.records + int(offsets[lane]) // self.granule) for lane in lanes_of(mask)]
        for lane, at in words:
            for k in range(size // self.granule):
                address = START + int(offsets[lane]) + k * self.granule
                races.hazard(self.launch, block, at + k, where[1], address, me | lane, write)
        for lane, at in reversed(words):
            for k in range(size // self.granule):
                again = write and (at[k] ^ me) & ~OTHER_LANE == 0
                races.remember(self.launch, block, at + k, where[1], me | lane | again << MANY, write)


@pytest.mark.long
def test_scattered_accesses_leave_the_same_records_at_once_as_lane_by_lane() -> None:
    compiled, taken = _compiled(4), dict.fromkeys(["reads", "writes", "as one"], 0)
    for seed in range(16):
        worlds = [Scattered(compiled, 4, together=True), Scattered(_called, 4, together=False)]
        world = that_agree(worlds, seed, steps=30)
        taken = {what: count + world.taken[what] for what, count in taken.items()}
    assert min(taken.values()) > 20


class Atomics(World):
    """Accesses are writes that are recorded at once, where they may be: each instruction has a size of its own."""

    def __init__(self, call: Call, granule: int, *, summaries: bool) -> None:
        super().__init__(call, granule, summaries=summaries)
        self.done: list[bool] = []

    def step(self, draw: random.Random) -> None:
        block, warp, code = draw.choice(self.blocks), draw.randrange(3), draw.choice([6, 6, 6, 2, 4])
        if draw.random() < 0.15:
            self.call(barriers.order, block, 0, 7, True, False)
        strong, size = code != 4, {6: 4, 2: 8, 4: self.granule}[code]
        far = draw.choice([WORDS, WORDS, 4 * WORDS]) // size
        slots, mask = draw.choices(range(far), k=32), draw.choice([0xFFFFFFFF, draw.getrandbits(32) | 1, 1 << warp])
        addresses = Pointer[int](np.array(slots, np.uint64) * np.uint64(size))
        me = block.now | warp << WARP | code << CODE | strong << STRONG
        given = self.launch, block, self.shadow.records, self.shadow.stride, addresses, 0, mask, size, me
        self.done.append(bool(self.call(recorded_writes, *given)))


@pytest.mark.parametrize("granule", [4, 1])
def test_atomics_find_hazards_and_leave_records_with_summaries_as_without(granule: int) -> None:
    compiled, done = _compiled(granule), []
    for seed in range(24):
        found, plain = Atomics(compiled, granule, summaries=True), Atomics(compiled, granule, summaries=False)
        called = Atomics(_called, granule, summaries=True)
        worlds = [found, plain, *([called] * (seed < 2))]
        that_agree(worlds, seed, steps=40)
        assert all(world.done == found.done for world in worlds)
        done += found.done
    assert 100 < sum(done) < len(done) - 100


@pytest.mark.parametrize("call", [_called, _compiled], ids=["called", "compiled"])
@pytest.mark.parametrize("granule", [4, 1])
def test_atomics_of_several_instructions_are_recorded_at_once(granule: int, call: Call) -> None:
    """As in a loop that has been unrolled: by which of them a word was changed last makes no difference."""
    run = call(granule) if call is _compiled else call
    for readers in (False, True):
        world = World(run, granule, summaries=True)
        where, slots = (world.shadow.records, world.shadow.stride), np.arange(32, dtype=np.uint64)
        if readers:  # of another word, so that the records of readers are looked at
            given = (
                Pointer[int](np.array([1, 0, 1, 0, *[0] * 15], np.uint64)),
                Pointer[int](np.array([1, 0, 4, 0], np.uint64)),
            )
            world.call(race_accesses.at_one_address, world.launch, world.blocks[0], 0, 1, *where, 256, START, *given, 0)
        for warp, code in ((0, 6), (1, 2), (2, 6), (1, 4), (1, 5)):
            addresses, me = Pointer[int](slots % 7 * 4), world.blocks[0].now | warp << WARP | code << CODE | 1 << STRONG
            given = world.launch, world.blocks[0], *where, addresses, 0, 0xFFFFFFFF, 4, me
            assert bool(world.call(recorded_writes, *given)) == (code != 5)  # the scope of that one is its block
        other = world.blocks[1].now | 6 << CODE
        given = world.launch, world.blocks[1], *where, Pointer[int](slots * 0), 0, 1, 4, other
        assert not world.call(recorded_writes, *given)  # not strong


@pytest.mark.parametrize("warps", [3, 32])
def test_a_block_that_begins_knows_nothing_of_the_one_before(warps: int) -> None:
    """All that the warps of a block may have changed is as in new records."""
    used, new = Block.new(), Block.new()
    for block in (used, new):
        block.warps = warps
    kept = ("warps", "rank", "stride", "followed", "value_count", "shared_size", "local_size", "local_stride")
    for name, field in Block.fields.items():
        if not field.indirect and name not in kept:
            size = field.kind.size * field.count
            of_warps = field.shape is not None and field.shape.sizes[0] in (32, 1024)
            used.buffer[Block.offset(name) :][: size * warps // 32 if of_warps else size] = 0xFF
    for block in (used, new):
        started(block, 5)
    assert (used.buffer == new.buffer).all()
