"""Integer, bit and comparison instructions against Python's own integers, over every pair of edge values."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from isa_oracle import Wide, assert_same, lanes, pairs, run, signed

from ptxlab.emulate.program.lane_types import DTYPE
from ptxlab.isa import form, types
from ptxlab.isa.convert import unpack

WIDTHS = ("u16", "u32", "u64", "s16", "s32", "s64")
WIDE = ("u32", "u64", "s32", "s64")


def edges(type: str) -> list[int]:
    bits = types.width(type)
    rng = np.random.default_rng(bits)
    some = [0, 1, 2, 3, 7, bits - 1, bits, bits + 1, 0x55, 1 << (bits - 1), (1 << (bits - 1)) - 1, (1 << bits) - 1,
            (1 << bits) - 2, 1 << (bits // 2), 0xFF]  # fmt: skip
    return [*some, *(int(rng.integers(0, 1 << 62)) & ((1 << bits) - 1) for _ in range(6))]


def check(opcode: str, type: str, count: int, oracle: Callable[..., int], result: str = "") -> None:
    """Runs the instruction on every combination of edges; the oracle gets and gives plain integers."""
    sources = pairs(edges(type), count)
    want = [oracle(*(signed(type, x) for x in xs)) for xs in zip(*sources, strict=True)]
    got = run(opcode, *(lanes(type, s) for s in sources))
    assert_same(got, lanes(result or type, want), opcode, *sources)


def divided(a: int, b: int, type: str) -> int:
    if b == 0:
        return -1
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def remainder(a: int, b: int, type: str) -> int:
    return -1 if b == 0 else a - b * divided(a, b, type)


@pytest.mark.parametrize("type", WIDTHS)
def test_arithmetic(type: str) -> None:
    bits = types.width(type)
    check(f"add.{type}", type, 2, lambda a, b: a + b)
    check(f"sub.{type}", type, 2, lambda a, b: a - b)
    check(f"mul.lo.{type}", type, 2, lambda a, b: a * b)
    check(f"mul.hi.{type}", type, 2, lambda a, b: (a * b) >> bits)
    check(f"div.{type}", type, 2, lambda a, b: divided(a, b, type))
    check(f"rem.{type}", type, 2, lambda a, b: remainder(a, b, type))
    check(f"min.{type}", type, 2, min)
    check(f"max.{type}", type, 2, max)
    if types.is_signed(type):
        check(f"abs.{type}", type, 1, abs)
        check(f"neg.{type}", type, 1, lambda a: -a)


@pytest.mark.parametrize("type", ["u16", "u32", "s16", "s32"])
def test_wide_products(type: str) -> None:
    wide = f"{type[0]}{2 * types.width(type)}"
    check(f"mul.wide.{type}", type, 2, lambda a, b: a * b, wide)
    a, b = pairs(edges(type))
    c = [(5 * k << 13) - k for k in range(len(a))]
    want = [signed(type, x) * signed(type, y) + z for x, y, z in zip(a, b, c, strict=True)]
    assert_same(run(f"mad.wide.{type}", lanes(type, a), lanes(type, b), lanes(wide, c)), lanes(wide, want))


def three(opcode: str, type: str, oracle: Callable[[int, int, int], int]) -> None:
    a, b = pairs(edges(type))
    c = [edges(type)[k % len(edges(type))] for k in range(3, len(a) + 3)]
    want = [oracle(*(signed(type, x) for x in xs)) for xs in zip(a, b, c, strict=True)]
    assert_same(run(opcode, lanes(type, a), lanes(type, b), lanes(type, c)), lanes(type, want), opcode, a, b, c)


def clamp32(x: int) -> int:
    return max(-(1 << 31), min((1 << 31) - 1, x))


@pytest.mark.long
def test_three_operands_and_saturation() -> None:
    for type in WIDTHS:
        bits = types.width(type)
        three(f"mad.lo.{type}", type, lambda a, b, c: a * b + c)
        three(f"mad.hi.{type}", type, lambda a, b, c, bits=bits: (a * b >> bits) + c)  # type: ignore[misc]
        three(f"sad.{type}", type, lambda a, b, c: c + abs(a - b))
    check("add.sat.s32", "s32", 2, lambda a, b: clamp32(a + b))
    check("sub.sat.s32", "s32", 2, lambda a, b: clamp32(a - b))
    three("mad.hi.sat.s32", "s32", lambda a, b, c: clamp32((a * b >> 32) + c))


def low24(x: int, type: str) -> int:
    x &= 0xFFFFFF
    return x - (1 << 24) if type == "s32" and x >> 23 else x


@pytest.mark.parametrize("type", ["u32", "s32"])
def test_24_bit_products(type: str) -> None:
    check(f"mul24.lo.{type}", type, 2, lambda a, b: low24(a, type) * low24(b, type))
    check(f"mul24.hi.{type}", type, 2, lambda a, b: low24(a, type) * low24(b, type) >> 16)
    three(f"mad24.lo.{type}", type, lambda a, b, c: low24(a, type) * low24(b, type) + c)


@pytest.mark.parametrize("type", WIDE)
def test_carry_chains(type: str) -> None:
    bits = types.width(type)
    mask = (1 << bits) - 1
    a, b = pairs(edges(type))
    x, y = lanes(type, a), lanes(type, b)
    machine = Wide(len(a))
    low = run(f"add.cc.{type}", x, y, machine=machine)
    middle = run(f"addc.cc.{type}", y, x, machine=machine)
    high = run(f"addc.{type}", x, x, machine=machine)
    long = [p | q << bits | p << 2 * bits for p, q in zip(a, b, strict=True)]
    other = [q | p << bits | p << 2 * bits for p, q in zip(a, b, strict=True)]
    for k, part in enumerate((low, middle, high)):
        assert_same(part, lanes(type, [(p + q) >> k * bits & mask for p, q in zip(long, other, strict=True)]))
    low = run(f"sub.cc.{type}", x, y, machine=machine)
    middle = run(f"subc.cc.{type}", y, x, machine=machine)
    high = run(f"subc.{type}", x, x, machine=machine)
    for k, part in enumerate((low, middle, high)):
        assert_same(part, lanes(type, [(p - q) >> k * bits & mask for p, q in zip(long, other, strict=True)]))
    machine = Wide(len(a))
    low = run(f"mad.lo.cc.{type}", x, y, x, machine=machine)
    high = run(f"madc.hi.{type}", x, y, y, machine=machine)
    whole = [signed(type, p) * signed(type, q) + p + (signed(type, q) << bits) for p, q in zip(a, b, strict=True)]
    assert_same(low, lanes(type, [w & mask for w in whole]))
    assert_same(high, lanes(type, [w >> bits & mask for w in whole]))


def bfind(x: int, bits: int) -> int:
    return (x if x >= 0 else ~x).bit_length() - 1


def test_counting_bits() -> None:
    for type in ("b32", "b64"):
        bits = types.width(type)
        check(f"popc.{type}", type, 1, int.bit_count, "u32")
        check(f"clz.{type}", type, 1, lambda a, bits=bits: bits - a.bit_length(), "u32")  # type: ignore[misc]
        check(f"brev.{type}", type, 1, lambda a, bits=bits: int(f"{a:0{bits}b}"[::-1], 2))  # type: ignore[misc]
    for type in WIDE:
        bits = types.width(type)
        check(f"bfind.{type}", type, 1, lambda a, bits=bits: bfind(a, bits), "u32")  # type: ignore[misc]
        check(
            f"bfind.shiftamt.{type}",
            type,
            1,
            lambda a, bits=bits: -1 if bfind(a, bits) < 0 else bits - 1 - bfind(a, bits),
            "u32",
        )  # type: ignore[misc]


def field(a: int, position: int, length: int, type: str) -> int:
    """bfe by its definition, bit by bit; position and length are bytes where the field has 32 bits."""
    bits = types.width(type)
    if bits == 32:
        position, length = position & 255, length & 255
    sign = (a >> min(position + length - 1, bits - 1)) & 1 if type[0] == "s" and length else 0
    return sum((a >> position + k & 1 if k < length and position + k < bits else sign) << k for k in range(bits))


PLACES = [0, 1, 5, 8, 16, 31, 32, 33, 63, 64, 65, 255, 256]


@pytest.mark.parametrize("type", WIDE)
def test_bit_fields(type: str) -> None:
    grid = [(a, p, n) for a in edges(type) for p in PLACES for n in PLACES]
    a, p, n = (list(column) for column in zip(*grid, strict=True))
    x, position, length = lanes(type, a), lanes("u32", p), lanes("u32", n)
    assert_same(run(f"bfe.{type}", x, position, length), lanes(type, [field(*g, type) for g in grid]), a, p, n)
    bits = types.width(type)
    mask = (1 << bits) - 1

    def insert(a: int, p: int, n: int) -> int:
        p, n = (p & 255, n & 255) if bits == 32 else (p, n)
        ones = (1 << n) - 1 << p
        return ((0x5A5A5A5A5A5A5A5A & ~ones) | (a << p & ones)) & mask

    base = lanes(type, [0x5A5A5A5A5A5A5A5A] * len(a))
    assert_same(run(f"bfi.b{bits}", x, base, position, length), lanes(type, [insert(*g) for g in grid]), a, p, n)


def test_masks_and_extension() -> None:
    grid = [(a, b) for a in PLACES for b in PLACES]
    a, b = (lanes("u32", column) for column in zip(*grid, strict=True))

    def mask(a: int, b: int) -> int:
        return sum(1 << k for k in range(32) if a <= k < a + b)

    assert_same(run("bmsk.clamp.b32", a, b), lanes("u32", [mask(x, y) for x, y in grid]))
    assert_same(run("bmsk.wrap.b32", a, b), lanes("u32", [mask(x & 31, y & 31) for x, y in grid]))

    def extended(x: int, n: int, type: str) -> int:
        low = x & ((1 << n) - 1)
        return low - (1 << n) if type == "s32" and 0 < n and low >> (n - 1) else low

    for type in ("u32", "s32"):
        grid = [(x, n) for x in edges("u32") for n in PLACES]
        x, n = (lanes("u32", column) for column in zip(*grid, strict=True))
        assert_same(run(f"szext.clamp.{type}", x, n), lanes(type, [extended(p, min(q, 32), type) for p, q in grid]))
        assert_same(run(f"szext.wrap.{type}", x, n), lanes(type, [extended(p, q & 31, type) for p, q in grid]))


def nth_set(mask: int, base: int, offset: int) -> int:
    """fns as the manual's loop has it."""
    if offset == 0:
        return base if base < 32 and mask >> base & 1 else -1
    step, left, position = (1, offset, base) if offset > 0 else (-1, -offset, base)
    while 0 <= position < 32:
        left -= mask >> position & 1
        if left == 0:
            return position
        position += step
    return -1


