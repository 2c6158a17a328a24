"""racecheck on small programs of each shape of access: both engines find the same, and nothing that is in order."""

from __future__ import annotations

import functools

import numpy as np
import pytest
from emulate_programs import ALL_CHECKS, ENGINES, WAYS, kernel, run, said
from random_races import differences
from slow_cases import slow

CHECKS = ("memcheck", "racecheck")
TILE = ".shared .align 16 .b8 tile[8192];"
START = """
    mov.u32 %r30, tile; and.b32 %r20, %r1, 31; shr.u32 %r21, %r1, 5; setp.lt.u32 %p1, %r20, 16;
    setp.eq.u32 %p2, %r21, 1; setp.eq.u32 %p3, %r1, 7; setp.eq.u32 %p4, %r1, 40; setp.lt.u32 %p5, %r1, 20;
"""
"""%r20: the lane; %r21: the warp; %p1: the lower half of a warp; %p2: warp 1; %p3, %p4: one thread of warps 0 and 1;
%p5: most of warp 0."""
SPACES = {
    "global": {"BASE": "%rd2", "AT": "%rd20", "PLACE": "mul.wide.u32 %rd20, %r10, 4; add.u64 %rd20, %rd2, %rd20;"},
    "shared": {"BASE": "%r30", "AT": "%r12", "PLACE": "shl.b32 %r12, %r10, 2; add.u32 %r12, %r12, %r30;"},
}
"""What stands for these words, and SPACE for the space itself. PLACE finds AT, the address of word %r10."""
COMPILED = [way for way in WAYS if way != "step"]


def in_space(space: str, body: str) -> str:
    """A program whose words lie in `x` or in `tile`."""
    for word, stands_for in SPACES[space].items():
        body = body.replace(word, stands_for)
    return body.replace("SPACE", space)


def found(way: str, body: str, threads: int = 64, blocks: int = 1, checks: tuple[str, ...] = CHECKS) -> list[str]:
    """What the checks say of a program. Each instruction has a line of its own, so that findings differ."""
    text, x = kernel((START + body).replace("; ", ";\n"), TILE), np.arange(2048, dtype=np.uint32)
    return said(way, text, threads=threads, blocks=blocks, checks=checks, x=x)


@functools.cache
def expected(body: str, threads: int = 64, blocks: int = 1, checks: tuple[str, ...] = CHECKS) -> list[str]:
    """What the interpreter says of it."""
    return found("step", body, threads, blocks, checks)


# -- what lanes read ---------------------------------------------------------------------------------------------------

HALVES = "and.b32 %r10, %r20, 15; shr.u32 %r11, %r20, 4; mad.lo.u32 %r10, %r11, {}, %r10;"
READS = {
    "a row": ("mov.u32 %r10, %r20;", "", (0,)),
    "a row behind another word": ("mov.u32 %r10, %r20;", "", (12,)),
    "a part of a row": ("mov.u32 %r10, %r20;", "@%p5", (0,)),
    "one word": ("mov.u32 %r10, 5;", "", (0,)),
    "one word, read by some": ("mov.u32 %r10, 5;", "@%p1", (0,)),
    "a row for each half": (HALVES.format(20), "", (0,)),
    "one row for both halves": (HALVES.format(0), "", (0, 0)),
    "rows of the halves that cross": (HALVES.format(8), "", (0, 8, 16)),
    "a word for each half": ("shr.u32 %r10, %r20, 4;", "", (0,)),
    "a word for each half, and the next": ("shr.u32 %r10, %r20, 4;", "", (0, 4)),
    "the later word first": ("shr.u32 %r10, %r20, 1;", "", (4, 0)),
    "here and there": ("mul.lo.u32 %r10, %r20, 7; and.b32 %r10, %r10, 31;", "", (0,)),
    "a few words, twice": ("and.b32 %r10, %r20, 3;", "", (0, 0)),
    "every second word, read by some": ("mad.lo.u32 %r10, %r20, 2, 1;", "@%p5", (0,)),
}
"""The code that finds the word that each lane reads, in %r10; a guard; offsets of several reads from there."""
ROUNDS = {"once": None, "every other word": (2, 0), "one word": (0, 0), "backwards": (-1, 12)}
"""By how many words the address grows in each round of a loop, and where it begins."""


