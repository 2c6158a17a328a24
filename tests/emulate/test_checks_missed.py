"""What `docs/machine.md` says is not found: today it is not. A check that finds one makes a planted bug of it."""

from __future__ import annotations

import pytest
from emulate_programs import ALL_CHECKS
from planted_missed import MISSED


@pytest.mark.parametrize("name", MISSED)
def test_nothing_is_found(name: str, device: str) -> None:
    for repaired in (False, True):
        run, _ = MISSED[name].run(device, repaired, ALL_CHECKS)
        assert [str(f) for f in run.findings if f.check != "unwritten"] == []
