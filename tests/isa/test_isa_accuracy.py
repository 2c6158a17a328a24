"""The approximate instructions stay within the manual's bounds, and the table of what was measured is of this code."""

from __future__ import annotations

import pytest
from accuracy_cases import CASES, Case, measure

from ptxlab.isa.accuracy import accuracy
from ptxlab.isa.coverage import report
from ptxlab.isa.docs import explain


@pytest.mark.sweep(3)
@pytest.mark.parametrize("case", CASES, ids=lambda c: f"{c.opcode} {c.where}")
def test_measured_again(case: Case) -> None:
    (noted,) = [r for r in accuracy(case.opcode) if r.where == case.where]
    error, ulp = measure(case)
    assert error <= case.bound == noted.bound
    assert (noted.measured, noted.ulp) == pytest.approx((error, ulp), rel=1e-3), (
        "PYTHONPATH=tests python tests/support/accuracy_cases.py"
    )


def test_every_opcode_is_there() -> None:
    assert {r.opcode for r in accuracy()} == {c.opcode for c in CASES}
    assert len(accuracy("ex2")) == 3
    assert not accuracy("fma")


def test_the_table_says_it() -> None:
    assert "ex2.approx.f32: error at most 0.933 ulp; the manual allows 2 ulp (all inputs)" in report()
    assert "error at most 0.5 ulp; the manual allows 1 ulp (all inputs)" in explain("rcp.approx.ftz.f32").accuracy