@pytest.mark.sweep(47)
@pytest.mark.parametrize("way", COMPILED)
@pytest.mark.parametrize("space", SPACES)
@pytest.mark.parametrize(
    ("name", "rounds"),
    [(name, rounds) for name in READS for rounds in ROUNDS if rounds == "once" or name != "a word for each half"],
)  # (engines name different lanes of the one instruction that reads a word for each half in a loop)
def test_a_warp_writes_what_others_have_read(name: str, rounds: str, space: str, way: str) -> None:
    """In a loop two instructions read by turns: it depends on their order which lane has read a word last."""
    code, guard, offsets = READS[name]
    reads = f"PLACE {' '.join(f'{guard} ld.SPACE.u32 %r6, [AT+{at}];' for at in offsets)}"
    if (series := ROUNDS[rounds]) is not None:
        reads = f"""
            mov.u32 %r7, 0; mov.u32 %r14, %r10; add.u32 %r14, %r14, {series[1]};
            LOOP: mov.u32 %r10, %r14; {reads}
            xor.b32 %r10, %r7, 1; add.u32 %r10, %r10, %r1; PLACE ld.SPACE.u32 %r6, [AT];
            add.u32 %r14, %r14, {series[0]}; add.u32 %r7, %r7, 1; setp.lt.u32 %p6, %r7, 7; @%p6 bra LOOP;"""
    body = in_space(space, f"{code} {reads} BARRIER mov.u32 %r10, %r20; PLACE @%p2 st.SPACE.u32 [AT], %r1;")
    wrong, right = (body.replace("BARRIER", line) for line in ("", "bar.sync 0;"))
    races = found(way, wrong, 96, 2)
    assert any("WAR" in race for race in races)
    assert races == expected(wrong, 96, 2)
    assert found(way, right, 96) == expected(right, 96) == []


@pytest.mark.sweep(4)
@pytest.mark.parametrize("sync", ["bar.warp.sync -1;", "shfl.sync.idx.b32 %r6, %r1, 0, 31, -1;"])
@pytest.mark.parametrize("space", SPACES)
@pytest.mark.parametrize("where", range(4))
def test_lanes_that_synchronize_around_their_reads(where: int, space: str, sync: str, way: str) -> None:
    """Which of two lanes is known as the reader of a word depends on whether they synchronized between their reads."""
    lines = ["@%p6 ld.SPACE.u32 %r6, [BASE+20];", "@%p7 ld.SPACE.u32 %r6, [BASE+20];", "ld.SPACE.u32 %r6, [BASE+20];"]
    lines.insert(where, sync)
    body = in_space(space, f"""
        setp.eq.u32 %p6, %r1, 3; setp.eq.u32 %p7, %r1, 5; {"setp.eq.u32 %p4, %r2, 2;" if space == "global" else ""}
        @%p4 bra WRITE; {" ".join(lines)} bra.uni END;
        WRITE: st.SPACE.u32 [BASE+20], %r1; END:""")  # fmt: skip
    assert found(way, body, blocks=3) == expected(body, blocks=3) != []


# -- elements of each thread's own -------------------------------------------------------------------------------------

