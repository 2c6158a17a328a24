"""racecheck: a write finds the reads before it, whatever lanes read, in both engines."""

from __future__ import annotations

import numpy as np
import pytest
from emulate_programs import WAYS, kernel, run

CHECKS = ("memcheck", "racecheck")
TILE = ".shared .align 16 .b8 tile[4096];"
PLACES = """
    and.b32 %r10, %r1, 15;
    shr.u32 %r11, %r1, 4;
    and.b32 %r11, %r11, 1;
    mul.lo.u32 %r12, %r11, 20;
    add.u32 %r12, %r12, %r10;
    mul.lo.u32 %r13, %r1, 7;
    and.b32 %r13, %r13, 31;
    and.b32 %r14, %r1, 31;
    mad.lo.u32 %r14, %r14, 2, 1;
    setp.lt.u32 %p1, %r10, 11;
    setp.lt.u32 %p2, %r1, 20;
"""
"""For each half of a warp words in a row; words here and there; some lanes of each half; some of the first warp."""
READS = {
    "a row": ("%r1", ""),
    "a row behind another word": ("%r1", "+12"),
    "one word": ("5", ""),
    "a row for each half": ("%r12", ""),
    "a word for each half": ("%r11", ""),
    "here and there": ("%r13", ""),
    "a part of a row": ("%r1", "@%p2"),
    "parts of halves": ("%r12", "@%p1"),
    "one word, read by some": ("5", "@%p2"),
    "every second word, read by some": ("%r14", "@%p1"),
    "every second word, read by some of the first warp": ("%r14", "@%p2"),
}
"""The index of the word that each thread reads, and the guard, or what is added to the address."""


def _read(name: str, space: str) -> str:
    index, how = READS[name]
    guard, more = (how, "") if how.startswith("@") else ("", how)
    if space == "shared":
        place = f"    shl.b32 %r20, {index}, 2;\n    add.u32 %r20, %r20, %r30;\n"
        return f"{place}    {guard} ld.shared.u32 %r6, [%r20{more}];\n"
    place = f"    mul.wide.u32 %rd20, {index}, 4;\n    add.u64 %rd20, %rd2, %rd20;\n"
    return f"{place}    {guard} ld.global.u32 %r6, [%rd20{more}];\n"


def _found(way: str, body: str, *, threads: int, blocks: int) -> list[str]:
    text = kernel("    mov.u32 %r30, tile;\n" + PLACES + body, TILE)
    _, report = run(way, text, threads=threads, blocks=blocks, checks=CHECKS, x=np.arange(128, dtype=np.uint32))
    return [str(finding) for finding in report.findings]


WRITE = """    bra.uni END;
WRITE:
    mul.wide.u32 %rd5, %r1, 4;
    add.u64 %rd5, %rd2, %rd5;
    st.global.u32 [%rd5], %r1;
END:
"""
"""What block 2 does, which goes to WRITE at the beginning, and the others do not."""


def _races_with_block_2(way: str, body: str) -> None:
    found = _found(way, body, threads=64, blocks=3)
    assert found, "the write of block 2 races with the reads of blocks 0 and 1"
    assert found == _found("step", body, threads=64, blocks=3)


@pytest.mark.sweep(6)
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", READS)
def test_a_block_writes_what_others_have_read(name: str, way: str) -> None:
    body = f"""
    setp.eq.u32 %p3, %r2, 2;
    @%p3 bra WRITE;
{_read(name, "global")}{_read("a row", "global")}
{WRITE}"""
    _races_with_block_2(way, body)


