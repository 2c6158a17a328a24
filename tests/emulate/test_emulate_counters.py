"""Counters against values worked out by hand, on both engines, and the engines against each other on more."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from emulate_programs import ENGINES, WAYS, kernel, launch, run
from engine_cases import CASES as PROGRAMS
from test_emulate_cuda import CORPUS, FILES, KERNELS

import ptxlab as pl
from ptxlab.emulate import lower
from ptxlab.emulate.runtime.counters import METRICS, Counters, LineCounters
from ptxlab.text import parse

TILE = ".shared .align 128 .b8 tile[32768];"


@dataclass
class Case:
    """A kernel body, the text that its counted line begins with, and some of that line's counters."""

    body: str
    line: str
    expected: dict[str, Any]
    block: int = 32


CASES: dict[str, Case] = {}


def case(name: str, body: str, line: str, block: int = 32, **expected: Any) -> None:
    CASES[name] = Case(body, line, expected, block)


def read(index: str, type_: str = "u32") -> str:
    """Loads x[index], the index (in bytes) computed into %r5 from %r1, the lane."""
    return f"""
    {index}
    cvt.u64.u32 %rd5, %r5; add.u64 %rd6, %rd2, %rd5;
    ld.global.{type_}"""


def tile(index: str, rest: str) -> str:
    """An access to the shared tile at a byte offset computed into %r5."""
    return f"""
    {index}
    mov.u32 %r6, tile; add.u32 %r6, %r6, %r5;
    {rest}"""


# -- global memory -----------------------------------------------------------------------------------------------------

LOAD = "ld.global"
case("coalesced", read("shl.b32 %r5, %r1, 2;") + " %r7, [%rd6];", LOAD, warps=1, threads=32, requests=1, sectors=4,
     ideal_sectors=4, bytes=128)  # fmt: skip
case("coalesced, two warps", "ld.global.u32 %r7, [%rd3];", LOAD, 64, warps=2, requests=2, sectors=8, bytes=256)
case("coalesced, a warp of 8 lanes", "ld.global.u32 %r7, [%rd3];", LOAD, 40, requests=2, sectors=5, ideal_sectors=5,
     bytes=160)  # fmt: skip
case(
    "reversed", read("sub.u32 %r5, 31, %r1;\n shl.b32 %r5, %r5, 2;") + " %r7, [%rd6];", LOAD, sectors=4, ideal_sectors=4
)
case("every second word", read("shl.b32 %r5, %r1, 3;") + " %r7, [%rd6];", LOAD, sectors=8, ideal_sectors=4)
case("every third word", read("mul.lo.u32 %r5, %r1, 12;") + " %r7, [%rd6];", LOAD, sectors=12, ideal_sectors=4)
case("a column", read("shl.b32 %r5, %r1, 7;") + " %r7, [%rd6];", LOAD, sectors=32, ideal_sectors=4)
case("misaligned by one word", read("shl.b32 %r5, %r1, 2;") + " %r7, [%rd6+4];", LOAD, sectors=5, ideal_sectors=4)
case("misaligned by a sector", read("shl.b32 %r5, %r1, 2;") + " %r7, [%rd6+32];", LOAD, sectors=4, ideal_sectors=4)
case("one address", "ld.global.u32 %r7, [%rd2];", LOAD, requests=1, sectors=1, ideal_sectors=1, bytes=128)
case(
    "one address, found lane by lane", read("and.b32 %r5, %r1, 0;") + " %r7, [%rd6];", LOAD, sectors=1, ideal_sectors=1
)
case("an address for each half", read("shr.u32 %r5, %r1, 4;\n shl.b32 %r5, %r5, 8;") + " %r7, [%rd6];", LOAD, sectors=2,
     ideal_sectors=2)  # fmt: skip
case("a row for each half", read("""and.b32 %r5, %r1, 15;
    shl.b32 %r5, %r5, 2; shr.u32 %r6, %r1, 4;
    mad.lo.u32 %r5, %r6, 4096, %r5;""") + " %r7, [%rd6];", LOAD, sectors=4, ideal_sectors=4)  # fmt: skip
