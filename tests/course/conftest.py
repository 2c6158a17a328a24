"""What the tests of the course share: graders that need not wait for rules in full quality."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each test has its own folder, in which a check keeps the student's progress."""
    monkeypatch.chdir(tmp_path)


@pytest.fixture(scope="module", autouse=True)
def rules_built_quickly(request: pytest.FixtureRequest) -> Iterator[None]:
    """The rules that graders are forked with are built with few of LLVM's passes: all take seven times as long, some
    twenty seconds. The hostile submissions are graded with the others."""
    with pytest.MonkeyPatch.context() as patch:
        if request.module.__name__ != "test_course_hostile" and importlib.util.find_spec("llvmlite") is not None:
            from ptxlab.emulate.jit.building.rule_objects import TIER_0

            patch.setattr("ptxlab.emulate.jit.building.linked_rules.TIER_1", TIER_0)
        yield
