"""What the tests of the emulator are given by name."""

from __future__ import annotations

from typing import Any

import pytest
from emulate_programs import DEVICES, ENGINES, WAYS


@pytest.fixture(params=ENGINES)
def engine(request: pytest.FixtureRequest) -> Any:
    """Each of the engines."""
    return request.param


@pytest.fixture(params=DEVICES)
def device(request: pytest.FixtureRequest) -> Any:
    """Each of the engines, as a device of `pl.launch`."""
    return request.param


@pytest.fixture(params=WAYS)
def way(request: pytest.FixtureRequest) -> Any:
    """Each of the ways to run a program: by the interpreter, or by the JIT's code of either tier."""
    return request.param
