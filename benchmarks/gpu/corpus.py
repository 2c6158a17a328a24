"""The modules of tests/ whose programs the parts run: importing this puts that folder on the path."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
TESTS = ROOT / "tests"


def module(name: str) -> Any:
    """A module of tests/ by its name, `conformance` or `planted`."""
    for folder in (TESTS, TESTS / "support"):
        if str(folder) not in sys.path:
            sys.path.insert(0, str(folder))
    return importlib.import_module(name)
