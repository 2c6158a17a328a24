"""racecheck on threads that each read and write a row or a structure of their own: others that touch it are found."""

from __future__ import annotations

import numpy as np
import pytest
from emulate_programs import WAYS, kernel, run

CHECKS = ("memcheck", "racecheck")
OTHERS = {
    "nobody": "",
    "another warp reads": "setp.eq.u32 %p3, %r1, 40;\n    @%p3 ld.{space}.u32 %r6, [{at}+WORD];",
    "another warp writes": "setp.eq.u32 %p3, %r1, 40;\n    @%p3 st.{space}.u32 [{at}+WORD], %r6;",
    "a lane of the same warp reads": "setp.eq.u32 %p3, %r1, 7;\n    @%p3 ld.{space}.u32 %r6, [{at}+WORD];",
    "a lane of the same warp writes": "setp.eq.u32 %p3, %r1, 7;\n    @%p3 st.{space}.u32 [{at}+WORD], %r6;",
    "all lanes read the next row": "ld.{space}.u32 %r6, [{own}+64];",
    "a row across": "mul.wide.u32 %rd7, %r1, 4;\n    add.u64 %rd7, %rd7, %rd2;\n    st.global.u32 [%rd7+1024], %r6;",
}
"""What happens besides. WORD: where a word of row 5 lies."""
WORDS = {"written": 324, "read": 356, "left alone": 364}


def _rows(space: str, first: str, others: str) -> str:
    """Words 0 to 9 of each row: 4 are written, and some are read and written. Then `others`."""
    at, own, kind = ("%r30", "%r20", "32") if space == "shared" else ("%rd2", "%rd20", "64")
    address = {
        "shared": "mov.u32 %r30, tile;\n    shl.b32 %r20, %r1, 6;\n    add.u32 %r20, %r20, %r30;",
        "global": "mul.wide.u32 %rd20, %r1, 64;\n    add.u64 %rd20, %rd2, %rd20;",
    }[space]
    return f"""
    {address}
    {first.format(space=space, at=at, own=own)}
    st.{space}.u32 [{own}], %r1;
    st.{space}.u32 [{own}+4], %r1;
    st.{space}.u32 [{own}+8], %r1;
    st.{space}.u32 [{own}+12], %r1;
    mov.u32 %r7, 0;
LOOP:
    ld.{space}.u32 %r6, [{own}];
    st.{space}.u32 [{own}+4], %r6;
    ld.{space}.u32 %r6, [{own}+16];
    st.{space}.u32 [{own}+16], %r6;
    ld.{space}.u32 %r6, [{own}+36];
    add.u{kind} {own}, {own}, 0;
    add.u32 %r7, %r7, 1;
    setp.lt.u32 %p4, %r7, 3;
    @%p4 bra LOOP;
    {others.format(space=space, at=at, own=own)}
"""


ANYHOW = """
    mul.lo.u32 %r10, %r1, 37;
    and.b32 %r10, %r10, 63;
    mul.wide.u32 %rd20, %r10, 4;
    add.u64 %rd20, %rd2, %rd20;
    mov.u32 %r7, 0;
LOOP:
    ld.global.u32 %r6, [%rd20];
    add.u32 %r6, %r6, 1;
    st.global.u32 [%rd20], %r6;
    add.u64 %rd20, %rd20, 256;
    add.u32 %r7, %r7, 1;
    setp.lt.u32 %p4, %r7, 30;
    @%p4 bra LOOP;
"""
"""Each thread updates 30 words of its own, those of a warp in no order."""


def _found(way: str, body: str, *, blocks: int = 1) -> list[str]:
    text = kernel(body, ".shared .align 16 .b8 tile[8192];")
    _, report = run(way, text, threads=64, blocks=blocks, checks=CHECKS, x=np.arange(2048, dtype=np.uint32))
    return [str(finding) for finding in report.findings]