ELEMENTS = {
    "rows": ("shl.b32 %r10, %r1, 4;", (0, 16, 36), 768),
    "structures": ("mul.lo.u32 %r10, %r1, 6;", (0, 4, 20), 288),
    "pairs": ("shl.b32 %r10, %r1, 1;", (0, 4), 96),
    "rows of 8": ("and.b32 %r8, %r1, 7; shr.u32 %r10, %r1, 3; mad.lo.u32 %r10, %r10, 12, %r8;", (0,), 64),
    "some of a row": ("mov.u32 %r10, %r1;", (0,), 48),
    "in no order": ("mul.lo.u32 %r10, %r1, 37; and.b32 %r10, %r10, 63;", (0, 256, 512), 240),
}
"""In which word the element of thread %r1 begins, which of its bytes the thread reads and writes, and where the element
of thread 12 begins."""
BETWEEN = {
    "nothing": ("", True),
    "the thread itself": ("ld.SPACE.u32 %r7, [AT]; st.SPACE.u32 [AT], %r7;", True),
    "the thread itself after a barrier": ("bar.sync 0; st.SPACE.u32 [AT], %r6;", True),
    "one of the warp reads": ("@%p3 ld.SPACE.u32 %r7, [BASE+OTHER];", False),
    "one of the warp writes": ("@%p3 st.SPACE.u32 [BASE+OTHER], %r6;", False),
    "another warp reads": ("@%p4 ld.SPACE.u32 %r7, [BASE+OTHER];", False),
    "another warp writes": ("@%p4 st.SPACE.u32 [BASE+OTHER], %r6;", False),
    "another warp between barriers": ("bar.sync 0; @%p4 st.SPACE.u32 [BASE+OTHER], %r6; bar.sync 0;", True),
    "an atomic operation": ("@%p4 atom.SPACE.add.u32 %r7, [BASE+OTHER], 1;", False),
    "a volatile read": ("@%p4 ld.volatile.SPACE.u32 %r7, [BASE+OTHER];", False),
    "all read the next element": ("ld.SPACE.u32 %r7, [AT+24];", None),
    "all write words beyond": ("mov.u32 %r10, %r1; PLACE st.SPACE.u32 [AT+6144], %r6;", True),
    "all write a row": ("mov.u32 %r10, %r1; PLACE st.SPACE.u32 [AT], %r6;", None),
}
"""What happens between two updates, and whether it is in order. None: that depends on the elements."""


@pytest.mark.sweep(41)
@pytest.mark.parametrize("way", COMPILED)
@pytest.mark.parametrize("space", SPACES)
@pytest.mark.parametrize("what", BETWEEN)
@pytest.mark.parametrize("elements", ELEMENTS)
def test_elements_that_their_threads_update(elements: str, what: str, space: str, way: str) -> None:
    """Once in a loop, and once after it."""
    place, fields, other = ELEMENTS[elements]
    between, in_order = BETWEEN[what]
    guard = "@%p6" if elements == "some of a row" else ""
    update = " ".join(f"{guard} ld.SPACE.u32 %r6, [AT+{at}]; {guard} st.SPACE.u32 [AT+{at}], %r6;" for at in fields)
    body = in_space(space, f"""
        and.b32 %r8, %r1, 7; setp.ne.u32 %p6, %r8, 3; mov.u32 %r9, 0;
        {place} PLACE LOOP: {update} add.u32 %r9, %r9, 1; setp.lt.u32 %p7, %r9, 3; @%p7 bra LOOP;
        {between.replace("OTHER", str(other))} {place} PLACE {update}""")  # fmt: skip
    races = found(way, body)
    assert races == expected(body)
    if in_order is not None:
        assert (races == []) is in_order
    assert found(way, body, blocks=2) == expected(body, blocks=2) != [] or space == "shared"