case("bytes", read("mov.u32 %r5, %r1;", "u8") + " %r7, [%rd6];", LOAD, sectors=1, ideal_sectors=1, bytes=32)
case("halfwords", read("shl.b32 %r5, %r1, 1;", "u16") + " %h1, [%rd6];", LOAD, sectors=2, ideal_sectors=2, bytes=64)
case("8 bytes", read("shl.b32 %r5, %r1, 3;", "u64") + " %rd7, [%rd6];", LOAD, sectors=8, ideal_sectors=8, bytes=256)
case("16 bytes", read("shl.b32 %r5, %r1, 4;", "v4.u32") + " {%r7, %r8, %r9, %r10}, [%rd6];", LOAD, requests=1,
     sectors=16, ideal_sectors=16, bytes=512)  # fmt: skip
case("16 bytes of every 64", read("shl.b32 %r5, %r1, 6;", "v4.u32") + " {%r7, %r8, %r9, %r10}, [%rd6];", LOAD,
     sectors=32, ideal_sectors=16)  # fmt: skip
case("8 bytes of every 12 words", read("mul.lo.u32 %r5, %r1, 48;", "v2.u32") + " {%r7, %r8}, [%rd6];", LOAD,
     sectors=32, ideal_sectors=8)  # fmt: skip
case("a store in a row", "st.global.u32 [%rd3], %r1;", "st.global", requests=1, sectors=4, ideal_sectors=4, bytes=128)
case("a store to one address", "st.global.u32 [%rd1], %r1;", "st.global", sectors=1, ideal_sectors=1)
case("a reduction into one word", "red.global.add.u32 [%rd1], %r1;", "red", requests=1, sectors=1, bytes=128)
case("an atomic each", "atom.global.add.u32 %r7, [%rd3], %r1;", "atom", requests=1, sectors=4, bytes=128)

# -- predication -------------------------------------------------------------------------------------------------------

GUARDED = "@%p1 ld.global.u32 %r7, [%rd3];"
case("eight lanes", "setp.lt.u32 %p1, %r1, 8;\n" + GUARDED, GUARDED, warps=1, threads=32, on_warps=1, on_threads=8,
     requests=1, sectors=1, ideal_sectors=1, bytes=32)  # fmt: skip
case("odd lanes", "and.b32 %r5, %r1, 1;\n setp.eq.u32 %p1, %r5, 1;\n" + GUARDED, GUARDED, on_threads=16, sectors=4,
     ideal_sectors=2, bytes=64)  # fmt: skip
case("no lane", "setp.gt.u32 %p1, %r1, 99;\n" + GUARDED, GUARDED, warps=1, threads=32, on_warps=0, on_threads=0,
     requests=0, sectors=0, ideal_sectors=0, bytes=0)  # fmt: skip
case("a warp of two", "setp.lt.u32 %p1, %r1, 32;\n" + GUARDED, GUARDED, 64, warps=2, threads=64, on_warps=1,
     on_threads=32, requests=1, sectors=4)  # fmt: skip
case("a guard that is the same in all lanes", "setp.eq.u32 %p1, %r3, 32;\n@%p1 add.u32 %r5, %r1, 1;", "@%p1 add",
     on_warps=1, on_threads=32)  # fmt: skip
case("flops where the guard holds", "setp.lt.u32 %p1, %r1, 5;\n@%p1 fma.rn.f32 %f1, %f1, %f1, %f1;", "@%p1 fma",
     on_threads=5, flops=10)  # fmt: skip

# -- shared memory -----------------------------------------------------------------------------------------------------

for stride, ways in ((1, 1), (2, 2), (3, 1), (4, 4), (8, 8), (16, 16), (32, 32), (33, 1), (6, 2)):
    case(f"words {stride} apart", tile(f"mul.lo.u32 %r5, %r1, {4 * stride};", "ld.shared.u32 %r7, [%r6];"), "ld.shared",
         requests=1, wavefronts=ways, ideal_wavefronts=1, conflicts=ways - 1, bytes=128)  # fmt: skip
    case(f"stores {stride} apart", tile(f"mul.lo.u32 %r5, %r1, {4 * stride};", "st.shared.u32 [%r6+64], %r1;"),
         "st.shared", wavefronts=ways, ideal_wavefronts=1)  # fmt: skip
case("a broadcast", "ld.shared.u32 %r7, [tile];", "ld.shared", wavefronts=1, conflicts=0)
case("a broadcast, found lane by lane", tile("and.b32 %r5, %r1, 0;", "ld.shared.u32 %r7, [%r6];"), "ld.shared",
     wavefronts=1, conflicts=0)  # fmt: skip