def test_nth_set_bit() -> None:
    grid = [(m, b, o) for m in (0, 1, 0xF0F0F0F0, 0xFFFFFFFF, 0x80000001) for b in PLACES[1:8] for o in range(-5, 6)]
    mask, base, offset = (lanes("u32", column) for column in zip(*grid, strict=True))
    assert_same(run("fns.b32", mask, base, offset), lanes("u32", [nth_set(*g) for g in grid]), grid)


def test_small_dot_products() -> None:
    rng = np.random.default_rng(4)
    a, b, c = (rng.integers(0, 1 << 32, 64, np.uint32) for _ in range(3))
    for left in ("u32", "s32"):
        for right in ("u32", "s32"):
            x = a.view(np.int8 if left == "s32" else np.uint8).reshape(-1, 4).astype(np.int64)
            y = b.view(np.int8 if right == "s32" else np.uint8).reshape(-1, 4).astype(np.int64)
            want = (c + (x * y).sum(1)).astype(np.uint32)
            assert_same(run(f"dp4a.{left}.{right}", a, b, c), want)
            halves = a.view(np.int16 if left == "s32" else np.uint16).reshape(-1, 2).astype(np.int64)
            for mode, part in (("lo", y[:, :2]), ("hi", y[:, 2:])):
                want = (c + (halves * part).sum(1)).astype(np.uint32)
                assert_same(run(f"dp2a.{mode}.{left}.{right}", a, b, c), want)


