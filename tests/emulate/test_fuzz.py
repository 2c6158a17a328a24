"""Damaged programs in processes of their own: none crashes, hangs or raises what nobody meant."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import fuzz
import pytest
from emulate_programs import ENGINES
from slow_cases import slow

FUZZ = Path(fuzz.__file__).resolve()


@pytest.mark.long
@pytest.mark.parametrize(
    ("engine", "first", "count"),
    [
        *((engine, 0, 15) for engine in ENGINES),
        *(pytest.param(engine, 15, 85, marks=pytest.mark.rest) for engine in ENGINES),
        *slow((ENGINES[-1], first, 500) for first in range(1000, 5000, 500)),
    ],
)
def test_damaged_programs(engine: str, first: int, count: int, tmp_path: Path) -> None:
    environment = {**os.environ, "PTXLAB_CACHE": "off", "PYTHONPATH": str(FUZZ.parents[2])}
    done = subprocess.run(
        [sys.executable, "-X", "faulthandler", str(FUZZ), str(count), str(first), engine],
        capture_output=True,
        text=True,
        timeout=60 + count,
        cwd=tmp_path,
        env=environment,
    )
    assert done.returncode == 0, f"the process died: {done.stderr[-2000:]}"
    assert "WRONG" not in done.stdout, done.stdout[-3000:]
    assert f"{count} programs" in done.stdout, done.stdout[-3000:]