case("two words of one bank", tile("and.b32 %r5, %r1, 1;\n shl.b32 %r5, %r5, 7;", "ld.shared.u32 %r7, [%r6];"),
     "ld.shared", wavefronts=2, conflicts=1)  # fmt: skip
case("three words of one bank", tile("rem.u32 %r5, %r1, 3;\n shl.b32 %r5, %r5, 7;", "ld.shared.u32 %r7, [%r6];"),
     "ld.shared", wavefronts=3, conflicts=2)  # fmt: skip
case("a swizzled column", tile("xor.b32 %r5, %r1, 5;\n mad.lo.u32 %r5, %r1, 32, %r5;\n shl.b32 %r5, %r5, 2;",
     "ld.shared.u32 %r7, [%r6];"), "ld.shared", wavefronts=1, conflicts=0)  # fmt: skip
case("bytes of 8 words", tile("mov.u32 %r5, %r1;", "ld.shared.u8 %r7, [%r6];"), "ld.shared", wavefronts=1, bytes=32)
case("halfwords of one bank", tile("shl.b32 %r5, %r1, 7;", "ld.shared.u16 %h1, [%r6+2];"), "ld.shared", wavefronts=32)
case("8 bytes in a row", tile("shl.b32 %r5, %r1, 3;", "ld.shared.u64 %rd7, [%r6];"), "ld.shared", wavefronts=2,
     conflicts=0, bytes=256)  # fmt: skip
case("8 bytes of every 16", tile("shl.b32 %r5, %r1, 4;", "ld.shared.u64 %rd7, [%r6];"), "ld.shared", wavefronts=4,
     ideal_wavefronts=2)  # fmt: skip
case("8 bytes, one address", "ld.shared.v2.u32 {%r7, %r8}, [tile];", "ld.shared", wavefronts=1, conflicts=0)
case("8 bytes, loads of pairs", tile("shr.u32 %r5, %r1, 1;\n shl.b32 %r5, %r5, 3;", "ld.shared.u64 %rd7, [%r6];"),
     "ld.shared", wavefronts=1, conflicts=0)  # fmt: skip
case("8 bytes, loads of lanes two apart", tile("shr.u32 %r5, %r1, 2; shl.b32 %r5, %r5, 1; and.b32 %r6, %r1, 1; "
     "or.b32 %r5, %r5, %r6; shl.b32 %r5, %r5, 3;", "ld.shared.u64 %rd7, [%r6];"), "ld.shared", wavefronts=1,
     conflicts=0)  # fmt: skip
case("8 bytes, stores of pairs", tile("shr.u32 %r5, %r1, 1;\n shl.b32 %r5, %r5, 3;", "st.shared.u64 [%r6], %rd1;"),
     "st.shared", wavefronts=2, conflicts=0)  # fmt: skip
case("16 bytes in a row", tile("shl.b32 %r5, %r1, 4;", "ld.shared.v4.u32 {%r7, %r8, %r9, %r10}, [%r6];"), "ld.shared",
     wavefronts=4, conflicts=0, bytes=512)  # fmt: skip
case("16 bytes, one address", "ld.shared.v4.u32 {%r7, %r8, %r9, %r10}, [tile+16];", "ld.shared", wavefronts=2,
     conflicts=0)  # fmt: skip
case("16 bytes of every 128", tile("shl.b32 %r5, %r1, 7;", "ld.shared.v4.u32 {%r7, %r8, %r9, %r10}, [%r6];"),
     "ld.shared", wavefronts=32, ideal_wavefronts=4)  # fmt: skip
case("16 bytes of every 48", tile("mul.lo.u32 %r5, %r1, 48;", "st.shared.v4.u32 [%r6], {%r1, %r1, %r1, %r1};"),
     "st.shared", wavefronts=4, conflicts=0)  # fmt: skip
case("16 bytes, a store to one address", "st.shared.v4.u32 [tile], {%r1, %r1, %r1, %r1};", "st.shared", wavefronts=4)
case("16 bytes, eight lanes", tile("shl.b32 %r5, %r1, 4;\n setp.lt.u32 %p1, %r1, 8;",
     "@%p1 ld.shared.v4.u32 {%r7, %r8, %r9, %r10}, [%r6];"), "@%p1 ld.shared", wavefronts=1, bytes=128)  # fmt: skip
case("generic, into shared memory", tile("shl.b32 %r5, %r1, 3;", """cvt.u64.u32 %rd5, %r6;
    cvta.shared.u64 %rd6, %rd5;
    ld.u32 %r7, [%rd6];"""), "ld.u32", requests=1, sectors=0, wavefronts=2, bytes=128)  # fmt: skip