@pytest.mark.sweep(7)
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", READS)
def test_a_warp_writes_what_another_has_read_in_shared_memory(name: str, way: str) -> None:
    body = f"""
    setp.ne.u32 %p3, %r1, 33;
    shl.b32 %r5, %r1, 2;
    add.u32 %r5, %r5, %r30;
    st.shared.u32 [%r5], %r1;
    bar.sync 0;
{_read(name, "shared")}BARRIER
    @%p3 bra END;
    st.shared.u32 [%r30+20], %r1;
    st.shared.u32 [%r30+44], %r1;
    st.shared.u32 [%r30+4], %r1;
END:
"""
    wrong, right = (body.replace("BARRIER", line) for line in ("", "    bar.sync 0;"))
    found = _found(way, wrong, threads=64, blocks=2)
    assert found, "thread 33 writes what warp 0 reads"
    assert found == _found("step", wrong, threads=64, blocks=2)
    assert _found(way, right, threads=64, blocks=2) == []


@pytest.mark.parametrize("way", [way for way in WAYS if way != "step"])
@pytest.mark.parametrize("barrier", ["bar.sync 0;", ""])
def test_each_stretch_begins_with_a_write_and_goes_on_with_reads_backwards(barrier: str, way: str) -> None:
    body = f"""
    shl.b32 %r5, %r1, 2;
    add.u32 %r5, %r5, %r30;
    mov.u32 %r6, 63;
    sub.u32 %r6, %r6, %r1;
    shl.b32 %r6, %r6, 2;
    add.u32 %r6, %r6, %r30;
    mov.u32 %r7, 0;
    st.shared.u32 [%r5+256], %r1;
    bar.sync 0;
AGAIN:
    and.b32 %r8, %r7, 1;
    shl.b32 %r8, %r8, 8;
    add.u32 %r9, %r5, %r8;
    st.shared.u32 [%r9], %r7;
    xor.b32 %r8, %r8, 256;
    add.u32 %r9, %r6, %r8;
    ld.shared.u32 %r4, [%r9];
    {barrier}
    add.u32 %r7, %r7, 1;
    setp.lt.u32 %p3, %r7, 9;
    @%p3 bra AGAIN;
"""
    found = _found(way, body, threads=64, blocks=2)
    assert found == _found("step", body, threads=64, blocks=2)
    assert bool(found) is not bool(barrier)


@pytest.mark.parametrize("way", [way for way in WAYS if way != "step"])
def test_a_write_after_many_reads(way: str) -> None:
    reads = "".join(_read(name, space) for name in READS for space in ("global", "shared"))
    body = f"""
{reads}
    setp.ne.u32 %p3, %r1, 33;
    @%p3 bra END;
    st.global.u32 [%rd2+20], %r1;
    st.shared.u32 [%r30+20], %r1;
END:
"""
    found = _found(way, body, threads=64, blocks=3)
    assert len(found) > 1
    assert found == _found("step", body, threads=64, blocks=3)


@pytest.mark.parametrize("way", WAYS)
def test_the_lanes_that_read_are_those_that_read_last(way: str) -> None:
    """A record of many lanes names one of them; which others there were is kept for each instruction."""
    body = """
    mov.u32 %r7, 0;
LOOP:
    setp.gt.u32 %p4, %r1, %r7;
    mul.wide.u32 %rd20, %r7, 4;
    add.u64 %rd20, %rd2, %rd20;
    @%p4 ld.global.u32 %r6, [%rd20];
    add.u32 %r7, %r7, 9;
    setp.lt.u32 %p5, %r7, 28;
    @%p5 bra LOOP;
    setp.ne.u32 %p3, %r1, 33;
    @%p3 bra END;
    st.global.u32 [%rd2], %r1;
    st.global.u32 [%rd2+108], %r1;
END:
"""
    found = _found(way, body, threads=64, blocks=1)
    assert found
    assert found == _found("step", body, threads=64, blocks=1)


SERIES = {"every other word": ("2", "0"), "one word": ("0", "0"), "backwards": ("-1", "12")}
"""By how many words the address grows in each round of a loop, and where it begins."""


