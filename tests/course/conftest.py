"""What the tests of the course share: graders that need not wait for rules in full quality."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator

import pytest


@pytest.fixture(scope="module", autouse=True)
def rules_built_quickly(request: pytest.FixtureRequest) -> Iterator[None]:
    """The rules that graders are forked with are built with few of LLVM's passes: all take seven times as long, some
    twenty seconds. The hostile submissions are graded with the others."""
    with pytest.MonkeyPatch.context() as patch:
        if request.module.__name__ != "test_course_hostile" and importlib.util.find_spec("llvmlite") is not None:
            from ptxlab.emulate.jit.building.rule_objects import TIER_0

            patch.setattr("ptxlab.emulate.jit.building.linked_rules.TIER_1", TIER_0)
        yield
