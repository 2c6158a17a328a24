"""racecheck on atomic operations at one address or on a row: recorded at once, they find and leave what lanes would."""

from __future__ import annotations

import random

import numpy as np
import pytest
from emulate_programs import ALL_CHECKS, WAYS, improve, kernel, run
from race_histories import START, Call, World, compiled_rules, in_python, that_agree

from ptxlab.emulate.jit.checks.scattered_races import OTHER_LANE, one_place, recorded_as_one, recorded_writes, whole_row
from ptxlab.emulate.language import Pointer
from ptxlab.emulate.rules import barriers, races
from ptxlab.emulate.rules.notes import serial
from ptxlab.emulate.rules.records import CODE, MANY, STRONG, WARP, Block
from ptxlab.errors import DeviceFault

COMPILED = [way for way in WAYS if way != "step"]


class OfRows(World):
    """Some accesses are atomic, of a row or at one place. together: recorded at once where that is possible."""

    def __init__(self, call: Call, *, summaries: bool, together: bool) -> None:
        super().__init__(call, 4, summaries=summaries)
        self.together, self.taken = together, dict.fromkeys(["row", "one"], 0)

    def step(self, draw: random.Random) -> None:
        what, block = draw.random(), draw.choice(self.blocks)
        if what < 0.2:
            self.call(barriers.order, block, 0, 7, True, False)
        elif what < 0.3:
            self.reading = draw.random() < 0.6
            super().step(draw)
        else:
            self._atomic(draw, block, draw.randrange(3), draw.choice([6, 6, 6, 6, 2, 5, 3]))

    def _atomic(self, draw: random.Random, block: Block, warp: int, code: int) -> None:
        first, row = 4 * draw.randrange(64), draw.random() < 0.7
        mask = 0xFFFFFFFF if row else draw.choice([0xFFFFFFFF, 1 << draw.randrange(32), draw.getrandbits(32) | 1])
        access = code << CODE | 1 << STRONG
        me, where = block.now | warp << WARP | access, (self.shadow.records, self.shadow.stride)
        if self.together:
            given = self.launch, block, warp
            if row:
                done = self.call(whole_row, *given, *where, first, access)
            else:
                done = self.call(one_place, *given, mask, *where, first, 4, access)
            self.taken["row" if row else "one"] += bool(done)
            if done:
                return
        addresses = np.uint64(first) + np.arange(32, dtype=np.uint64) * np.uint64(4 * row)
        if row:
            done = self.call(recorded_writes, self.launch, block, *where, Pointer[int](addresses), 0, mask, 4, me)
        else:
            done = self.call(recorded_as_one, self.launch, block, *where, first, mask, 4, me)
        if done or self.launch.summaries:  # where it is not done, the engine looks at each lane, by other rules
            return
        serial(self.launch, mask)
        lanes = [lane for lane in range(32) if mask >> lane & 1]
        for lane in lanes:
            races.hazard(
                self.launch,
                block,
                where[0] + int(addresses[lane]) // 4,
                where[1],
                START + int(addresses[lane]),
                me | lane,
                True,
            )
        for lane in reversed(lanes):
            at = where[0] + int(addresses[lane]) // 4
            again = (at[0] ^ me) & ~OTHER_LANE == 0
            races.remember(self.launch, block, at, where[1], me | lane | again << MANY, True)


@pytest.mark.long
@pytest.mark.parametrize("summaries", [False, True])
def test_rows_and_places_leave_the_same_records_at_once_as_lane_by_lane(summaries: bool) -> None:
    compiled, taken = compiled_rules(4), dict.fromkeys(["row", "one"], 0)
    for seed in range(20):
        worlds = [OfRows(compiled, summaries=summaries, together=together) for together in (True, False)]
        if seed < 1:
            worlds.append(OfRows(in_python, summaries=summaries, together=True))
        found = that_agree(worlds, seed, steps=40).taken
        taken = {what: count + found[what] for what, count in taken.items()}
    assert min(taken.values()) > 30


