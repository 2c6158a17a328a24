"""The campaign's part about compute-sanitizer: what the tool prints is read, and it is started again behind faults."""

from __future__ import annotations

import json
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.gpu import sanitizer, sanitizer_bugs
from benchmarks.gpu.record import Record

ROOT = Path(__file__).resolve().parents[2]
PRINTED = """\
========= COMPUTE-SANITIZER
begin bug_012
========= Invalid __global__ read of size 4 bytes
=========     at bug_012+0x90
=========     by thread (0,0,0) in block (0,0,0)
=========     Address 0x7f0000100000 is out of bounds
=========     Saved host backtrace up to driver entry point at kernel launch time
=========         Host Frame: cuLaunchKernelEx [0x1] in libcuda.so.1
=========     and another of bug_099
=========
========= Invalid __global__ read of size 4 bytes
=========     at 0x90 in bug_012
=========     by thread (1,0,0) in block (0,0,0)
=========
========= Error: Race reported between Write access at bug_003+0x110 and Read access at bug_003+0x150 [9 hazards]
=========
========= Barrier error detected. Divergent thread(s) in block
=========     at fixed_004+0x50
========= Program hit CUDA_ERROR_LAUNCH_FAILED (error 719) due to "unspecified launch failure" on CUDA API call to cuX.
=========     Saved host backtrace up to driver entry point at error
=========         Host Frame: launch of bug_013
========= Target application returned an error
========= ERROR SUMMARY: 3 errors
"""
RACE = "Error: Race reported between Write access at the kernel and Read access at the kernel [9 hazards]"


def test_what_the_tool_prints_is_read() -> None:
    assert sanitizer.reports(PRINTED) == {
        "bug_012": ["Invalid __global__ read of size 4 bytes"],
        "bug_003": [RACE],
        "fixed_004": ["Barrier error detected. Divergent thread(s) in block"],
    }


FAKE = """#!{python}
# A compute-sanitizer that runs the command and reports some kernels of it.
import subprocess, sys
assert sys.argv[1] == "--tool", sys.argv
tool = sys.argv[2]
command = sys.argv[sys.argv.index({python!r}):]
print("========= COMPUTE-SANITIZER", flush=True)
if tool in {broken!r}:
    print("========= Error: Target application failed to initialize", flush=True)
    sys.exit(255)
with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as target:
    for line in target.stdout:
        print(line, end="", flush=True)
        word, _, name = line.strip().partition(" ")
        if word == "begin" and name in {reported!r}:
            print("========= Invalid __global__ read of size 4 bytes")
            print(f"=========     at {{name}}+0x40", flush=True)
        if word == "begin" and name in {stopped!r}:
            target.kill()
            break
sys.exit(target.returncode)
"""


def fake(folder: Path, **options: object) -> list[str]:
    """The command of a stand-in for the tool."""
    path = folder / sanitizer.TOOL
    given = {"broken": (), "reported": (), "stopped": ()} | options
    path.write_text(FAKE.format(python=sys.executable, **given))
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return [str(path)]


def numbers(*names: str) -> list[int]:
    every = list(sanitizer_bugs.bugs())
    return [every.index(name) for name in names]


@pytest.mark.rest
@pytest.mark.long
def test_rows_say_who_finds_a_bug(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    chosen = numbers("memory: a null pointer", "shared: another warp's element before a barrier")
    record = Record("sanitizer", tmp_path / "found.json")
    monkeypatch.setattr(sanitizer, "shares", lambda *_: [("memcheck", chosen[:1]), ("racecheck", chosen[1:])])
    tool = fake(tmp_path, reported=(f"bug_{chosen[0]:03}", f"fixed_{chosen[1]:03}"))
    sanitizer.measure(record, tool, "step", False, 1)
    assert record.wrong == []
    found = {row["check"]: (row["found"], bool(row["twin_theirs"]), row["twin_ended"]) for row in record.rows}
    assert found == {"memcheck": ("both", False, "ok"), "racecheck": ("ours", True, "ok")}
    text = sanitizer.table(json.loads((tmp_path / "found.json").read_text()))
    assert text.startswith(
        "2 planted bugs: 1 found by both, 1 by ptxlab alone, 0 by compute-sanitizer alone, 0 by neither; "
        "repaired twins reported by compute-sanitizer: 1, by ptxlab: 0."
    )
    assert all(row["native"] == row["ended"] and row["twin_native"] == "ok" for row in record.rows)


@pytest.mark.rest
@pytest.mark.parametrize("said", [True, False])
def test_a_twin_that_only_the_tool_stops_is_its_false_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: bool
) -> None:
    (number,) = numbers("shared: another warp's element before a barrier")
    twin = f"fixed_{number:03}"
    record = Record("sanitizer", tmp_path / "found.json")
    monkeypatch.setattr(sanitizer, "shares", lambda *_: [("racecheck", [number])])
    sanitizer.measure(record, fake(tmp_path, reported=(twin,) if said else (), stopped=(twin,)), "step", False, 1)
    (row,) = record.rows
    assert (row["twin_ended"], row["twin_native"]) == ("the process ended in it", "ok")
    assert (row["wrong"] == "") is said
    assert ("false report (and stops it): Invalid" in sanitizer.table({"rows": record.rows})) is said


@pytest.mark.long
def test_without_the_tool(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "benchmarks.gpu.sanitizer", "--device", "step", "--json", str(tmp_path / "x.json")]
    env = {"PATH": "", "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env=env)
    assert done.returncode == 1
    assert done.stdout.splitlines()[0] == "wrong: missing: compute-sanitizer: it is not on the path"
    done = subprocess.run([*command, "--rehearse"], capture_output=True, text=True, cwd=ROOT, env=env)
    assert done.returncode == 0
    assert done.stdout.splitlines()[0] == "left out: compute-sanitizer: it is not on the path"


@pytest.mark.parametrize("number", numbers(*sanitizer_bugs.MEMORY))
def test_wrong_accesses_are_found_and_their_twins_are_not(number: int) -> None:
    assert sanitizer.ours(number, True) == []
    assert len(sanitizer.ours(number, False)) == 1
