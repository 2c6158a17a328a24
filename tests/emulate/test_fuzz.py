"""Damaged programs in processes of their own: none crashes, hangs or raises what nobody meant."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from emulate_programs import ENGINES
from slow_cases import slow

FUZZ = Path(__file__).parents[1] / "support" / "fuzz.py"


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


@pytest.mark.long
def test_a_record_goes_on_where_it_was_stopped(tmp_path: Path) -> None:
    def record(count: int) -> str:
        command = [
            sys.executable, str(FUZZ.with_name("fuzz_record.py")), str(count), "--first", "40", "--folder", "run",
        ]  # fmt: skip
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, cwd=tmp_path)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    assert "| crashes | 0 |" in record(6)
    journal = tmp_path / "run" / "40.txt"
    complete = journal.read_text()
    assert [line.partition("\t")[0] for line in complete.splitlines()] == [str(seed) for seed in range(40, 46)]
    lines = complete.splitlines()
    journal.write_text("\n".join([*lines[:3], "43"]))  # stopped in the middle of a program
    record(6)
    assert journal.read_text() == complete
    journal.write_text("\n".join([*lines[:3], "43\tCRASH -11", *lines[4:]]) + "\n")
    failed = subprocess.run(
        [sys.executable, str(FUZZ.with_name("fuzz_record.py")), "6", "--first", "40", "--folder", "run"],
        capture_output=True,
        text=True,
        timeout=60,
        cwd=tmp_path,
    )
    assert failed.returncode == 1
    assert "| crashes | 1 |" in failed.stdout
