"""Damaged programs in processes of their own: none crashes, hangs or raises what nobody meant."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from emulate_programs import ENGINES

FUZZ = Path(__file__).with_name("fuzz.py")


def batch(engine: str, first: int, count: int, folder: Path) -> None:
    """Runs so many damaged programs in a process of their own."""
    environment = {**os.environ, "PTXLAB_CACHE": "off", "PYTHONPATH": str(FUZZ.parents[1])}
    done = subprocess.run(
        [sys.executable, "-X", "faulthandler", str(FUZZ), str(count), str(first), engine],
        capture_output=True, text=True, timeout=60 + count, cwd=folder, env=environment,
    )  # fmt: skip
    assert done.returncode == 0, f"the process died: {done.stderr[-2000:]}"
    assert "WRONG" not in done.stdout, done.stdout[-3000:]
    assert f"{count} programs" in done.stdout, done.stdout[-3000:]


@pytest.mark.parametrize("engine", ENGINES)
def test_damaged_programs(engine: str, tmp_path: Path) -> None:
    batch(engine, 0, 250, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("first", range(1000, 5000, 500))
def test_many_damaged_programs(first: int, tmp_path: Path) -> None:
    batch(ENGINES[-1], first, 500, tmp_path)