def test_pairs_of_16_bit_integers() -> None:
    rng = np.random.default_rng(5)
    a, b = (rng.integers(0, 1 << 32, 64, np.uint32) for _ in range(2))
    for type, dtype in (("u16x2", np.uint16), ("s16x2", np.int16)):
        x, y = a.view(dtype), b.view(dtype)
        for name, want in (("add", x + y), ("min", np.minimum(x, y)), ("max", np.maximum(x, y))):
            assert_same(run(f"{name}.{type}", a, b), want.astype(dtype).view(np.uint32), name)
    want = np.maximum(np.minimum(a.view(np.int16), b.view(np.int16)), 0).view(np.uint32)
    assert_same(run("min.relu.s16x2", a, b), want)


# -- bits --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("type", ["b16", "b32", "b64"])
def test_logic_and_shifts(type: str) -> None:
    bits = types.width(type)
    mask = (1 << bits) - 1
    check(f"and.{type}", type, 2, lambda a, b: a & b)
    check(f"or.{type}", type, 2, lambda a, b: a | b)
    check(f"xor.{type}", type, 2, lambda a, b: a ^ b)
    check(f"not.{type}", type, 1, lambda a: a ^ mask)
    check(f"cnot.{type}", type, 1, lambda a: int(a == 0))
    grid = [(a, n) for a in edges(type) for n in [*PLACES, 0xFFFFFFFF]]
    a, n = lanes(type, [g[0] for g in grid]), lanes("u32", [g[1] for g in grid])
    assert_same(run(f"shl.{type}", a, n), lanes(type, [x << min(k, bits) for x, k in grid]))
    assert_same(run(f"shr.{type}", a, n), lanes(type, [x >> min(k, bits) for x, k in grid]))
    want = [signed(f"s{bits}", x) >> min(k, bits) for x, k in grid]
    assert_same(run(f"shr.s{bits}", a, n), lanes(type, want))


