"""The rules of racecheck for lines, and for deferred accesses: they leave what single words leave at once."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from race_histories import (
    ALL,
    CODES,
    START,
    WORDS,
    Call,
    World,
    compiled_rules,
    few_and_many,
    in_python,
    one_of_those_that_agree,
    that_agree,
)

from ptxlab.emulate.language import Pointer
from ptxlab.emulate.rules import (
    barriers,
    race_accesses,
    race_deferred,
    race_deferred_reads,
    race_line_records,
    race_order,
    race_repeats,
)
from ptxlab.emulate.rules.accesses import (
    ALL_THE_SAME,
    HALVES_IN_A_ROW,
    HALVES_THE_SAME,
    IN_A_ROW,
    IN_ONE_ALLOCATION,
    PARTS_OF_ROWS,
)
from ptxlab.emulate.rules.block_reset import started
from ptxlab.emulate.rules.records import (
    CODE,
    STRONG,
    Block,
    DeferredAccess,
    Entry,
    Published,
)


@pytest.mark.long
@few_and_many(60)
def test_records_of_lines_are_those_of_their_words(seeds: range) -> None:
    """Whole lines, parts of them, and now and then a scattered access or another block with the same memory."""
    compiled, seen = compiled_rules(4), dict.fromkeys(["lines", "words", "by words", "hazards"], 0)
    for seed in seeds:
        world = one_of_those_that_agree(Lines, compiled, seed)
        seen["hazards"] += len(world.state()["notes"])
        for name in world.seen:
            seen[name] += world.seen[name]
    assert min(seen.values()) > len(seeds) / 3, seen


@pytest.mark.long
@few_and_many(80)
def test_reads_that_are_checked_together_leave_what_they_leave_one_by_one(seeds: range) -> None:
    compiled, together = compiled_rules(4), 0
    for seed in seeds:
        together += one_of_those_that_agree(Groups, compiled, seed).together
    assert together > 12 * len(seeds)


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
        lines = kept[race_line_records.LINES :].reshape(-1, 4)
        kinds = lines[lines[:, 3] >> race_line_records.AGE == kept[race_line_records.EPOCH]]
        self.seen["lines"] += int((kinds[:, :3] != 0).any(axis=1).sum())
        self.seen["words"] += int(
            sum(((kinds[:, 3] >> np.uint64(8 * k)) & np.uint64(255) == 255).sum() for k in range(3))
        )
        self.seen["by words"] += int(kept[race_line_records.BY_WORDS])

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


@pytest.mark.long
@few_and_many(120)
def test_deferred_reads_leave_what_they_leave_at_once(seeds: range) -> None:
    """The same notes, since a barrier forgets what was deferred."""
    compiled, forgotten = compiled_rules(4), 0
    for seed in seeds:
        worlds = [DeferredAccesses(compiled), DeferredAccesses(compiled, room=0)]
        worlds += [DeferredAccesses(in_python)] * (seed < 4)
        forgotten += that_agree(worlds, seed).deferred
    assert forgotten > 8 * len(seeds)


class DeferredAccesses(World):
    """Accesses and barriers of all warps, of which reads may be deferred; `deferred` counts how often some are."""

    writes = 0.15

    def __init__(self, call: Call, *, room: int = 40, granule: int = 4) -> None:
        given: list[Any] = []  # the tables of deferred reads stay where they are

        def keeping(rule: Call, *arguments: Any) -> Any:
            given.append(arguments)
            return call(rule, *arguments)

        super().__init__(keeping, granule, summaries=True)
        self.deferred = 0
        del self.blocks[1]
        self.block = self.blocks[0]
        self.block.records, self.block.stride = self.shadow.records, self.shadow.stride
        self.later = self.block.later
        if room:
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(race_deferred_reads, "ROOM", room)
                race_deferred_reads.make_room(self.later, 4 * WORDS, granule)
        call(started, self.block, 0)

    def step(self, draw: random.Random) -> None:
        self.reading = draw.random() >= self.writes
        if draw.random() < 0.15:
            self.call(barriers.order, draw.choice(self.blocks), 0, 7, True, False)
        else:
            mask = draw.choice([0xFFFFFFFF, 0xFFFFFFFF, draw.getrandbits(32) or 1, 0xFFFF, 0x7FF07FF])
            self._access(draw, draw.choice(self.blocks), draw.randrange(3), mask)
        self.deferred += int(self.later.count) > 0

    def state(self) -> dict[str, Any]:
        """What there is once everything has been recorded."""
        self.call(race_accesses.work_off, self.launch, self.block)
        found = super().state()
        return {name: found[name] for name in ("masks", "notes")} | {"now": [block["now"] for block in found["blocks"]]}


@pytest.mark.long
@few_and_many(120)
@pytest.mark.parametrize("granule", [4, *(pytest.param(narrow, marks=pytest.mark.rest) for narrow in (2, 1))])
def test_words_of_one_thread_leave_what_they_leave_when_they_are_recorded(granule: int, seeds: range) -> None:
    compiled, seen = compiled_rules(granule), dict.fromkeys(["watched", "rows", "hazards"], 0)
    for seed in seeds:
        worlds = [Watched(compiled, granule=granule)]
        worlds += [Watched(compiled, room=0, granule=granule)]
        worlds += [Watched(in_python, granule=granule)] * (seed < 3)
        world = that_agree(worlds, seed)
        seen["hazards"] += len(world.state()["notes"])
        seen["watched"] += world.watched
        seen["rows"] += world.rows
    assert min(seen.values()) > 0.8 * len(seeds), seen


@pytest.mark.parametrize("mask", [0xFFFFFFFF, 0xFFFFFFFE, 0x7FFFFFFF, 0x00F0F000, 0x80000000, 0x3, 0xFFFF0000])
def test_how_far_apart_the_lanes_of_a_mask_are(mask: int) -> None:
    """The note of such an access leads to the same offsets, in lanes that take part."""
    lane, lanes = np.arange(32), [k for k in range(32) if mask >> k & 1]
    for step in (-12, -4, 4, 8, 100):
        offsets = (5000 + step * lane).astype(np.uint32)
        given = np.where([k in lanes or k == lanes[0] + 1 for k in lane], offsets, np.uint32(7))
        strided, places, apart = race_deferred_reads.equally_far(Pointer[int](given.astype(np.uint32)), mask)
        assert strided
        put, found = DeferredAccess.new(), Pointer[int](np.zeros(32, np.uint32))
        put.places, put.apart, put.stamp = places, apart, race_deferred_reads.STRIDED
        put.members = Pointer[int](np.array([1, 0, 4, 0], np.uint64))
        race_deferred.deferred_offsets(put, found, found)
        assert (found.array[lanes] == offsets[lanes]).all()
        if len(lanes) > 2:
            given[lanes[-1]] += 4
            assert not race_deferred_reads.equally_far(Pointer[int](given.astype(np.uint32)), mask)[0]


LANE = np.arange(32)
LAID = {
    "a row": (IN_A_ROW, 40 + 8 * LANE),
    "a row for each half": (HALVES_IN_A_ROW, 40 + 8 * (LANE % 16) + 1000 * (LANE // 16)),
    "parts of rows": (PARTS_OF_ROWS, 40 + 8 * (LANE % 16) + 1000 * (LANE // 16)),
    "one place": (ALL_THE_SAME, 40 + 0 * LANE),
    "one address": (race_deferred_reads.ONE_ADDRESS, 40 + 0 * LANE),
    "one place for each half": (HALVES_THE_SAME, 1000 - 24 * (LANE // 16)),
    "equally far apart": (race_deferred_reads.STRIDED, 40 + 12 * LANE),
    "anywhere": (race_deferred_reads.EACH, 8 * (LANE * 7 % 32)),
}
"""Patterns of accesses of 8 bytes, with the offset of each lane."""


@pytest.mark.parametrize("name", LAID)
def test_the_note_of_an_access_leads_to_the_offsets_of_its_lanes(name: str) -> None:
    pattern, offsets = LAID[name]
    given = np.zeros(4 * 32, np.uint32)
    put, found = DeferredAccess.new(), Pointer[int](np.zeros(32, np.uint32))
    put.stamp, put.apart = race_deferred_reads.NOTED_WRITE | pattern, int(offsets[1] - offsets[0])
    put.places = int(offsets[16]) << 32 | int(offsets[0])
    if pattern == race_deferred_reads.EACH:
        put.places, given[96:] = 3, offsets
    elif pattern == IN_A_ROW:  # of a row, lane 0's offset is all that is looked at
        put.places = int(offsets[0])
    put.members = Pointer[int](np.array([1, 0, 8, 0], np.uint64))
    race_deferred.deferred_offsets(put, Pointer[int](given), found)
    assert found.array.tolist() == offsets.tolist()
    if pattern != race_deferred_reads.EACH:
        places, apart = race_deferred_reads.laid(put)
        assert [places & ALL, places >> 32] == [offsets[0], offsets[16]]
        assert apart == offsets[1] - offsets[0]


def test_writes_are_deferred_from_the_first_once_lanes_in_no_row_have_been_recorded() -> None:
    world = Watched(in_python)
    kept = world.shadow.records.array[3 * world.shadow.stride :]
    where = world.shadow.records, world.shadow.stride
    code = 1 << CODE
    members = Pointer[int](np.array([1, 0, 4, code], np.uint64))
    pieces = Pointer[int](np.array([1, 0, 1, code, *[0] * 15], np.uint64))
    given = world.launch, world.block, 0, ALL, *where
    backwards = Pointer[int]((4 * np.arange(63, 31, -1)).astype(np.uint32))

    def defer() -> bool:
        return bool(race_deferred.watched_rows(*given, 0, 64, IN_A_ROW, members, pieces, True))

    assert not defer()
    assert race_accesses.rows(world.launch, world.block, 0, *where, 0, 64, IN_A_ROW, members, True)
    assert kept[race_line_records.LATER] == race_deferred_reads.NOW
    race_accesses.at_addresses(*given, backwards, IN_ONE_ALLOCATION, START, pieces, members, False)
    barriers.order(world.block, 0, 1, True, False)
    assert defer()
    assert kept[race_line_records.LATER] == race_deferred_reads.WATCHED


class Watched(DeferredAccesses):
    """Most accesses are those of lanes to places of their own, or of a warp whose lanes synchronize in between, reads
    and writes; `watched` counts after how many steps writes are deferred, `rows` how many accesses of rows are, with no
    look at the lanes' offsets."""

    writes, watched, rows = 0.5, 0, 0

    def step(self, draw: random.Random) -> None:
        if draw.random() < 0.2:
            self.call(race_order.sync_warp, self.block, draw.randrange(3))
        super().step(draw)
        kept = self.shadow.records.array[3 * self.shadow.stride :]
        self.watched += int(kept[race_line_records.LATER] == race_deferred_reads.WATCHED)

    def _access(self, draw: random.Random, block: Block, warp: int, mask: int) -> None:
        if draw.random() < 0.03:
            super()._access(draw, block, warp, mask)
            return
        code, lane = draw.randrange(CODES) << CODE, np.arange(32)
        size = draw.choice([4, 4, 8, 16, self.granule])
        members = Pointer[int](np.array([1, 0, size, code], np.uint64))
        words = size // self.granule
        pieces = Pointer[int](np.array([1, 0, words, *[code] * words, *[0] * (16 - words)], np.uint64))
        memory = self.shadow.records, self.shadow.stride
        write = draw.random() < self.writes and not self.reading
        fit = min(32, 128 // size)  # lanes whose places fit into those of the warp
        layout = draw.choice([lane, lane, lane, 31 - lane, lane ^ 5, lane ^ 1, 2 * lane, 4 * lane]) % fit
        beside = draw.choice([0] * 20 + [size, 2 * size, 32]) // size * size
        at = 128 * warp + size * layout + (beside if warp < 2 else -beside)
        mask = (mask if fit == 32 else mask & (1 << fit) - 1) or 1
        if write and draw.random() < 0.9:
            mask = sum(1 << k for k in range(32) if mask >> k & 1 and layout[k] not in layout[:k])
        if draw.random() < 0.1:
            given = mask, *memory, int(at[0]), START, pieces, members, write
            self.call(race_accesses.at_one_address, self.launch, block, warp, *given)
            return
        state = int(self.shadow.records.array[3 * self.shadow.stride + race_line_records.LATER])
        if state == race_deferred_reads.WATCHED or (state == race_deferred_reads.TO_BLOCK and write):
            if (layout == lane % fit).all() and (fit == 32 or mask >> fit == 0):
                pattern = IN_A_ROW if mask == ALL else PARTS_OF_ROWS
                rows = mask, *memory, int(at[0]), int(at[0]) + 16 * size, pattern, members, pieces, write
                if self.call(race_deferred.watched_rows, self.launch, block, warp, *rows):
                    self.rows += 1
                    return
        rest = Pointer[int](at.astype(np.uint32)), IN_ONE_ALLOCATION, START, pieces, members, write
        self.call(race_accesses.at_addresses, self.launch, block, warp, mask, *memory, *rest)


@pytest.mark.long
@few_and_many(300)
def test_blocks_that_do_what_those_before_did_find_what_they_find_by_themselves(seeds: range) -> None:
    compiled, seen = compiled_rules(4), dict.fromkeys(["kept", "left", "hazards"], 0)
    for seed in seeds:
        worlds = [Alike(compiled, room=80), Alike(compiled, room=0)]
        worlds += [Alike(in_python, room=80)] * (seed < 3)
        world = that_agree(worlds, seed, steps=8)
        seen["hazards"] += len(world.state()["notes"])
        for k in range(world.block.repeats.room):
            interval = world.block.repeats.intervals[k]
            seen["kept"] += int(interval.kept)
            seen["left"] += int(interval.left)
    assert min(seen.values()) > len(seeds) / 3, seen


class Alike(DeferredAccesses):
    """A step is a block. All blocks do the same, but that half of them do something else somewhere."""

    def __init__(self, call: Call, *, room: int = 40) -> None:
        super().__init__(call, room=room)
        self.launch.published = Published.many(16)
        if room:
            race_repeats.make_room(self.block.repeats)
        self.number, self.plan = 0, list[tuple[Any, ...]]()
        self.tables: dict[tuple[int, ...], Pointer[int]] = {}

    def step(self, draw: random.Random) -> None:
        self.plan = self.plan or [self._something(draw, 0.01) for _ in range(24)]
        plan, self.number = list(self.plan), self.number + 1
        for _ in range(draw.choice([0, 0, 0, 1, 2, 4])):
            at = draw.randrange(len(plan))
            if draw.random() < 0.3:
                plan[at : at + draw.randrange(2)] = [self._something(draw, 0.5)] * draw.randrange(2)
            else:
                plan[at : at + 1] = self._almost(draw, *plan[at])
        self.call(started, self.block, self.number)
        for what, *given in plan:
            what(*given)

    def state(self) -> dict[str, Any]:
        """What has been found. Instructions that are the same have no number of their own."""
        notes = self.launch.notes.array.view(Entry.dtype)
        fields = [name for name in Entry.fields if name != "serial"]
        return {"notes": notes[notes["key"] != 0][fields].tolist()}

    def _something(self, draw: random.Random, astray: float) -> tuple[Any, ...]:
        """What may happen in a block. astray: how likely an access is to be one of another warp's words."""
        warp, kind = draw.randrange(3), draw.random()
        if kind < 0.15:
            return self.call, barriers.order, self.block, 0, 7, True, False
        if kind < 0.25:
            return self.call, race_order.sync_warp, self.block, warp
        lane, size = np.arange(32), draw.choice([4, 4, 4, 8])
        layout = draw.choice([lane, lane, 31 - lane, lane ^ 5, lane // 16, lane & 0, 2 * lane, 3 * lane]) % (
            128 // size
        )
        mask, write = draw.choice([ALL, ALL, 0xFFFF, 0x7FF07FF, 1 << draw.randrange(32)]), draw.random() < 0.5
        if write:
            mask = sum(1 << k for k in range(32) if mask >> k & 1 and layout[k] not in layout[:k]) or 1
        place = 128 * (draw.randrange(3) if draw.random() < astray else warp) + size * layout
        return self._accesses, warp, mask, draw.randrange(CODES), size, place, write

    def _almost(self, draw: random.Random, what: Any, *given: Any) -> list[tuple[Any, ...]]:
        """The same but for one thing: no barrier, lanes of another warp that synchronize, other lanes, another place of
        one lane or of all, another instruction."""
        if what != self._accesses:
            return [(what, *given[:2], (given[2] + 1) % 3)] if given[0] == race_order.sync_warp else []
        warp, mask, code, size, place, write = given
        differs, near = draw.randrange(4), size * draw.choice([1, -1, 16, 32])
        if differs == 0:
            mask = draw.choice([ALL, 0xFFFF, 0x3, mask ^ 1 << draw.randrange(32) or 1])
        elif differs == 1:
            place = np.where(np.arange(32) == draw.randrange(32), (place + near) % (4 * WORDS), place)
        elif differs == 2:
            place = (place + near) % (4 * WORDS)
        else:
            code = (code + 1) % CODES
        return [(what, warp, mask, code, size, place, write)]

    def _accesses(self, warp: int, mask: int, code: int, size: int, place: np.ndarray, write: bool) -> None:
        code, words = code << CODE, size // 4
        members = self._table([1, 0, size, code])
        pieces = self._table([1, 0, words, *[code] * words, *[0] * (16 - words)])
        memory, tables = (self.shadow.records, self.shadow.stride), (START, pieces, members, write)
        if (place == place[0]).all():
            rule, given = race_accesses.at_one_address, (mask, *memory, int(place[0]))
        else:
            offsets = Pointer[int](place.astype(np.uint32))
            rule, given = race_accesses.at_addresses, (mask, *memory, offsets, IN_ONE_ALLOCATION)
        self.call(rule, self.launch, self.block, warp, *given, *tables)

    def _table(self, numbers: list[int]) -> Pointer[int]:
        """A table of an instruction, which is always the same one."""
        return self.tables.setdefault(tuple(numbers), Pointer[int](np.array(numbers, np.uint64)))