case("generic, into global memory", "ld.u32 %r7, [%rd3+4];", "ld.u32", requests=1, sectors=5, wavefronts=0, bytes=128)
case("generic, half and half", tile("shl.b32 %r5, %r1, 2;", """cvt.u64.u32 %rd5, %r6;
    cvta.shared.u64 %rd6, %rd5;
    setp.lt.u32 %p1, %r1, 16;
    selp.b64 %rd6, %rd6, %rd3, %p1;
    ld.u32 %r7, [%rd6];"""), "ld.u32", requests=2, sectors=2, wavefronts=1, bytes=128)  # fmt: skip

# -- rows of matrices, and copies --------------------------------------------------------------------------------------

MATRIX = "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r7, %r8, %r9, %r10}, [%r6];"
case("ldmatrix, dense rows", tile("shl.b32 %r5, %r1, 4;", MATRIX), "ldmatrix", requests=1, wavefronts=4,
     conflicts=0, bytes=512)  # fmt: skip
case("ldmatrix, rows of 128 bytes", tile("shl.b32 %r5, %r1, 7;", MATRIX), "ldmatrix", wavefronts=32, ideal_wavefronts=4)
case("ldmatrix, rows of 128 bytes, swizzled", tile("and.b32 %r5, %r1, 7;\n shl.b32 %r5, %r5, 4;\n"
     "mad.lo.u32 %r5, %r1, 128, %r5;", MATRIX), "ldmatrix", wavefronts=4, conflicts=0)  # fmt: skip
case("ldmatrix, rows of 144 bytes", tile("mul.lo.u32 %r5, %r1, 144;", MATRIX), "ldmatrix", wavefronts=4, conflicts=0)
case("ldmatrix, one matrix, rows of 64 bytes", tile("shl.b32 %r5, %r1, 6;", """
    ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r7}, [%r6];"""), "ldmatrix", wavefronts=4, ideal_wavefronts=1,
     bytes=128)  # fmt: skip
case("wmma.load", """wmma.load.a.sync.aligned.row.m16n16k16.shared.f16 {%r5, %r6, %r7, %r8, %r9, %r10, %r11, %r12},
        [tile];""", "wmma.load", wavefronts=4, conflicts=0, bytes=512)  # fmt: skip
case("wmma.load, rows of 128 bytes", """mov.u32 %r13, 64;
    wmma.load.a.sync.aligned.row.m16n16k16.shared.f16 {%r5, %r6, %r7, %r8, %r9, %r10, %r11, %r12}, [tile], %r13;""",
     "wmma.load", wavefronts=16, ideal_wavefronts=4)  # fmt: skip
case("wmma.load of 4-bit elements, rows of 16 bytes",
     "wmma.load.a.sync.aligned.row.m8n8k32.global.s4 {%r5}, [%rd2], 32;", "wmma.load", requests=1, sectors=4,
     bytes=128)  # fmt: skip
COPY = """
    cvt.u64.u32 %rd5, %r5; add.u64 %rd6, %rd2, %rd5;
    cp.async"""
case("cp.async, 4 bytes", tile("shl.b32 %r5, %r1, 2;", COPY + ".ca.shared.global [%r6], [%rd6], 4;"), "cp.async",
     requests=2, sectors=4, wavefronts=1, bytes=256)  # fmt: skip
case("cp.async, 16 bytes", tile("shl.b32 %r5, %r1, 4;", COPY + ".cg.shared.global [%r6], [%rd6], 16;"), "cp.async",
     sectors=16, wavefronts=4, conflicts=0)  # fmt: skip
case("cp.async, 16 bytes of every 128", tile("shl.b32 %r5, %r1, 7;", COPY + ".cg.shared.global [%r6], [%rd6], 16;"),
     "cp.async", sectors=32, ideal_sectors=16, wavefronts=32, ideal_wavefronts=4)  # fmt: skip
case("cp.async of zeros", tile("shl.b32 %r5, %r1, 2;\n mov.u32 %r8, 0;",
     COPY + ".ca.shared.global [%r6], [%rd6], 4, %r8;"), "cp.async", requests=1, sectors=0, wavefronts=1)  # fmt: skip

# -- branches ----------------------------------------------------------------------------------------------------------

