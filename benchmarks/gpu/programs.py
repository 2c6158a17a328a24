"""The CUDA C++ programs of tests/cuda_cases on the GPU and on the emulator: `python -m benchmarks.gpu.programs`.

nvcc's PTX of every program, as it is in the corpus (-O3 and -G, for sm_90), is run, and its results are compared with
numpy's. Each runs in a child process, several side by side, so that one that faults or hangs on the GPU loses no other.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections import Counter
from typing import Any

import ptxlab as pl
from benchmarks.gpu import corpus
from benchmarks.gpu.record import Record, record_for
from benchmarks.gpu.workers import Died, Workers, serve
from ptxlab.gpu.faults import context_lost

ARCH = "sm_90"
LIMIT = 60.0
"""Seconds for one program."""
REHEARSED = ("reductions", "warp_votes", "printing")


def answer(question: dict[str, Any]) -> dict[str, Any]:
    """The child's answer: what became of a program on a device."""
    programs = corpus.module("cuda_programs")
    name, mode, device = question["program"], question["mode"], question["device"]
    started = time.perf_counter()
    try:
        text = programs.ptx_of(name, mode, ARCH)
        outcome = programs.run(name, text, device, **({} if device == "gpu" else {"workers": 1}))
        verdict, says = outcome.verdict, outcome.says
    except pl.AssemblyError as error:
        verdict, says = "refused", f"the assembler: {error.message}"
    except (pl.LaunchError, pl.UnavailableError, pl.TargetError) as error:
        verdict, says = "refused", str(error)
    seconds = time.perf_counter() - started
    return {"verdict": verdict, "says": says[:400], "seconds": round(seconds, 2), "last": bool(context_lost())}


def questions(device: str, rehearse: bool) -> list[dict[str, Any]]:
    """Every program, each of the ways it was compiled, on the device and on the emulator."""
    programs = corpus.module("cuda_programs")
    names = [name for name in programs.PROGRAMS if not rehearse or name in REHEARSED]
    return [
        {"program": name, "mode": mode, "device": where}
        for mode in (programs.MODES[:1] if rehearse else programs.MODES)
        for where in (device, "cpu")
        for name in names
        if programs.exists(name, ARCH)
    ]


def main() -> int:
    """Runs what no earlier run has."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--device", default="gpu", choices=("gpu", "step"), help="step: the emulator's other engine")
    parser.add_argument("--workers", type=int, default=min(12, os.cpu_count() or 1))
    if "--worker" in sys.argv:
        serve(answer)
        return 0
    record, options = record_for("programs", __doc__, parser)
    if options.device == "gpu" and not pl.gpu.available():
        record.missing("an NVIDIA GPU", "none is there, or no driver for it")
        return record.end()
    measure(record, questions(options.device, options.rehearse), options.workers)
    return record.end(summary(record.rows))


def measure(record: Record, asked: list[dict[str, Any]], workers: int) -> None:
    """A row for each question without one."""
    todo = [question for question in asked if not record.has(**question)]
    left = len(todo)
    with Workers([sys.executable, "-m", "benchmarks.gpu.programs", "--worker"], count=workers, limit=LIMIT) as children:
        for question in todo:
            children.put(question)
        for question, found in children:
            died = isinstance(found, Died)
            verdict = "stopped" if died else found["verdict"]
            says = found.why if died else found["says"]
            what = f"{question['program']} -{question['mode']} on {question['device']}"
            wrong = "" if verdict == "ok" else f"{what}: {verdict}: {says.partition(chr(10))[0]}"
            seconds = None if died else found["seconds"]
            record.add(**question, verdict=verdict, says=says, seconds=seconds, wrong=wrong)
            left -= 1
            if left and record.out_of_time(left):
                break


def summary(rows: list[dict[str, Any]]) -> str:
    """One line: how each device ended, then both, since the count of wrong rows that the campaign adds is of both."""
    by_device: dict[str, Counter[str]] = {}
    for row in rows:
        by_device.setdefault(row["device"], Counter()).update([row["verdict"]])
    devices = "; ".join(
        f"{device}: " + ", ".join(f"{n} {verdict}" for verdict, n in found.items())
        for device, found in by_device.items()
    )
    return f"{devices}; together: {sum(found['ok'] for found in by_device.values())} ok"


def table(found: dict[str, Any]) -> str:
    """Verdicts for each device, and what is not ok."""
    lines = [f"CUDA C++ programs against numpy: {summary(found['rows'])}.", ""]
    other = [row for row in found["rows"] if row["verdict"] != "ok"]
    if other:
        lines += ["| program | compiled | device | result |", "| --- | --- | --- | --- |"]
    for row in other:
        says = f"{row['verdict']}: {row['says']}".replace("|", "/").replace("\n", " ")
        lines.append(f"| {row['program']} | -{row['mode']} | {row['device']} | {says} |")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
