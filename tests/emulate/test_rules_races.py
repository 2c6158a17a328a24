"""The rules of racecheck: random histories of two blocks come to the same records and notes in Python and compiled."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from race_histories import (
    CODES,
    START,
    WORDS,
    Call,
    World,
    compiled_rules,
    few_and_many,
    in_python,
    that_agree,
)

from ptxlab.emulate.jit.checks.scattered_races import recorded_as_one, recorded_reads, recorded_writes
from ptxlab.emulate.language import Pointer, lanes, lanes_of, load_lanes, reversed_bits, reversed_lanes
from ptxlab.emulate.program.addresses import GLOBALS_BASE
from ptxlab.emulate.rules import (
    barriers,
    race_accesses,
    race_chunks,
    race_line_records,
    race_order,
    races,
)
from ptxlab.emulate.rules.accesses import (
    IN_A_ROW,
    IN_ONE_ALLOCATION,
)
from ptxlab.emulate.rules.block_reset import started
from ptxlab.emulate.rules.notes import KIND, serial, taking_part
from ptxlab.emulate.rules.records import (
    ATOMIC,
    CODE,
    MANY,
    STRONG,
    WARP,
    Block,
    Entry,
)


@pytest.mark.long
@pytest.mark.parametrize("granule", [4, pytest.param(2, marks=pytest.mark.rest)])
def test_histories(granule: int) -> None:
    compiled = compiled_rules(granule)
    kinds = set()
    for seed in range(20):
        world = that_agree([World(in_python, granule), World(compiled, granule)], seed)
        kinds |= {note[0] >> KIND for note in world.state()["notes"]}
    assert len(kinds) == 5  # RAW, WAR, WAW, two lanes in one store, lanes in lockstep


@pytest.mark.long
@few_and_many(60)
def test_lines_that_most_accesses_read_are_checked_like_words(seeds: range) -> None:
    """Few places, read by most warps of both blocks, and now and then written."""
    compiled = compiled_rules(4)
    for seed in seeds:
        worlds = [Tiles(compiled, summaries=True), Tiles(compiled), *([Tiles(in_python, summaries=True)] * (seed < 8))]
        that_agree(worlds, seed, steps=90)


class Tiles(World):
    """Most accesses are reads of the same few lines, now by this warp and now by that one."""

    def __init__(self, call: Call, *, summaries: bool = False) -> None:
        super().__init__(call, 4, summaries=summaries)

    def step(self, draw: random.Random) -> None:
        self.reading = draw.random() < 0.97
        if draw.random() < 0.05:
            self.call(barriers.order, draw.choice(self.blocks), 0, 7, True, False)
        elif draw.random() < 0.1:
            super().step(draw)
        else:
            self._access(draw, self.blocks[draw.random() < 0.2], draw.randrange(4), 0xFFFFFFFF)


@pytest.mark.long
@few_and_many(100)
def test_part_of_a_row_is_checked_like_scattered_lanes(seeds: range) -> None:
    compiled = compiled_rules(4)
    for seed in seeds:
        worlds = [Rows(compiled, summaries=True), Rows(compiled, summaries=False, scattered=True)]
        worlds += [Rows(in_python, summaries=True)] * (seed < 4)
        that_agree(worlds, seed)


@pytest.mark.long
@few_and_many(60)
def test_lines_of_32_lanes_are_checked_like_scattered_lanes(seeds: range) -> None:
    compiled, joint, apart = compiled_rules(4), 0, 0
    for seed in seeds:
        worlds = [OwnRows(compiled, summaries=True), OwnRows(compiled, summaries=False, scattered=True)]
        worlds += [OwnRows(in_python, summaries=True)] * (seed < 3)
        world = that_agree(worlds, seed)
        joint += world.joint
        apart += int(world.shadow.records.array[3 * world.shadow.stride + race_line_records.DISSOLVED])
    assert joint > 50 * len(seeds)
    assert apart > len(seeds) / 2


class Rows(World):
    """Most accesses are those of some lanes to words in a row, one or two of each lane, side by side or apart; to a row
    for each half of a warp; or to places that are equally far apart, or ascend."""

    size, chance, strong, tables = 640, 0.1, 0.2, 4

    def __init__(self, call: Call, *, summaries: bool, scattered: bool = False) -> None:
        super().__init__(call, 4, summaries=summaries)
        self.scattered, self.joint = scattered, 0
        self.launch.traits.array[:] &= ~np.uint8(ATOMIC)  # they never lie in joint lines
        self.shadow = races.Shadow(4 * self.size, 4, by_rows=summaries)

    def step(self, draw: random.Random) -> None:
        self.reading = draw.random() < 0.8
        super().step(draw)
        ages = self.shadow.records.array[race_line_records.line_of(self.shadow.records, self.shadow.stride, 0).start :][
            3::4
        ]
        self.joint += int((ages >> race_line_records.AGE & race_line_records.JOINT != 0).sum())

    def _access(self, draw: random.Random, block: Block, warp: int, mask: int) -> None:
        if draw.random() < self.chance:
            super()._access(draw, block, warp, mask)
            return
        codes = [draw.randrange(CODES) << CODE | (draw.random() < self.strong) << STRONG for _ in range(2)]
        tables = [
            [1, 0, 1, codes[0], *[0] * 15],
            [1, 4, 2, *codes, *[0] * 14],
            [2, 0, 1, codes[0], *[0] * 15, 40, 1, codes[1], *[0] * 15],
            [1, 0, 9, *codes * 4, codes[0], *[0] * 7],
        ]
        write = draw.random() < 0.6 and not self.reading
        table = tables[0] if write else draw.choice(tables[: self.tables])
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
            lane,
            lane,
            np.where(lane < 16, lane, lane + draw.choice([0, 3, 40, 60])),
            60 - lane,
            np.where(lane < 16, lane + 50, lane - 16),
            *[lane * draw.choice([3, 16, 16, 17])] * 3,
            np.cumsum(lane % 3 + 2),
        ]
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


@pytest.mark.long
@few_and_many(80)
def test_stores_that_are_recorded_together_leave_what_they_leave_one_by_one(seeds: range) -> None:
    """Each lane stores to words of a chunk of its own; other accesses take the lines apart."""
    compiled, woven, apart = compiled_rules(4), 0, 0
    for seed in seeds:
        worlds = [Chunks(compiled, summaries=True), Chunks(compiled, summaries=False, scattered=True)]
        worlds += [Chunks(in_python, summaries=True)] * (seed < 4)
        world = that_agree(worlds, seed)
        woven, apart = woven + world.woven, apart + world.apart
    assert woven > 2 * len(seeds)
    assert apart > 2 * len(seeds)


@pytest.mark.long
@few_and_many(60)
def test_lanes_a_few_words_apart_are_checked_like_scattered_lanes(seeds: range) -> None:
    compiled, by_lines = compiled_rules(4), 0
    for seed in seeds:
        worlds = [CloseLanes(compiled, summaries=True), CloseLanes(compiled, summaries=False, scattered=True)]
        worlds += [CloseLanes(in_python, summaries=True)] * (seed < 3)
        world = that_agree(worlds, seed)
        by_lines += int(world.shadow.records.array[3 * world.shadow.stride + race_line_records.BY_WORDS] == 0)
    assert by_lines > len(seeds) / 2


class CloseLanes(Rows):
    """All accesses are those of lanes that are two to eight words apart, of which some may be missing."""

    size, chance = 640, 0

    def step(self, draw: random.Random) -> None:
        if draw.random() < 0.1:
            self.call(barriers.order, draw.choice(self.blocks), 0, 7, True, False)
        super().step(draw)

    def layout(self, draw: random.Random, mask: int, warp: int) -> tuple[int, Any]:
        """Which lanes make an access, and at which words they do."""
        lane = draw.choice([0, 0, 3, 16])
        some = draw.choice([0xFFFFFFFF, 0xFFFFFFFF, 0x7FFFFFFF, 0x00FF00FF, 0x3, draw.getrandbits(29) << 3 | 3])
        return some << lane & 0xFFFFFFFF, np.arange(32) * draw.choice([2, 3, 3, 4, 5, 7, 8]) + 32 * draw.randrange(4)


@pytest.mark.long
@few_and_many(90)
def test_words_of_one_thread_are_checked_like_scattered_lanes(seeds: range) -> None:
    compiled, owned, disowned = compiled_rules(4), 0, 0
    for seed in seeds:
        worlds = [OwnWords(compiled, summaries=True), OwnWords(compiled, summaries=False, scattered=True)]
        world = that_agree([*worlds, *[OwnWords(in_python, summaries=True)] * (seed < 3)], seed)
        owned, disowned = owned + world.owned, disowned + world.disowned
    assert owned > 30 * len(seeds)
    assert disowned > 3 * len(seeds)


class OwnWords(Rows):
    """Most accesses are to words that are the warp's own: of lanes a few words apart, in rows of 4 to 16, some of them
    missing; now and then another warp accesses them, too. `owned` counts the lines after each step, `disowned` those
    that no longer are."""

    size, chance, strong, tables = 2048, 0.0, 0.01, 3

    def __init__(self, call: Call, *, summaries: bool, scattered: bool = False) -> None:
        super().__init__(call, summaries=summaries, scattered=scattered)
        self.owned, self.disowned, self.last = 0, 0, np.zeros(self.size // 16, bool)

    def step(self, draw: random.Random) -> None:
        super().step(draw)
        ages = self.shadow.records.array[race_line_records.line_of(self.shadow.records, self.shadow.stride, 0).start :][
            3::4
        ]
        now = ages[: self.size // 16] >> race_line_records.AGE & race_line_records.FLAGS == race_line_records.OWNED
        self.owned, self.disowned = self.owned + int(now.sum()), self.disowned + int((self.last & ~now).sum())
        self.last = now
        self.reading = draw.random() < 0.5

    def _access(self, draw: random.Random, block: Block, warp: int, mask: int) -> None:
        super()._access(draw, self.blocks[0] if draw.random() < 0.99 else block, warp, mask)

    def layout(self, draw: random.Random, mask: int, warp: int) -> tuple[int, Any]:
        """Which lanes make an access, and at which words they do."""
        lane, begin = np.arange(32), 640 * (warp if draw.random() < 0.97 else 0)
        if draw.random() < 0.01:
            return super().layout(draw, mask, warp)
        in_rows = [lane % width + lane // width * draw.choice([width, 20, 36]) for width in (4, 8)]
        return mask, begin + draw.choice([lane, *[lane * draw.choice([2, 3, 6, 9, 16])] * 3, *in_rows])


@pytest.mark.long
@few_and_many(60)
def test_words_of_one_thread_that_lie_anyhow_are_checked_like_scattered_lanes(seeds: range) -> None:
    compiled, swept, apart = compiled_rules(4), 0, 0
    for seed in seeds:
        worlds = [WordsAnywhere(compiled, summaries=True), WordsAnywhere(compiled, summaries=False, scattered=True)]
        world = that_agree([*worlds, *[WordsAnywhere(in_python, summaries=True)] * (seed < 3)], seed)
        swept, apart = swept + world.swept, apart + (world.owned_lines() == race_line_records.NOT_OWNED)
    assert swept > len(seeds)
    assert apart > len(seeds) / 6


class WordsAnywhere(OwnWords):
    """Most accesses are to words of the warp that lie in no order, each always the same thread's; now and then another
    one accesses them, or two lanes one word. `swept` counts the steps after which all lines were owned."""

    size, twice = 2800, np.arange(32) // 2

    def __init__(self, call: Call, *, summaries: bool, scattered: bool = False) -> None:
        super().__init__(call, summaries=summaries, scattered=scattered)
        at = 3 * self.shadow.stride + race_line_records.OWNED_LINES
        self.shadow.records[at], self.swept = race_line_records.SOME_OWNED - 2, 0

    def owned_lines(self) -> int:
        return int(self.shadow.records[3 * self.shadow.stride + race_line_records.OWNED_LINES])

    def step(self, draw: random.Random) -> None:
        super().step(draw)
        self.swept += self.owned_lines() == race_line_records.ALL_OWNED

    def layout(self, draw: random.Random, mask: int, warp: int) -> tuple[int, Any]:
        order = np.random.default_rng(warp).permutation(64).reshape(-1, 32)[draw.randrange(2)]
        chance = draw.random()
        if chance < 0.03:
            order = order[self.twice] if self.reading and chance < 0.015 else order[::-1]
        return mask, 13 * order + 880 * (warp if chance < 0.98 else 0)


class Chunks(Rows):
    """Most accesses are stores of several words by each lane, one chunk behind the other; the others are as in `Rows`.
    Now and then another block has the memory. `woven` counts those recorded together, `apart` those that could not
    be."""

    size, chance = 1600, 0.02

    def __init__(self, call: Call, *, summaries: bool, scattered: bool = False) -> None:
        super().__init__(call, summaries=summaries, scattered=scattered)
        self.woven, self.apart = 0, 0

    def step(self, draw: random.Random) -> None:
        if draw.random() < 0.1:
            block = draw.choice(self.blocks)
            block.records, block.stride = self.shadow.records, self.shadow.stride
            self.call(started, block, self.blocks.index(block))
            block.records = None
        elif draw.random() < 0.05:
            self.call(barriers.order, draw.choice(self.blocks), 0, 7, True, False)
        else:
            super().step(draw)

    def state(self) -> dict[str, Any]:
        """Without the numbers of warp-instructions: those that are recorded together have none."""
        found = super().state()
        return found | {"notes": [note[: Entry.offset("serial") // 8] for note in found["notes"]]}

    def _access(self, draw: random.Random, block: Block, warp: int, mask: int) -> None:
        if draw.random() < 0.25:
            super()._access(draw, block, warp, mask)
            return
        words, at = draw.choice([2, 3, 3, 4, 5, 16]), 16 * draw.choice([0, 1, 6, 30]) + (draw.random() < 0.1)
        at += warp * 32 * words if draw.random() < 0.7 else 0
        codes = [draw.choice([1, 2, 4, 6, 8, 10]) for _ in range(words)]
        if draw.random() < 0.3:
            codes[-1] = -1  # nothing is stored there
        at, again = (
            4 * min(at, self.size - 32 * words),
            draw.choice(["", "", "", "", "so", "other", "by", "by", "wide"]),
        )
        if again == "wide":
            codes = codes[:1] * 2
        self._stores(block, warp, at, codes)
        if again == "other":
            codes[0] = draw.choice([-1, 1, 10])
        elif again == "by":  # another warp, or one of another block
            block, warp = draw.choice([(block, (warp + 1) % 3), (self.blocks[block is self.blocks[0]], warp)])
        if again:
            self._stores(block, warp, at, codes * 2 if again == "wide" else codes)

    def _stores(self, block: Block, warp: int, at: int, codes: list[int]) -> None:
        """codes: of the store to each word of a chunk, -1: there is none."""
        words, records = len(codes), (self.shadow.records, self.shadow.stride)
        least = min([code for code in codes if code >= 0], default=1)
        chunk = [code - least + 1 if code >= 0 else 0 for code in codes]
        lines = [sum(chunk[(first + k) % words] << 8 * k for k in range(8)) for first in range(0, 32 * words, 8)]
        table = Pointer[int](np.array([words, least << CODE, *lines], np.uint64))
        stores = [[4 * k, 1, code << CODE, *[0] * 15] for k, code in enumerate(codes) if code >= 0]
        given = table, Pointer[int](np.array([len(stores), *[x for store in stores for x in store]], np.uint64))
        if not self.scattered and self.call(race_chunks.chunks_stored, self.launch, block, warp, *records, at, *given):
            self.woven += 1
            return
        self.apart += 1
        offsets = Pointer[int]((at + np.arange(32) * 4 * words).astype(np.uint32))
        for k, code in enumerate(codes):
            if code < 0:
                continue
            flags = code << CODE
            pieces = Pointer[int](np.array([1, 4 * k, 1, flags, *[0] * 15], np.uint64))
            members = Pointer[int](np.array([1, 4 * k, 4, flags], np.uint64))
            if self.scattered:
                self.call(serial, self.launch, 0xFFFFFFFF)
                given = load_lanes(offsets), START, pieces, block.now | warp << WARP, 0xFFFFFFFF, True
                assert self.call(race_accesses.from_each_lane, self.launch, block, *records, *given) == 0
            else:
                given = 0xFFFFFFFF, *records, offsets, IN_ONE_ALLOCATION, START, pieces, members, True
                self.call(race_accesses.at_addresses, self.launch, block, warp, *given)


def _row(world: Chunks, block: Block, warp: int) -> None:
    """A warp reads the first 32 words."""
    members = Pointer[int](np.array([1, 0, 4, 1 << CODE], np.uint64))
    pieces = Pointer[int](np.array([1, 0, 1, 1 << CODE, *[0] * 15], np.uint64))
    offsets = Pointer[int]((4 * np.arange(32)).astype(np.uint32))
    given = 0xFFFFFFFF, world.shadow.records, world.shadow.stride, offsets, IN_A_ROW, START, pieces, members, False
    world.call(race_accesses.at_addresses, world.launch, block, warp, *given)


def test_records_of_words_of_a_woven_line_are_known_to_be_left() -> None:
    world = Chunks(in_python, summaries=True)
    world._stores(world.blocks[0], 0, 0, [2, 4])
    kept = world.shadow.records.array[3 * world.shadow.stride :]
    assert world.woven
    assert not kept[race_line_records.OWN_RECORDS]
    barriers.order(world.blocks[0], 0, 7, True, False)
    _row(world, world.blocks[0], 1)
    assert kept[race_line_records.OWN_RECORDS]


class Scattered(World):
    """Accesses are scattered or atomic. `at_once`: all lanes at once where that is possible; `taken` counts
    them."""

    def __init__(self, call: Call, granule: int, *, at_once: bool) -> None:
        super().__init__(call, granule)
        self.at_once, self.taken = at_once, dict.fromkeys(["reads", "writes", "as one"], 0)

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
        if self.at_once:
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
            again = write and any(other > lane and offsets[other] == offsets[lane] for other in lanes_of(mask))
            for k in range(size // self.granule):
                races.remember(self.launch, block, at + k, where[1], me | lane | again << MANY, write)


@pytest.mark.long
def test_scattered_accesses_leave_the_same_records_at_once_as_lane_by_lane() -> None:
    compiled, taken = compiled_rules(4), dict.fromkeys(["reads", "writes", "as one"], 0)
    for seed in range(16):
        worlds = [Scattered(compiled, 4, at_once=True), Scattered(in_python, 4, at_once=False)]
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


@pytest.mark.long
@pytest.mark.parametrize("granule", [4, pytest.param(1, marks=pytest.mark.rest)])
def test_atomics_find_hazards_and_leave_records_with_summaries_as_without(granule: int) -> None:
    compiled, done = compiled_rules(granule), []
    for seed in range(24):
        found, plain = Atomics(compiled, granule, summaries=True), Atomics(compiled, granule, summaries=False)
        called = Atomics(in_python, granule, summaries=True)
        worlds = [found, plain, *([called] * (seed < 2))]
        that_agree(worlds, seed, steps=40)
        assert all(world.done == found.done for world in worlds)
        done += found.done
    assert 100 < sum(done) < len(done) - 100


@pytest.mark.parametrize("call", [in_python, compiled_rules], ids=["called", "compiled"])
@pytest.mark.parametrize("granule", [4, pytest.param(1, marks=pytest.mark.rest)])
def test_atomics_of_several_instructions_are_recorded_at_once(granule: int, call: Call) -> None:
    """As in a loop that has been unrolled: by which of them a word was changed last makes no difference."""
    run = call(granule) if call is compiled_rules else call
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
        block.warps, block.synchronized = warps, 1
    kept = {"warps", "rank", "begun", "stride", "followed", "value_count", "shared_size", "local_size", "local_stride"}
    kept |= {"synchronized", "reached", "later", "repeats"}  # they go with what these blocks have none of
    for name, field in Block.fields.items():
        if not field.indirect and name not in kept:
            size = field.kind.size * field.elements
            of_warps = field.shape is not None and field.shape.sizes[0] in (32, 1024)
            used.buffer[Block.offset(name) :][: size * warps // 32 if of_warps else size] = 0xFF
    for block in (used, new):
        started(block, 5)
    assert (used.buffer == new.buffer).all()


def test_what_is_acquired_must_have_been_released_since_the_access() -> None:
    world = World(in_python, 4)
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
    barriers.order(reader, 0, 3, True, False)
    assert comes_after(stored, 1)
    for _ in range(20):
        release(2)
    assert comes_after(stored, 1)  # the release that counts is forgotten


def test_a_lane_releases_what_its_warp_did_before_they_synchronized() -> None:
    world = World(in_python, 4)
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
