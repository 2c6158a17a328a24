"""Wrong variants of solutions lose marks, and lose the same for every seed."""

from __future__ import annotations

import re

import course_answers as answers
import pytest
from mutation import REPORT, by_hand, by_program, equivalent

from ptxlab.course import catalogue, find
from ptxlab.course.feedback import judge

MISSED_ONCE = {
    "wrong for n = 0": ("07-arrived", "def arrived(sizes, n):\n    return sum(sizes[:-n])\n"),
    "the wrong divisor": (
        "03-loads",
        "def loads(high, wide, D, vector):\n    return (high + wide) * D // high\n",
    ),
    "a vector for a row": (
        "03-loads",
        "def loads(high, wide, D, vector):\n    return (vector + wide) * D // vector\n",
    ),
    "row 8 left out": (
        "05-holder",
        "def holder(row, column):\n"
        "    return 4 * (row % 8) + column % 8 // 2, row // 9 + 2 * (column // 8), column % 2\n",
    ),
    "65 rows in a block": (
        "04-products",
        "def products(rows, keys, D):\n    return 4 * -(-rows // 65) * -(-keys // 64) * 8 * (D // 16)\n",
    ),
}
"""Variants that got full marks, or full marks for some seeds, before edges were always asked."""


@pytest.mark.long
@pytest.mark.sweep(16)
@pytest.mark.parametrize("variant", MISSED_ONCE)
def test_an_edge_is_always_asked(variant: str) -> None:
    name, code = MISSED_ONCE[variant]
    answer = answers.run(find(name), code)
    scores = {judge(find(name), answer, seed=seed, graded=True).score for seed in range(10)}
    assert len(scores) == 1
    assert scores.pop() < 1


@pytest.mark.slow
@pytest.mark.parametrize("name", catalogue())
def test_twenty_wrong_variants_lose_marks(name: str) -> None:
    """Those that do not are listed in the report, with the reason why they are no mistakes."""
    outcomes = [*by_program(find(name)), *by_hand(find(name))]
    assert len(outcomes) >= 20
    slipped = [outcome for outcome in outcomes if outcome.how != "caught"]
    assert {outcome.change for outcome in slipped} == set(equivalent().get(name, {})), slipped


def test_the_report_has_every_exercise_and_misses_none() -> None:
    """`python benchmarks/grader_mutants.py NAME` brings an exercise up to date."""
    lines = REPORT.read_text(encoding="utf-8").splitlines()
    rows = [line.strip("| ").split(" | ") for line in lines if re.match(r"\| \d", line)]
    assert [name for name, *_ in rows] == list(catalogue())
    assert [row for row in rows if int(row[1]) + int(row[2]) < 20 or row[-1] != "0"] == []
    assert set(equivalent()) == {name for name, *_, harmless, _ in rows if harmless != "0"}
