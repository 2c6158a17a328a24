"""racecheck by numbers of words: what is found is what records find, and launches for which these do not suffice begin
again."""

from __future__ import annotations

import functools
import random
from typing import Any

import numpy as np
import pytest
from compiled_rules import Compiled
from emulate_programs import ENGINES, kernel, run
from race_histories import in_python
from random_in_place import differences
from slow_cases import slow

from ptxlab.emulate import Memory, execute
from ptxlab.emulate.jit.running import race_record_memory
from ptxlab.emulate.jit.running.race_record_memory import LentShadow, Numbers
from ptxlab.emulate.language import Pointer
from ptxlab.emulate.rules import race_numbered_accesses as accesses
from ptxlab.emulate.rules import race_numbers
from ptxlab.emulate.rules.accesses import HALVES_IN_A_ROW, IN_A_ROW
from ptxlab.emulate.rules.records import Block, Launch
from ptxlab.text import parse

CHECKS = ("memcheck", "racecheck")
WARPS, BLOCKS, WORDS = 2, 3, 1 << 15
pytestmark = pytest.mark.skipif("jit" not in ENGINES, reason="needs llvmlite")


@functools.cache
def _compiled(granule: int) -> Compiled:
    return Compiled((accesses.rows, accesses.regular, accesses.each, accesses.one), {"Launch.granule": granule})