def test_predicate_logic() -> None:
    a, b = np.array([0, 0, 1, 1], bool), np.array([0, 1, 0, 1], bool)
    assert_same(run("and.pred", a, b), a & b)
    assert_same(run("or.pred", a, b), a | b)
    assert_same(run("xor.pred", a, b), a ^ b)
    assert_same(run("not.pred", a), ~a)


def test_every_table_of_lop3() -> None:
    a, b, c = (lanes("b32", [word]) for word in (0xF0, 0xCC, 0xAA))
    for table in range(256):
        assert int(run("lop3.b32", a, b, c, table)[0]) & 0xFF == table
    d, p = run("lop3.or.b32", a, b, c, 0x80, np.array([False]))
    assert bool(p[0]) == bool(d[0])


def test_funnel_shifts() -> None:
    grid = [(a, b, n) for a in edges("b32")[:8] for b in edges("b32")[8:] for n in PLACES]
    a, b, c = (lanes("u32", column) for column in zip(*grid, strict=True))
    for mode, amount in (("clamp", lambda n: min(n, 32)), ("wrap", lambda n: n & 31)):
        left = [((y << 32 | x) << amount(n)) >> 32 & 0xFFFFFFFF for x, y, n in grid]
        right = [(y << 32 | x) >> amount(n) & 0xFFFFFFFF for x, y, n in grid]
        assert_same(run(f"shf.l.{mode}.b32", a, b, c), lanes("u32", left))
        assert_same(run(f"shf.r.{mode}.b32", a, b, c), lanes("u32", right))


def test_byte_permutations() -> None:
    a, b = 0x83828180, 0x07868504
    source = a | b << 32
    selectors = [0x3210, 0x7654, 0x0000, 0xBA98, 0xFEDC, 0x1357, 0x8F71]

    def pick(selector: int) -> int:
        out = 0
        for k in range(4):
            nibble = selector >> 4 * k & 15
            byte = source >> 8 * (nibble & 7) & 0xFF
            out |= (0xFF * (byte >> 7) if nibble & 8 else byte) << 8 * k
        return out

    x, y = lanes("b32", [a] * len(selectors)), lanes("b32", [b] * len(selectors))
    assert_same(run("prmt.b32", x, y, lanes("b32", selectors)), lanes("b32", [pick(s) for s in selectors]))
    # the modes, for c = 0..3, as the manual's table lists the bytes from the highest to the lowest
    modes = {
        "f4e": ("3210", "4321", "5432", "6543"),
        "b4e": ("5670", "6701", "7012", "0123"),
        "rc8": ("0000", "1111", "2222", "3333"),
        "ecl": ("3210", "3211", "3222", "3333"),
        "ecr": ("0000", "1110", "2210", "3210"),
        "rc16": ("1010", "3232", "1010", "3232"),
    }
    four = lanes("b32", range(4))
    for mode, rows in modes.items():
        got = run(f"prmt.b32.{mode}", lanes("b32", [a] * 4), lanes("b32", [b] * 4), four)
        assert_same(got, lanes("b32", [pick(int(row, 16)) for row in rows]), mode)


