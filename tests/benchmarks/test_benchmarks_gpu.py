"""The GPU campaign without a GPU: parts that die, hang, are cut and taken up again; tests lost to another's fault."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.long  # each test is a campaign in processes of its own


@pytest.fixture(autouse=True)
def root(monkeypatch: pytest.MonkeyPatch) -> None:
    """`benchmarks` is found from the repository's root."""
    monkeypatch.syspath_prepend(str(ROOT))
    monkeypatch.setenv("PYTHONPATH", str(ROOT))


PART = """
import os, signal, sys, time
from benchmarks.gpu.record import record_for
record, options = record_for("part", "a part")
for number in range(4):
    if record.has(number=number):
        continue
    if number == 2 and not os.path.exists(options.json.with_suffix(".second")):
        options.json.with_suffix(".second").touch()
        {what}
    record.add(number=number, run=os.getpid(), wrong={wrong!r})
sys.exit(record.end("all four"))
"""


def part(name: str, what: str = "pass", wrong: str = "", seconds: float = 60) -> Any:
    """A part of four rows that does `what` before the third, the first time it comes there."""
    from benchmarks.gpu.campaign import Part

    return Part(name, seconds, (sys.executable, "-c", PART.format(what=what, wrong=wrong)), f"what of {name}?")


@pytest.fixture
def campaign(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """`campaign(part, ...)`: a campaign of these in a folder of the test; the same folder each time."""
    from benchmarks.gpu import campaign as module

    monkeypatch.setattr(module, "GRACE", 1.0)
    monkeypatch.setattr(module, "LEAST", 0.5)

    def make(*parts: Any, rehearsal: bool = False) -> Any:
        facts = {"rehearsal": rehearsal, "started": "today", "command": "python -m benchmarks.gpu", "commit": "abc"}
        return module.Campaign(parts, tmp_path / "out", facts)

    return make


def rows(made: Any, name: str) -> list[int]:
    return [row["number"] for row in made.found(name)["rows"]]


@pytest.mark.rest
def test_parts_that_pass_fail_and_die(campaign: Callable[..., Any], capfd: pytest.CaptureFixture[str]) -> None:
    parts = (
        part("good"),
        part("bad", wrong="nonsense"),
        part("dead", "os.kill(os.getpid(), signal.SIGSEGV)"),
        part("last"),
    )
    made = campaign(*parts)
    made.run(60)
    ends = {name: (end.status, end.code, end.says) for name, end in made.ends.items()}
    assert ends == {
        "good": ("passed", 0, "all four"),
        "bad": ("failed", 1, "all four, 4 wrong"),
        "dead": ("died", -11, "SIGSEGV; nothing was printed"),
        "last": ("passed", 0, "all four"),
    }
    assert (rows(made, "good"), rows(made, "dead")) == ([0, 1, 2, 3], [0, 1])
    assert made.status == 1
    kept = json.loads((made.folder / "campaign.json").read_text())
    assert kept["parts"]["dead"]["status"] == "died"
    assert kept["records"]["bad"]["wrong"] == ["nonsense"] * 4
    table = (made.folder / "table.md").read_text()
    assert "| dead | died | " in table
    assert "# The GPU campaign\n\n- started: today\n" in table

    again = campaign(*parts)
    again.run(60)  # only what died: it goes on, and that it died stays to be read
    assert {name: end.runs for name, end in again.ends.items()} == {"good": 1, "bad": 1, "dead": 2, "last": 1}
    assert again.ends["dead"].status == "passed"
    assert len({row["run"] for row in again.found("dead")["rows"]}) == 2
    assert "| all four; run 1 died: SIGSEGV; nothing was printed |" in (again.folder / "table.md").read_text()
    again.run(60, say=lambda text: pytest.fail(f"nothing is run again, but: {text}"))
    again.run(60, only=["dead"], redo=True)  # from the start
    assert (again.ends["dead"].runs, again.ends["dead"].before) == (1, "")
    assert len({row["run"] for row in again.found("dead")["rows"]}) == 1


@pytest.mark.rest
def test_a_part_that_hangs_is_ended_with_its_children_and_goes_on_later(campaign: Callable[..., Any]) -> None:
    hang = "import subprocess; subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)']).wait()"
    made = campaign(part("stuck", hang, seconds=1.5), part("after"))
    made.run(60)
    assert {name: end.status for name, end in made.ends.items()} == {"stuck": "hung", "after": "passed"}
    assert rows(made, "stuck") == [0, 1]
    assert made.status == 1
    again = campaign(part("stuck", hang, seconds=20), part("after"))
    again.run(60)
    assert again.ends["stuck"].status == "passed"
    assert rows(again, "stuck") == [0, 1, 2, 3]
    assert again.ends["stuck"].runs == 2
    assert again.ends["after"].runs == 1
    assert again.status == 0


@pytest.mark.rest
def test_the_budget_is_kept_and_the_rest_is_for_the_next_run(campaign: Callable[..., Any]) -> None:
    """A part that sees that its time is up ends by itself; what does not fit any more waits."""
    made = campaign(part("cut", "time.sleep(60)"), part("waits"))
    made.run(2.5)
    assert {name: end.status for name, end in made.ends.items()} == {"cut": "cut", "waits": "waiting"}
    assert made.status == 3
    made = campaign(part("cut"), part("waits"))
    made.run(60)
    assert made.status == 0


@pytest.mark.rest
def test_a_part_with_rows_to_come_goes_on_behind_the_others(campaign: Callable[..., Any]) -> None:
    """As prefill does when the GPU stopped one of its kernels: what is wrong stays, and no other row is lost."""
    said: list[str] = []
    made = campaign(part("stopped", "record.left = 2; sys.exit(record.end())", wrong="a fault"), part("after"))
    made.run(60, say=said.append)
    ends = [re.match(r"(\w+: \w+) after \d+ s: ", text) for text in said]
    assert [end[1] for end in ends if end] == ["stopped: unfinished", "after: passed", "stopped: failed"]
    assert rows(made, "stopped") == [0, 1, 2, 3]
    assert made.ends["stopped"].says == "all four, 4 wrong"
    endless = campaign(replace(part("endless"), command=(sys.executable, "-c", "import sys; sys.exit(3)")))
    endless.run(60)  # it adds no row, so it is not repeated
    assert (endless.ends["endless"].status, endless.ends["endless"].runs, endless.status) == ("unfinished", 1, 3)


def test_ctrl_c_leaves_nothing_running(campaign: Callable[..., Any]) -> None:
    made = campaign(part("slow", "print(os.getpid(), flush=True); time.sleep(60)"), part("after"))

    def stop_once_it_runs() -> None:
        log, deadline = made.folder / "slow.log", time.monotonic() + 60
        while not (log.exists() and log.read_text().endswith("\n")) and time.monotonic() < deadline:
            time.sleep(0.05)
        os.kill(os.getpid(), signal.SIGINT)

    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job ignores it
    threading.Thread(target=stop_once_it_runs, daemon=True).start()
    try:
        with pytest.raises(KeyboardInterrupt):
            made.run(60)
    finally:
        signal.signal(signal.SIGINT, before)
    process = int((made.folder / "slow.log").read_text())
    with pytest.raises(ProcessLookupError):
        os.kill(process, 0)
    kept = json.loads((made.folder / "campaign.json").read_text())["parts"]
    assert {name: end["status"] for name, end in kept.items()} == {"slow": "cut", "after": "waiting"}


def test_nothing_can_be_measured(campaign: Callable[..., Any]) -> None:
    from benchmarks.gpu.record import UNUSABLE

    said: list[str] = []
    made = campaign(part("first", f"sys.exit({UNUSABLE})"), part("second"))
    made.run(60, say=said.append)
    assert {name: end.status for name, end in made.ends.items()} == {"first": "failed", "second": "waiting"}
    assert said[-1] == f"nothing can be measured here: see {made.folder}/first.log"


def test_what_is_missing_is_a_failure_unless_it_may_be(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from benchmarks.gpu.record import DONE, WRONG, Record

    record = Record("x", tmp_path / "x.json")
    record.missing("FlashInfer", "not installed", optional=True)
    assert record.end() == DONE
    record.missing("ncu", "not on the path")
    assert record.end("two rows") == WRONG
    record.add(a=1), record.add(a=2)
    assert record.end("two rows") == WRONG
    assert capsys.readouterr().out == (
        "left out: FlashInfer: not installed\nnothing was measured: FlashInfer: not installed\n"
        "wrong: missing: ncu: not on the path\nleft out: FlashInfer: not installed\n"
        "nothing was measured: ncu: not on the path, 1 wrong\n"
        "wrong: missing: ncu: not on the path\nleft out: FlashInfer: not installed\ntwo rows, 1 wrong\n"
    )
    rehearsal = Record("x", rehearsal=True)
    rehearsal.missing("ncu", "not on the path")
    assert rehearsal.end() == DONE


# -- the tests as a part -----------------------------------------------------------------------------------------------


@pytest.fixture
def tests_part() -> ModuleType:
    from benchmarks.gpu import tests

    return tests


def test_the_named_files_are_those_with_gpu_tests(tests_part: ModuleType) -> None:
    marked = {
        p.relative_to(ROOT / "tests").with_suffix("").as_posix()
        for p in (ROOT / "tests").rglob("test_*.py")
        if re.search(r"^(@pytest|pytestmark =.*)\.mark\.gpu\b", p.read_text(), re.M)
    }
    assert marked == set(tests_part.FILES)


LOSING = """
import pytest
lost, mark = [], pytest.mark
pytestmark = mark.gpu
WORDS = "it was stopped; restart Python (in a notebook: Kernel, Restart), or write device='cpu'"
@pytest.mark.parametrize("n", range(6))
def test_launch(n):
    assert not lost, WORDS
    if n in (1, 4):
        lost.append(n)
        raise RuntimeError(f"fault {n}")
def test_old():
    pytest.skip("x does not run on sm_75")
def test_skipped():
    pytest.skip("no reason that is one")
def test_missing():
    pytest.skip("needs ncu")
"""


@pytest.mark.rest
def test_a_fault_loses_no_other_test(tests_part: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two kernels are stopped; every test that was refused afterwards runs in a later round."""
    from benchmarks.gpu.record import Record

    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_losing.py").write_text(LOSING)
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers = gpu: x\n")
    monkeypatch.setattr(tests_part, "ROOT", tmp_path)
    record = Record("tests", tmp_path / "tests.json", 60)
    tests_part.measure(record, ["tests/test_losing.py"], [], 1)
    at = "tests/test_losing.py::"
    outcomes = {row["test"].removeprefix(at): (row["outcome"], row["round"]) for row in record.rows}
    assert outcomes == {
        "test_launch[0]": ("passed", 0),
        "test_launch[1]": ("failed", 0),
        "test_launch[2]": ("passed", 1),
        "test_launch[3]": ("passed", 1),
        "test_launch[4]": ("failed", 1),
        "test_launch[5]": ("passed", 2),
        "test_old": ("skipped", 0),
        "test_skipped": ("skipped", 0),
        "test_missing": ("skipped", 0),
    }
    assert record.wrong == [
        f"{at}test_launch[1]: RuntimeError: fault 1",
        f"{at}test_skipped: skipped without need: no reason that is one",
        f"{at}test_launch[4]: RuntimeError: fault 4",
        f"missing: {at}test_missing: needs ncu",
    ]


# -- what an image with torch has, and no more -------------------------------------------------------------------------

ABSENT = (
    "IPython", "ipywidgets", "anywidget", "traitlets", "jupyterlab", "jupytext", "nbformat", "nbclient", "nbgrader",
    "matplotlib", "playwright", "sphinx", "hypothesis",
)  # fmt: skip
"""Packages that a GPU machine's image may lack, or that no part has any business with."""
BLOCKED = f"""
import sys
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {ABSENT!r}:
            raise ModuleNotFoundError(f"no module named {{name!r}} in this test", name=name)
sys.meta_path.insert(0, Absent())
"""


def test_parts_and_gpu_tests_import_no_widgets(tests_part: ModuleType) -> None:
    from benchmarks.gpu.parts import PARTS

    modules = sorted({part.command[2] for part in PARTS})
    assert len(modules) == 11
    folders = ["tests", "tests/support", *{f"tests/{name.split('/')[0]}" for name in tests_part.FILES}]
    modules += ["conftest", *(name.split("/")[1] for name in tests_part.FILES)]
    code = f"{BLOCKED}sys.path[:0] = {folders}\nimport importlib\nfor name in {modules}: importlib.import_module(name)"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
