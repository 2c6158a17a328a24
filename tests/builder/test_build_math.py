"""`k.exp2` and `k.log2` of f64 against 50-digit arithmetic: 1 ULP, and the exact cases."""

from __future__ import annotations

from decimal import Decimal, localcontext

import numpy as np
from numpy.typing import NDArray

import ptxlab as pl
from ptxlab.builder import Builder, Ptr, f64, kernel

Array = NDArray[np.float64]


@kernel
def exp2(k: Builder, x: Ptr[f64], y: Ptr[f64]) -> None:
    i = k.thread_index()
    y[i] = k.exp2(x[i])


@kernel
def log2(k: Builder, x: Ptr[f64], y: Ptr[f64]) -> None:
    i = k.thread_index()
    y[i] = k.log2(x[i])


def run(function: object, x: Array) -> Array:
    padded = np.resize(x, -(-len(x) // 128) * 128)
    y = np.zeros_like(padded)
    pl.launch(function, len(padded) // 128, 128, padded, y, device="step")
    return y[: len(x)]


def worst(found: Array, exact: list[Decimal]) -> float:
    """The largest error in units of the last place of the exact result."""
    unit = [Decimal(float(np.spacing(abs(float(e))))) for e in exact]
    return max(float(abs(Decimal(float(f)) - e) / u) for f, e, u in zip(found, exact, unit, strict=True))


def test_exp2_is_correct_to_one_ulp() -> None:
    random = np.random.default_rng(1)
    x = np.concatenate(
        [random.uniform(-1, 1, 1500), random.uniform(-1074, 1024, 1500), random.uniform(-1e-9, 1e-9, 500)]
    )
    with localcontext() as context:
        context.prec = 50
        ln2 = Decimal(2).ln()
        exact = [(Decimal(float(v)) * ln2).exp() for v in x]
        assert worst(run(exp2, x), exact) < 1.0


def test_exp2_is_exact_where_it_can_be() -> None:
    whole = np.arange(-1074, 1024, dtype=np.float64)
    assert (run(exp2, whole) == np.ldexp(1.0, whole.astype(int))).all()
    x = np.array([-np.inf, np.inf, 0.0, -0.0, 1024.0, 1e300, -1075.5, -1e300])
    assert run(exp2, x).tolist() == [0.0, np.inf, 1.0, 1.0, np.inf, np.inf, 0.0, 0.0]
    assert np.isnan(run(exp2, np.array([np.nan]))).all()


def test_log2_is_correct_to_one_ulp() -> None:
    random = np.random.default_rng(2)
    near = 1 + random.uniform(-1, 1, 1000) * np.exp2(random.uniform(-50, 0, 1000))
    x = np.concatenate([random.uniform(0.5, 2, 1500), np.exp2(random.uniform(-1074, 1024, 1000)), near])
    x = x[(x != 1.0) & (x > 0)]
    with localcontext() as context:
        context.prec = 50
        ln2 = Decimal(2).ln()
        exact = [Decimal(float(v)).ln() / ln2 for v in x]
        assert worst(run(log2, x), exact) < 1.0


def test_log2_is_exact_where_it_can_be() -> None:
    whole = np.arange(-1074, 1024)
    assert (run(log2, np.ldexp(1.0, whole)) == whole).all()
    assert run(log2, np.array([0.0, -0.0, np.inf])).tolist() == [-np.inf, -np.inf, np.inf]
    assert np.isnan(run(log2, np.array([-1.0, -np.inf, np.nan, -5e-324]))).all()
