"""initcheck beyond buffers: local memory, registers, and accesses that run from one shared array into the next."""

from __future__ import annotations

import random
import warnings

import numpy as np
import pytest
from emulate_programs import DEVICES, WAYS, said
from emulate_programs import kernel as kernel_text
from emulate_programs import run as run_text
from planted import BUGS
from random_local import ELEMENTS

import ptxlab as pl
from ptxlab.emulate.program.lowering_cache import lower
from ptxlab.emulate.program.pointers import local_bounds
from ptxlab.text import parse

INIT = ("memcheck", "initcheck")


@pytest.mark.parametrize(("name", "message"), [
    ("local memory: a variable", """\
initcheck: a thread reads local memory that has not been written, and line {next} stores it
  at:     block (0, 0, 0), thread (0, 0, 0) (warp 0, lane 0) loads 4 bytes
            line {line}: ld.local.u32 %r6, [own+4]; //1
  and:    block (0, 0, 0), thread (0, 0, 0) (warp 0, lane 0) stores 4 bytes
            line {next}: st.global.u32 [%rd3], %r6;
  in:     local memory, byte 4 of 'own' (64 bytes)
  seen:   2 times"""),
    ("registers: a guard", """\
initcheck: a thread uses register %p7, to which nothing has been written
  at:     block (0, 0, 0), thread (0, 0, 0) (warp 0, lane 0) stores 4 bytes
            line {line}: @%p7 st.global.u32 [%rd3], %r1; //1
  seen:   2 times"""),
    ("registers: in the lanes that a guard excludes", """\
initcheck: a thread uses register %r31, which is computed from %r30, to which nothing has been written
  at:     block (0, 0, 0), thread (32, 0, 0) (warp 1, lane 0) stores 4 bytes
            line {line}: st.global.u32 [%rd3], %r31; //1"""),
    ("array overrun: a store one element too far", """\
initcheck: a thread accesses shared memory outside of every array, between two of them
  at:     block (0, 0, 0), thread (63, 0, 0) (warp 1, lane 31) stores 4 bytes
            line {line}: st.shared.u32 [%r10+4], %r1; //1
  in:     shared memory, 0 bytes past the end of 'tile' (256 bytes), 1024 before 'next'"""),
])  # fmt: skip
def test_a_finding_says_what_and_where(name: str, message: str, device: str) -> None:
    run, _ = BUGS[name].run(device, False, INIT)
    line = BUGS[name].lines()[0]
    assert [str(f) for f in run.findings if f.check == "initcheck"] == [message.format(line=line, next=line + 1)]


@pytest.mark.sweep(5)
@pytest.mark.parametrize("name", [n for n in BUGS if n.startswith(("local memory", "registers", "array overrun"))])
def test_nothing_of_it_is_looked_for_unless_asked(name: str, device: str) -> None:
    run, _ = BUGS[name].run(device, False, ("memcheck", "racecheck", "synccheck"))
    assert [str(f) for f in run.findings if f.check not in ("unwritten", "racecheck")] == []


# -- registers


@pytest.mark.parametrize("body", [
    "add.u32 %r30, %r1, 1; st.global.u32 [%rd3], %r30;",
    "setp.eq.u32 %p1, %r1, 0; @%p1 bra A; mov.u32 %r30, 1; bra B; A: mov.u32 %r30, 2; B: st.global.u32 [%rd3], %r30;",
    "xor.b32 %r30, %r30, %r30; st.global.u32 [%rd3], %r30;",
    "sub.u32 %r30, %r30, %r30; st.global.u32 [%rd3], %r30;",
    "and.b32 %r30, %r31, 0; st.global.u32 [%rd3], %r30;",
])  # fmt: skip
def test_registers_whose_value_is_known_are_no_finding(body: str) -> None:
    for device in DEVICES:
        given = np.zeros((2, 32), np.uint32)
        assert pl.launch(kernel_text(body), 1, 32, *given, device=device, checks=INIT).findings == []


