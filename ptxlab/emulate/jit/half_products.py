"""Products of f16 and bf16 matrices: A and B are widened to f32 once, and then multiplied as often as they are used.

Three kinds of functions. `widening_a` and `widening_b` bring a fragment's registers into memory as the product wants
to read it; `product` multiplies from there into the registers of d. Who calls them keeps what was widened for as long
as the registers stay as they are (`ptxlab.emulate.jit.wide_operands`). A register of A or B is by itself a dense 8x8
matrix, 16 bytes to a row of A or a column of B; two registers of an f32 sum are 8 rows of 4 even and of 4 odd columns.

A wide B is a row of 8 columns, the even ones first, for each k. A wide A has each element four times over, so that a
vector of sums, 1, 2 or 4 rows of 4 columns, is one multiply-add of two vectors that are loaded as they are: no
shuffles, which on most CPUs begin on one of the ports that multiply. Where an instruction multiplies by one element of
a register (NEON), four k of each row lie together instead.

An f16 product is exact in f32, so that without fused multiply-adds a multiplication and an addition give the same bits.
"""

from __future__ import annotations

import platform
from dataclasses import dataclass

from ptxlab.emulate.jit.fragments import join, shuffle, slot
from ptxlab.emulate.jit.irtext import Text
from ptxlab.emulate.jit.numbers import fma, narrow, widen
from ptxlab.isa.fragments import Fragment, Product

EVEN_FIRST = (0, 2, 4, 6, 1, 3, 5, 7)
"""The columns of B in the order of d's registers."""
REGISTER = 128
"""Bytes of a register of 32 lanes."""
WIDE_BLOCK = 256
"""Bytes of 8x8 elements of a wide B."""
COPIES = 4
"""How often an element lies in a wide A: four columns are multiplied by it."""


@dataclass(frozen=True)
class Vectors:
    """What a CPU has for f32: lanes of a vector; fused: multiply-adds in hardware; by_element: those of a vector and
    one element of another; dots: sums of products of pairs of bf16 (vdpbf16ps)."""

    lanes: int
    fused: bool = True
    by_element: bool = False
    dots: bool = False

    @property
    def rows(self) -> int:
        """Rows of 4 columns in a vector of sums."""
        return self.lanes // 4


def vectors(features: str) -> Vectors:
    """By the CPU's features, as LLVM writes them. Not all ARM CPUs have theirs named; NEON is in all of them."""
    neon = "+neon" in features or platform.machine().lower() in ("arm64", "aarch64")
    lanes = 16 if "+avx512f" in features else 8 if "+avx" in features else 4
    return Vectors(lanes, "+fma" in features or neon, neon, "+avx512bf16" in features)


def is_half_product(p: Product) -> bool:
    """Whether a product is made in this way: all of f16 and bf16 but sparse ones and the four matrices of m8n8k4."""
    return p.a.type in ("f16", "bf16") and p.a.columns >= 8 and not p.packed


def wide_a_bytes(f: Fragment) -> int:
    return 4 * COPIES * f.rows * f.columns


def wide_b_bytes(f: Fragment) -> int:
    return 4 * f.rows * f.columns


def at(t: Text, pointer: str, offset: int) -> str:
    """A pointer to a byte after another."""
    return t.let(f"getelementptr i8, ptr {pointer}, i64 {offset}") if offset else pointer


def function(t: Text, name: str, parameters: str) -> str:
    """The text of a function whose body has been written."""
    head = f"define internal void @{name}(ptr %ws, ptr %table, {parameters}) noinline nounwind alignstack(64) {{"
    return "\n".join([head, "entry:", *t.lines, "  ret void", "}"]) + "\n"


# -- operands ----------------------------------------------------------------------------------------------------------