@pytest.mark.sweep(25)
@pytest.mark.parametrize("way", [way for way in WAYS if way != "step"])
@pytest.mark.parametrize(
    "name", [name for name in READS if name != "a word for each half"]
)  # engines name others there
@pytest.mark.parametrize("series", SERIES)
def test_another_block_writes_what_loops_have_read(series: str, name: str, way: str) -> None:
    """Two instructions read by turns, so that it depends on their order who has read a word last."""
    step, start = SERIES[series]
    index, how = READS[name]
    guard, more = (how, "") if how.startswith("@") else ("", how)
    body = f"""
    setp.eq.u32 %p3, %r2, 2;
    @%p3 bra WRITE;
    mov.u32 %r7, 0;
    add.u32 %r8, {index}, {start};
LOOP:
    mul.wide.u32 %rd20, %r8, 4;
    add.u64 %rd20, %rd2, %rd20;
    {guard} ld.global.u32 %r6, [%rd20{more}];
    xor.b32 %r9, %r7, 1;
    mul.wide.u32 %rd21, %r9, 4;
    mul.wide.u32 %rd22, %r1, 4;
    add.u64 %rd21, %rd21, %rd22;
    add.u64 %rd21, %rd2, %rd21;
    ld.global.u32 %r6, [%rd21];
    add.u32 %r8, %r8, {step};
    add.u32 %r7, %r7, 1;
    setp.lt.u32 %p4, %r7, 7;
    @%p4 bra LOOP;
    ld.global.u32 %r6, [%rd21+8];
{WRITE}"""
    _races_with_block_2(way, body)
    silent = body.replace("st.global.u32 [%rd5], %r1;", "st.global.u32 [%rd3], %r1;")
    assert _found(way, silent, threads=64, blocks=3) == []


SYNC = ["bar.warp.sync -1;", "shfl.sync.idx.b32 %r6, %r1, 0, 31, -1;"]


@pytest.mark.sweep(4)
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("sync", SYNC)
@pytest.mark.parametrize("space", ["global", "shared"])
@pytest.mark.parametrize("where", range(4))
def test_lanes_that_synchronize_after_a_read(where: int, space: str, sync: str, way: str) -> None:
    """Which of two lanes is known as the reader of a word depends on whether they synchronized between their reads."""
    at = "%r30" if space == "shared" else "%rd2"
    lines = [f"@%p5 ld.{space}.u32 %r6, [{at}+20];", f"@%p6 ld.{space}.u32 %r6, [{at}+20];", ""]
    synced = [f"    {line}\n" for line in (*lines[:where], sync, *lines[where:])]
    writes = {"global": "setp.eq.u32 %p3, %r2, 2;", "shared": "setp.eq.u32 %p3, %r1, 40;"}[space]
    body = f"""
    {writes}
    @%p3 bra WRITE;
    setp.eq.u32 %p5, %r1, 3;
    setp.eq.u32 %p6, %r1, 5;
{"".join(synced)}{_read("a row", space) * (where == 3)}    bra.uni END;
WRITE:
    st.{space}.u32 [{at}+20], %r1;
END:
"""
    found = _found(way, body, threads=64, blocks=3)
    assert found, "what lane 3 or 5 reads is overwritten"
    assert found == _found("step", body, threads=64, blocks=3)


@pytest.mark.sweep(3)
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("sync", SYNC)
@pytest.mark.parametrize("space", ["global", "shared"])
def test_a_lane_overwrites_what_another_has_read(space: str, sync: str, way: str) -> None:
    """All lanes read the neighbour's word, and write their own; a loop, so that each round has its own `.sync`."""
    place = "    shl.b32 %r20, %r1, 2;\n    add.u32 %r20, %r20, %r30;\n"
    if space == "global":
        place = "    mul.wide.u32 %rd20, %r1, 4;\n    add.u64 %rd20, %rd2, %rd20;\n"
    at = "%r20" if space == "shared" else "%rd20"
    body = f"""
{place}    mov.u32 %r7, 0;
    ld.{space}.u32 %r6, [{at}+128];
LOOP:
    ld.{space}.u32 %r6, [{at}+132];
    SYNC
    add.u32 %r7, %r7, 1;
    setp.lt.u32 %p4, %r7, 3;
    @%p4 bra LOOP;
    st.{space}.u32 [{at}+128], %r1;
"""
    if space == "shared":
        body = (
            f"{place}    st.shared.u32 [%r20+128], %r1;\n    st.shared.u32 [%r20+256], %r1;\n    bar.sync 0;\n" + body
        )
    right, wrong = (body.replace("SYNC", line) for line in (sync, ""))
    assert _found(way, right, threads=32, blocks=1) == []
    found = _found(way, wrong, threads=32, blocks=1)
    assert found, "the next lane's word is read, and overwritten without a `.sync` between"
    assert found == _found("step", wrong, threads=32, blocks=1)


