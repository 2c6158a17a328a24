"""The tests that need a GPU, as parts of the campaign: a fault in one loses no other, an unexpected skip is a failure.

    python -m benchmarks.gpu.tests --part smoke|tests [--json FILE] [--seconds N] [--rehearse]

A kernel that the GPU stops takes its process with it: whatever that process launches afterwards is refused. So the
tests that were refused for such a reason are run again, in new processes, without the one that was to blame.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

from benchmarks.gpu.record import Record, record_for

ROOT = Path(__file__).resolve().parents[2]
SMOKE = ("gpu/test_gpu_device", "launch/test_launch_run")
FILES = (
    *SMOKE,
    "kernels/test_kernels_prefill",
    "kernels/test_kernels_decode",
    "kernels/test_kernels_decode_systems",
    "kernels/test_kernels_hopper",
    "benchmarks/test_benchmarks_decode",
    "emulate/test_ncu_counters",
)
"""The files with tests marked `gpu`."""
ROUNDS = 6
"""How often tests that a lost GPU kept from running are tried again."""
TIME_UP = "the time was up: tests that are not listed did not end"
REPORTING = 6.0
"""Seconds that pytest has for its report when the time is up."""
LOST = re.compile(r"restart Python \(in a notebook: Kernel, Restart\)")
"""What a test says that was refused because another's kernel had been stopped."""
EXPECTED = re.compile(r"does not run on sm_\d+$")
"""The skips that are as they should be: what this GPU is too old for."""
SMALL = ("-k", "not test_kernels")


def tests_of(report: Path) -> list[dict[str, Any]]:
    """The tests of a junit report: name, outcome (passed, failed, skipped), seconds, and the words of the outcome."""
    found = []
    for case in ElementTree.parse(report).iter("testcase"):
        row = {"test": name_of(case), "outcome": "passed", "seconds": round(float(case.get("time", 0)), 2), "says": ""}
        for outcome, tag in (("failed", "failure"), ("failed", "error"), ("skipped", "skipped")):
            if (child := case.find(tag)) is not None:
                text = (child.get("message") or "") + "\n" + (child.text or "")
                row |= {"outcome": outcome, "says": child.get("message") or "", "lost": bool(LOST.search(text))}
                break
        found.append(row)
    return found


def name_of(case: ElementTree.Element) -> str:
    """The name by which pytest takes the test: `tests/test_x.py::test_y[z]`."""
    path = case.get("classname", "").replace(".", "/")
    return f"{path}.py::{case.get('name')}" if path else str(case.get("name"))


def run(selected: list[str], more: list[str], jobs: int, seconds: float | None) -> tuple[list[dict[str, Any]], str]:
    """Runs tests and returns them with what became of each, and the last line that pytest printed."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        up = False
        command = [
            sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-q", "-m", "gpu", f"--junitxml={report}",
            *(["-p", "xdist.plugin", "-n", str(jobs), "--dist", "load"] if jobs > 1 else []), *more, *selected,
        ]  # fmt: skip
        # Plugins that happen to be installed stay out: one that warns about another would stop the run.
        environment = os.environ | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
        with subprocess.Popen(
            command,
            cwd=ROOT,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        ) as child:
            try:
                said, _ = child.communicate(timeout=seconds)
            except subprocess.TimeoutExpired:
                up = True
                child.send_signal(signal.SIGINT)  # as Ctrl-C: what has ended is still reported
                try:
                    said, _ = child.communicate(timeout=REPORTING)
                except subprocess.TimeoutExpired:
                    os.killpg(child.pid, signal.SIGKILL)  # a worker that hangs keeps the output open
                    said, _ = child.communicate()
        print(said, flush=True)
        last = next((line for line in reversed(said.splitlines()) if line.strip()), "")
        return (tests_of(report) if report.exists() else []), TIME_UP if up else last


def judged(row: dict[str, Any]) -> str:
    """What is wrong with the outcome of a test, "" for nothing. What needs something is said to be missing instead."""
    if row["outcome"] == "failed":
        return f"{row['test']}: {row['says'].splitlines()[0] if row['says'] else 'failed'}"
    if row["outcome"] == "skipped" and not row["says"].startswith("needs ") and not EXPECTED.search(row["says"]):
        return f"{row['test']}: skipped without need: {row['says']}"
    return ""


def measure(record: Record, files: list[str], more: list[str], jobs: int) -> str:
    """Runs the tests of the files, and those again that were lost to the fault of another."""
    started, selected, last = time.monotonic(), files, ""
    for round_ in range(ROUNDS):
        left = None if record.seconds is None else record.seconds - (time.monotonic() - started)
        if left is not None and left < 5:
            record.left = len(selected)
            break
        rows, last = run(selected, more if not round_ else [], jobs, left)
        if not rows:
            record.add(test="pytest", outcome="failed", says=last, wrong=f"pytest gave no report: {last}")
            break
        if last == TIME_UP:
            record.add(test="pytest", outcome="failed", says=last, wrong=last)
        lost = [row["test"] for row in rows if row.get("lost")]
        for row in (row for row in rows if row["test"] not in lost):
            if row["outcome"] == "skipped" and row["says"].startswith("needs "):
                record.missing(row["test"], row["says"])
            record.add(**row, round=round_, wrong=judged(row))
        if not lost:
            break
        selected = lost  # in new processes, and without the one whose kernel was stopped
    else:
        for name in selected:
            record.add(test=name, outcome="lost", says="", wrong=f"{name}: never ran, the GPU was lost each time")
    return last


def table(found: dict[str, Any]) -> str:
    """How many tests of each file passed, and each that did not."""
    files = sorted({row["test"].partition("::")[0] for row in found["rows"]})
    lines = ["| file | passed | failed | skipped | seconds |", "| --- | ---: | ---: | ---: | ---: |"]
    for file in files:
        rows = [row for row in found["rows"] if row["test"].partition("::")[0] == file]
        counts = [sum(row["outcome"] == outcome for row in rows) for outcome in ("passed", "failed", "skipped")]
        lines.append(f"| {file} | {' | '.join(map(str, counts))} | {sum(row.get('seconds', 0) for row in rows):.1f} |")
    return "\n".join([*lines, "", *(f"- {text}" for text in found["wrong"])])


def main() -> int:
    """Runs the tests of one part."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--part", choices=("smoke", "tests"), default="tests")
    record, options = record_for("tests", __doc__, parser)
    record.part = options.part
    record.rows.clear()  # tests of another run say nothing about this one
    files = [f"tests/{name}.py" for name in (SMOKE if options.part == "smoke" else FILES)]
    jobs = 1 if options.part == "smoke" else min(8, os.cpu_count() or 1)
    if jobs > 1 and importlib.util.find_spec("xdist") is None:
        record.missing("pytest-xdist", "not installed: the tests run one after the other")
        jobs = 1
    more = list(SMALL) if record.rehearsal and options.part == "tests" else []
    return record.end(measure(record, files, more, jobs))


if __name__ == "__main__":
    sys.exit(main())
