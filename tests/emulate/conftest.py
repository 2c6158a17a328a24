"""How thoroughly the tests of the CPU machine build: rules in full quality are left to the long run."""

from __future__ import annotations

import pytest
from emulate_programs import Thorough


@pytest.fixture(autouse=True)
def thorough(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Says it to `emulate_programs.improve`."""
    monkeypatch.setattr(Thorough, "rules", request.node.get_closest_marker("slow") is not None)
