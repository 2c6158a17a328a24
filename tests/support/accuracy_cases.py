"""The error of the approximate instructions, measured against float64: `ptxlab isa` shows it beside the bound.

    PYTHONPATH=tests/support python tests/support/accuracy_cases.py

measures anew and writes ptxlab/isa/accuracy.json. Inputs: 16-bit floats all of them, f32 a million of each range.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np
from isa_oracle import run

from ptxlab.isa.accuracy import PATH

HALF = {"f16": np.float16, "bf16": ml_dtypes.bfloat16}
COUNT = 1_000_000
LEAST, MOST = 2.0**-126, 2.0**127
"""Normal floats; results below are left out where the bound is relative."""


@dataclass(frozen=True)
class Case:
    """One bound of the manual: of `opcode` over the inputs that `where` names; unit: ulp, absolute or relative."""

    opcode: str
    where: str
    unit: str
    bound: float
    exact: Callable[..., Any]
    inputs: Callable[[], tuple[Any, ...]]


def between(low: float, high: float) -> Callable[[], tuple[Any, ...]]:
    return lambda: (np.random.default_rng(1).uniform(low, high, COUNT).astype(np.float32),)


def any_size(low: float = LEAST, high: float = MOST, seed: int = 2, signed: bool = False) -> Any:
    """f32 of every exponent between two sizes."""
    rng = np.random.default_rng(seed)
    x = 2.0 ** rng.uniform(math.log2(low), math.log2(high), COUNT)
    return (x * rng.choice([-1.0, 1.0], COUNT) if signed else x).astype(np.float32)


def halves(type_: str) -> tuple[Any, ...]:
    x = np.arange(1 << 16, dtype=np.uint32).astype(np.uint16)
    return (x[(x & 0x7FFF) < (0x7C00 if type_ == "f16" else 0x7F80)],)  # no infinities and NaN


def outside(x: Any) -> Any:
    """lg2's inputs away from 1."""
    return x[(x <= 0.5) | (x >= 2)]


CASES = (
    Case("ex2.approx.f32", "all inputs", "ulp", 2, np.exp2, between(-126, 127.99)),
    Case("lg2.approx.f32", "0.5 to 2", "absolute", 2.0**-22, np.log2, between(0.5, 2)),
    Case("lg2.approx.f32", "elsewhere", "relative", 2.0**-22, np.log2, lambda: (outside(any_size(2.0**-149)),)),
    Case("sin.approx.f32", "-2 pi to 2 pi", "absolute", 2.0**-20.5, np.sin, between(-2 * math.pi, 2 * math.pi)),
    Case("sin.approx.f32", "-100 pi to 100 pi", "absolute", 2.0**-14.7, np.sin, between(-100 * math.pi, 100 * math.pi)),
    Case("cos.approx.f32", "-2 pi to 2 pi", "absolute", 2.0**-20.5, np.cos, between(-2 * math.pi, 2 * math.pi)),
    Case("cos.approx.f32", "-100 pi to 100 pi", "absolute", 2.0**-14.7, np.cos, between(-100 * math.pi, 100 * math.pi)),
    Case("tanh.approx.f32", "all inputs", "relative", 2.0**-11, np.tanh,
         lambda: (any_size(2.0**-120, 100.0, 3, True),)),
    Case("rcp.approx.f32", "all inputs", "ulp", 1, np.reciprocal, lambda: (any_size(LEAST, 2.0**126, 4, True),)),
    Case("sqrt.approx.f32", "all positive inputs", "relative", 2.0**-23, np.sqrt, lambda: (any_size(2.0**-149),)),
    Case("rsqrt.approx.f32", "all positive inputs", "relative", 2.0**-22.9, lambda x: 1 / np.sqrt(x),
         lambda: (any_size(2.0**-149),)),
    Case("div.approx.f32", "divisors of 2**-126 to 2**126", "ulp", 2, np.divide,
         lambda: (any_size(2.0**-40, 2.0**40, 5, True), any_size(2.0**-80, 2.0**80, 6, True))),
    Case("div.full.f32", "all inputs", "ulp", 2, np.divide,
         lambda: (any_size(2.0**-40, 2.0**40, 7, True), any_size(2.0**-80, 2.0**80, 8, True))),
    Case("ex2.approx.f16", "all inputs", "relative", 2.0**-9.9, np.exp2, lambda: halves("f16")),
    Case("ex2.approx.ftz.bf16", "all inputs", "relative", 2.0**-7, np.exp2, lambda: halves("bf16")),
    Case("tanh.approx.f16", "all inputs", "absolute", 2.0**-10.987, np.tanh, lambda: halves("f16")),
    Case("tanh.approx.bf16", "all inputs", "absolute", 2.0**-8, np.tanh, lambda: halves("bf16")),
)  # fmt: skip


def measure(case: Case) -> tuple[float, float]:
    """The largest error in the case's unit, and in units in the last place of the exact result (normal results)."""
    inputs = case.inputs()
    type_ = case.opcode.rpartition(".")[2]
    number = HALF.get(type_, np.float32)
    with np.errstate(all="ignore"):
        want = case.exact(*(x.view(number).astype(np.float64) for x in inputs))
    got = run(case.opcode, *inputs)
    got = got.view(number).astype(np.float64)
    info = ml_dtypes.finfo(number)
    fits = np.abs(want) <= float(info.max)
    error, size = np.abs(got[fits] - want[fits]), np.abs(want[fits])
    normal = size >= float(info.tiny)
    unit = 2.0 ** np.floor(np.log2(size[normal])) * float(info.eps)
    ulp = float((error[normal] / unit).max())
    if case.unit == "absolute":
        return float(error.max()), ulp
    return (ulp if case.unit == "ulp" else float((error[normal] / size[normal]).max())), ulp


def main() -> None:
    """Writes the table."""
    rows = [
        {"opcode": c.opcode, "where": c.where, "unit": c.unit, "bound": c.bound, "measured": rounded, "ulp": ulp}
        for c in CASES
        for rounded, ulp in [(float(f"{x:.4g}") for x in measure(c))]
    ]
    PATH.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