@pytest.mark.skipif("jit" not in ENGINES, reason="needs llvmlite")
@pytest.mark.parametrize("between", ["", "bar.sync 0;"])
def test_what_a_race_leaves(between: str) -> None:
    """Each thread adds to its word and takes that of the next one: nothing is added twice."""
    text = kernel(f"""
        ld.global.u32 %r5, [%rd3]; add.u32 %r5, %r5, 1; st.global.u32 [%rd3], %r5; {between}
        setp.ge.u32 %p1, %r1, 63; @%p1 bra END; ld.global.u32 %r6, [%rd3+4]; st.global.u32 [%rd3], %r6; END:""")
    ended = []
    for engine in ENGINES:
        out, report = run(engine, text, threads=64, blocks=2, out=np.arange(128, dtype=np.uint32), checks=CHECKS)
        ended.append((sorted(out.tolist()), [str(finding) for finding in report.findings], report.warp_instructions))
    assert ended[0] == ended[1]
    assert 1 <= min(ended[0][0]) <= max(ended[0][0]) <= 128
    assert any("racecheck" in finding for finding in ended[0][1])


# -- programs ----------------------------------------------------------------------------------------------------------

OWN = "shl.b32 %r12, %r1, 2; add.u32 %r12, %r12, %r30;"
"""%r12: the thread's word of `tile`."""


def rounds(barrier: str) -> str:
    """Each round writes one of two rows and reads the other one backwards."""
    return f"""
        {OWN} mov.u32 %r13, 63; sub.u32 %r13, %r13, %r1; shl.b32 %r13, %r13, 2; add.u32 %r13, %r13, %r30;
        mov.u32 %r7, 0; st.shared.u32 [%r12+256], %r1; bar.sync 0;
        AGAIN: and.b32 %r8, %r7, 1; shl.b32 %r8, %r8, 8; add.u32 %r9, %r12, %r8; st.shared.u32 [%r9], %r7;
        xor.b32 %r8, %r8, 256; add.u32 %r9, %r13, %r8; ld.shared.u32 %r6, [%r9]; {barrier}
        add.u32 %r7, %r7, 1; setp.lt.u32 %p6, %r7, 9; @%p6 bra AGAIN;"""


def neighbours(space: str, sync: str) -> str:
    """Lanes of a warp read the neighbour's word in a loop, and write their own."""
    return in_space(space, f"""
        mov.u32 %r10, %r1; PLACE @%p2 bra END; mov.u32 %r7, 0;
        LOOP: ld.SPACE.u32 %r6, [AT+132]; {sync} add.u32 %r7, %r7, 1; setp.lt.u32 %p6, %r7, 3; @%p6 bra LOOP;
        st.SPACE.u32 [AT+128], %r1; END:""")  # fmt: skip


def tree(start: int, change: str, goes_on: str, double: str, lanes: str, **mistake: str) -> str:
    """A sum in a tree: lanes add another word to their own. Parts of the program, of which a mistake changes one."""
    part = {"word": "shl.b32 %r9, %r7, 2;", "barrier": "bar.sync 0;", "skip": "NEXT"} | mistake
    return f"""
        {OWN} st.shared.u32 [%r12], %r1; bar.sync 0; mov.u32 %r7, {start};
        LOOP: {double} sub.u32 %r8, %r8, 1; and.b32 %r8, %r8, %r1; setp.eq.u32 %p6, %r8, 0; {lanes}
        {part["word"]} add.u32 %r9, %r9, %r12;
        @!%p6 bra {part["skip"]}; ld.shared.u32 %r10, [%r12]; ld.shared.u32 %r11, [%r9]; add.u32 %r10, %r10, %r11;
        WRITE: st.shared.u32 [%r12], %r10;
        NEXT: {part["barrier"]} {change} {goes_on} @%p7 bra LOOP;"""


INTERLEAVED = (1, "shl.b32 %r7, %r7, 1;", "setp.lt.u32 %p7, %r7, 64;", "add.u32 %r8, %r7, %r7;", "")
BY_HALVES = (32, "shr.u32 %r7, %r7, 1;", "setp.ne.u32 %p7, %r7, 0;", "mov.u32 %r8, 0;", "setp.lt.u32 %p6, %r1, %r7;")


