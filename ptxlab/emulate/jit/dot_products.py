"""Products of bf16 matrices on a CPU that has vdpbf16ps, which adds the products of two pairs of numbers to an f32 sum.

That is two fused multiply-adds, but subnormal numbers count as zero. So it is used where none can occur: operands are
looked at when they are brought into the form that it wants, sums before something is added to them, unless they come
from earlier products of this kind. Otherwise the product of `ptxlab.emulate.jit.half_products` runs.

The instruction begins with the upper half of a pair. Where a wide A or B has numbers there, it has pairs of neighbours
along k here, the first of them above. After the pairs stands whether no element is too small.
"""

from __future__ import annotations

from dataclasses import replace

from ptxlab.emulate.jit import half_products
from ptxlab.emulate.jit.fragments import shuffle, slot
from ptxlab.emulate.jit.half_products import EVEN_FIRST, Vectors, at, wide_a_bytes, wide_b_bytes
from ptxlab.emulate.jit.irtext import Text
from ptxlab.emulate.runtime import state as S
from ptxlab.isa.fragments import Fragment, Product

VEC = "<16 x i32>"
FLAG = 64
"""Bytes after the pairs."""

_LEAST_A, _LEAST_B, _LEAST_C = 42, 100, 24
"""Biased exponents. With factors of 2**(42 - 127) and 2**(100 - 127) or more, 8 bits each, products are multiples of
2**-126; so is a c of 2**(24 - 127) or more, and so are then all sums: none of them is subnormal."""


def pairs_a_bytes(f: Fragment) -> int:
    return wide_a_bytes(f) // 2 + FLAG


def pairs_b_bytes(f: Fragment) -> int:
    return wide_b_bytes(f) // 2 + FLAG


