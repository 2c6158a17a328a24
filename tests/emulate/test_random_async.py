"""Random programs of copies, mbarriers and atomic operations with checks: both engines find the same, down to the
words."""

from __future__ import annotations

import pytest
from emulate_programs import ENGINES
from random_async import differences
from slow_cases import slow


@pytest.mark.skipif(len(ENGINES) == 1, reason="needs llvmlite")
@pytest.mark.parametrize("first", [20, 98, 170, 184, 310, 4928, 7448, *slow(range(2000, 3000, 20))])
def test_random_programs(first: int) -> None:
    assert differences(first, 20 if first >= 2000 else 8) == []
