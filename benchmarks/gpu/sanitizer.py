"""NVIDIA's compute-sanitizer beside ptxlab's checks, on planted bugs: `python -m benchmarks.gpu.sanitizer`.

The 130 bugs of tests/planted*.py and a few wrong accesses, each with a repaired twin, run on the GPU under the tool
that has the same name as our check (memcheck, initcheck, racecheck, synccheck), on the emulator with our check, and
on the GPU without any tool. Rows say who reports the bug, who raises a false alarm on the twin, and what the GPU alone
does. Some bugs stop the process or wait for ever: it is started again behind them.
"""

from __future__ import annotations

import argparse
import os
import re
import select
import shutil
import subprocess
import sys
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from typing import Any

import ptxlab as pl
from benchmarks.gpu import sanitizer_bugs
from benchmarks.gpu.corpus import ROOT
from benchmarks.gpu.record import Record, record_for
from benchmarks.gpu.sanitizer_bugs import kernel_name
from benchmarks.gpu.workers import environment, kill

TOOL = "compute-sanitizer"
OPTIONS = ("--print-limit", "20", "--target-processes", "all")
"""Text, not `--xml`: a process that is killed leaves XML that is not closed."""
FIRST, NEXT, ALONE = 60.0, 12.0, 5.0
"""Seconds without a line from the target after which it hangs: until its first launch, after that under the tool, and
after that without it."""
SHARE = 24
"""Kernels a process: the tool takes seconds to start, and what hangs holds up those behind it."""


# -- what the tool says ------------------------------------------------------------------------------------------------

_REPORT = re.compile(r"^========= (?! )(?P<head>.*)")
_KERNEL = re.compile(r"\b(?P<kernel>(?:bug|fixed)_\d{3})\b")
_NOT_A_REPORT = (
    "COMPUTE-SANITIZER",
    "ERROR SUMMARY",
    "RACECHECK SUMMARY",
    "LEAK SUMMARY",
    "Target application",
    "Program hit",
    "Internal Sanitizer Error",
)


def reports(text: str) -> dict[str, list[str]]:
    """What the tool reports of each kernel, in its words, each once.

    A report begins with `========= Invalid __global__ read of size 4 bytes`; the kernel is named in that line
    (`at bug_012+0x90`) or in one of the indented lines behind it (`=========     at bug_012+0x90`, in older versions
    `at 0x90 in bug_012`).
    """
    found: dict[str, list[str]] = {}
    head, told = "", False
    for line in text.splitlines():
        if not line.startswith("========="):
            continue
        if match := _REPORT.match(line):
            head, told = match["head"].strip(), False
        if not head or told or head.startswith(_NOT_A_REPORT) or "Saved host backtrace" in line:
            continue
        if match := _KERNEL.search(line):
            words = re.sub(r"\s+", " ", re.sub(rf"\b{match['kernel']}\b(?:\+0x[0-9a-f]+)?", "the kernel", head))
            told = True
            if words not in found.setdefault(match["kernel"], []):
                found[match["kernel"]].append(words)
    return found


# -- running it --------------------------------------------------------------------------------------------------------


@dataclass
class Session:
    """What one check found: reports by kernel, how kernels ended, and why the tool did not run, "" if it did."""

    said: dict[str, list[str]] = field(default_factory=dict)
    ended: dict[str, str] = field(default_factory=dict)
    broken: str = ""


def lines_of(command: list[str], first: float, then: float) -> Iterator[str | None]:
    """The lines that a command prints, as they come; None, and its end, where it is silent for too long."""
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, cwd=ROOT, env=environment(), start_new_session=True
    )
    assert process.stdout is not None
    rest, end = b"", time.monotonic() + first
    try:
        while True:
            left = end - time.monotonic()
            if left <= 0 or not select.select([process.stdout], [], [], left)[0]:
                yield None
                return
            part = os.read(process.stdout.fileno(), 1 << 16)
            if not part:
                process.wait()
                return
            *whole, rest = (rest + part).split(b"\n")
            for line in whole:
                text = line.decode(errors="replace")
                if text.startswith(("begin ", "end ")):
                    end = time.monotonic() + then
                yield text
    finally:
        process.stdout.close()
        kill(process)