class Words:
    """Who has accessed each word, and whether it was written: in numbers, and in a dictionary."""

    def __init__(self, call: Any, granule: int, draw: random.Random) -> None:
        self.call, self.granule, self.draw = call, granule, draw
        self.launch, self.blocks = Launch.new(), [Block.new() for _ in range(BLOCKS)]
        numbers = Numbers(race_numbers.numbers_of(32 * WARPS * BLOCKS))
        self.launch.granule, self.launch.first_number = granule, numbers.first
        for k, block in enumerate(self.blocks):
            block.linear, block.warps = k, WARPS
        self.shadow = LentShadow(WORDS * granule, granule)
        self.shadow.number(numbers.turn)
        self.threads: dict[int, set[int]] = {}
        self.written: set[int] = set()
        self.size = granule * draw.choice((1, 1, 1, 2, 4))
        self.apart = draw.choice((1, 1, 2, 3, 5, 16, 17))
        self.strays = draw.random() < 0.6
        self.beside = False
        self.width, self.gap = draw.choice((2, 3, 4, 8, 16)), draw.choice((0, 0, 0, 1, 20, 70))

    @property
    def raced(self) -> bool:
        """Whether any word is accessed by several threads, and written."""
        return any(len(threads) > 1 and word in self.written for word, threads in self.threads.items())

    def step(self) -> None:
        """One access of a warp, or several from one base."""
        draw, unit = self.draw, self.size // self.granule
        block, warp = draw.randrange(BLOCKS), draw.randrange(WARPS)
        first = 32 * (block * WARPS + warp)
        mask = draw.choice((0xFFFFFFFF, 0xFFFFFFFF, 0x55555555, 0x00FFFF00, 0x80000001, draw.getrandbits(32) or 1))
        gaps = self.gap * (first // self.width + np.arange(32) // self.width)  # after each row of so many lanes
        own = [64 + (first + lane) * self.apart * unit + int(gap) for lane, gap in enumerate(gaps)]
        given = {draw.randrange(self.apart) * unit: draw.random() < 0.3 for _ in range(draw.choice((1, 1, 2, 3)))}
        if self.beside or (self.strays and draw.random() < 0.2):
            given = {at * unit: draw.random() < 0.1 for at in draw.sample((-1, 0, 1, 2, 32), draw.choice((1, 2, 3)))}
        low = min(given)
        pairs = sorted((at - low, write) for at, write in given.items())
        table = self._table(pairs)
        args = self.launch, self.blocks[block], warp
        records = self.shadow.records, self.shadow.stride
        kind = draw.random()
        if kind < 0.1:
            lane = draw.randrange(32)
            mask, own = 1 << lane, [own[lane]] * 32
            self.call(accesses.one, *args, mask, *records, (own[0] + low) * self.granule, table)
        elif kind < 0.4 and self.apart == 1 and not self.gap:
            halves = kind < 0.2
            own = [*own[:16], *(word + 640 * unit for word in own[16:])] if halves else own
            mask, places = 0xFFFFFFFF, [(own[lane] + low) * self.granule for lane in (0, 16)]
            pattern = HALVES_IN_A_ROW if halves else IN_A_ROW
            assert self.call(accesses.rows, *args, *records, *places, pattern, table)
        elif kind < 0.7 and self.apart * unit <= accesses.CLOSE and not self.gap:
            self.call(accesses.regular, *args, mask, *records, (own[0] + low) * self.granule, self.apart * unit, table)
        else:
            if draw.random() < 0.2 and self.strays:
                own = [own[(lane * 5) % 32] for lane in range(32)]
            elif draw.random() < 0.2 and self.strays:
                own = [own[0]] * 32
            elif draw.random() < 0.2 and self.strays:
                own = [own[lane - lane % self.width] for lane in range(32)]
            offsets = Pointer(np.array([*((word + low) * self.granule for word in own), 0], np.uint32))
            self.call(accesses.each, *args, mask, *records, offsets, table)
        self._keep(first, mask, own, [(at + low, write) for at, write in pairs], unit)

    def _table(self, pairs: list[tuple[int, bool]]) -> Pointer[int]:
        used = written = 0
        for at, write in pairs:
            bits = (1 << self.size // self.granule) - 1 << at
            used, written = used | bits, written | bits * write
        used, written = (used, written) if used < 1 << 32 else (0, 0)
        rows = [len(pairs), self.size, 0, used, written]
        return Pointer(np.array([*rows, *[x for at, write in pairs for x in (at * self.granule, write)]], np.uint64))

    def _keep(self, first: int, mask: int, own: list[int], pairs: list[tuple[int, bool]], unit: int) -> None:
        for lane in range(32):
            for at, write in pairs:
                for word in range(own[lane] + at, own[lane] + at + unit) if mask >> lane & 1 else ():
                    self.threads.setdefault(word, set()).add(first + lane)
                    if write:
                        self.written.add(word)


class Neighbours(Words):
    """Lanes access their own words, those of the lanes beside them, or both at once."""

    def __init__(self, call: Any, granule: int, draw: random.Random) -> None:
        super().__init__(call, granule, draw)
        self.apart, self.gap, self.strays, self.beside = 1, 0, False, True


@pytest.mark.sweep(3)
@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("granule", [4, 1])
@pytest.mark.parametrize("kind", [Words, Neighbours])
def test_numbers_say_whether_a_written_word_has_several_threads(kind: Any, granule: int, compiled: bool) -> None:
    call, mistaken = _compiled(granule) if compiled else in_python, 0
    seeds = 150 if compiled else 40
    for seed in range(seeds):
        words = kind(call, granule, random.Random(seed))
        for step in range(40 if kind is Words else 4):
            words.step()
            assert bool(words.launch.mistaken) == words.raced, (seed, step)
            if words.raced:
                mistaken += 1
                break
    assert seeds / 5 < mistaken < seeds * 4 / 5


@pytest.mark.long
@pytest.mark.parametrize(
    "first", [0, pytest.param(10, marks=pytest.mark.rest), *slow((500, 1010, 7001, *range(20, 200, 10)))]
)
def test_random_changes_in_place(first: int) -> None:
    assert differences(first, 10) == []


NEXT = """
    ld.global.u32 %r5, [%rd3];
    add.u32 %r5, %r5, 1;
    st.global.u32 [%rd3], %r5;
    BETWEEN
    setp.ge.u32 %p1, %r1, 63;
    @%p1 bra END;
    ld.global.u32 %r6, [%rd3+4];
    st.global.u32 [%rd3], %r6;
END:
"""
"""Each thread adds to its own word, and reads that of the next one."""


@pytest.mark.parametrize("between", ["", "bar.sync 0;"])
def test_what_a_launch_has_written_is_put_back_before_it_begins_again(between: str) -> None:
    text = kernel(NEXT.replace("BETWEEN", between))
    ways = []
    for engine in ENGINES:
        out, report = run(engine, text, threads=64, blocks=2, out=np.arange(128, dtype=np.uint32), checks=CHECKS)
        ways.append((sorted(out.tolist()), [str(finding) for finding in report.findings], report.warp_instructions))
    assert ways[0] == ways[1]
    assert min(ways[0][0]) >= 1
    assert max(ways[0][0]) <= 128, "nothing is added twice"
    assert any("racecheck" in said for said in ways[0][1])


def _made(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Whether each launch from now on has numbers."""
    made: list[bool] = []
    number = LentShadow.number

    def noted(self: LentShadow, turn: int) -> None:
        made.append(True)
        number(self, turn)

    monkeypatch.setattr(LentShadow, "number", noted)
    return made


@pytest.mark.parametrize(
    ("body", "launches"),
    [
        ("st.global.u32 [%rd3], %r1;", 3),
        ("st.global.u32 [%rd1], %r1;", 1),
        ("red.global.add.u32 [%rd1], %r1;", 0),
        ("st.global.u32 [%rd3], %r1; membar.gl;", 0),
    ],
    ids=["own words", "one word for all", "an atomic operation", "a fence"],
)
def test_a_program_for_which_numbers_did_not_suffice_has_records_the_next_time(
    body: str, launches: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, module, memory = _made(monkeypatch), parse(kernel(body)), Memory()
    params = np.array([memory.allocate(4096, name).address for name in ("out", "x")], np.uint64).tobytes()
    for _ in range(3):
        execute(
            module, "k", engine="jit", grid=(2, 1, 1), block=(64, 1, 1), params=params, memory=memory, checks=CHECKS
        )
    assert len(made) == launches


def test_numbers_begin_again_when_they_are_used_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of earlier launches are cleared then, which would be larger than those that follow."""
    text = kernel("ld.global.u32 %r5, [%rd3]; add.u32 %r5, %r5, 1; st.global.u32 [%rd3], %r5;")
    words = 1 << 16
    before = Numbers(0)
    monkeypatch.setattr(race_record_memory, "_next", race_numbers.LAST - 200)
    for k in range(4):  # 130 numbers each
        out, report = run("jit", text, threads=32, blocks=2, out=np.zeros(words, np.uint32), checks=CHECKS)
        assert not report.findings, k
        assert out[:65].tolist() == [1] * 64 + [0]
    assert Numbers(0).turn == before.turn + 1


def test_a_fault_before_any_mistake_ends_the_launch_at_once() -> None:
    text = kernel("st.global.u32 [%rd3], %r1; st.global.u32 [%rd3+65536], %r1;")
    said = []
    for engine in ENGINES:
        with pytest.raises(Exception) as stopped:
            run(engine, text, threads=32, blocks=2, checks=CHECKS)
        said.append(str(stopped.value))
    assert said[0] == said[1]