TREES = {
    "interleaved": ("1", "shl.b32 %r7, %r7, 1;", "setp.lt.u32 %p4, %r7, 64;", "add.u32 %r8, %r7, %r7;"),
    "halves": ("32", "shr.u32 %r7, %r7, 1;", "setp.ne.u32 %p4, %r7, 0;", "mov.u32 %r8, 0;"),
}
MISTAKES = {
    "none": ("", ""),
    "no barrier": ("bar.sync 0;", ""),
    "another word": ("shl.b32 %r9, %r7, 2;", ""),
    "all write": ("@!%p5 bra NEXT;", "@!%p5 bra WRITE;"),
}


@pytest.mark.sweep(3)
@pytest.mark.parametrize("way", [way for way in WAYS if way != "step"])
@pytest.mark.parametrize("mistake", MISTAKES)
@pytest.mark.parametrize("tree", TREES)
def test_sums_in_a_tree(tree: str, mistake: str, way: str) -> None:
    """Lanes read their own word and another one, and write their own, as reductions do."""
    start, change, goes_on, double = TREES[tree]
    body = f"""
    shl.b32 %r20, %r1, 2;
    add.u32 %r20, %r20, %r30;
    st.shared.u32 [%r20], %r1;
    bar.sync 0;
    mov.u32 %r7, {start};
LOOP:
    {double}
    sub.u32 %r8, %r8, 1;
    and.b32 %r8, %r8, %r1;
    setp.eq.u32 %p5, %r8, 0;
    setp.lt.u32 %p6, %r1, %r7;
    {"and.pred %p5, %p6, %p6;" if tree == "halves" else ""}
    shl.b32 %r9, %r7, 2;
    add.u32 %r9, %r9, %r20;
    @!%p5 bra NEXT;
    ld.shared.u32 %r10, [%r20];
    ld.shared.u32 %r11, [%r9];
    add.u32 %r10, %r10, %r11;
WRITE:
    st.shared.u32 [%r20], %r10;
NEXT:
    bar.sync 0;
    {change}
    {goes_on}
    @%p4 bra LOOP;
"""
    wrong, right = MISTAKES[mistake]
    if mistake == "another word":  # two steps to the right, or one step less a word
        right = "shl.b32 %r9, %r7, 3;" if tree == "interleaved" else f"{wrong}\n    sub.u32 %r9, %r9, 4;"
    if mistake == "no barrier":
        head, _, tail = body.rpartition(wrong)
        body = head + tail
    else:
        body = body.replace(wrong, right) if wrong else body
    found = _found(way, body, threads=64, blocks=2)
    assert found == _found("step", body, threads=64, blocks=2)
    assert bool(found) is (mistake != "none")


SUMS = {
    "no race": ("bar.warp.sync -1;", "", ""),
    "no .sync": ("", "", ""),
    "another warp reads": ("bar.warp.sync -1;", "ld.shared.u32 %r6, [%r30+132];", ""),
    "bytes of a word": ("bar.warp.sync -1;", "", "st.shared.u8 [%r21+1], %r1;"),
    "bytes elsewhere": ("bar.warp.sync -1;", "", "st.shared.u8 [%r22+1024], %r1;"),
}
"""What lies between two steps of a sum; what the first warp reads in the end; a byte that each thread writes."""


