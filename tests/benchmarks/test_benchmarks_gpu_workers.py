"""Child processes of the campaign: answers, deaths and hangs; and the CUDA programs that run in them."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from benchmarks.gpu import programs
from benchmarks.gpu.record import Record
from benchmarks.gpu.workers import Died, Worker, Workers

CHILD = """
import os, sys, time
from benchmarks.gpu.workers import serve
def answer(question):
    print("noise that must not get among the answers")
    os.system("echo more noise")
    if question == "die":
        print("last words", file=sys.stderr)
        os._exit(7)
    if question == "kill":
        os.kill(os.getpid(), 9)
    if question == "hang":
        time.sleep(60)
    return {"said": question, "last": question == "last", "pid": os.getpid()}
serve(answer)
"""
COMMAND = [sys.executable, "-c", CHILD]


def test_a_child_that_dies_loses_its_question_only() -> None:
    with Workers(COMMAND, count=2, limit=20) as workers:
        for question in ("a", "die", "b", "kill", "c"):
            workers.put(question)
        found = dict(workers)
    assert {name: found[name]["said"] for name in "abc"} == {"a": "a", "b": "b", "c": "c"}
    assert found["die"] == Died("it ended with status 7: last words")
    assert found["kill"].why.startswith("it ended with SIGKILL")


@pytest.mark.long
def test_a_child_is_ended_when_it_hangs_or_says_so() -> None:
    worker = Worker(COMMAND, 20)
    first = worker.ask("a")["pid"]
    assert worker.ask("last")["pid"] == first
    assert worker.process is None
    assert worker.ask("b")["pid"] != first
    worker.limit = 0.5
    assert worker.ask("hang") == Died("no answer within 0.5 s; it was ended")
    worker.close()
    worker.said.close()


# -- CUDA programs -----------------------------------------------------------------------------------------------------


@pytest.mark.long
def test_programs_have_rows_and_what_stops_is_wrong(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    record = Record("programs", tmp_path / "found.json")
    asked = [{"program": "warp_votes", "mode": "O3", "device": device} for device in ("step", "cpu")]
    programs.measure(record, asked, 1)
    assert record.wrong == []
    assert [(row["device"], row["verdict"]) for row in record.rows] == [("step", "ok"), ("cpu", "ok")]

    def answers(self: Worker, question: object) -> Died:
        return Died("it ended with SIGSEGV")

    monkeypatch.setattr(Worker, "ask", answers)
    programs.measure(record, [*asked, {"program": "fft", "mode": "O3", "device": "gpu"}], 1)
    assert record.wrong == ["fft -O3 on gpu: stopped: it ended with SIGSEGV"]
