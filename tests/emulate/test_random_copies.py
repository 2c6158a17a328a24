"""Random programs that copy in bulk and use mbarriers: all engines find the same, down to the words."""

from __future__ import annotations

import pytest
from emulate_programs import WAYS
from random_copies import differences
from slow_cases import slow


@pytest.mark.skipif(len(WAYS) == 1, reason="needs llvmlite")
@pytest.mark.sweep(3)
@pytest.mark.parametrize("first", [0, 5, 10, 3080, *slow(range(15, 300, 5))])
def test_random_programs(first: int) -> None:
    assert differences(first, 5) == []
