"""How the tests of the CPU machine build: rules in full quality are for the long run; some take nothing from caches."""

from __future__ import annotations

import pytest
from emulate_programs import Thorough

from ptxlab.emulate.runtime import disk_cache


@pytest.fixture(autouse=True)
def thorough(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Says it to `emulate_programs.improve`."""
    monkeypatch.setattr(Thorough, "rules", request.node.get_closest_marker("slow") is not None)


@pytest.fixture
def afresh(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Code is neither found nor left, by a test that watches how it is made or changes what is not part of its name."""
    build = pytest.importorskip("ptxlab.emulate.jit.building.build", reason="needs llvmlite", exc_type=ImportError)
    monkeypatch.setattr(build, "_recent", type(build._recent)())
    monkeypatch.setattr(disk_cache, "recall", lambda entry: None)
    monkeypatch.setattr(disk_cache, "remember", lambda *given: None)
    return monkeypatch