def widening_a(name: str, f: Fragment, cpu: Vectors, declared: set[str]) -> str:
    """`f(ptr %ws, ptr %table, ptr %wide)`: the table begins with the registers of A."""
    t = Text()
    t.declared = declared
    tall, blocks = min(2, f.rows // 8), f.columns // 8
    for top in range(max(1, f.rows // 16)):
        for block in range(blocks):
            for half in range(tall):
                held = slot(t, (top * blocks + block) * tall + half)
                for row in range(0, 8, cpu.rows):
                    for part in (0, 4):
                        wide = _four_along_k(t, f.type, cpu.rows, held, row, part)
                        _put_a(t, f.rows, cpu, 16 * top + 8 * half + row, 8 * block + part, wide)
    return function(t, name, "ptr %wide")


def _four_along_k(t: Text, type_: str, rows: int, held: str, row: int, part: int) -> str:
    """Four neighbours along k of some rows, as f32."""
    some = [t.let(f"load <4 x i16>, ptr {at(t, held, 16 * (row + r) + 2 * part)}, align 8") for r in range(rows)]
    return widen(t, type_, 4 * rows, join(t, "i16", 4, some))


def _put_a(t: Text, height: int, cpu: Vectors, row: int, k: int, wide: str) -> None:
    """Writes elements k to k + 3 of some rows."""
    vec, align = f"<{cpu.lanes} x float>", 4 * cpu.lanes
    if cpu.by_element:
        t.do(f"store {vec} {wide}, ptr {at(t, '%wide', 4 * (k * height + 4 * row))}, align {align}")
        return
    for i in range(4):
        spread = shuffle(t, "float", cpu.lanes, wide, "poison", [4 * r + i for r in range(cpu.rows) for _ in range(4)])
        t.do(f"store {vec} {spread}, ptr {at(t, '%wide', 16 * ((k + i) * height + row))}, align {align}")


def widening_b(name: str, f: Fragment, declared: set[str]) -> str:
    """`f(ptr %ws, ptr %table, ptr %wide)`: the table begins with the registers of B."""
    t = Text()
    t.declared = declared
    blocks = f.rows // 8
    for left in range(f.columns // 8):
        for block in range(blocks):
            held = slot(t, left * blocks + block)
            columns = [t.let(f"load <8 x i16>, ptr {at(t, held, 16 * c)}, align 16") for c in range(8)]
            put_b(t, f.type, columns, at(t, "%wide", 32 * (left * f.rows + 8 * block)), along_k=True)
    return function(t, name, "ptr %wide")


def put_b(t: Text, type_: str, lines: list[str], pointer: str, *, along_k: bool) -> None:
    """Widens 8x8 elements of B: columns of 8 along k, or rows."""
    if along_k:
        rows = transposed(t, [lines[c] for c in EVEN_FIRST])
    else:
        rows = [shuffle(t, "i16", 8, line, "poison", EVEN_FIRST) for line in lines]
    for k, row in enumerate(rows):
        t.do(f"store <8 x float> {widen(t, type_, 8, row)}, ptr {at(t, pointer, 32 * k)}, align 32")


def transposed(t: Text, lines: list[str]) -> list[str]:
    """The transpose of 8 lines of 8 elements of 16 bits. To interleave lines i and i + 4 moves the highest bit of the
    line's number to the end of the element's; after three times they have changed places."""
    for _ in range(3):
        lines = [x for i in range(4) for x in _interleaved(t, lines[i], lines[i + 4])]
    return lines


def _interleaved(t: Text, a: str, b: str) -> list[str]:
    """The elements of two vectors in turn: those of the first halves, and those of the second ones."""
    return [shuffle(t, "i16", 8, a, b, [i + n for i in range(h, h + 4) for n in (0, 8)]) for h in (0, 4)]


# -- products ----------------------------------------------------------------------------------------------------------


def product(name: str, p: Product, cpu: Vectors, declared: set[str], *, crossed: bool) -> str:
    """`f(ptr %ws, ptr %table, ptr %a, ptr %b)`: the table has the registers of d, a, b and c. A loop over pieces of 8
    columns and of 8 rows, or of 16 where they are one pass. crossed: c is copied first, since it may have registers
    that d has elsewhere."""
    t = Text()
    t.declared = declared
    if crossed:
        _copy_c(t, p)
    tall, lefts, groups = min(2, p.a.rows // 8), p.b.columns // 8, p.a.rows // 8
    at_once = min(tall, cpu.rows // 2 or 1)
    count = lefts * groups // at_once
    if count == 1:
        _piece(t, p, cpu, at_once, "0", "0", crossed=crossed)
        return function(t, name, "ptr %a, ptr %b")
    again, end, i, following = t.label("again"), t.label("end"), t.name(), t.name()
    t.go(again)
    t.at(again)
    t.do(f"{i} = phi i64 [0, %entry], [{following}, %{again}]")
    left = t.let(f"udiv i64 {i}, {groups // at_once}")
    group = t.let(f"mul i64 {t.let(f'urem i64 {i}, {groups // at_once}')}, {at_once}")
    _piece(t, p, cpu, at_once, left, group, crossed=crossed)
    t.do(f"{following} = add i64 {i}, 1")
    t.do(f"br i1 {t.let(f'icmp ult i64 {following}, {count}')}, label %{again}, label %{end}")
    t.at(end)
    return function(t, name, "ptr %a, ptr %b")


def _piece(t: Text, p: Product, cpu: Vectors, at_once: int, left: str, group: str, *, crossed: bool) -> None:
    """The sums of 8 columns and of `at_once` groups of 8 rows."""
    tall, lefts = min(2, p.a.rows // 8), p.b.columns // 8
    number = left
    if tall == 2:
        above = t.let(f"mul i64 {t.let(f'lshr i64 {group}, 1')}, {lefts}")
        number = t.let(f"shl i64 {t.let(f'add i64 {above}, {left}')}, 1")
        number = t.let(f"add i64 {number}, {t.let(f'and i64 {group}, 1')}")
    a = t.let(f"getelementptr [128 x i8], ptr %a, i64 {group}")  # 16 bytes for each row of 8, in both forms
    b = t.let(f"getelementptr [{32 * _steps(p, cpu)} x i8], ptr %b, i64 {left}")
    d, c = (
        [_registers(t, f, first, number, half) for half in range(at_once)]
        for f, first in ((p.d, 0), (p.c, _first_c(p)))
    )
    if crossed:
        c = [_copied(t, p.c, number, half) for half in range(at_once)]
    rows = 8 * at_once
    step = rows if cpu.by_element else min(rows, 4 * cpu.rows)
    for row in range(0, rows, step):
        if row:
            t.do('fence syncscope("singlethread") acq_rel')  # or sums of both passes would be held at once
        _pass(t, p, cpu, (a, b), d, c, range(row, row + step, cpu.rows))


def _steps(p: Product, cpu: Vectors) -> int:
    """Numbers along k, or pairs of them."""
    return p.a.columns // 2 if cpu.dots else p.a.columns


def _first_c(p: Product) -> int:
    """Where the registers of C begin in the table."""
    return p.d.registers + p.a.registers + p.b.registers


def _copy_c(t: Text, p: Product) -> None:
    t.do(f"%c = alloca [{REGISTER * p.c.registers} x i8], align 64")
    for k in range(p.c.registers):
        value = t.let(f"load <32 x i32>, ptr {slot(t, _first_c(p) + k)}, align 64")
        t.do(f"store <32 x i32> {value}, ptr {at(t, '%c', REGISTER * k)}, align 64")


def _copied(t: Text, f: Fragment, number: str, half: int) -> list[str]:
    """As `_registers`, of the copy of C."""
    each = 2 if f.type == "f32" else 1
    index = t.let(f"add i64 {t.let(f'mul i64 {number}, {each}')}, {each * half}")
    first = t.let(f"getelementptr [{REGISTER} x i8], ptr %c, i64 {index}")
    return [at(t, first, REGISTER * k) for k in range(each)]


def _registers(t: Text, f: Fragment, first: int, number: str, half: int) -> list[str]:
    """Pointers to the registers of 8 rows of a sum: those of even and odd columns, or one with both."""
    each = 2 if f.type == "f32" else 1
    index = t.let(f"add i64 {t.let(f'mul i64 {number}, {each}')}, {first + each * half}")
    pointers = []
    for k in range(each):
        entry = t.let(f"getelementptr i32, ptr %table, i64 {t.let(f'add i64 {index}, {k}')}")
        offset = t.let(f"zext i32 {t.let(f'load i32, ptr {entry}')} to i64")
        pointers.append(t.let(f"getelementptr i8, ptr %ws, i64 {offset}"))
    return pointers


def _pass(
    t: Text, p: Product, cpu: Vectors, factors: tuple[str, str], d: list[list[str]], c: list[list[str]], rows: range
) -> None:
    """Some rows of 8 columns: all sums in registers."""
    n, height = cpu.lanes, p.a.rows
    sums = {row: _read(t, p.c.type, cpu, c[row // 8], row % 8) for row in rows}
    a, b = factors
    for k in range(_steps(p, cpu)):
        columns = [_four_columns(t, cpu, at(t, b, 32 * k + 16 * odd)) for odd in range(2)]
        for row in rows:
            if cpu.by_element:
                four = t.let(f"load <4 x float>, ptr {at(t, a, 4 * ((k & ~3) * height + 4 * row))}, align 16")
                left = shuffle(t, "float", 4, four, "poison", [k & 3] * 4)
            else:
                left = t.let(f"load <{n} x float>, ptr {at(t, a, 16 * (k * height + row))}, align {4 * n}")
            sums[row] = [_added(t, p, cpu, left, columns[odd], sums[row][odd]) for odd in range(2)]
    for row in rows:
        _write(t, p.d.type, cpu, d[row // 8], row % 8, sums[row])


def _four_columns(t: Text, cpu: Vectors, pointer: str) -> str:
    """Four columns of one k, for each row of a vector."""
    four = t.let(f"load <4 x float>, ptr {pointer}, align 16")
    return shuffle(t, "float", 4, four, "poison", [0, 1, 2, 3] * cpu.rows)


def _added(t: Text, p: Product, cpu: Vectors, a: str, b: str, c: str) -> str:
    if cpu.dots:
        return dot(t, a, b, c)
    if cpu.fused or p.a.type == "bf16":
        return fma(t, "float", cpu.lanes, a, b, c)
    vec = f"<{cpu.lanes} x float>"
    return t.let(f"fadd {vec} {t.let(f'fmul {vec} {a}, {b}')}, {c}")


def dot(t: Text, a: str, b: str, c: str) -> str:
    """The sums of 16 products of pairs of bf16."""
    vec, pairs = "<16 x float>", "<32 x bfloat>"
    a, b = (t.let(f"bitcast {vec} {x} to {pairs}") for x in (a, b))
    return t.call(vec, "llvm.x86.avx512bf16.dpbf16ps.512", [(vec, c), (pairs, a), (pairs, b)])


def _read(t: Text, type_: str, cpu: Vectors, registers: list[str], row: int) -> list[str]:
    """The even and the odd columns of some rows of a sum, as f32."""
    n = cpu.lanes
    if type_ == "f32":
        return [t.let(f"load <{n} x float>, ptr {at(t, r, 16 * row)}, align {4 * n}") for r in registers]
    both = t.let(f"load <{2 * n} x i16>, ptr {at(t, registers[0], 16 * row)}, align {4 * n}")
    some = [shuffle(t, "i16", 2 * n, both, "poison", range(odd, 2 * n, 2)) for odd in range(2)]
    return [widen(t, type_, n, x) for x in some]


def _write(t: Text, type_: str, cpu: Vectors, registers: list[str], row: int, sums: list[str]) -> None:
    """As `_read`, the other way round."""
    n = cpu.lanes
    parts = [narrow(t, type_, n, x) for x in sums]
    if type_ == "f16":
        low, high = (t.let(f"zext <{n} x i16> {part} to <{n} x i32>") for part in parts)
        parts = [t.let(f"or <{n} x i32> {low}, {t.let(f'shl <{n} x i32> {high}, splat (i32 16)')}")]
    for register, bits in zip(registers, parts, strict=True):
        t.do(f"store <{n} x i32> {bits}, ptr {at(t, register, 16 * row)}, align {4 * n}")