def exchanges(sync: str = "bar.warp.sync -1;", reads: str = "", stores: str = "") -> str:
    """Lanes go on with words that others of their warp have written, beside bytes, with few barriers in between."""
    return f"""
        {OWN} shr.u32 %r13, %r1, 5; add.u32 %r13, %r13, %r30; add.u32 %r14, %r1, %r30;
        setp.lt.u32 %p8, %r1, 32; mov.u32 %r7, 0;
        ROUND: st.shared.u32 [%r12], %r1; {sync} xor.b32 %r8, %r12, 4; ld.shared.u32 %r6, [%r8]; {stores}
        {sync} xor.b32 %r8, %r12, 64; ld.shared.u32 %r6, [%r8]; {sync} {reads}
        add.u32 %r7, %r7, 1; and.b32 %r9, %r7, 1; setp.eq.u32 %p6, %r9, 0; @%p6 bar.sync 0;
        setp.lt.u32 %p7, %r7, 6; @%p7 bra ROUND;"""


def odd(before: str = "", after: str = "") -> str:
    """Threads read their word and others, and write another array; block 7 does something else as well."""
    only = "setp.ne.u32 %p8, %r2, 7; @%p8 bra {0}; {1} {0}:"
    return f"""
        {OWN} st.shared.u32 [%r12], %r1; st.shared.u32 [%r12+256], %r1; bar.sync 0;
        {only.format("A", before)} ld.shared.u32 %r9, [%r12]; shl.b32 %r11, %r1, 3; and.b32 %r11, %r11, 127;
        add.u32 %r11, %r11, %r30; ld.shared.u32 %r10, [%r11]; add.u32 %r9, %r9, %r10; st.shared.u32 [%r12+256], %r9;
        {only.format("B", after)} bar.sync 0; ld.shared.u32 %r9, [%r12+256];"""


def element_of_two(same: str, first: str = "") -> str:
    """Two lanes store to one structure, as the first access to its words or after others."""
    return in_space("global", f"""
        mul.lo.u32 %r10, %r1, 3; PLACE {first} {same} mul.lo.u32 %r10, %r8, 3; PLACE
        @!%p2 ld.global.u32 %r6, [AT]; @!%p2 st.global.u32 [AT], %r1;""")  # fmt: skip


SHARED_READ = "ld.shared.u32 %r6, [%r30+20]; ld.shared.u32 %r6, [%r30+36];"
TWO_ARRAYS = "selp.b64 %rd22, %rd1, %rd2, %p1;"
FIRST_STORE = "st.global.u32 [AT], %r1;"
ODD = {
    "reads what another warp writes": ("ld.shared.u32 %r7, [%r30+268];", True),
    "overwrites what another warp reads": ("@%p4 st.shared.u32 [%r30+20], %r1;", True),
    "writes what another warp writes": ("@%p4 st.shared.u32 [%r30+272], %r1;", True),
    "adds to what another warp writes": ("@%p4 atom.shared.add.u32 %r7, [%r30+276], 1;", True),
    "writes a word of its own": ("st.shared.u32 [%r12+1024], %r1;", False),
    "exchanges": ("shfl.sync.idx.b32 %r7, %r1, 0, 31, -1;", False),
}
RACES = {
    "rounds with barriers": (rounds("bar.sync 0;"), False),
    "rounds without": (rounds(""), True),
    **{
        f"neighbours in {space} memory, {sync or 'nothing'} between": (neighbours(space, sync), sync == "")
        for space in SPACES
        for sync in ("", "bar.warp.sync -1;", "shfl.sync.idx.b32 %r6, %r1, 0, 31, -1;")
    },
    "lanes that read last": ("""
        mov.u32 %r10, 0;
        LOOP: setp.gt.u32 %p6, %r1, %r10; mul.wide.u32 %rd20, %r10, 4; add.u64 %rd20, %rd2, %rd20;
        @%p6 ld.global.u32 %r6, [%rd20]; add.u32 %r10, %r10, 9; setp.lt.u32 %p7, %r10, 28; @%p7 bra LOOP;
        @%p4 st.global.u32 [%rd2], %r1; @%p4 st.global.u32 [%rd2+108], %r1;""", True),
    **{
        f"a tree {name}, {mistake or 'right'}": (tree(*shape, **change), mistake != "")
        for name, shape, word in (
            ("interleaved", INTERLEAVED, "shl.b32 %r9, %r7, 3;"),
            ("by halves", BY_HALVES, "shl.b32 %r9, %r7, 2; sub.u32 %r9, %r9, 4;"),
        )
        for mistake, change in (
            ("", {}), ("no barrier", {"barrier": ""}), ("another word", {"word": word}),
            ("all write", {"skip": "WRITE"}),
        )
    },
    "exchanges in a warp": (exchanges(), False),
    "exchanges without .sync": (exchanges(""), True),
    "exchanges that another warp reads": (exchanges(reads="@%p8 ld.shared.u32 %r6, [%r30+132];"), True),
    "exchanges with bytes of the words": (exchanges(stores="st.shared.u8 [%r13+1], %r1;"), True),
    "exchanges with bytes elsewhere": (exchanges(stores="st.shared.u8 [%r14+1024], %r1;"), False),
    **{f"one block {name} at first": (odd(before=code), races) for name, (code, races) in ODD.items()},
    **{f"one block {name} at last": (odd(after=code), races) for name, (code, races) in ODD.items()},
    "two lanes update one element": (element_of_two("and.b32 %r8, %r1, 15;"), True),
    "two lanes update one element that others have updated": (
        element_of_two("min.u32 %r8, %r1, 30;", FIRST_STORE), True,
    ),
    "neighbours update one element": (element_of_two("shr.u32 %r8, %r1, 1;", FIRST_STORE), True),
}  # fmt: skip
"""Programs, and whether they race; 64 threads, and 12 blocks where one does something else."""