@pytest.mark.parametrize("call", [in_python, compiled_rules], ids=["called", "compiled"])
def test_a_row_of_narrow_scope_or_beside_a_plain_store_is_left_to_its_lanes(call: Call) -> None:
    world = World(call(4) if call is compiled_rules else call, 4, summaries=True)
    where = world.shadow.records, world.shadow.stride

    def done(code: int, block: int) -> bool:
        return bool(world.call(whole_row, world.launch, world.blocks[block], 0, *where, 0, code << CODE | 1 << STRONG))

    assert done(6, 0)
    assert done(6, 1)
    assert not done(5, 1)  # its scope is the block
    assert not done(2, 0)  # another instruction, of which nothing is known here
    assert world.call(whole_row, world.launch, world.blocks[0], 0, None, 0, 0, 6 << CODE)  # nothing is kept of it


SETUP = "and.b32 %r20, %r1, 31; mul.wide.u32 %rd20, %r20, 4; add.u64 %rd20, %rd1, %rd20;"
"""%rd20: the lane's word of `out`."""
PROGRAMS = {
    "rows": "red.global.add.u32 [%rd20], %r1;",
    "rows in a loop": "mov.u32 %r21, 0; L: red.global.add.u32 [%rd20], %r1; add.u32 %r21, %r21, 1;"
    " setp.lt.u32 %p1, %r21, 5; @%p1 bra L;",
    "rows of floats": "cvt.rn.f32.u32 %f1, %r1; red.global.add.f32 [%rd20], %f1;",
    "rows by two instructions": "red.global.add.u32 [%rd20], %r1; red.global.or.b32 [%rd20+32], %r1;",
    "rows of the block's scope": "red.global.cta.add.u32 [%rd20], %r1;",
    "rows after a store": "st.global.u32 [%rd20], %r2; red.global.add.u32 [%rd20], %r1;",
    "rows before a store": "red.global.add.u32 [%rd20], %r1; st.global.u32 [%rd20+4], %r2;",
    "rows, then a load": "red.global.add.u32 [%rd20], %r1; ld.global.u32 %r6, [%rd20+8];",
    "a load, then rows": "ld.global.u32 %r6, [%rd20+8]; red.global.add.u32 [%rd20], %r1;",
    "rows, a barrier, a load": "red.global.add.u32 [%rd20], %r1; bar.sync 0; ld.global.u32 %r6, [%rd20+8];",
    "rows of pairs": "and.b64 %rd21, %rd20, -8; red.global.add.u64 [%rd21], %rd20;",
    "one place": "red.global.add.u32 [%rd1+12], %r1;",
    "one place by some lanes": "setp.lt.u32 %p1, %r1, 40; @%p1 red.global.add.u32 [%rd1+12], %r1;",
    "one place, and a store": "red.global.add.u32 [%rd1+12], %r1; st.global.u32 [%rd20], %r2;",
    "one place of the block's scope": "red.global.cta.max.u32 [%rd1+12], %r1;",
    "one place, old values": "atom.global.add.u32 %r6, [%rd1+12], 1; st.global.u32 [%rd20], %r6;",
    "one place and fences": "membar.gl; red.global.add.u32 [%rd1+12], 1; ld.global.u32 %r6, [%rd20];",
    "past the end": "red.global.add.u32 [%rd20+8], %r1; mul.wide.u32 %rd21, %r2, 4096;"
    " add.u64 %rd21, %rd1, %rd21; red.global.add.u32 [%rd21], 1;",
}


@pytest.mark.sweep(7)
@pytest.mark.parametrize("checks", [ALL_CHECKS, ("memcheck", "racecheck")], ids=["all", "racecheck"])
@pytest.mark.parametrize("way", COMPILED)
@pytest.mark.parametrize("name", PROGRAMS)
def test_findings_and_values(name: str, way: str, checks: tuple[str, ...]) -> None:
    """What the checks find, and what the operations leave in memory."""
    text = kernel(f"{SETUP} {PROGRAMS[name]}".replace("; ", ";\n"))  # so that findings name different lines
    assert _ended(way, text, checks) == _ended("step", text, checks)


def _ended(way: str, text: str, checks: tuple[str, ...]) -> tuple[list[str], list[int]]:
    if way == "good":
        improve(text, (96, 1, 1), False, checks)
    out = np.zeros(256, np.uint32)
    try:
        values, report = run("jit" if way == "good" else way, text, threads=96, blocks=3, out=out, checks=checks)
    except DeviceFault as fault:
        return [str(fault), *map(str, fault.findings)], []
    return [str(finding) for finding in report.findings], values.tolist()