# -- objects of local memory

OBJECTS = """
    .local .align 16 .b8 __local_depot0[96]; .local .align 16 .b8 other[64]; .reg .b64 %SP, %SPL;
    mov.u64 %SPL, __local_depot0; cvta.local.u64 %SP, %SPL; add.u64 %rd6, %SPL, 0;
    add.u64 %rd7, %SPL, 32; mul.wide.u32 %rd8, %r1, 4;
"""


@pytest.mark.parametrize(("body", "found"), [
    ("add.u64 %rd9, %rd6, %rd8; ld.local.u32 %r6, [%rd9+4];", {(0, 32)}),
    ("add.u64 %rd9, %rd8, %rd7; ld.local.u32 %r6, [%rd9];", {(32, 96)}),
    ("add.u64 %rd9, %SP, 64; mad.wide.u32 %rd10, %r1, 4, %rd9; st.u32 [%rd10], %r1;", {(64, 96)}),
    ("or.b64 %rd9, %rd7, %rd8; cvta.local.u64 %rd10, %rd9; ld.u32 %r6, [%rd10];", {(32, 96)}),
    ("sub.u64 %rd9, %rd7, %rd8; ld.local.u32 %r6, [%rd9];", {(32, 96)}),
    ("setp.eq.u32 %p6, %r1, 0; selp.u64 %rd9, %rd6, %rd6, %p6; ld.local.u32 %r6, [%rd9];", {(0, 32)}),
    ("ld.local.u32 %r6, [%SPL+40];", set()),
    ("add.u64 %rd9, %SPL, %rd8; ld.local.u32 %r6, [%rd9];", set()),
    ("setp.eq.u32 %p6, %r1, 0; selp.u64 %rd9, %rd6, %rd7, %p6; ld.local.u32 %r6, [%rd9];", set()),
    ("sub.u64 %rd9, %rd7, %rd6; add.u64 %rd10, %rd6, %rd9; ld.local.u32 %r6, [%rd10];", set()),
    ("mov.u64 %rd9, %rd6; @%p1 mov.u64 %rd9, %rd7; ld.local.u32 %r6, [%rd9];", set()),
    ("and.b64 %rd9, %rd7, -16; ld.local.u32 %r6, [%rd9];", set()),
    ("st.local.u64 [%rd6], %rd7; ld.local.u64 %rd9, [%rd6]; ld.local.u32 %r6, [%rd9];", {(0, 32)}),
    ("mov.u64 %rd9, other; add.u64 %rd10, %rd9, 16; ld.local.u32 %r6, [%rd10];", set()),
])  # fmt: skip
def test_an_access_is_meant_for_one_object_of_local_memory(body: str, found: set[tuple[int, int]]) -> None:
    assert set(local_bounds(lower(parse(kernel_text(OBJECTS + body)))).values()) == found


# -- which lanes read what nobody has written


def accessing(space: str, sizes: list[tuple[bool, int]], room: int) -> str:
    """A program that stores (True) and loads: in its k-th access where row k of `x` says, in no lane where that is
    -1."""
    lines = [f".{space or 'local'} .align 16 .b8 own[{room}]; mul.wide.u32 %rd5, %r1, 4; add.u64 %rd6, %rd2, %rd5;"]
    lines += ["mov.u64 %rd7, own; mov.u32 %r20, 3;", "" if space else "cvta.local.u64 %rd7, %rd7;"]
    for k, (stores, size) in enumerate(sizes):
        access = (
            ELEMENTS[size][not stores].format(space=space, at="%rd9").replace("..", ".").replace("; ", f"; //{k}\n")
        )
        lines += [f"ld.global.s32 %rd8, [%rd6+{128 * k}]; add.u64 %rd9, %rd7, %rd8;"]
        lines += [f"setp.ne.s64 %p1, %rd8, -1; @!%p1 bra OVER{k};", f"{access} //{k}"]
        lines += ["setp.eq.u32 %p2, %r21, 5; @%p2 st.global.u32 [%rd3], %r1;"] * (not stores) + [f"OVER{k}:"]
    return kernel_text("\n".join(lines))


