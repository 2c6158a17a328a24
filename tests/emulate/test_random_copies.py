"""Random programs of bulk copies, mbarriers and atomic operations: all ways end alike, down to the words."""

from __future__ import annotations

import pytest
from emulate_programs import WAYS
from random_copies import differences, mixed_differences
from slow_cases import slow

pytestmark = pytest.mark.skipif(len(WAYS) == 1, reason="needs llvmlite")


@pytest.mark.rest
@pytest.mark.parametrize("first", [0, 5, 10, 3080, *slow(range(15, 300, 5))])
def test_random_programs(first: int) -> None:
    assert differences(first, 5) == []


@pytest.mark.long
@pytest.mark.sweep(3)
@pytest.mark.parametrize("first", [20, 98, 170, 184, 310, 4928, 7448, *slow(range(2000, 3000, 10))])
def test_mixed_programs(first: int) -> None:
    assert mixed_differences(first, 10 if first >= 2000 else 6) == []
