"""Matrix products as LLVM functions, one for each form: `f(ptr %ws, ptr %table)`, the registers of d, a, b and c.

`ptxlab.emulate.step.matrix` describes how numbers are computed; both engines agree to the last bit. Kinds of code:

- `_general` follows the fragments: for each k it arranges one column of A and one row of B over the lanes like the
  fragment of the sum, and multiplies. It serves every form; for a sparse A with factors from
  `ptxlab.emulate.jit.packed`.
- `_words` does the same with whole words, for elements smaller than a byte.
- `_halves`, for f16 and bf16, keeps B as f32 in memory, from where rows of 4 come as broadcasts, and A in registers,
  where a broadcast stays within 128 bits. A register of A or B is by itself a dense 8x8 matrix.
- `_dot_products`, for bf16 on a CPU that has vdpbf16ps. That instruction is two fused multiply-adds, but it treats
  subnormal numbers as zero; so the function first checks whether any could occur, and if so `_halves` runs.
  It has a third argument, i32: 1 if A is that of the product before, 2 if C is the sum of earlier products, 4 if there
  was no product before, all within a basic block. Operands known to have no subnormal numbers are not checked again.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ptxlab.emulate.jit.fragments import function, load, shuffle, slot, store
from ptxlab.emulate.jit.irtext import Text, W
from ptxlab.emulate.jit.numbers import bits, dot, fma, narrow, widen
from ptxlab.emulate.jit.packed import Operand, PackedProducts
from ptxlab.emulate.runtime import state as S
from ptxlab.isa.fragments import Fragment, Product, words
from ptxlab.isa.sparse import Metadata

H = 16
"""Lanes in half a warp: the number of f32 elements of a vector in f16 and bf16 products, a 512-bit register."""


def product_function(
    name: str, p: Product, declared: set[str], satfinite: bool, features: str, metadata: Metadata | None = None
) -> str:
    """The text of the function; intrinsics that it calls are added to `declared`. features: the CPU's, as LLVM writes
    them; metadata: where a sparse product has it."""
    t = Text()
    t.declared = declared
    if metadata is not None:
        _general(t, p, satfinite, PackedProducts(t, p, metadata))
    elif p.a.type in ("f16", "bf16") and p.a.columns >= 8:  # not the four matrices of m8n8k4
        if has_dots(p, features):
            _dot_products(t, p)
        _halves(t, p)
    elif p.a.bits < 8:
        _words(t, p, satfinite)
    else:
        _general(t, p, satfinite)
    return function(t, name, ", i32 %known" if has_dots(p, features) else "")


def has_dots(p: Product, features: str) -> bool:
    """Whether a product may be made by vdpbf16ps."""
    return p.a.type == "bf16" and not p.packed and "+avx512bf16" in features


# -- any form ----------------------------------------------------------------------------------------------------------


def _operands(t: Text, p: Product, a: Fragment, b: Fragment) -> Iterator[Operand]:
    """A and B, as these fragments, and C: their registers follow those of D."""
    first = p.d.registers
    for f in (a, b, p.c):
        yield Operand(t, f, first, numbers=True)
        first += f.registers


def _general(t: Text, p: Product, satfinite: bool, packed: PackedProducts | None = None) -> None:
    a, b, c = _operands(t, p, p.a, p.b)
    spots = [(r, q) for r in range(p.d.registers) for q in range(p.d.packed)]
    start = {s: c.at(p.d.row[s], p.d.column[s]) for s in spots}
    integer = p.d.type == "s32"
    total = dict.fromkeys(spots, "zeroinitializer") if integer else dict(start)
    ty = "double" if p.d.type == "f64" else "float"
    for k in range(p.a.columns):
        for s in spots:
            if packed is not None:
                left, right = packed.factors(k, p.d.row[s], p.d.column[s])
            else:
                left, right = a.at(p.d.row[s], np.full(W, k)), b.at(np.full(W, k), p.d.column[s])
            if integer:
                part = t.let(f"mul <{W} x i32> {left}, {right}")
                total[s] = t.let(f"add <{W} x i32> {total[s]}, {part}")
            else:
                total[s] = fma(t, ty, W, left, right, total[s])
    if integer:
        total = {s: _add(t, start[s], total[s], satfinite) for s in spots}
    for r in range(p.d.registers):
        parts = [narrow(t, p.d.type, W, total[r, q]) for q in range(p.d.packed)]
        _put(t, p.d, r, parts)


def _words(t: Text, p: Product, satfinite: bool) -> None:
    """Elements smaller than a byte: words are arranged over the lanes, and unpacked there."""
    a, b, c = _operands(t, p, words(p.a), words(p.b))
    for r in range(p.d.registers):
        row, column = p.d.row[r, 0], p.d.column[r, 0]
        along = [np.full(W, k) for k in range(p.a.columns // p.a.packed)]
        total = dot(t, p, [(a.at(row, k), b.at(k, column)) for k in along])
        store(t, r, "i32", W, _add(t, c.at(row, column), total, satfinite))


def _add(t: Text, a: str, b: str, satfinite: bool) -> str:
    """c plus the sum of the products, which by itself fits in an s32."""
    vec = f"<{W} x i32>"
    if satfinite:
        return t.call(vec, f"llvm.sadd.sat.v{W}i32", [(vec, a), (vec, b)])
    return t.let(f"add {vec} {a}, {b}")


def _put(t: Text, f: Fragment, register: int, parts: list[str]) -> None:
    """Writes a register of the result: one or two elements per lane."""
    if len(parts) == 1:
        store(t, register, bits(f), W, parts[0])
        return
    low, high = (t.let(f"zext <{W} x i16> {part} to <{W} x i32>") for part in parts)
    high = t.let(f"shl <{W} x i32> {high}, splat (i32 16)")
    store(t, register, "i32", W, t.let(f"or <{W} x i32> {low}, {high}"))


# -- f16 and bf16 ------------------------------------------------------------------------------------------------------

_A_ORDER: dict[str, list[list[int]]] = {
    "f16": [[0, 1, 2, 3], [4, 5, 6, 7]],
    "bf16": [[0, 2, 4, 6], [1, 3, 5, 7]],
}
"""Which of 8 neighbours along k the two f32 vectors hold that a register of A is widened to."""


def _halves(t: Text, p: Product) -> None:
    tall = min(2, p.a.rows // 8)
    tops, lefts, blocks = max(1, p.a.rows // 16), p.b.columns // 8, p.a.columns // 8
    at_a = p.d.registers
    at_b = at_a + p.a.registers
    at_c = at_b + p.b.registers
    t.do(f"%b = alloca [{lefts * p.a.columns * 8} x float], align 64")
    for left in range(lefts):
        for block in range(blocks):
            _spill_b(t, p.b.type, at_b + left * blocks + block, (left * p.a.columns + 8 * block) * 32)
    t.do('fence syncscope("singlethread") acq_rel')  # makes what follows read memory instead of shuffling again
    totals: dict[tuple[int, ...], str] = {}
    for top in range(tops):
        total = {}
        for left in range(lefts):
            for h in range(tall):
                for q, z, value in _read_c(t, p.c, at_c, (top * lefts + left) * tall + h):
                    total[left, h, q, z] = value
        for block in range(blocks):
            a = [_widen_a(t, p.a.type, at_a + (top * blocks + block) * tall + h) for h in range(tall)]
            for k in range(8):
                part = next(i for i, ks in enumerate(_A_ORDER[p.a.type]) if k in ks)
                kk = _A_ORDER[p.a.type][part].index(k)
                spread = [r * 4 + kk for r in range(4) for _ in range(4)]
                ab = {
                    (h, z): shuffle(t, "float", H, a[h][part][z], "poison", spread)
                    for h in range(tall)
                    for z in range(2)
                }
                for left in range(lefts):
                    for q in range(2):
                        row = _row_of_b(t, ((left * p.a.columns + 8 * block + k) * 2 + q) * 16)
                        for h, z in ab:
                            total[left, h, q, z] = fma(t, "float", H, ab[h, z], row, total[left, h, q, z])
        totals |= {(top, *key): value for key, value in total.items()}
    _write_halves(t, p, totals, (tops, lefts, tall))


_LEAST_A, _LEAST_B, _LEAST_C = 42, 100, 24
"""Biased exponents. With factors of 2**(42 - 127) and 2**(100 - 127) or more, 8 bits each, products are multiples of
2**-126; so is a c of 2**(24 - 127) or more, and so are then all sums: none of them is subnormal."""


def _dot_products(t: Text, p: Product) -> None:
    """The whole product by vdpbf16ps, and a return, if no subnormal number can occur; else the code that follows.

    The result is again a multiple of 2**-126, so that as C of the next product it need not be checked."""
    tall = min(2, p.a.rows // 8)
    tops, lefts, blocks = max(1, p.a.rows // 16), p.b.columns // 8, p.a.columns // 8
    at_b = p.d.registers + p.a.registers
    at_c = at_b + p.b.registers
    a = [_both(t, p.d.registers + k) for k in range(p.a.registers)]
    b = [_both(t, at_b + k) for k in range(p.b.registers)]
    c = [_both(t, at_c + k) for k in range(p.c.registers)]
    all_dot = t.field(S.Warp, "all_dot")
    first = t.let(f"icmp ne i32 {t.let('and i32 %known, 4')}, 0")
    so_far = t.let(f"select i1 {first}, i32 3, i32 {t.let(f'load i32, ptr {all_dot}')}")
    sure = t.let(f"and i32 %known, {so_far}")  # 1: A is known to be good, 2: C is
    t.do(f"br i1 {_none_below(t, 'i16', b, _LEAST_B << 8)}, label %good.b, label %bad")
    for bit, name, ty, some, least, then in (
        (1, "b", "i16", a, _LEAST_A << 8, "a"),
        (2, "a", "i32", c, _LEAST_C << 24, "c"),
    ):
        t.at(f"good.{name}")
        known = t.let(f"icmp ne i32 {t.let(f'and i32 {sure}, {bit}')}, 0")
        t.do(f"br i1 {known}, label %good.{then}, label %look.{then}")
        t.at(f"look.{then}")
        t.do(f"br i1 {_none_below(t, ty, some, least)}, label %good.{then}, label %bad")
    t.at("bad")
    t.do(f"store i32 0, ptr {all_dot}")
    t.do("br label %exact")
    t.at("good.c")
    t.do(f"store i32 {so_far}, ptr {all_dot}")
    # the upper half of a pair is multiplied first
    a, b = ([[_swapped(t, x) for x in pair] for pair in some] for some in (a, b))
    vec = f"<{H} x float>"
    totals: dict[tuple[int, ...], str] = {}
    for top, left, h, q, z in np.ndindex(tops, lefts, tall, 2, 2):
        held = c[2 * ((top * lefts + left) * tall + h) + q][z]
        totals[top, left, h, q, z] = t.let(f"bitcast <{H} x i32> {held} to {vec}")
    for top, block, k in np.ndindex(tops, blocks, 4):
        for left in range(lefts):
            low, high = b[left * blocks + block]
            rows = [_pairs(t, low, high, [(2 * column + q) * 4 + k for column in range(4)] * 4) for q in range(2)]
            for h, z, q in np.ndindex(tall, 2, 2):
                held = a[(top * blocks + block) * tall + h][z]
                spread = _pairs(t, held, "poison", [r * 4 + k for r in range(4) for _ in range(4)])
                key = (top, left, h, q, z)
                totals[key] = t.call(vec, "llvm.x86.avx512bf16.dpbf16ps.512", [
                    (vec, totals[key]), (f"<{W} x bfloat>", spread), (f"<{W} x bfloat>", rows[q]),
                ])  # fmt: skip
    _write_halves(t, p, totals, (tops, lefts, tall))
    t.do("ret void")
    t.at("exact")


def _both(t: Text, register: int, vec: str = f"<{H} x i32>") -> list[str]:
    """A register as the two halves of the warp, each a vector of 64 bytes."""
    where = slot(t, register)
    spots = [t.let(f"getelementptr i8, ptr {where}, i64 {64 * z}") for z in range(2)]
    return [t.let(f"load {vec}, ptr {p}, align 64") for p in spots]


def _none_below(t: Text, ty: str, registers: list[list[str]], least: int) -> str:
    """i1: whether every element but zeros is at least `least` (its bits without the sign, shifted left by one)."""
    n = H * 32 // int(ty[1:])
    vec, found = f"<{n} x {ty}>", ""
    for x in (half for register in registers for half in register):
        bits = x if ty == "i32" else t.let(f"bitcast <{H} x i32> {x} to {vec}")
        size = t.let(f"add {vec} {t.let(f'add {vec} {bits}, {bits}')}, splat ({ty} -1)")  # zero becomes the largest
        found = size if not found else t.call(vec, f"llvm.umin.v{n}{ty}", [(vec, found), (vec, size)])
    below = t.let(f"icmp ult {vec} {found}, splat ({ty} {least - 1})")
    return t.let(f"icmp eq i{n} {t.let(f'bitcast <{n} x i1> {below} to i{n}')}, 0")


def _swapped(t: Text, x: str) -> str:
    vec = f"<{H} x i32>"
    return t.call(vec, f"llvm.fshl.v{H}i32", [(vec, x), (vec, x), (vec, "splat (i32 16)")])


def _pairs(t: Text, low: str, high: str, indices: list[int]) -> str:
    picked = shuffle(t, "i32", H, low, high, indices)
    return t.let(f"bitcast <{H} x i32> {picked} to <{W} x bfloat>")


def _write_halves(t: Text, p: Product, totals: dict[tuple[int, ...], str], extent: tuple[int, int, int]) -> None:
    tops, lefts, tall = extent
    for top, left, h in np.ndindex(tops, lefts, tall):
        number = (top * lefts + left) * tall + h
        parts = []
        for q in range(2):
            bits = [narrow(t, p.d.type, H, totals[top, left, h, q, z]) for z in range(2)]
            if p.d.type == "f32":
                where = slot(t, 2 * number + q)
                for z in range(2):
                    spot = t.let(f"getelementptr i8, ptr {where}, i64 {64 * z}")
                    t.do(f"store <{H} x i32> {bits[z]}, ptr {spot}, align 64")
            else:
                parts.append(shuffle(t, "i16", H, bits[0], bits[1], range(W)))
        if parts:
            _put(t, p.d, number, parts)


def _spill_b(t: Text, type_: str, register: int, offset: int) -> None:
    """A register of B (8 along k, 8 columns) into `%b` as f32: for each k four even columns, then four odd ones."""
    both = load(t, register, "i16", 2 * W)
    for k in range(0, 8, 2):
        some = [(2 * c + odd) * 8 + k + i for i in range(2) for odd in range(2) for c in range(4)]
        wide = widen(t, type_, H, shuffle(t, "i16", 2 * W, both, "poison", some))
        p = t.let(f"getelementptr i8, ptr %b, i64 {offset + 32 * k}")
        t.do(f"store <{H} x float> {wide}, ptr {p}, align 64")


def _row_of_b(t: Text, offset: int) -> str:
    """Four columns of one k, four times over."""
    p = t.let(f"getelementptr i8, ptr %b, i64 {offset}")
    four = t.let(f"load <4 x float>, ptr {p}, align 16")
    return shuffle(t, "float", 4, four, "poison", [0, 1, 2, 3] * 4)


def _widen_a(t: Text, type_: str, register: int) -> list[list[str]]:
    """A register of A as f32: for both parts of `_A_ORDER` and both halves of the warp, 4 rows of 4."""
    out: list[list[str]] = [[], []]
    if type_ == "f16":
        for x in _both(t, register, f"<{W} x i16>"):
            for part in range(2):
                some = [r * 8 + k for r in range(4) for k in _A_ORDER[type_][part]]
                out[part].append(widen(t, type_, H, shuffle(t, "i16", W, x, "poison", some)))
        return out
    for x in _both(t, register):
        even, odd = t.let(f"shl <{H} x i32> {x}, splat (i32 16)"), t.let(f"and <{H} x i32> {x}, splat (i32 -65536)")
        out[0].append(t.let(f"bitcast <{H} x i32> {even} to <{H} x float>"))
        out[1].append(t.let(f"bitcast <{H} x i32> {odd} to <{H} x float>"))
    return out


def _read_c(t: Text, f: Fragment, first: int, number: int) -> list[tuple[int, int, str]]:
    """Eight rows and columns of C as f32: (odd column, half of the warp, vector)."""
    if f.type == "f32":
        halves = [_both(t, first + 2 * number + q, f"<{H} x float>") for q in range(2)]
    else:
        both = load(t, first + number, "i16", 2 * W)
        some = [[[2 * lane + q for lane in range(H * z, H * z + H)] for z in range(2)] for q in range(2)]
        halves = [[widen(t, f.type, H, shuffle(t, "i16", 2 * W, both, "poison", x)) for x in xs] for xs in some]
    return [(q, z, halves[q][z]) for q in range(2) for z in range(2)]