# -- comparison --------------------------------------------------------------------------------------------------------

ORDERED = {
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b,
}


@pytest.mark.parametrize("type", WIDTHS)
def test_integer_comparisons(type: str) -> None:
    a, b = pairs(edges(type))
    x, y = lanes(type, a), lanes(type, b)
    unsigned = {"lo": "lt", "ls": "le", "hi": "gt", "hs": "ge"}
    for cmp in [*ORDERED, *(unsigned if type[0] == "u" else ())]:
        test = ORDERED[unsigned.get(cmp, cmp)]
        want = np.array([test(signed(type, p), signed(type, q)) for p, q in zip(a, b, strict=True)])
        p, q = run(f"setp.{cmp}.{type}", x, y)
        assert_same(p, want, cmp)
        assert_same(q, ~want, cmp)
        assert_same(run(f"set.{cmp}.u32.{type}", x, y), np.where(want, np.uint32(0xFFFFFFFF), np.uint32(0)))
        assert_same(run(f"set.{cmp}.f32.{type}", x, y), want.astype(np.float32))


@pytest.mark.parametrize("type", ["f32", "f64"])
def test_float_comparisons(type: str) -> None:
    a, b = pairs([0.0, -0.0, 1.0, -1.0, 1e-40, math.inf, -math.inf, math.nan])
    x, y = lanes(type, a), lanes(type, b)
    nan = np.isnan(x) | np.isnan(y)
    for cmp, test in ORDERED.items():
        plain = np.array([test(p, q) for p, q in zip(x, y, strict=True)])
        assert_same(run(f"setp.{cmp}.{type}", x, y)[0], plain & ~nan, cmp)
        assert_same(run(f"setp.{cmp}u.{type}", x, y)[0], plain | nan, cmp)
    assert_same(run(f"setp.num.{type}", x, y)[0], ~nan)
    assert_same(run(f"setp.nan.{type}", x, y)[0], nan)
    if type == "f32":
        tiny, zero = lanes("f32", [1e-40]), lanes("f32", [0.0])
        assert run("setp.eq.ftz.f32", tiny, zero)[0][0]
        assert not run("setp.eq.f32", tiny, zero)[0][0]


def test_combined_comparisons() -> None:
    a, b = lanes("s32", [1, 1, 2, 2]), lanes("s32", [2, 2, 1, 1])
    c = np.array([0, 1, 0, 1], bool)
    t = np.array([1, 1, 0, 0], bool)
    for name, join in (("and", np.logical_and), ("or", np.logical_or), ("xor", np.logical_xor)):
        p, q = run(f"setp.lt.{name}.s32", a, b, c)
        assert_same(p, join(t, c), name)
        assert_same(q, join(~t, c), name)


def test_selection() -> None:
    a, b = lanes("b32", [1, 2, 3, 4]), lanes("b32", [5, 6, 7, 8])
    assert_same(run("selp.b32", a, b, np.array([1, 0, 1, 0], bool)), lanes("b32", [1, 6, 3, 8]))
    assert_same(run("slct.b32.s32", a, b, lanes("s32", [0, -1, 5, -5])), lanes("b32", [1, 6, 3, 8]))
    assert_same(run("slct.b32.f32", a, b, lanes("f32", [-0.0, -1.0, 5.0, math.nan])), lanes("b32", [1, 6, 3, 8]))


def test_moves_pack_and_unpack() -> None:
    machine, mov = Wide(1), form("mov.b64")
    assert mov.op.sem is not None
    packed = mov.op.sem(machine, mov, (lanes("b32", [0x11223344]), lanes("b32", [0x55667788])))
    assert packed.dtype == DTYPE["i64"]
    assert int(packed[0]) == 0x5566778811223344
    assert [int(p[0]) for p in unpack(machine, "b64", 4, packed)] == [0x3344, 0x1122, 0x7788, 0x5566]