@pytest.mark.sweep(3)
@pytest.mark.parametrize("way", COMPILED)
@pytest.mark.parametrize("name", RACES)
def test_programs(name: str, way: str) -> None:
    body, races = RACES[name]
    blocks = 12 if name.startswith("one block") else 1
    says = found(way, body, blocks=blocks)
    assert says == expected(body, blocks=blocks)
    assert (says != []) is races
    assert blocks == 1 or all("at:     block (7, 0, 0)" in finding for finding in says)


@pytest.mark.parametrize("way", COMPILED)
def test_more_barriers_than_a_record_can_count(way: str) -> None:
    """From then on nothing is found, and nothing wrong."""
    body = f"""{OWN} xor.b32 %r8, %r12, 128; mov.u32 %r7, 0;
        AGAIN: st.shared.u32 [%r12], %r7; bar.sync 0; ld.shared.u32 %r6, [%r8]; bar.sync 0;
        add.u32 %r7, %r7, 1; setp.lt.u32 %p6, %r7, 140000; @%p6 bra AGAIN;"""
    text = kernel((START + body).replace("; ", ";\n"), TILE)
    assert said(way, text, threads=64, checks=CHECKS, budget=None) == []


SAYS = {
    "lanes store to one place in each of two arrays": (
        f"{TWO_ARRAYS} st.global.u32 [%rd22], %r1;",
        "a thread overwrites what another block writes", "seen:   34 times",
    ),
    "an atomic of two lanes at each word, of which one has written it": ("""
        shl.b32 %r12, %r20, 2; and.b32 %r12, %r12, 63; add.u32 %r12, %r12, %r30;
        setp.lt.u32 %p6, %r1, 16; setp.lt.u32 %p7, %r1, 32; setp.eq.u32 %p8, %r1, 32;
        @%p6 st.shared.u32 [%r12], 1; @%p7 atom.shared.add.u32 %r8, [%r12], %r1; @%p8 st.shared.u32 [%r30+8], 5;""",
        "WAW hazard in shared memory", "thread (2, 0, 0) (warp 0, lane 2) changes 4 bytes atomically",
    ),
    "lanes copy one word, and another one overwrites it": ("""
        shl.b32 %r12, %r20, 2; add.u32 %r12, %r12, %r30; cp.async.ca.shared.global [%r12], [%rd2], 4;
        cp.async.wait_all; setp.eq.u32 %p6, %r1, 37; @%p6 st.global.u32 [%rd2], %r1;""",
        "WAR hazard in global memory", "copies asynchronously",
    ),
    "an atomic in two arrays acquires when it is done with both": (f"""
        {TWO_ARRAYS} mul.wide.u32 %rd20, %r20, 4; add.u64 %rd21, %rd2, %rd20; add.u64 %rd20, %rd22, %rd20;
        ld.global.u32 %r6, [%rd21]; red.global.add.u32 [%rd20], 1; fence.sc.cta;
        atom.global.cas.b32 %r8, [%rd21], 0, %r1;""",
        "WAR hazard in global memory", "global memory, byte 64 of 'x'",
    ),
    "rows of the halves, whose words have several records": ("""
        shr.u32 %r10, %r20, 3; shl.b32 %r12, %r10, 2; add.u32 %r12, %r12, %r30; ld.shared.u8 %h1, [%r12];
        mov.u32 %r11, 31; sub.u32 %r10, %r11, %r20; shl.b32 %r12, %r10, 2; add.u32 %r12, %r12, %r30;
        ld.shared.u32 %r6, [%r12];
        and.b32 %r10, %r20, 15; shr.u32 %r11, %r20, 4; mad.lo.u32 %r10, %r11, 32, %r10; add.u32 %r10, %r10, 1;
        shl.b32 %r12, %r10, 2; add.u32 %r12, %r12, %r30; st.shared.u32 [%r12], 7;""",
        "WAR hazard in shared memory", "shared memory, byte 4 of 'tile'",
    ),
    "the last of many readers": (
        f"{SHARED_READ} ld.shared.u32 %r6, [%r30+20]; @%p4 st.shared.u32 [%r30+20], %r1;",
        "WAR hazard in shared memory", "thread (40, 0, 0)",
    ),
    "lanes in descending order that read a word one after the other": (in_space("global", """
        mov.u32 %r11, 31; sub.u32 %r10, %r11, %r20; PLACE ld.global.u32 %r6, [AT+4]; ld.global.u32 %r7, [AT];
        @%p4 st.global.u32 [%rd2+36], %r6;"""), "WAR hazard in global memory", "thread (23, 0, 0)"),
    **{f"a race behind {count} instructions": (
        count * "add.u32 %r9, %r9, 1; " + "mul.wide.u32 %rd20, %r1, 12; add.u64 %rd20, %rd2, %rd20;"
        "ld.global.u32 %r6, [%rd20]; st.global.u32 [%rd20], %r6; st.global.u32 [%rd20+8], %r6;"
        "@%p4 ld.global.u32 %r7, [%rd2+152];",
        "WAR hazard", "@%p4 ld.global.u32 %r7, [%rd2+152];",
    ) for count in (0, 1015, 1100)},
}  # fmt: skip
"""A program, and what stands in one of its findings."""


@pytest.mark.sweep(6)
@pytest.mark.parametrize("name", SAYS)
def test_findings_in_words(name: str, way: str) -> None:
    body, kind, where = SAYS[name]
    says = found(way, body, 96, 3, ALL_CHECKS)
    assert any(kind in finding and where in finding for finding in says), says
    assert says == expected(body, 96, 3, ALL_CHECKS)


# -- random programs ---------------------------------------------------------------------------------------------------


@pytest.mark.long
@pytest.mark.skipif(not COMPILED, reason="needs llvmlite")
@pytest.mark.sweep(3)
@pytest.mark.parametrize("first", [0, 5, 10, 430004, *slow((5037, 64113, 881001, *range(15, 300, 5)))])
def test_random_races(first: int) -> None:
    assert differences(first, 5) == []