def places_of(draw: random.Random, size: int, room: int) -> np.ndarray:
    """Where 32 lanes access elements: in a row, at one place, in two rows, or anywhere."""
    lane, (one, other) = np.arange(32), draw.choices(range(room // size), k=2)
    anywhere = np.array(draw.choices(range(room // size), k=32))
    element = draw.choice((one + lane, one + 0 * lane, np.where(lane < 16, one, other) + lane % 16, anywhere))
    return size * (element % (room // size))


@pytest.mark.parametrize("space", ["shared", "local", ""], ids=["shared", "local", "generic"])
def test_a_load_is_found_if_one_of_its_bytes_is_unwritten(space: str) -> None:
    """In every second launch one lane reads anywhere, and all others what has been written."""
    draw, room, ends = random.Random(f"{space} memory"), 64 if space != "shared" else 512, list[int]()
    stores_first, loads = (draw.sample([*ELEMENTS], len(ELEMENTS)) for _ in range(2))
    accesses = [*((True, size) for size in stores_first), *((False, size) for size in loads)]
    accesses.insert(8, (True, 4))
    text = accessing(space, accesses, room)
    lines = text.split("\n")
    suspects = [number for number, (stores, _) in enumerate(accesses) if not stores]
    for k in range(12):
        written, found = np.zeros((32, room), bool), dict[str, int]()
        table = np.full((len(accesses), 32), -1, np.int32)
        suspect = suspects[k // 2 % 5] if k % 2 else None
        for number, (stores, size) in enumerate(accesses):
            at, some, stray = places_of(draw, size, room), draw.choice((-1, draw.getrandbits(32))), draw.randrange(32)
            if number == suspect:  # rather an element of which some bytes are written than any other
                parts, some = written[stray].reshape(-1, size).sum(1), some | 1 << stray
                at[stray] = size * draw.choice([*np.flatnonzero(parts % size)] or range(room // size))
            for lane in range(32):
                whole = written[lane, at[lane] : at[lane] + size].all()
                if some >> lane & 1 and (stores or whole or (number, lane) == (suspect, stray)):
                    table[number, lane] = at[lane]
                    if not stores and not whole:
                        found[str(number)] = lane
            for lane in range(32):
                if stores and table[number, lane] >= 0:
                    written[slice(None) if space == "shared" else lane, at[lane] : at[lane] + size] = True
        ends.append(len(found))
        for way in WAYS:
            findings = run_text(way, text, checks=INIT, x=table.view(np.uint32).ravel())[1].findings
            assert {lines[f.first.line - 1].rpartition("//")[2]: f.first.lane for f in findings} == found, (way, table)
    assert {*ends} == {0, 1}


# -- shared arrays

TWO = ".shared .align 4 .b8 a[100];\n.shared .align 16 .b8 b[256];"
USES = "mov.u32 %r10, a; mov.u32 %r11, b; st.shared.u32 [%r10], %r1; st.shared.u32 [%r11], %r1;"


def places(text: str, gaps: bool = True) -> dict[str, int]:
    """Where the shared arrays of a kernel lie, from the start of its shared memory on."""
    program = lower(parse(text), shared_gaps=gaps)
    return {name: at - program.shared_start for name, at, _ in program.shared_names}


def test_arrays_are_kept_apart_and_in_their_banks() -> None:
    text = kernel_text(USES, TWO)
    assert places(text, gaps=False) == {"a": 0, "b": 112}
    assert places(text) == {"a": 0, "b": 1024 + 112}
    large = TWO.replace("100", "24000").replace("256", "24000")
    assert places(kernel_text(USES, large)) == {"a": 0, "b": 24000 + 1024}
    larger = TWO.replace("100", "24000").replace("256", "25000")
    assert places(kernel_text(USES, larger)) == {"a": 0, "b": 24000 + 128}
    full = TWO.replace("100", "24576").replace("256", "24576")
    assert places(kernel_text(USES, full)) == {"a": 0, "b": 24576}


@pytest.mark.parametrize(("body", "before"), [
    (USES + "ld.shared.u32 %r6, [a+112];", TWO),
    (USES + "mov.u32 %r6, a+112;", TWO),
    (USES + "ld.shared.u32 %r6, [b+-4];", TWO),
    (USES + "mov.u32 %r6, %total_smem_size;", TWO),
    ("mov.u32 %r10, a; st.shared.u32 [%r10], %r1;", TWO),
    ("mov.u32 %r10, a; st.shared.u32 [%r10], %r1;", ".shared .align 4 .b8 a[100];"),
], ids=[
    "load behind", "address behind", "load in front", "size", "unnamed", "one array",
])  # fmt: skip
def test_a_program_that_may_depend_on_the_places_is_left_as_it_is(body: str, before: str) -> None:
    text = kernel_text(body, before)
    assert places(text) == places(text, gaps=False)


def test_the_end_of_an_array_may_be_pointed_to(device: str) -> None:
    body = (
        USES
        + """
    bar.sync 0;
    mov.u32 %r12, a+100; mov.u32 %r13, a;
    AGAIN:
    st.shared.u32 [%r13], 5;
    add.u32 %r13, %r13, 4; setp.lt.u32 %p1, %r13, %r12; @%p1 bra AGAIN;
    ld.shared.u32 %r6, [a+96];
    st.global.u32 [%rd3], %r6;
    """
    )
    out, x = np.zeros((2, 1), np.uint32)
    assert places(kernel_text(body, TWO))["b"] == 1136
    found = pl.launch(kernel_text(body, TWO), 1, 1, out, x, device=device, checks=INIT).findings
    assert (found, out.tolist()) == ([], [5])


@pytest.mark.parametrize("kept", [True, False])
def test_an_array_runs_into_dynamic_memory(kept: bool, device: str) -> None:
    """Not where its place is told by an address in front of it."""
    before = ".shared .align 4 .b8 a[100];\n.extern .shared .align 16 .b8 dynamic[];"
    body = """
        mov.u32 %r10, a; mov.u32 %r11, dynamic; st.shared.u32 [%r11], 5; st.shared.u32 [%r10], 3;
        ld.shared.u32 %r6, [%r10+112]; st.global.u32 [%rd3], %r6;
    """
    text = kernel_text(body + ("" if kept else "mov.u32 %r12, dynamic+-112;"), before)
    out, x = np.zeros((2, 1), np.uint32)
    found = pl.launch(text, 1, 1, out, x, device=device, checks=INIT, shared=64).findings
    where = "shared memory, 12 bytes past the end of 'a' (100 bytes), 1024 before the dynamic part"
    assert [(f.kind, f.where) for f in found] == ([("array overrun", where)] if kept else [])
    assert kept or out.tolist() == [5]


@pytest.mark.parametrize("line", ["atom.shared.exch.b32 %r6, [%r10+100], %r1;", "st.u32 [%rd7], %r1;"])
def test_a_gap_stays_one_whatever_is_stored_there(line: str, device: str) -> None:
    """Each of five stores between two arrays is found, and the load of what they stored."""
    body = USES + "cvt.u64.u32 %rd6, %r10; cvta.shared.u64 %rd7, %rd6; add.u64 %rd7, %rd7, 100; mov.u32 %r7, 0;"
    body += (
        f"AGAIN: {line} add.u32 %r7, %r7, 1; setp.lt.u32 %p1, %r7, 5; @%p1 bra AGAIN; ld.shared.u32 %r8, [%r10+100];"
    )
    out, x = np.zeros((2, 1), np.uint32)
    found = pl.launch(kernel_text(body + "st.global.u32 [%rd3], %r8;", TWO), 1, 1, out, x, device=device, checks=INIT)
    assert [(f.kind, f.count) for f in found.findings] == [("array overrun", 6)]


MATRICES = (
    "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r20}, [%r12];",
    "ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%r20, %r21}, [%r12];",
    "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%r20, %r21, %r22, %r23}, [%r12];",
    "stmatrix.sync.aligned.m8n8.x2.shared.b16 [%r12], {%r1, %r1}; ld.shared.v4.u32 {%r20, %r21, %r22, %r23}, [%r12];",
)


@pytest.mark.sweep(5)
@pytest.mark.parametrize("line", MATRICES, ids=lambda line: line.partition(" ")[0])
@pytest.mark.parametrize("array", ["one", "two"])
def test_rows_of_matrices(line: str, array: str) -> None:
    """More is written in each turn, from the beginning of an array on: rows of 16 bytes behind that are found."""
    body = f"""
        mov.u32 %r10, {array}; shl.b32 %r11, %r1, 2; add.u32 %r11, %r11, %r10; mov.u32 %r13, 0; mov.u32 %r24, 0;
    AGAIN:
        mad.lo.u32 %r14, %r13, 128, %r11;
        st.shared.u32 [%r14], %r1;
        bar.warp.sync -1;
        mul.lo.u32 %r12, %r13, 160; mad.lo.u32 %r12, %r1, 16, %r12; and.b32 %r12, %r12, 1023;
        add.u32 %r12, %r12, %r10;
        {line}
        add.u32 %r24, %r24, %r20;
        add.u32 %r13, %r13, 1; setp.lt.u32 %p1, %r13, 8; @%p1 bra AGAIN;
        st.global.u32 [%rd3], %r24;"""
    before = ".shared .align 16 .b8 one[1024];\n.shared .align 16 .b8 two[1024];"
    text, found = kernel_text(body, before).replace("sm_80", "sm_90"), []
    for way in WAYS:
        out, report = run_text(way, text, checks=INIT)
        found.append((out.tolist(), [str(finding) for finding in report.findings]))
    assert len(found[0][1]) == 1
    assert all(other == found[0] for other in found[1:])


def test_a_matrix_that_is_stored_is_written(device: str) -> None:
    """16 rows of 64 bytes in a buffer without contents, and what lies behind; a launch reads what another stored."""
    values = ", ".join(8 * ["%f1"])
    store = kernel_text(f"""
        mov.f32 %f1, 0f3F800000;
        wmma.store.d.sync.aligned.row.m16n16k16.global.f32 [%rd2], {{{values}}}, 16;""")
    load = kernel_text("""
        mul.wide.u32 %rd5, %r1, 4; add.u64 %rd6, %rd2, %rd5; ld.global.u32 %r12, [%rd6+BEHIND];
        st.global.u32 [%rd3], %r12;""")
    out, room = np.zeros(32, np.uint32), pl.empty(512, np.uint32, device="cpu")
    pl.launch(store, 1, 32, out, room, device=device, checks=INIT)
    for behind, found in ((896, 0), (960, 1)):
        text = load.replace("BEHIND", str(behind))
        assert len(pl.launch(text, 1, 32, out, room, device=device, checks=INIT).findings) == found
        assert out[:16].tolist() == 16 * [0x3F800000]


@pytest.mark.parametrize("checks", [INIT, ("memcheck",)], ids=["initcheck", "memcheck"])
@pytest.mark.parametrize("device", DEVICES)
def test_elements_of_an_output_that_no_matrix_covers(device: str, checks: tuple[str, ...]) -> None:
    """What is written of `pl.out` is known without initcheck, too."""
    values = ", ".join(8 * ["%f1"])
    for stride, missing in ((16, "64 of 320 elements were not written, the first at [256]"), (20, "64 of 320")):
        store = kernel_text(f"""
            mov.f32 %f1, 0f3F800000;
            wmma.store.d.sync.aligned.row.m16n16k16.global.f32 [%rd2], {{{values}}}, {stride};""")
        out, room = np.zeros(32, np.uint32), np.zeros(320, np.float32)
        (finding,) = pl.launch(store, 1, 32, out, pl.out(room), device=device, checks=checks).findings
        assert missing in str(finding)
        assert np.nansum(room) == 256


@pytest.mark.parametrize("device", DEVICES)
def test_a_launch_with_and_without_the_check_is_the_same(device: str) -> None:
    body = USES.replace("[%r10]", "[%r10+8]") + "ld.shared.u32 %r6, [%r11]; st.global.u32 [%rd3], %r6;"
    results = []
    for checks in (("memcheck",), INIT, ("memcheck",)):
        out, x = np.zeros((2, 1), np.uint32)
        run = pl.launch(kernel_text(body, TWO), 1, 1, out, x, device=device, checks=checks, counters=True)
        assert run.counters is not None
        results.append((out.tolist(), run.counters.lines))
        assert run.findings == []
    assert results[0] == results[1] == results[2]


@pytest.mark.parametrize("line", [
    "atom.global.add.u32 %r6, [%rd2], 1;", "red.global.add.u32 [%rd2], %r1;", "atom.global.add.u32 %r6, [%rd3], 1;",
])  # fmt: skip
def test_atomic_operations_on_what_nobody_has_written(line: str, device: str) -> None:
    """Where no buffer of a launch is without contents, nothing is looked at; where one is, its atomics are found."""
    text, threads = kernel_text(f"    {line}\n"), 64
    full = np.zeros(threads, np.uint32)
    for unwritten in ("", "x", "out"):
        out, x = (pl.out(full.copy()) if unwritten == name else full.copy() for name in ("out", "x"))
        report = pl.launch(text, 1, threads, out, x, device=device, checks=INIT)
        found = [finding for finding in report.findings if finding.check == "initcheck"]
        assert len(found) == (unwritten == ("x" if "%rd2" in line else "out"))


SHUFFLE = "shfl.sync.idx.b32 %r6, %r6, 0, 31, -1;"
READS = f"ld.shared.u32 %r6, [%r10];\n    {SHUFFLE}\n    ld.shared.u32 %r7, [%r10+2048];\n    add.u32 %r6, %r6, %r7;"
STORES = "st.shared.u32 [%r10+2048], %r1;"
FURTHER = f"""
    setp.lt.u32 %p1, %r1, 16; @%p1 bra LOW;
    st.shared.u32 [%r10+1984], %r1;
    {SHUFFLE}
    bra.uni DONE;
LOW:
    ld.shared.u32 %r6, [%r10];
    {SHUFFLE}
    ld.shared.u32 %r7, [%r10+2048];
    add.u32 %r6, %r6, %r7;
DONE:"""
"""Lanes 0 to 15 read what lanes 16 to 31 write: these wait for each other at the shuffles."""


@pytest.mark.sweep(11)
@pytest.mark.parametrize(("body", "silent"), [
    (f"st.shared.u32 [%r10], %r1;\n{STORES}\n{READS}", True),
    (f"st.shared.u32 [%r10], %r1;\n{READS}", False),
    (f"{STORES}\n{READS}", False),
    (f"st.shared.u32 [%r10], %r1;\n{READS.replace(SHUFFLE, f'{SHUFFLE}{STORES}')}", True),
    (f"st.shared.u32 [%r10], %r1;\n{READS.replace(SHUFFLE, f'bar.warp.sync -1;{STORES}bar.warp.sync -1;')}", True),
    (f"st.shared.u32 [%r10], %r1;\n{READS.replace(SHUFFLE, 'vote.sync.all.pred %p2, %p1, -1;')}", False),
    (f"st.shared.u32 [%r10], %r1;\n{FURTHER}", True),
])  # fmt: skip
@pytest.mark.parametrize("checks", [INIT, (*INIT, "synccheck"), (*INIT, "racecheck")])
@pytest.mark.parametrize("way", [way for way in WAYS if way != "step"])
def test_reads_around_a_shuffle(way: str, checks: tuple[str, ...], body: str, silent: bool) -> None:
    """Those behind it are looked at with those before it where a whole warp comes there."""
    text = kernel_text(
        f"mov.u32 %r10, tile;\n    shl.b32 %r11, %r1, 2;\n    add.u32 %r10, %r10, %r11;\n    setp.eq.u32 %p1, %r1, 0;\n"
        f"    mov.u32 %r6, 0;\n    {body}\n    st.global.u32 [%rd3], %r6;",
        ".shared .align 16 .b8 tile[4096];",
    )
    found, expected = (
        [finding for finding in said(engine, text, blocks=2, checks=checks) if finding.startswith("initcheck")]
        for engine in (way, "step")
    )
    assert found == expected
    assert (found == []) is silent


# -- values

COPY = kernel_text("""
    mul.wide.u32 %rd5, %r1, 4; add.u64 %rd6, %rd2, %rd5;
    ld.global.f32 %f1, [%rd6]; st.global.f32 [%rd3], %f1;""")
"""`out[thread] = x[thread of the block]`"""


def test_a_device_array_keeps_what_has_no_value(device: str) -> None:
    """To copy it is right; to read it back warns, and a later launch that uses it is reported."""
    memory = "cpu" if device == "step" else device
    x, between = (pl.empty(32, np.float32, device=memory) for _ in range(2))
    x[:8] = 1
    found = []
    for to in (between, pl.to_device(np.zeros(32, np.float32), device=memory)):
        found += pl.launch(COPY, 1, 32, to, x, device=device, checks=INIT).findings
        with pytest.warns(UserWarning, match=r"^24 of 32 elements of .* have no value"):
            assert np.isnan(to.copy_to_host()[8:]).all()
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert to[:8].copy_to_host().tolist() == [1] * 8
    assert found == []
    (finding,) = pl.launch(COPY, 1, 32, np.zeros(32, np.float32), between, device=device, checks=INIT).findings
    assert (finding.first.lane, finding.where.partition(" of ")[0]) == (8, "global memory, byte 32")
    between.copy_from_host(np.ones(32, np.float32))
    assert pl.launch(COPY, 1, 32, np.zeros(32, np.float32), between, device=device, checks=INIT).findings == []


@pytest.mark.parametrize(
    ("blocks", "rounds", "wrong"),
    [(500, 1000, True), (500, 1000, False), pytest.param(70_001, 10, True, marks=pytest.mark.rest)],
)
@pytest.mark.long
def test_a_large_launch_is_followed_where_it_is_suspicious(blocks: int, rounds: int, wrong: bool) -> None:
    """Compiled code runs to its end, and the interpreter looks at the block that noted something: here the last."""
    text = kernel_text(f"""
        mov.u32 %r10, 0;
    AGAIN: add.u32 %r10, %r10, 1; setp.lt.u32 %p1, %r10, {rounds}; @%p1 bra AGAIN;
        mov.u32 %r11, tile; mad.lo.u32 %r11, %r1, 4, %r11; setp.lt.u32 %p2, %r2, {blocks - 1};
        @%p2 st.shared.u32 [%r11], %r10;
        ld.shared.u32 %r12, [%r11];
        {"" if wrong else "selp.u32 %r12, %r12, 7, %p2;"}
        st.global.u32 [%rd3], %r12;
    """, ".shared .align 4 .b8 tile[128];")  # fmt: skip
    out, x = np.zeros((2, blocks * 32), np.uint32)
    run = pl.launch(text, blocks, 32, out, x, device="cpu", checks=INIT, counters=True)
    assert (out[:-32] == rounds).all()
    assert out[-1] == (0xFFFFFFFF if wrong else 7)
    assert [(f.kind, f.first.block[0], f.second.did) for f in run.findings] == (
        [("uninitialised read", blocks - 1, "stores 4 bytes")] if wrong else []
    )
    assert run.counters is not None
    assert run.counters.metrics == pl.launch(text, blocks, 32, out, x, device="cpu", counters=True).counters.metrics
