"""cvt against exact rounding: every pair of integer and floating-point types, in every mode, over edge values."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from isa_oracle import FORMATS, assert_same, lanes, round_exact, run, signed

from ptxlab.isa import find_form, form, types

INTEGERS = ("u8", "u16", "u32", "u64", "s8", "s16", "s32", "s64")
MODES = ("rn", "rz", "rm", "rp")
INF, NAN = math.inf, math.nan
HALF = {"f16": np.dtype(np.float16), "bf16": np.dtype(ml_dtypes.bfloat16)}


def integers(type: str) -> list[int]:
    bits = types.width(type)
    rng = np.random.default_rng(bits)
    some = [0, 1, 2, 3, 100, (1 << bits) - 1, 1 << (bits - 1), (1 << (bits - 1)) - 1]
    near = [(1 << k) + d for k in (8, 11, 12, 24, 25, 31, 53, 54, 63) if k <= bits for d in (-3, -2, -1, 1, 2, 3)]
    return [x & ((1 << bits) - 1) for x in [*some, *near, *(int(v) for v in rng.integers(0, 1 << 63, 20))]]


def floats(type: str) -> list[float]:
    precision, least, most = FORMATS[type]
    unit = 2.0 ** (1 - precision)
    largest = (2 - unit) * 2.0**most if type != "f64" else float(np.finfo(np.float64).max)
    some = [0.0, 0.25, 0.5, 0.75, 1.0, 1.5, 2.5, 3.5, 126.5, 127.5, 128.0, 200.0, 254.5, 255.5, 256.0, 1000.5, 40000.0]
    far = [2.0**k * f for k in (15, 16, 31, 32, 63, 64) for f in (1 - unit / 2, 1.0, 1 + unit)]
    odd = [2.0**least, 2.0 ** (least - 2), unit, 1 + unit, 1 - unit / 2, largest, INF, 65504.0, 65519.0, 65520.0]
    odd += [
        2.0**-24, 2.0**-25, 2.0**-25 * (1 + unit), 3 * 2.0**-26, 2.0**-14 * (1 - 2.0**-12), 1 + 2.0**-11, 1 + 2.0**-8,
    ]  # fmt: skip
    odd += [1 + 3 * 2.0**-11, 1 + 2.0**-9, 1 + 3 * 2.0**-9, 3.3895e38, 2.0**-133, 2.0**-134, 1 + 2.0**-24, 1e-42]
    positive = [float(as_type(type, [v])[0]) for v in (*some, *far, *odd)]
    return [v for p in positive for v in (p, -p)] + [NAN]


def as_type(type: str, values: Any) -> Any:
    """Numbers rounded to nearest in the type, as numpy has it: an oracle of others."""
    dtype = HALF.get(type) or np.dtype(types.lane(type).replace("f32", "float32").replace("f64", "float64"))
    with np.errstate(all="ignore"):
        return np.array(values, np.float64).astype(dtype)


def encode(type: str, values: Any) -> Any:
    """Numbers that the type holds, as the lanes of a register."""
    array = as_type(type, values)
    return array.view(np.uint16) if type in HALF else array


def decode(type: str, register: Any) -> Any:
    return register.view(HALF[type]).astype(np.float64) if type in HALF else register.astype(np.float64)


def check_float(opcode: str, type: str, got: Any, want: list[float], *context: Any) -> None:
    back = decode(type, got)
    assert_same(back, np.array(want, np.float64), opcode, *context)


@pytest.mark.parametrize("source", INTEGERS)
def test_integer_to_integer(source: str) -> None:
    values = integers(source)
    register = lanes(source, values)
    numbers = [signed(source, v) for v in values]
    for target in INTEGERS:
        assert_same(run(f"cvt.{target}.{source}", register), lanes(target, numbers), target, values)
        bits = types.width(target)
        low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if target[0] == "s" else (0, (1 << bits) - 1)
        held = [max(low, min(high, n)) for n in numbers]
        if held != numbers:
            assert_same(run(f"cvt.sat.{target}.{source}", register), lanes(target, held), target, values)
        else:  # there is nothing to saturate, and the assembler refuses it, too
            assert find_form(f"cvt.sat.{target}.{source}") is None


WITHOUT = [("bf16", "u8"), ("bf16", "s8")]
"""Pairs between which PTX converts in neither direction."""


@pytest.mark.parametrize(
    ("target", "source"),
    [(t, s) for t in ("f16", "bf16", "f32", "f64") for s in INTEGERS if (t, s) not in WITHOUT],
)
def test_integer_to_float(target: str, source: str) -> None:
    values = integers(source)
    numbers = [signed(source, v) for v in values]
    for mode in MODES:
        opcode = f"cvt.{mode}.{target}.{source}"
        want = [round_exact(Fraction(n), mode, target) for n in numbers]
        check_float(opcode, target, run(opcode, lanes(source, values)), want, numbers)


def to_integer(x: float, mode: str, source: str, target: str) -> int:
    bits = types.width(target)
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if target[0] == "s" else (0, (1 << bits) - 1)
    if math.isnan(x):
        return 1 << (bits - 1) if source == "f64" or bits == 64 else 0
    if math.isinf(x):
        return high if x > 0 else low
    whole = {"rni": round, "rzi": math.trunc, "rmi": math.floor, "rpi": math.ceil}[mode](x)
    return max(low, min(high, whole))


@pytest.mark.parametrize(
    ("source", "target"),
    [(s, t) for s in ("f16", "bf16", "f32", "f64") for t in INTEGERS if (s, t) not in WITHOUT],
)
def test_float_to_integer(source: str, target: str) -> None:
    values = floats(source)
    for mode in ("rni", "rzi", "rmi", "rpi"):
        opcode = f"cvt.{mode}.{target}.{source}"
        want = [to_integer(x, mode, source, target) for x in values]
        assert_same(run(opcode, encode(source, values)), lanes(target, want), opcode, values)


PAIRS = [(s, t) for s in FORMATS for t in FORMATS if s != t]


@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_float_to_float(source: str, target: str) -> None:
    values = floats(source)
    exact = (source, target) in (("f32", "f64"), ("f16", "f32"), ("f16", "f64"), ("bf16", "f32"), ("bf16", "f64"))
    halves = {source, target} == {"f16", "bf16"}
    for mode in ("",) if exact else (*MODES, "") if halves else MODES:
        opcode = f"cvt{'.' * bool(mode)}{mode}.{target}.{source}"
        want = [
            x
            if math.isnan(x) or math.isinf(x)
            else round_exact(Fraction(x), mode or "rn", target, int(math.copysign(1, x)))
            for x in values
        ]
        check_float(opcode, target, run(opcode, encode(source, values)), want, values)


@pytest.mark.parametrize("type", ["f16", "bf16"])
def test_every_half_and_every_nearby_float(type: str) -> None:
    bits = np.arange(1 << 16, dtype=np.uint32).astype(np.uint16)
    number = bits.view(HALF[type]).astype(np.float32)
    assert_same(run(f"cvt.f32.{type}", bits), number)
    # between neighbours: half way, and a last f32 bit to either side
    with np.errstate(all="ignore"):
        middle = ((number[:-1].astype(np.float64) + number[1:]) / 2).astype(np.float32)
        middle = middle[np.isfinite(middle)]
        for x in (middle, np.nextafter(middle, np.float32(INF)), np.nextafter(middle, np.float32(-INF))):
            want = x.astype(HALF[type]).view(np.uint16)
            assert_same(run(f"cvt.rn.{type}.f32", x), want, x)


@pytest.mark.parametrize("type", ["f16", "bf16", "f32", "f64"])
def test_rounding_to_integral_values(type: str) -> None:
    values = floats(type)
    for mode, whole in (("rni", np.rint), ("rzi", np.trunc), ("rmi", np.floor), ("rpi", np.ceil)):
        got = decode(type, run(f"cvt.{mode}.{type}.{type}", encode(type, values)))
        assert_same(got, whole(np.array(values)), mode, values)


def test_nan_is_canonical_and_flush_and_saturation_hold() -> None:
    nan = lanes("f32", [NAN])
    assert int(run("cvt.rn.f16.f32", nan)[0]) == 0x7FFF
    assert int(run("cvt.rn.bf16.f32", nan)[0]) == 0x7FFF
    x = lanes("f32", [-1.0, 0.25, 2.0, NAN, 1e-42])
    assert_same(run("cvt.sat.f32.f32", x), lanes("f32", [0.0, 0.25, 1.0, 0.0, 1e-42]))
    assert_same(run("cvt.ftz.f32.f32", x)[4:], lanes("f32", [0.0]))
    assert_same(run("cvt.ftz.f64.f32", x)[4:], lanes("f64", [0.0]))
    assert_same(run("cvt.rn.ftz.f32.f64", lanes("f64", [1e-42, -1e-42])), lanes("f32", [0.0, -0.0]))
    assert_same(run("cvt.rzi.ftz.s32.f32", lanes("f32", [1e-42])), lanes("s32", [0]))


def test_packed_halves_put_the_first_operand_on_top() -> None:
    a, b = lanes("f32", [1.0, -2.0, 1e9, -1.0, NAN]), lanes("f32", [0.5, 3.0, -1e9, 70000.0, 0.1])
    for type in ("f16", "bf16"):
        with np.errstate(all="ignore"):
            upper, lower = (x.astype(HALF[type]).view(np.uint16).astype(np.uint32) for x in (a, b))
        upper[4] = 0x7FFF
        assert_same(run(f"cvt.rn.{type}x2.f32", a, b), upper << 16 | lower)
    got = run("cvt.rn.relu.satfinite.f16x2.f32", a, b)
    numbers = got.view(np.float16).reshape(-1, 2)[:4]
    assert_same(numbers, np.array([[0.5, 1], [3, 0], [0, 65504], [65504, 0]], np.float16))


def test_tf32_keeps_ten_fraction_bits() -> None:
    unit = 2.0**-10
    x = lanes("f32", [1 + unit / 2, 1 + 1.5 * unit, 1 + unit / 2 - 2**-23, -(1 + unit / 2), INF, 3.4028e38, 1e-40])
    away = [1 + unit, 1 + 2 * unit, 1.0, -(1 + unit), INF]
    even = [1.0, 1 + 2 * unit, 1.0, -1.0, INF]
    assert_same(run("cvt.rna.tf32.f32", x).view(np.float32)[:5], lanes("f32", away))
    assert_same(run("cvt.rn.tf32.f32", x).view(np.float32)[:5], lanes("f32", even))
    assert_same(run("cvt.rz.tf32.f32", x).view(np.float32)[:5], lanes("f32", [1.0, 1 + unit, 1.0, -1.0, INF]))
    largest = np.array([0x7F7FE000], np.uint32).view(np.float32)
    assert_same(run("cvt.rna.satfinite.tf32.f32", x).view(np.float32)[4:6], np.repeat(largest, 2))
    assert_same(run("cvt.rn.relu.tf32.f32", x)[3:4], np.zeros(1, np.uint32))
    nan = np.array([0x7FFFFFFF, 0xFFC00000], np.uint32).view(np.float32)
    for rnd in ("rn", "rz", "rn.relu", "rn.satfinite"):
        assert run(f"cvt.{rnd}.tf32.f32", nan).tolist() == [0x7FFFE000] * 2
    assert run("cvt.rna.tf32.f32", nan).tolist() == [0x7FFFE000, 0xFFC00000]
    assert run("cvt.rna.satfinite.tf32.f32", nan).tolist() == [0x7FFFC000, 0xFFBFE000]


@pytest.mark.parametrize("part", ["u16", "s16", "u8", "s8", "u4", "s4", "u2", "s2"])
def test_integers_side_by_side(part: str) -> None:
    bits = int(part[1:])
    low, high = (0, (1 << bits) - 1) if part[0] == "u" else (-(1 << bits - 1), (1 << bits - 1) - 1)
    rng = np.random.default_rng(bits)
    edges = [0, 1, -1, low, high, low - 1, high + 1, 1 << 31, (1 << 31) - 1]
    a, b = (lanes("s32", rng.permutation(np.resize(edges, 32)).astype(np.int64) & 0xFFFFFFFF) for _ in range(2))
    c = lanes("b32", rng.integers(0, 1 << 32, 32))
    first, second = ([min(max(x, low), high) & ((1 << bits) - 1) for x in v.view(np.int32).tolist()] for v in (a, b))
    want = [x << bits | y for x, y in zip(first, second, strict=True)]
    if bits == 16:
        assert_same(run(f"cvt.pack.sat.{part}.s32", a, b), lanes("b32", want))
        return
    want = [(w | int(x) << 2 * bits) & 0xFFFFFFFF for w, x in zip(want, c, strict=True)]
    assert_same(run(f"cvt.pack.sat.{part}.s32.b32", a, b, c), lanes("b32", want))


def test_addresses() -> None:
    address = lanes("u64", [0x100])
    for space in ("shared", "local", "param", "const"):
        generic = run(f"cvta.{space}.u64", address)
        assert_same(run(f"cvta.to.{space}.u64", generic), address)
        assert run(f"isspacep.{space}", generic)[0]
        assert not run("isspacep.global", generic)[0]
    assert_same(run("cvta.to.global.u64", address), address)
    assert run("isspacep.global", address)[0]
    assert not run("isspacep.const", address)[0]


def test_every_legal_pair_is_in_the_table() -> None:
    """What the manual's table of conversions allows, form by form."""
    for source in (*INTEGERS, *FORMATS):
        for target in (*INTEGERS, *FORMATS):
            forms = [w for w in ("", ".rn", ".rni") if _is_form(f"cvt{w}.{target}.{source}")]
            wanted = (target, source) not in WITHOUT and (source, target) not in WITHOUT
            assert bool(forms) == wanted, (target, source)


def _is_form(opcode: str) -> bool:
    try:
        form(opcode)
    except LookupError:
        return False
    return True


@pytest.mark.parametrize(
    "opcode",
    [
        "cvt.rni.u8.bf16", "cvt.rn.bf16.s8", "cvt.sat.u32.u16", "cvt.sat.s32.s32", "cvt.rn.ftz.relu.f16.f32",
        "cvt.rz.ftz.satfinite.bf16.f32", "cvt.rn.sat.relu.f16.f32", "setp.lo.s32", "setp.hs.and.s16", "set.ls.u32.s64",
    ],
)  # fmt: skip
def test_what_the_assembler_refuses_is_not_in_the_table(opcode: str) -> None:
    assert find_form(opcode) is None
