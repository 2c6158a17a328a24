"""racecheck where lanes of a warp read words in common: both engines name the same lanes and lines, and each read."""

from __future__ import annotations

import pytest
from emulate_programs import WAYS, kernel
from random_races import START, TILE, differences, found
from slow_cases import slow

COMPILED = [way for way in WAYS if way != "step"]
READS = {
    "a word for each half, twice": ("shr.u32 %r10, %r20, 4;", (0, 0)),
    "a word for each half, and the next": ("shr.u32 %r10, %r20, 4;", (0, 4)),
    "words for each half that cross": ("shr.u32 %r10, %r20, 4; shl.b32 %r10, %r10, 1;", (0, 8)),
    "rows of the halves that cross": (
        "and.b32 %r10, %r20, 15; and.b32 %r11, %r20, 16; shr.u32 %r11, %r11, 1; add.u32 %r10, %r10, %r11;",
        (0, 8, 16),
    ),
    "one row for both halves": ("and.b32 %r10, %r20, 15;", (0, 0)),
    "words here and there, twice": ("and.b32 %r10, %r20, 3;", (0, 0, 0)),
    "the later word first": ("shr.u32 %r10, %r20, 1;", (4, 0)),
    "one word, read by one half": ("mov.u32 %r10, 3;", (0, 0)),
}
"""The code that finds the word that each lane reads, in %r10, and the offsets in bytes of several reads."""


def _reads(name: str, space: str) -> str:
    code, offsets = READS[name]
    guard = "@%p1" if name.endswith("one half") else ""
    return "\n".join(
        [
            "setp.lt.u32 %p1, %r20, 16;",
            code,
            "shl.b32 %r12, %r10, 2; add.u32 %r12, %r12, %r30; mul.wide.u32 %rd20, %r10, 4; add.u64 %rd20, %rd2, %rd20;",
            *(f"{guard} ld.{space}.u32 %r6, [{'%r12' if space == 'shared' else '%rd20'}+{k}];" for k in offsets),
        ]
    )


@pytest.mark.sweep(7)
@pytest.mark.parametrize("way", COMPILED)
@pytest.mark.parametrize("space", ["shared", "global"])
@pytest.mark.parametrize("name", READS)
def test_what_lanes_have_read_and_write_then(name: str, space: str, way: str) -> None:
    """The lanes of the same warp and of another one write what they have read; the next warps read it after that."""
    here = "[%r13]" if space == "shared" else "[%rd21]"
    body = f"""
    {START}
    {_reads(name, space)}
    shl.b32 %r13, %r20, 2; add.u32 %r13, %r13, %r30; mul.wide.u32 %rd21, %r20, 4; add.u64 %rd21, %rd2, %rd21;
    setp.eq.u32 %p2, %r21, 1;
    @%p2 st.{space}.u32 {here}, %r4;
"""
    text = kernel(body, TILE)
    races = [said for said in found(way, text, 96, 2) if "racecheck" in said]
    assert len([race for race in races if "RAW" in race]) >= len(set(READS[name][1]))
    assert any("WAR" in race for race in races)
    assert found(way, text, 96, 2) == found("step", text, 96, 2)


@pytest.mark.long
@pytest.mark.skipif(not COMPILED, reason="needs llvmlite")
@pytest.mark.sweep(3)
@pytest.mark.parametrize("first", [0, 5, 10, *slow((5037, 64113, 881001, *range(15, 300, 5)))])
def test_random_races(first: int) -> None:
    assert differences(first, 5) == []


@pytest.mark.skipif(not COMPILED, reason="needs llvmlite")
def test_addresses_that_are_constants() -> None:
    """Ways into a loop over warps may bring 32 constants, which have commas between them."""
    assert differences(430004, 1) == []


ORDERED = """
    setp.lt.u32 %p3, %r20, 16;
    selp.b64 %rd22, %rd1, %rd2, %p3;
"""
"""%rd22: one array for the lower half of a warp, another one for the upper half."""
CASES = {
    "lanes store to one place in each of two arrays": (
        ORDERED + "st.global.u32 [%rd22], %r1;",
        "two lanes of one store write different values", "seen:   18 times",
    ),
    "an atomic of two lanes at each word, of which one has written it": ("""
        shl.b32 %r12, %r20, 2; and.b32 %r12, %r12, 63; add.u32 %r12, %r12, %r30;
        setp.lt.u32 %p1, %r1, 16; setp.lt.u32 %p2, %r1, 32; setp.eq.u32 %p3, %r1, 32;
        @%p1 st.shared.u32 [%r12], 1;
        @%p2 atom.shared.add.u32 %r8, [%r12], %r1;
        @%p3 st.shared.u32 [%r30+8], 5;""",
        "WAW hazard in shared memory", "thread (2, 0, 0) (warp 0, lane 2) changes 4 bytes atomically",
    ),
    "lanes copy one word, and another one overwrites it": ("""
        shl.b32 %r12, %r20, 2; add.u32 %r12, %r12, %r30;
        cp.async.ca.shared.global [%r12], [%rd2], 4;
        cp.async.wait_all;
        setp.eq.u32 %p1, %r1, 37;
        @%p1 st.global.u32 [%rd2], %r1;""",
        "WAR hazard in global memory", "copies asynchronously",
    ),
    "an atomic in two arrays acquires when it is done with both": (ORDERED + """
        mul.wide.u32 %rd20, %r20, 4; add.u64 %rd21, %rd2, %rd20; add.u64 %rd20, %rd22, %rd20;
        ld.global.u32 %r6, [%rd21];
        red.global.add.u32 [%rd20], 1;
        fence.sc.cta;
        atom.global.cas.b32 %r8, [%rd21], 0, %r1;""",
        "WAR hazard in global memory", "block (0, 0, 0), thread (48, 0, 0)",
    ),
    "rows of the halves, whose words have several records": ("""
        shr.u32 %r10, %r20, 3; shl.b32 %r12, %r10, 2; add.u32 %r12, %r12, %r30;
        ld.shared.u8 %h1, [%r12];
        mov.u32 %r11, 31; sub.u32 %r10, %r11, %r20; shl.b32 %r12, %r10, 2; add.u32 %r12, %r12, %r30;
        ld.shared.u32 %r6, [%r12];
        and.b32 %r10, %r20, 15; shr.u32 %r11, %r20, 4; mad.lo.u32 %r10, %r11, 32, %r10; add.u32 %r10, %r10, 1;
        shl.b32 %r12, %r10, 2; add.u32 %r12, %r12, %r30;
        st.shared.u32 [%r12], 7;""",
        "WAR hazard in shared memory", "shared memory, byte 16 of 'tile'",
    ),
}  # fmt: skip
"""A program, and what stands in one of its findings."""


@pytest.mark.sweep(3)
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", CASES)
def test_lanes_of_one_access_that_differ(name: str, way: str) -> None:
    body, kind, where = CASES[name]
    text = kernel(START + body, TILE)
    said = found(way, text, 96, 3)
    assert any(kind in finding and where in finding for finding in said)
    assert said == found("step", text, 96, 3)
