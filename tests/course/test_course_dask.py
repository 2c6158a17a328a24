"""Grading on a Dask cluster: the marks of a local run, the confinement of a local run, and no submission lost."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from small_cluster import small_cluster

import ptxlab as pl
from ptxlab.cli.main import main
from ptxlab.course import catalogue, dask_grading
from ptxlab.course.class_grading import Graded, grade
from ptxlab.course.report import write_csv

pytestmark = [
    pytest.mark.skipif(shutil.which("bwrap") is None, reason="workers want bubblewrap"),
    pytest.mark.long,
]

CELL = "# %% [exercise] 01-predict\n"
RIGHT = "import math\n" + catalogue()["01-predict"].solution


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    with small_cluster() as client:
        yield client


def hand_in(folder: Path, *students: str) -> None:
    """Right answers; eve's tries the network first, and bob's is a link."""
    for student in students:
        tries = "import socket\ntry: socket.socket()\nexcept OSError: pass\n" if student == "eve" else ""
        (folder / f"{student}.py").write_text(CELL + tries + RIGHT, encoding="utf-8")
    (folder / "bob.py").symlink_to("eve.py")


@pytest.mark.rest
def test_the_csv_is_that_of_a_local_run(tmp_path: Path, client: Any) -> None:
    folder, here, there = tmp_path / "class", tmp_path / "here.csv", tmp_path / "there.csv"
    folder.mkdir()
    hand_in(folder, "eve")
    local = [sys.executable, "-m", "ptxlab", "course", "grade", str(folder), "--csv", str(here), "--html",
             str(tmp_path / "here.html"), "--seed", "5", "--jobs", "1", "--quiet"]  # fmt: skip
    ran = subprocess.run(local, capture_output=True, text=True, cwd=tmp_path)  # this process has the cluster's threads
    assert ran.returncode in (0, 1), ran.stderr
    marks = grade(folder, seed=5, client=client, progress=False)
    write_csv(marks, there)
    assert there.read_bytes() == here.read_bytes()
    assert there.read_text(encoding="utf-8").splitlines()[1:] == [
        "bob,0,0,1,0.0,bob.py is a link; links are not followed",
        "eve,1,1,1,100.0,refused: network (socket)",
    ]
    assert "a machine of its own: no other process, file or network (bubblewrap)" in marks[1].in_force


@pytest.mark.rest
def test_a_worker_without_bubblewrap_refuses(tmp_path: Path, client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    hand_in(tmp_path, "eve")
    monkeypatch.setenv("PATH", str(tmp_path))
    [worker] = client.scheduler_info()["workers"]
    with pytest.raises(pl.UnavailableError) as error:
        grade(tmp_path, seed=5, client=client, progress=False)
    said = str(error.value)
    assert said.startswith(
        f"worker {worker}: it does not confine submissions with bubblewrap, as each worker should (bubblewrap: it is "
        "not installed"
    )
    assert said.endswith(
        "Install it there (apt install bubblewrap); if you trust the submissions, grade anyway with --unconfined"
    )
    monkeypatch.setattr(dask_grading, "refusal", _willing)  # it joins later: nothing was asked of it
    with pytest.raises(pl.UnavailableError) as error:
        grade(tmp_path, seed=5, client=client, progress=False)
    assert str(error.value) == f"{said}; what was graded is kept: go on with --resume"


def _willing(how: dict[str, Any]) -> str:
    """What the workers say that were asked before."""
    return ""


def test_an_address_without_a_scheduler(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    distributed: Any = pytest.importorskip("distributed")
    monkeypatch.setattr(distributed, "Client", lambda address: _refuse(OSError(f"Timed out connecting to {address}")))
    monkeypatch.chdir(tmp_path)
    hand_in(tmp_path, "eve")
    assert main(["course", "grade", str(tmp_path), "--dask", "tcp://127.0.0.1:1"]) == 2
    assert capsys.readouterr().err == (
        "ptxlab: --dask tcp://127.0.0.1:1: no scheduler answers (Timed out connecting to tcp://127.0.0.1:1)\n"
        "  start one:  dask scheduler --port 8786\n"
    )


def _refuse(error: Exception) -> None:
    raise error


@pytest.mark.slow
def test_a_grading_process_that_ends_is_replaced(tmp_path: Path, client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    hand_in(tmp_path, "eve")
    ended = tmp_path.parent / "ended"
    code = (
        f"import os, pathlib\np = pathlib.Path({str(ended)!r})\nif not p.exists(): p.touch(); os.kill(os.getpid(), 9)\n"
    )
    code += "from ptxlab.course.grading_process import main; main()"
    monkeypatch.setattr(dask_grading, "refusal", _willing)
    monkeypatch.setattr(dask_grading, "COMMAND", [sys.executable, "-c", code])  # as for want of memory
    assert [g.total for g in grade(tmp_path, seed=5, client=client, progress=False)] == [0.0, 1.0]
    assert ended.exists()


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="kills a process by a signal")
def test_a_killed_worker_loses_none(tmp_path: Path) -> None:
    distributed: Any = pytest.importorskip("distributed")
    hand_in(tmp_path, *(f"student{at}" for at in range(6)), "eve")
    options: dict[str, Any] = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0"}
    with distributed.LocalCluster(**options) as cluster, distributed.Client(cluster) as client:
        killed: list[int] = []

        def kill_one(done: list[Graded]) -> None:
            if len(done) == 3:
                killed.append(client.run(os.getpid)[next(iter(client.scheduler_info()["workers"]))])
                os.kill(killed[0], signal.SIGKILL)

        marks = grade(tmp_path, seed=5, client=client, progress=False, after_each=kill_one)
    assert killed
    assert [(g.student, g.total) for g in marks] == [("bob", 0.0), ("eve", 1.0)] + [
        (f"student{at}", 1.0) for at in range(6)
    ]
