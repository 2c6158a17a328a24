"""The approximate functions against numpy in float64: within the manual's error everywhere, exact where it matters."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from isa_oracle import assert_same, lanes, run

INF, NAN = math.inf, math.nan


def everywhere(seed: int, count: int = 200_000) -> Any:
    """Floats of every exponent and both signs, NaN and infinities left out."""
    bits = np.random.default_rng(seed).integers(0, 1 << 32, count, np.uint32)
    x = bits.view(np.float32)
    return x[np.isfinite(x)]


def ulps(got: Any, want: Any) -> float:
    """The largest error in units of the last place of the true result (of the smallest normal below that)."""
    unit = np.spacing(np.maximum(np.abs(want), 2.0**-126).astype(np.float32)).astype(np.float64)
    return float(np.max(np.abs(got.astype(np.float64) - want) / unit))


def relative(got: Any, want: Any) -> float:
    return float(np.max(np.abs(got.astype(np.float64) - want) / np.abs(want)))


def test_ex2_is_within_1_1_ulp() -> None:
    rng = np.random.default_rng(1)
    x = rng.uniform(-126, 128, 300_000).astype(np.float32)
    x = np.concatenate([x[x < 128], rng.uniform(-1, 1, 100_000).astype(np.float32)])
    got, want = run("ex2.approx.f32", x), np.exp2(x.astype(np.float64))
    assert ulps(got, want) < 1.1
    assert relative(got, want) < 2.0**-22
    x = rng.uniform(-151, -125, 50_000).astype(np.float32)  # subnormal results: one unit of the smallest number
    assert np.max(np.abs(run("ex2.approx.f32", x) - np.exp2(x.astype(np.float64)))) <= 2.0**-149
    flushed = run("ex2.approx.ftz.f32", x)
    assert_same(flushed[x < -126], np.zeros(int((x < -126).sum()), np.float32))


def test_ex2_specials() -> None:
    x = lanes("f32", [0.0, -0.0, 1.0, -1.0, 10.0, -126.0, 127.0, 128.0, 1e30, INF, -INF, -1e30, -150.0, -149.0, NAN])
    want = [1.0, 1.0, 2.0, 0.5, 1024.0, 2.0**-126, 2.0**127, INF, INF, INF, 0.0, 0.0, 0.0, 2.0**-149, NAN]
    assert_same(run("ex2.approx.f32", x), lanes("f32", want), x)
    whole = np.arange(-149, 129).astype(np.float32)
    with np.errstate(over="ignore"):
        assert_same(run("ex2.approx.f32", whole), np.exp2(whole.astype(np.float64)).astype(np.float32))


def test_lg2_is_within_2_ulp() -> None:
    x = np.abs(everywhere(2))
    x = x[x > 0]
    got, want = run("lg2.approx.f32", x), np.log2(x.astype(np.float64))
    assert ulps(got, want) < 2
    near = np.random.default_rng(3).uniform(0.5, 2, 200_000).astype(np.float32)
    assert np.max(np.abs(run("lg2.approx.f32", near) - np.log2(near.astype(np.float64)))) < 2.0**-22
    special = lanes("f32", [0.0, -0.0, 1.0, 2.0, 0.5, INF, -1.0, -INF, NAN, 2.0**-149, -(2.0**-149)])
    exact = lanes("f32", [-INF, -INF, 0.0, 1.0, -1.0, INF, NAN, NAN, NAN, -149.0, NAN])
    assert_same(run("lg2.approx.f32", special), exact, special)
    assert_same(run("lg2.approx.ftz.f32", special)[-2:], lanes("f32", [-INF, -INF]))
    powers = np.exp2(np.arange(-149, 128, dtype=np.float64)).astype(np.float32)
    assert_same(run("lg2.approx.f32", powers), np.arange(-149, 128).astype(np.float32))


@pytest.mark.parametrize("name", ["sin", "cos"])
def test_sine_and_cosine(name: str) -> None:
    rng = np.random.default_rng(4)
    function = getattr(np, name)
    for limit, error in ((2 * math.pi, 2.0**-22), (100 * math.pi, 2.0**-22), (1e5, 2.0**-20)):
        x = rng.uniform(-limit, limit, 200_000).astype(np.float32)
        assert np.max(np.abs(run(f"{name}.approx.f32", x) - function(x.astype(np.float64)))) < error
    special = run(f"{name}.approx.f32", lanes("f32", [0.0, -0.0, INF, -INF, NAN]))
    want = [0.0, -0.0, NAN, NAN, NAN] if name == "sin" else [1.0, 1.0, NAN, NAN, NAN]
    assert_same(special, lanes("f32", want))
    everything = run(f"{name}.approx.f32", everywhere(5))
    assert np.all(np.abs(everything[np.isfinite(everything)]) <= 1)


def test_tanh() -> None:
    x = np.concatenate([np.random.default_rng(6).uniform(-10, 10, 200_000).astype(np.float32), everywhere(7, 50_000)])
    x = x[np.abs(x) > 2.0**-126]
    got, want = run("tanh.approx.f32", x), np.tanh(x.astype(np.float64))
    assert ulps(got, want) < 4
    assert relative(got, want) < 2.0**-11
    special = lanes("f32", [0.0, -0.0, INF, -INF, NAN, 1e-40])
    assert_same(run("tanh.approx.f32", special), lanes("f32", [0.0, -0.0, 1.0, -1.0, NAN, 1e-40]))


def test_reciprocals_and_roots() -> None:
    x = everywhere(8)
    x = x[(np.abs(x) > 2.0**-126) & (np.abs(x) < 2.0**126)]
    assert ulps(run("rcp.approx.f32", x), 1 / x.astype(np.float64)) <= 0.5
    positive = np.abs(x)
    assert ulps(run("sqrt.approx.f32", positive), np.sqrt(positive.astype(np.float64))) <= 0.5
    assert ulps(run("rsqrt.approx.f32", positive), 1 / np.sqrt(positive.astype(np.float64))) < 1.5
    assert relative(run("rsqrt.approx.f32", positive), 1 / np.sqrt(positive.astype(np.float64))) < 2.0**-22.9
    special = lanes("f32", [0.0, -0.0, INF, -INF, NAN, 2.0**-140])
    assert_same(run("rcp.approx.f32", special), lanes("f32", [INF, -INF, 0.0, -0.0, NAN, INF]))
    assert_same(run("rcp.approx.ftz.f32", lanes("f32", [2.0**127, 2.0**-140])), lanes("f32", [0.0, INF]))
    assert_same(run("sqrt.approx.f32", special), lanes("f32", [0.0, -0.0, INF, NAN, NAN, 2.0**-70]))
    assert_same(run("sqrt.approx.ftz.f32", special)[-1:], lanes("f32", [0.0]))
    assert_same(run("rsqrt.approx.f32", special), lanes("f32", [INF, -INF, 0.0, NAN, NAN, 2.0**70]))


def test_approximate_division_gives_zero_for_huge_divisors() -> None:
    x, y = everywhere(9), everywhere(10)
    x, y = x[: len(y)], y[: len(x)]
    size = np.abs(y)
    with np.errstate(all="ignore"):
        quotient = x / y
    fits = (size >= 2.0**-126) & (size <= 2.0**126)
    assert_same(run("div.approx.f32", x, y)[fits], quotient[fits])
    assert_same(run("div.full.f32", x, y), quotient)
    a, b = lanes("f32", [1e38, -1e38, INF, 1.0]), lanes("f32", [2.0**127, 2.0**127, 2.0**127, INF])
    assert_same(run("div.approx.f32", a, b), lanes("f32", [0.0, -0.0, NAN, 0.0]))


def test_gross_doubles_have_an_empty_lower_word() -> None:
    x = np.random.default_rng(11).uniform(0.001, 1000, 1000)
    for opcode, want in (("rcp.approx.ftz.f64", 1 / x), ("rsqrt.approx.ftz.f64", 1 / np.sqrt(x))):
        got = run(opcode, x)
        assert np.all(got.view(np.uint64) & np.uint64(0xFFFFFFFF) == 0)
        assert relative(got, want) < 2.0**-18
    assert relative(run("rsqrt.approx.f64", x), 1 / np.sqrt(x)) < 2.0**-22


@pytest.mark.parametrize("name", ["ex2", "tanh"])
def test_functions_of_halves(name: str) -> None:
    bits = np.arange(1 << 16, dtype=np.uint32).astype(np.uint16)
    x = bits.view(np.float16).astype(np.float64)
    with np.errstate(all="ignore"):
        want = (np.exp2(x) if name == "ex2" else np.tanh(x)).astype(np.float16)
    got = run(f"{name}.approx.f16", bits).view(np.float16)
    ordinary = np.isfinite(want)
    assert_same(np.isnan(got), np.isnan(want))
    apart = got[ordinary].view(np.int16).astype(int) - want[ordinary].view(np.int16)
    assert np.max(np.abs(apart)) <= 1
    assert_same(got[np.isinf(want)], want[np.isinf(want)])
