"""Wrong variants of solutions lose marks, and lose the same for every seed."""

from __future__ import annotations

import course_answers as answers
import pytest

from ptxlab.course import find
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


@pytest.mark.parametrize("variant", MISSED_ONCE)
def test_an_edge_is_always_asked(variant: str) -> None:
    name, code = MISSED_ONCE[variant]
    answer = answers.run(find(name), code)
    scores = {judge(find(name), answer, seed=seed, graded=True).score for seed in range(10)}
    assert len(scores) == 1
    assert scores.pop() < 1