JUMP = "@%p1 bra"
case("half the warp jumps", "setp.lt.u32 %p1, %r1, 16;\n@%p1 bra L;\n add.u32 %r5, %r1, 1;\nL:", JUMP, warps=1,
     divergent=1, on_threads=16)  # fmt: skip
case("what the others run", "setp.lt.u32 %p1, %r1, 16;\n@%p1 bra L;\n add.u32 %r5, %r1, 1;\nL:", "add.u32 %r5", warps=1,
     threads=16)  # fmt: skip
case("all jump", "setp.lt.u32 %p1, %r1, 99;\n@%p1 bra L;\n add.u32 %r5, %r1, 1;\nL:", JUMP, warps=1, divergent=0)
case("none jumps", "setp.gt.u32 %p1, %r1, 99;\n@%p1 bra L;\n add.u32 %r5, %r1, 1;\nL:", JUMP, warps=1, divergent=0,
     on_warps=0)  # fmt: skip
case("one warp jumps", "setp.lt.u32 %p1, %r1, 32;\n@%p1 bra L;\n add.u32 %r5, %r1, 1;\nL:", JUMP, 64, warps=2,
     divergent=0, on_warps=1)  # fmt: skip
case("some leave", "setp.lt.u32 %p1, %r1, 7;\n@%p1 bra DONE;\n add.u32 %r5, %r1, 1;\nDONE:", JUMP, divergent=1)
case("a loop of 1 to 4 rounds", """
    and.b32 %r5, %r1, 3; mov.u32 %r6, 0;
LOOP:
    setp.lt.u32 %p1, %r6, %r5;
    add.u32 %r6, %r6, 1;
    @%p1 bra LOOP;""", JUMP, warps=4, threads=32 + 24 + 16 + 8, on_threads=24 + 16 + 8, divergent=3)  # fmt: skip
case("a switch of four", """
    and.b32 %r5, %r1, 3;
    brx.idx %r5, TABLE;
TABLE: .branchtargets A, B, C, D;
A:  add.u32 %r6, %r6, 1;
B:  add.u32 %r6, %r6, 1;
C:  add.u32 %r6, %r6, 1;
D:""", "brx", warps=1, divergent=1)  # fmt: skip
case("a switch that all take alike", """
    brx.idx %r2, TABLE;
TABLE: .branchtargets A, B;
A:  add.u32 %r6, %r6, 1;
B:""", "brx", warps=1, divergent=0)  # fmt: skip

# -- work --------------------------------------------------------------------------------------------------------------

case("fma", "fma.rn.f32 %f1, %f2, %f3, %f4;", "fma", flops=64)
case("packed halves", "fma.rn.f16x2 %r5, %r6, %r7, %r8;", "fma", flops=128)
case("f64 addition", "add.f64 %fd1, %fd2, %fd3;", "add.f64", flops=32)
case("no floating-point work", "mad.lo.u32 %r5, %r6, %r7, %r8;", "mad.lo.u32 %r5", flops=0)


def counted(engine: str, body: str, threads: int | tuple[int, ...] = 32, **options: Any) -> tuple[Counters, str]:
    text = kernel(body, TILE)
    out = np.zeros(8192, np.uint32)
    _, report = run(engine, text, out=out, x=out, threads=threads, counters=True, **options)
    return report.counters, text


def at(counters: Counters, text: str, start: str) -> LineCounters:
    """The counters of the line that begins so."""
    (line,) = [n for n, words in enumerate(text.splitlines(), 1) if words.strip().startswith(start)]
    return counters.by_line[line]


@pytest.mark.sweep(5)
@pytest.mark.parametrize("name", CASES)
def test_a_line(name: str, engine: str) -> None:
    c = CASES[name]
    counters, text = counted(engine, c.body, c.block)
    line = at(counters, text, c.line)
    assert {key: getattr(line, key) for key in c.expected} == c.expected


def test_accesses_in_one_block_are_told_apart(engine: str) -> None:
    """Accesses that share a check differ by their immediate offsets: some are misaligned, some are not."""
    body = "\n".join(f"ld.global.u32 %r7, [%rd3+{n}];" for n in (0, 4, 32, 36, 64, 60))
    counters, text = counted(engine, body)
    found = [at(counters, text, f"ld.global.u32 %r7, [%rd3+{n}]").sectors for n in (0, 4, 32, 36, 64, 60)]
    assert found == [4, 5, 4, 5, 4, 5]