@pytest.mark.sweep(4)
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("what", SUMS)
def test_sums_of_warps_that_synchronize_their_lanes(what: str, way: str) -> None:
    """Lanes go on with words that others of their warp have written, beside bytes; there is no barrier in between."""
    sync, reads, bytes_ = SUMS[what]
    body = f"""
    shl.b32 %r20, %r1, 2;
    add.u32 %r20, %r20, %r30;
    shr.u32 %r21, %r1, 5;
    add.u32 %r21, %r21, %r30;
    add.u32 %r22, %r1, %r30;
    setp.lt.u32 %p2, %r1, 32;
    mov.u32 %r7, 0;
ROUND:
    st.shared.u32 [%r20], %r1;
    {sync}
    xor.b32 %r8, %r20, 4;
    ld.shared.u32 %r6, [%r8];
    {bytes_}
    {sync}
    xor.b32 %r8, %r20, 64;
    ld.shared.u32 %r6, [%r8];
    {sync}
    {"@%p2 " + reads if reads else ""}
    add.u32 %r7, %r7, 1;
    and.b32 %r9, %r7, 1;
    setp.eq.u32 %p4, %r9, 0;
    @%p4 bar.sync 0;
    setp.lt.u32 %p5, %r7, 6;
    @%p5 bra ROUND;
"""
    found = _found(way, body, threads=64, blocks=3)
    assert (found == []) == (what in ("no race", "bytes elsewhere"))
    assert found == _found("step", body, threads=64, blocks=3)


ODD = {
    "nothing else": "",
    "fewer lanes": "and.b32 %r8, %r1, 15;",
    "reads what another warp writes": "ld.shared.u32 %r12, [%r30+268];",
    "overwrites what another warp reads": "@%p7 st.shared.u32 [%r30+20], %r1;",
    "writes what another warp writes": "@%p7 st.shared.u32 [%r30+272], %r1;",
    "adds to what another warp writes": "@%p7 atom.shared.add.u32 %r12, [%r30+276], 1;",
    "writes a word of its own": "st.shared.u32 [%r20+1024], %r1;",
    "exchanges": "shfl.sync.idx.b32 %r12, %r1, 0, 31, -1;",
}


@pytest.mark.sweep(5)
@pytest.mark.parametrize("way", [way for way in WAYS if way != "step"])
@pytest.mark.parametrize("before", [True, False], ids=["at first", "at last"])
@pytest.mark.parametrize("odd", ODD)
def test_one_of_many_blocks_does_something_else(odd: str, before: bool, way: str) -> None:
    """Block 7 of 12, in an interval in which each thread reads its own word and the next, and writes another array."""
    other = f"""
    @%p8 bra SAME{before:d};
    {ODD[odd]}
SAME{before:d}:
"""
    body = f"""
    mov.u32 %r8, %ctaid.x;
    setp.ne.u32 %p8, %r8, 7;
    mov.u32 %r8, 127;
    setp.eq.u32 %p7, %r1, 37;
    shl.b32 %r20, %r1, 2;
    add.u32 %r20, %r20, %r30;
    st.shared.u32 [%r20], %r1;
    st.shared.u32 [%r20+256], %r1;
    bar.sync 0;
    {other if before else ""}
    setp.lt.u32 %p6, %r1, %r8;
    ld.shared.u32 %r9, [%r20];
    shl.b32 %r11, %r1, 3;
    and.b32 %r11, %r11, 127;
    add.u32 %r11, %r11, %r30;
    ld.shared.u32 %r10, [%r11];
    add.u32 %r9, %r9, %r10;
    @%p6 st.shared.u32 [%r20+256], %r9;
    {other if not before else ""}
    bar.sync 0;
    ld.shared.u32 %r9, [%r20+256];
"""
    found = _found(way, body, threads=64, blocks=12)
    assert found == _found("step", body, threads=64, blocks=12)
    assert bool(found) == (" another warp " in odd), found
    assert all("at:     block (7, 0, 0)" in finding for finding in found)