def pairing_a(name: str, f: Fragment, declared: set[str]) -> str:
    """As `half_products.widening_a`."""
    t, held = Text(), []
    t.declared = declared
    tall, blocks = min(2, f.rows // 8), f.columns // 8
    for top in range(max(1, f.rows // 16)):
        for block in range(blocks):
            for half in range(tall):
                for z, four_rows in enumerate(_both(t, (top * blocks + block) * tall + half)):
                    held.append(four_rows)
                    swapped = _swapped(t, four_rows)
                    for k in range(4):
                        spread = shuffle(t, "i32", 16, swapped, "poison", [4 * r + k for r in range(4) for _ in "even"])
                        offset = 16 * ((4 * block + k) * f.rows + 16 * top + 8 * half + 4 * z)
                        t.do(f"store {VEC} {spread}, ptr {at(t, '%wide', offset)}, align 64")
    _note(t, pairs_a_bytes(f), _none_below(t, "i16", held, _LEAST_A << 8))
    return half_products.function(t, name, "ptr %wide")


def pairing_b(name: str, f: Fragment, declared: set[str]) -> str:
    """As `half_products.widening_b`."""
    t, held = Text(), []
    t.declared = declared
    blocks = f.rows // 8
    for left in range(f.columns // 8):
        for block in range(blocks):
            low, high = _both(t, left * blocks + block)
            held += [low, high]
            low, high = _swapped(t, low), _swapped(t, high)
            for k in (0, 2):
                two = shuffle(t, "i32", 16, low, high, [4 * c + k + i for i in range(2) for c in EVEN_FIRST])
                where = at(t, "%wide", 32 * (left * f.rows // 2 + 4 * block + k))
                t.do(f"store {VEC} {two}, ptr {where}, align 64")
    _note(t, pairs_b_bytes(f), _none_below(t, "i16", held, _LEAST_B << 8))
    return half_products.function(t, name, "ptr %wide")


def _note(t: Text, size: int, good: str) -> None:
    t.do(f"store i32 {t.let(f'zext i1 {good} to i32')}, ptr {at(t, '%wide', size - FLAG)}, align 64")


def product(
    name: str, p: Product, cpu: Vectors, declared: set[str], widening: tuple[str, str], *, crossed: bool
) -> str:
    """`f(ptr %ws, ptr %table, ptr %a, ptr %b, i32 %known)`, as `half_products.product`; known: 2 if C is the sum of
    earlier products, 4 if there was none, both within a basic block. widening: the functions for A and B as f32."""
    parts = [
        half_products.product(f"{name}_pairs", p, cpu, declared, crossed=crossed),
        half_products.product(f"{name}_exact", p, replace(cpu, dots=False), declared, crossed=crossed),
    ]
    t = Text()
    t.declared = declared
    t.do(f"%wide.a = alloca [{wide_a_bytes(p.a)} x i8], align 64")
    t.do(f"%wide.b = alloca [{wide_b_bytes(p.b)} x i8], align 64")
    all_dot = t.field(S.Warp, "all_dot")
    first = t.let(f"icmp ne i32 {t.let('and i32 %known, 4')}, 0")
    so_far = t.let(f"select i1 {first}, i32 1, i32 {t.let(f'load i32, ptr {all_dot}')}")
    flags = [
        t.let(f"load i32, ptr {at(t, pointer, size - FLAG)}, align 64")
        for pointer, size in (("%a", pairs_a_bytes(p.a)), ("%b", pairs_b_bytes(p.b)))
    ]
    both = t.let(f"icmp ne i32 {t.let('and i32 ' + ', '.join(flags))}, 0")
    t.do(f"br i1 {both}, label %good, label %bad")
    t.at("good")
    known = t.let(f"and i32 {t.let('lshr i32 %known, 1')}, {so_far}")
    t.do(f"br i1 {t.let(f'trunc i32 {known} to i1')}, label %pairs, label %look")
    t.at("look")
    at_c = p.d.registers + p.a.registers + p.b.registers
    c = [x for k in range(p.c.registers) for x in _both(t, at_c + k)]
    t.do(f"br i1 {_none_below(t, 'i32', c, _LEAST_C << 24)}, label %pairs, label %bad")
    t.at("pairs")
    t.do(f"store i32 {so_far}, ptr {all_dot}")
    t.do(f"call void @{name}_pairs(ptr %ws, ptr %table, ptr %a, ptr %b)")
    t.do("ret void")
    t.at("bad")
    t.do(f"store i32 0, ptr {all_dot}")
    at_a = p.d.registers
    for which, function, registers in (("a", widening[0], at_a), ("b", widening[1], at_a + p.a.registers)):
        table = t.let(f"getelementptr i32, ptr %table, i64 {registers}")
        t.do(f"call void @{function}(ptr %ws, ptr {table}, ptr %wide.{which})")
    t.do(f"call void @{name}_exact(ptr %ws, ptr %table, ptr %wide.a, ptr %wide.b)")
    return "".join([*parts, half_products.function(t, name, "ptr %a, ptr %b, i32 %known")])


def _both(t: Text, register: int) -> list[str]:
    """A register as the two halves of the warp, each a vector of 64 bytes."""
    where = slot(t, register)
    return [t.let(f"load {VEC}, ptr {at(t, where, 64 * z)}, align 64") for z in range(2)]


def _none_below(t: Text, ty: str, registers: list[str], least: int) -> str:
    """i1: whether every element but zeros is at least `least` (its bits without the sign, shifted left by one)."""
    n = 16 * 32 // int(ty[1:])
    vec, found = f"<{n} x {ty}>", ""
    for x in registers:
        bits = x if ty == "i32" else t.let(f"bitcast {VEC} {x} to {vec}")
        size = t.let(f"add {vec} {t.let(f'add {vec} {bits}, {bits}')}, splat ({ty} -1)")  # zero becomes the largest
        found = size if not found else t.call(vec, f"llvm.umin.v{n}{ty}", [(vec, found), (vec, size)])
    below = t.let(f"icmp ult {vec} {found}, splat ({ty} {least - 1})")
    return t.let(f"icmp eq i{n} {t.let(f'bitcast <{n} x i1> {below} to i{n}')}, 0")


def _swapped(t: Text, x: str) -> str:
    return t.call(VEC, "llvm.fshl.v16i32", [(VEC, x), (VEC, x), (VEC, "splat (i32 16)")])