def test_two_lanes_that_read_a_word_in_one_access_are_kept_in_the_order_of_the_text() -> None:
    """The lanes descend, so that they are in no row: word 9 is read by lane 23 first, then by lane 22."""
    body = """
    mov.u32 %r11, 31;
    sub.u32 %r10, %r11, %r1;
    and.b32 %r10, %r10, 31;
    mul.wide.u32 %rd20, %r10, 4;
    add.u64 %rd20, %rd2, %rd20;
    ld.global.u32 %r6, [%rd20+4];
    ld.global.u32 %r7, [%rd20];
    setp.eq.u32 %p3, %r1, 40;
    @%p3 st.global.u32 [%rd2+36], %r6;
    """
    found = [_found(way, body) for way in WAYS]
    assert found[1:] == found[:-1]
    assert "thread (23, 0, 0)" in found[0][0]


@pytest.mark.parametrize("others", OTHERS)
def test_words_of_their_own_in_no_order(others: str) -> None:
    body = ANYHOW + OTHERS[others].replace("WORD", "804").format(space="global", at="%rd2", own="%rd20")
    found = [_found(way, body) for way in WAYS]
    assert found[1:] == found[:-1]
    assert bool(found[0]) == (others not in ("nobody", "all lanes read the next row"))


@pytest.mark.sweep(31)
@pytest.mark.parametrize("way", [way for way in WAYS if way != "step"])
@pytest.mark.parametrize("word", WORDS)
@pytest.mark.parametrize("what", OTHERS)
@pytest.mark.parametrize("space", ["global", "shared"])
def test_others_access_a_row(space: str, what: str, word: str, way: str) -> None:
    others = OTHERS[what].replace("WORD", str(WORDS[word]))
    if space == "shared" and what == "a row across":
        others = "shl.b32 %r8, %r1, 2;\n    add.u32 %r8, %r8, %r30;\n    st.shared.u32 [%r8+1024], %r6;"
    silent = what == "nobody" or (word == "left alone" and "row" not in what)
    silent = silent or (word == "read" and what.endswith("reads"))
    for body in (_rows(space, "", others), _rows(space, others, "")):
        found = _found(way, body)
        assert found == _found("step", body)
        assert bool(found) is not silent
    for ordered in (_rows(space, "", f"bar.sync 0;\n    {others}"), _rows(space, f"{others}\n    bar.sync 0;", "")):
        assert _found(way, ordered) == []


@pytest.mark.sweep(3)
@pytest.mark.parametrize("way", [way for way in WAYS if way != "step"])
@pytest.mark.parametrize("words", [10, 37, 120])
def test_rows_after_barriers_and_of_other_blocks(words: int, way: str) -> None:
    """A second phase with rows of another kind; a second block that has the same rows."""
    first = _rows("global", "", "bar.sync 0;")
    second = _rows("global", "", "").replace("LOOP", "AGAIN").replace("%r1, 64", f"%r1, {4 * (words // 4)}")
    assert _found(way, first) == []
    for body, blocks in ((first, 2), (first + second, 1), (first + second, 2)):
        assert _found(way, body, blocks=blocks) == _found("step", body, blocks=blocks)
    assert _found(way, first, blocks=2), "two blocks write to the same rows"


ELEMENTS = {
    "structures": ("mul.lo.u32 %r8, %r1, 24;", (0, 4, 20), 288),
    "pairs": ("shl.b32 %r8, %r1, 3;", (0, 4), 96),
    "rows of 8": ("shr.u32 %r8, %r1, 3;\n    mad.lo.u32 %r8, %r8, 12, %r20;\n    shl.b32 %r8, %r8, 2;", (0,), 64),
    "some of a row": ("shl.b32 %r8, %r1, 2;", (0,), 48),
}
"""Where the elements of thread %r1 begin, at which bytes from there it reads and writes, and where those of thread 12
begin; %r20: the thread modulo 8."""
BETWEEN = {
    "nobody": ("", True),
    "itself": ("ld.global.u32 %r7, [%rd20];\n    st.global.u32 [%rd20], %r7;", True),
    "itself after a barrier": ("bar.sync 0;\n    st.global.u32 [%rd20], %r6;", True),
    "one of the warp reads": ("@%p3 ld.global.u32 %r7, [%rd21];", False),
    "one of the warp writes": ("@%p3 st.global.u32 [%rd21], %r6;", False),
    "another warp reads": ("@%p4 ld.global.u32 %r7, [%rd21];", False),
    "another warp after a barrier": ("bar.sync 0;\n    @%p4 ld.global.u32 %r7, [%rd21];\n    bar.sync 0;", True),
    "an atomic operation": ("@%p4 atom.global.add.u32 %r7, [%rd21], 1;", False),
    "a volatile read": ("@%p4 ld.volatile.global.u32 %r7, [%rd21];", False),
    "all the next one's": ("add.u64 %rd7, %rd20, 24;\n    ld.global.u32 %r7, [%rd7];", False),
    "the whole row": (
        "mul.wide.u32 %rd7, %r1, 4;\n    add.u64 %rd7, %rd2, %rd7;\n    ld.global.u32 %r7, [%rd7];",
        None,
    ),
}
"""What happens between two updates in place, and whether nothing is to be found: %rd20 is the thread's first word,
%rd21 that of thread 12; %p3 thread 7, %p4 thread 40. None: it depends on the elements."""