def test_a_loop_whose_addresses_move(engine: str) -> None:
    """Sixteen words down a column of a matrix 20 words wide: the sectors depend on where the column starts."""
    body = """
    mul.wide.u32 %rd5, %r1, 80; add.u64 %rd6, %rd2, %rd5; mov.u32 %r5, 0;
LOOP:
    ld.global.u32 %r7, [%rd6];
    ld.global.v2.u32 {%r8, %r9}, [%rd6+8];
    add.u64 %rd6, %rd6, 8; add.u32 %r5, %r5, 1;
    setp.lt.u32 %p1, %r5, 16;
    @%p1 bra LOOP;"""
    counters, text = counted(engine, body)
    address = np.arange(32) * 80
    sectors = sum(len(set((address + 8 * k) >> 5)) for k in range(16))
    line = at(counters, text, "ld.global.u32 %r7")
    assert (line.requests, line.sectors, line.ideal_sectors) == (16, sectors, 64)
    line = at(counters, text, "ld.global.v2")
    assert (line.sectors, line.ideal_sectors) == (sum(len(set((address + 8 * k + 8) >> 5)) for k in range(16)), 128)


@pytest.mark.long
@pytest.mark.sweep(11)
@pytest.mark.parametrize("known", [True, False], ids=["a stride", "addresses from memory"])
@pytest.mark.parametrize("across", [0, 1], ids=["one address a row", "a row of words"])
@pytest.mark.parametrize(("type_", "size"), [("u8", 1), ("u32", 4), ("v2.u64", 16)])
def test_half_a_warp_in_each_row_wherever_that_is(type_: str, size: int, across: int, known: bool) -> None:
    """Blocks 16 wide whose rows are as far apart as a number in memory says: they may overlap, or touch each other."""
    into = {"u8": "%r9", "u32": "%r9", "v2.u64": "{%rd10, %rd11}"}[type_]
    body = f"""
    mov.u32 %r5, %tid.y;
    ld.global.u32 %r6, [%rd2];
    mul.lo.u32 %r6, %r5, %r6; mad.lo.u32 %r6, %r1, {across * size}, %r6; mad.lo.u32 %r7, %r5, 16, %r1;
    mul.wide.u32 %rd7, %r7, 4; add.u64 %rd7, %rd7, %rd1;
    st.global.u32 [%rd7], %r6;
    {"" if known else "ld.global.u32 %r6, [%rd7];"}
    cvt.s64.s32 %rd5, %r6; add.s64 %rd6, %rd2, %rd5;
    ld.global.{type_} {into}, [%rd6+1024];"""
    text, x = kernel(body), np.zeros(2048, np.uint32)
    for stride in range(-64, 800, size if size > 1 else 7):
        x[0] = stride % (1 << 32)
        first = stride * np.arange(5)[:, None] + across * size * np.arange(16)
        warps = [{place // 32 for place in warp.ravel().tolist()} for warp in (first[:2], first[2:4], first[4:])]
        least = [-(-size * lanes // 32) for lanes in (32, 32, 16)]
        ideal = sum(min(len(touched), most) for touched, most in zip(warps, least, strict=True))
        for engine in WAYS[-1:] if stride % 5 else WAYS:
            _, report = run(engine, text, threads=(16, 5), x=x, counters=True)
            line = at(report.counters, text, f"ld.global.{type_} {into}")
            assert (line.sectors, line.ideal_sectors) == (sum(map(len, warps)), ideal), (stride, engine)


@pytest.mark.sweep(4)
@pytest.mark.parametrize("mask", [0x55555555, 0x80000001, 0x00FFFF00, 0x11111111, 0x00000010])
@pytest.mark.parametrize(("type_", "size"), [("u8", 1), ("u16", 2), ("u32", 4), ("u64", 8), ("v2.u64", 16)])
def test_a_row_of_which_some_lanes_are_missing(type_: str, size: int, mask: int) -> None:
    """In the masked loop of full warps, from each place in a sector where it may begin."""
    into = {"u64": "%rd10", "v2.u64": "{%rd10, %rd11}"}.get(type_, "%r9")
    body = f"""
    mov.u32 %r5, {mask}; and.b32 %r6, %r1, 31; shr.u32 %r5, %r5, %r6;
    and.b32 %r5, %r5, 1;
    setp.eq.u32 %p1, %r5, 0;
    @%p1 bra END;
    ld.global.u32 %r7, [%rd2];
    cvt.u64.u32 %rd5, %r7; mul.wide.u32 %rd6, %r4, {size}; add.s64 %rd6, %rd6, %rd5;
    add.s64 %rd6, %rd6, %rd2;
    ld.global.{type_} {into}, [%rd6+256];
    END:"""
    text, x, warps = kernel(body), np.zeros(2048, np.uint32), 6
    for before in sorted({0, size, 16, 32 - size}):
        x[0] = before
        taken = [lane for lane in range(32) if mask >> lane & 1]
        touched = [{(before + size * (32 * warp + lane)) // 32 for lane in taken} for warp in range(warps)]
        ideal = sum(min(len(each), -(-size * len(taken) // 32)) for each in touched)
        for engine in WAYS:
            _, report = run(engine, text, threads=96, blocks=2, x=x, counters=True)
            line = at(report.counters, text, f"ld.global.{type_} {into}")
            assert (line.sectors, line.ideal_sectors) == (sum(map(len, touched)), ideal), (before, engine)


def test_metrics(engine: str) -> None:
    body = tile("shl.b32 %r5, %r1, 3;", """st.shared.u32 [%r6], %r1;
    setp.lt.u32 %p1, %r1, 8;
    @%p1 bra L;
    ld.shared.u32 %r7, [%r6];
L:
    cvt.rn.f32.u32 %f1, %r1;
    fma.rn.f32 %f2, %f1, %f1, %f1;
    ex2.approx.f32 %f2, %f2;
    @%p1 st.global.f32 [%rd3], %f2;""")  # fmt: skip
    c, _ = counted(engine, body)
    assert c.warp_instructions == c["smsp__inst_executed.sum"] == 20
    assert c.thread_instructions == c["smsp__thread_inst_executed.sum"] == 20 * 32 - 8
    assert c["smsp__thread_inst_executed_pred_on.sum"] == 18 * 32 - 8 + 8 + 8
    assert c.predicated_off == pytest.approx(48 / 632)
    assert c["smsp__sass_branch_targets.sum"] == 1
    assert c["smsp__sass_branch_targets_threads_divergent.sum"] == 1
    assert c["l1tex__data_pipe_lsu_wavefronts_mem_shared.sum"] == 4
    assert c["l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum"] == 2
    assert c["l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum"] == 2
    assert c["l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum"] == 1
    assert c["smsp__sass_data_bytes_mem_global_op_st.sum"] == 32
    assert c["smsp__sass_data_bytes_mem_shared.sum"] == (32 + 24) * 4
    assert c["smsp__sass_thread_inst_executed_op_ffma_pred_on.sum"] == 32
    assert c.flops == {"f32": 64}
    assert c.pipes == {"adu": 2, "alu": 8, "fma": 3, "lsu": 3, "xu": 2, "cbu": 2}
    assert c.metrics.keys() == METRICS.keys()
    assert all(m.says.endswith(".") for m in METRICS.values())


@pytest.mark.sweep(3)
@pytest.mark.skipif("jit" not in ENGINES, reason="llvmlite is not installed")
@pytest.mark.parametrize("name", PROGRAMS)
def test_engines_agree(name: str) -> None:
    reports = [PROGRAMS[name].run(engine, counters=True)[1] for engine in ENGINES]
    if reports[0].lines == reports[1].lines:  # where lanes wait for each other, turns are taken otherwise
        assert reports[0].counters == reports[1].counters


@pytest.mark.sweep(26)
@pytest.mark.skipif("jit" not in ENGINES, reason="llvmlite is not installed")
@pytest.mark.parametrize("file", FILES)
def test_engines_agree_on_compiled_code(file: str, monkeypatch: pytest.MonkeyPatch) -> None:
    reports = []

    def counted_launch(*arguments: Any, **options: Any) -> None:
        reports.append(launch(*arguments, counters=True, **options))

    monkeypatch.setattr("test_emulate_cuda.launch", counted_launch)
    for engine in ENGINES:
        KERNELS[file.partition(".")[0]](engine, (CORPUS / file).read_text())
    assert reports[0].counters == reports[1].counters


@pytest.mark.parametrize("device", ["step", "cpu"] if "jit" in ENGINES else ["step"])
def test_attention_is_counted(device: str) -> None:
    q, k, v = pl.reference.random_inputs(1, 1, 1, 32, 32, 16)
    c = pl.attention(q, k, v, kernel="scalar", device=device, counters=True).counters
    assert c.flops["f32"] >= 4 * 32 * 32 * 16
    assert c["l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum"] > 0


@pytest.mark.long
@pytest.mark.skipif("jit" not in ENGINES, reason="llvmlite is not installed")
def test_counts_do_not_depend_on_engine_workers_or_other_watchers() -> None:
    """A loop in which the warp diverges in every round: its lanes would not reconverge if turns were taken badly."""
    body = """
    mov.u32 %r5, 0; mov.u32 %r6, tile; shl.b32 %r7, %r1, 3;
    add.u32 %r6, %r6, %r7;
LOOP:
    mad.lo.u32 %r8, %r5, 1664525, %r1; and.b32 %r9, %r8, 3;
    setp.eq.u32 %p1, %r9, 0;
    @%p1 bra SKIP;
    st.shared.u32 [%r6], %r8;
SKIP:
    ld.shared.u32 %r10, [%r6];
    @%p1 xor.b32 %r10, %r10, %r5;
    add.u32 %r5, %r5, 1;
    setp.lt.u32 %p2, %r5, 300;
    @%p2 bra LOOP;"""
    expected, text = counted("step", body, 64)
    line = at(expected, text, "@%p1 bra")
    assert (line.warps, line.divergent, line.threads, line.on_threads) == (600, 600, 19200, 4800)
    line = at(expected, text, "st.shared.u32")
    # 24 lanes two words apart: two words of a bank, but for one bank in four
    assert (line.requests, line.wavefronts, line.ideal_wavefronts) == (600, 1200, 600)
    everything: list[dict[str, Any]] = [
        {}, {"trace": pl.Trace()}, {"checks": ("memcheck", "initcheck")}, {"seed": 3},
        {"trace": pl.Trace(warps=1), "checks": ("memcheck", "racecheck", "synccheck")},
    ]  # fmt: skip
    for options in everything:
        assert counted("jit", body, 64, **options)[0] == expected
    x, y = np.zeros(8192, np.uint32), np.zeros(8192, np.uint32)
    runs = [pl.launch(text, 6, 64, y, x, device="cpu", counters=True, workers=workers).counters for workers in (1, 2)]
    assert runs[0] == runs[1]


@pytest.mark.parametrize("operation", ["red.global.add.u32 [%rd2], 1;", "atom.global.add.u64 %rd9, [%rd2+8], %rd4;"])
@pytest.mark.parametrize("lanes", [0, 1, 20, 33, 64])
def test_atomic_operations_at_one_address(operation: str, lanes: int) -> None:
    """By as many threads of two warps: each warp with a thread asks for one sector."""
    text = kernel(f"setp.lt.u32 %p1, %r1, {lanes};\n@%p1 {operation}")
    for engine in ENGINES:
        _, report = run(engine, text, threads=64, counters=True)
        line, warps, size = at(report.counters, text, "@%p1"), -(-lanes // 32), 8 if "64" in operation else 4
        assert (line.requests, line.sectors, line.ideal_sectors, line.bytes) == (warps, warps, warps, lanes * size)


def test_what_lowering_adds_around_a_call_takes_no_issue_slot(engine: str) -> None:
    function = """.func (.param .b32 result) more(.param .b32 given)
{
    .reg .b32 %r<3>;
    ld.param.u32 %r1, [given];
    add.u32 %r2, %r1, 1;
    st.param.u32 [result], %r2;
    ret;
}"""
    body = """
    {
    .param .b32 a; .param .b32 b;
    st.param.u32 [a], %r1;
    call.uni (b), more, (a);
    ld.param.u32 %r5, [b];
    }
    st.global.u32 [%rd3], %r5;
"""
    text = kernel(body, function)
    added = [code for code in lower(parse(text)).codes if code.instruction is None]
    out, report = run(engine, text, counters=True)
    assert added
    assert out.tolist() == list(range(1, 33))
    (pipes,) = report.counters.issue_slots.values()
    assert sum(pipes.values()) == report.counters.warp_instructions


def test_a_line_with_several_instructions_names_their_opcodes(engine: str) -> None:
    body = "add.u32 %r5, %r1, 1; add.u32 %r5, %r5, 1; mul.lo.u32 %r5, %r5, 3;\nst.global.u32 [%rd3], %r5;"
    text = kernel(body)
    line = 1 + next(n for n, words in enumerate(text.splitlines()) if "mul.lo" in words)
    _, report = run(engine, text, counters=True)
    counted = report.counters.by_line[line]
    assert (counted.opcode, counted.warps) == ("add.u32; mul.lo.u32", 3)