def watch(check: str, names: list[str], device: str, tool: list[str], enough: Callable[[], bool]) -> Session:
    """Runs kernels under a tool ([]: under none), again and again behind those that end the process."""
    session, todo = Session(), deque(names)
    under, patience = ([*tool, "--tool", check, *OPTIONS], NEXT) if tool else ([], ALONE)
    while todo and not enough():
        target = [sys.executable, "-m", "benchmarks.gpu.sanitizer_target", "--device", device, *todo]
        said: list[str] = []
        open_ = ""
        started = len(todo)
        for line in lines_of([*under, *target], FIRST, patience):
            if line is None:
                said.append("(silent for too long; it was ended)")
                if open_:
                    session.ended[open_] = f"no end within {patience:g} s"
                break
            said.append(line)
            word, _, rest = line.partition(" ")
            if word == "begin" and todo and rest == todo[0]:
                open_ = todo.popleft()
            elif word == "end" and rest.startswith(f"{open_} "):
                session.ended[open_] = rest.removeprefix(f"{open_} ")
                open_ = ""
        for kernel, words in reports("\n".join(said)).items():
            session.said.setdefault(kernel, []).extend(w for w in words if w not in session.said[kernel])
        if open_ and open_ not in session.ended:
            session.ended[open_] = "the process ended in it"
        if len(todo) == started:
            last = [line for line in said if line.strip()][-3:]
            session.broken = " / ".join(last)[:400] or "it printed nothing"
            break
    return session


# -- the part ----------------------------------------------------------------------------------------------------------


def ours(number: int, repaired: bool) -> list[str]:
    """What our check says of a bug or its twin, on the emulator."""
    planted = list(sanitizer_bugs.bugs().values())[number]
    try:
        done, _ = planted.launch("cpu", repaired, ("memcheck", planted.check))
    except pl.DeviceFault as fault:
        return [fault.kind]
    return sorted({finding.kind for finding in done.findings if finding.check == planted.check})


def note(record: Record, number: int, session: Session, alone: Session) -> None:
    """The row of a bug; alone: what the GPU does without a tool. A twin that only the tool stops is a false report."""
    name, planted = list(sanitizer_bugs.bugs().items())[number]
    bug, fixed = kernel_name(number, False), kernel_name(number, True)
    own, own_twin = ours(number, False), ours(number, True)
    theirs, theirs_twin = session.said.get(bug, []), session.said.get(fixed, [])
    found = "both" if own and theirs else "ours" if own else "theirs" if theirs else "neither"
    ended, native = ([each.ended.get(name, "not run") for name in (bug, fixed)] for each in (session, alone))
    wrong = []
    if not own:
        wrong.append("our check does not report it")
    if own_twin:
        wrong.append(f"our check reports the repaired twin: {', '.join(own_twin)}")
    if native[1] != "ok":
        wrong.append(f"the repaired twin did not run: {native[1]}")
    elif ended[1] != "ok" and not theirs_twin:
        wrong.append(f"the repaired twin did not run under {TOOL}, which says nothing of it: {ended[1]}")
    record.add(
        bug=name,
        check=planted.check,
        number=number,
        found=found,
        ours=own,
        theirs=theirs,
        twin_ours=own_twin,
        twin_theirs=theirs_twin,
        ended=ended[0],
        twin_ended=ended[1],
        native=native[0],
        twin_native=native[1],
        wrong=f"{name}: {'; '.join(wrong)}" if wrong else "",
    )