@pytest.mark.sweep(11)
@pytest.mark.parametrize("way", [way for way in WAYS if way != "step"])
@pytest.mark.parametrize("what", BETWEEN)
@pytest.mark.parametrize("elements", ELEMENTS)
def test_elements_that_are_updated_in_place(elements: str, what: str, way: str) -> None:
    place, fields, other = ELEMENTS[elements]
    between, silent = BETWEEN[what]
    update = "\n    ".join(
        f"@%p2 ld.global.u32 %r6, [%rd20+{at}];\n    @%p2 st.global.u32 [%rd20+{at}], %r6;" for at in fields
    )
    body = f"""
    and.b32 %r20, %r1, 7;
    {place}
    cvt.u64.u32 %rd7, %r8;
    add.u64 %rd20, %rd2, %rd7;
    add.u64 %rd21, %rd2, {other};
    setp.eq.u32 %p4, %r1, 40;
    setp.eq.u32 %p3, %r1, 7;
    setp.ne.u32 %p2, %r20, {3 if elements == "some of a row" else 8};
    {update}
    {between}
    {update}
    """
    found = _found(way, body)
    assert found == _found("step", body)
    if silent is not None:
        assert (found == []) is silent


@pytest.mark.parametrize("way", [way for way in WAYS if way != "step"])
def test_two_lanes_that_update_one_element(way: str) -> None:
    """One store of two lanes to a word, as the first access to its line and after others."""
    for first in ("", "st.global.u32 [%rd20], %r1;"):
        for same in ("min.u32 %r8, %r1, 30;", "and.b32 %r8, %r1, 15;", "shr.u32 %r8, %r1, 1;"):
            body = f"""
    mul.wide.u32 %rd20, %r1, 12;
    add.u64 %rd20, %rd2, %rd20;
    {first}
    {same}
    mul.wide.u32 %rd20, %r8, 12;
    add.u64 %rd20, %rd2, %rd20;
    setp.lt.u32 %p3, %r1, 32;
    @%p3 ld.global.u32 %r6, [%rd20];
    @%p3 st.global.u32 [%rd20], %r1;
    """
            found = _found(way, body)
            assert found
            assert found == _found("step", body)


@pytest.mark.sweep(3)
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("before", [0, 1015, 1100])
def test_a_race_in_a_long_kernel_names_its_instructions(before: int, way: str) -> None:
    """Behind however many instructions. A lane that reads what another one has only read is no hazard there either."""
    body = (
        before * "add.u32 %r9, %r9, 1;\n"
        + """
    mul.wide.u32 %rd20, %r1, 12;
    add.u64 %rd20, %rd2, %rd20;
    ld.global.u32 %r6, [%rd20];
    ld.global.u32 %r8, [%rd20+4];
    ld.global.u32 %r7, [%rd20+8];
    st.global.u32 [%rd20], %r6;
    st.global.u32 [%rd20+8], %r7;
    setp.eq.u32 %p4, %r1, 40;
    @%p4 ld.global.u32 %r7, [%rd2+148];
    @%p4 ld.global.u32 %r7, [%rd2+152];
    """
    )
    (found,) = _found(way, body)
    assert found.startswith("racecheck: RAW hazard")
    assert "@%p4 ld.global.u32 %r7, [%rd2+152];" in found
    assert "st.global.u32 [%rd20+8], %r7;" in found