def shares(record: Record, rehearse: bool) -> list[tuple[str, list[int]]]:
    """(check, numbers of bugs) for each process: those that hang are spread over all."""
    out = []
    by_check: dict[str, list[int]] = {}
    for number, (name, planted) in enumerate(sanitizer_bugs.bugs().items()):
        if not record.has(bug=name):
            by_check.setdefault(planted.check, []).append(number)
    for check, numbers in by_check.items():
        numbers = numbers[:2] if rehearse else numbers
        count = -(-2 * len(numbers) // SHARE)
        out += [(check, numbers[k::count]) for k in range(count)]
    return out


def names_of(numbers: list[int]) -> list[str]:
    """Twins first, then bugs, and last those that are known to end or hold up the process."""
    known = list(sanitizer_bugs.bugs().values())
    ordered = sorted(numbers, key=lambda n: known[n].stops)
    return [kernel_name(n, True) for n in numbers] + [kernel_name(n, False) for n in ordered]


def main() -> int:
    """Runs what has no row yet."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="gpu", choices=("gpu", "step"), help="step: the emulator, under the tool")
    parser.add_argument("--workers", type=int, default=min(8, os.cpu_count() or 1))
    record, options = record_for("sanitizer", __doc__, parser)
    tool = shutil.which(TOOL)
    if options.device == "gpu" and not pl.gpu.available():
        record.missing("an NVIDIA GPU", "none is there, or no driver for it")
    elif tool is None:
        record.missing(TOOL, "it is not on the path")
    else:
        measure(record, [tool], options.device, options.rehearse, options.workers)
    return record.end(summary(record.rows))


def measure(record: Record, tool: list[str], device: str, rehearse: bool, workers: int) -> None:
    """Processes side by side, each with its share of the bugs."""
    todo = shares(record, rehearse)
    waiting = sum(len(numbers) for _, numbers in todo)

    def enough() -> bool:
        return record.seconds is not None and time.monotonic() - record.started > record.seconds

    def run(share: tuple[str, list[int]]) -> tuple[str, list[int], Session, Session]:
        (check, numbers), none = share, Session()
        session = none if enough() else watch(check, names_of(numbers), device, tool, enough)
        alone = none if enough() or session.broken else watch(check, names_of(numbers), device, [], enough)
        return check, numbers, session, alone

    broken: dict[str, str] = {}
    with ThreadPoolExecutor(workers) as threads:
        for done in as_completed([threads.submit(run, share) for share in todo]):
            check, numbers, session, alone = done.result()
            if session.broken:
                broken.setdefault(f"{TOOL} --tool {check}", session.broken)
            elif alone.broken:
                broken.setdefault(f"the bugs of {check} without a tool", alone.broken)
            for number in numbers:
                if {kernel_name(number, False), kernel_name(number, True)} <= session.ended.keys() & alone.ended.keys():
                    note(record, number, session, alone)
                    waiting -= 1
                elif session.broken or alone.broken:
                    waiting -= 1
    for what, why in broken.items():
        record.missing(what, why)
    if waiting:
        record.out_of_time(waiting)


def summary(rows: list[dict[str, Any]]) -> str:
    """One line."""
    found = Counter(row["found"] for row in rows)
    theirs, own = (sum(bool(row[key]) for row in rows) for key in ("twin_theirs", "twin_ours"))
    return (
        f"{len(rows)} planted bugs: {found['both']} found by both, {found['ours']} by ptxlab alone, "
        f"{found['theirs']} by {TOOL} alone, {found['neither']} by neither; "
        f"repaired twins reported by {TOOL}: {theirs}, by ptxlab: {own}"
    )


def false_report(row: dict[str, Any]) -> str:
    """What the tool says of the repaired twin, which the GPU runs to its end."""
    if not row["twin_theirs"]:
        return "-"
    stopped = " (and stops it)" if row["twin_ended"] != "ok" else ""
    return f"false report{stopped}: {'; '.join(row['twin_theirs'])}"


def table(found: dict[str, Any]) -> str:
    """Counts for each check, and all bugs: what both say, how the GPU ends without the tool, and false reports."""
    rows = found["rows"]
    lines = [f"{summary(rows)}.", ""]
    lines += [f"| check | bugs | both | ptxlab alone | {TOOL} alone | neither | twins reported |"]
    lines += ["| --- | --- | --- | --- | --- | --- | --- |"]
    for check in dict.fromkeys(row["check"] for row in rows):
        mine = [row for row in rows if row["check"] == check]
        counts = Counter(row["found"] for row in mine)
        twins = sum(bool(row["twin_theirs"]) for row in mine)
        cells = (len(mine), *(counts[k] for k in ("both", "ours", "theirs", "neither")), twins)
        lines.append(f"| {check} | " + " | ".join(map(str, cells)) + " |")
    lines += ["", f"| bug | check | ptxlab | {TOOL} | on the GPU alone | repaired twin under {TOOL} |"]
    lines += ["| --- | --- | --- | --- | --- | --- |"]
    for row in sorted(rows, key=lambda row: int(row["number"])):
        theirs, own = ("; ".join(row[k]) or "-" for k in ("theirs", "ours"))
        all_ = row["bug"], row["check"], own, theirs, row["native"], false_report(row)
        lines.append("| " + " | ".join(str(c).replace("|", "/")[:160] for c in all_) + " |")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
