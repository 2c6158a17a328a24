"""Right kernels damaged a line at a time, in five languages: `python benchmarks/damaged_kernels.py [language ...]`.

Each damage of `tests/support/damaged.py` is compiled and run under all checks, without a GPU. The table says how many
are reported, whether each finding names lines of the user's own text, and what becomes of the others. Languages may be
run one by one, each in a Python that has it: the lines of the others in results/damaged_kernels.md stay.
"""

from __future__ import annotations

import datetime
import importlib.util
import re
import sys
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "tests" / "support"))

from damaged import EXPLAINED, LANGUAGES, damages, judged

RESULT = HERE / "results" / "damaged_kernels.md"
PACKAGES = ("numba", "triton")
ACCESSES = ("index", "atomic")
"""Kinds of damage whose line is itself an access to memory."""


@dataclass
class Row:
    """The counts of a language, in the order of the columns, and why nothing is said of some damages."""

    counts: list[int]
    reasons: list[str]


def judge(language: str) -> tuple[Row, bool]:
    """The row of a language, and whether a damage is missed, or a finding names other lines than the user's."""
    start, n = time.perf_counter(), Counter[str]()
    reasons: list[str] = []
    for damage in damages(language):
        verdict = judged(damage)
        reason = EXPLAINED.get((damage.kernel, damage.before.strip()))
        outcome = verdict.outcome
        print(f"{outcome:12} {damage}", flush=True)
        n["damaged"] += 1
        if outcome == "reported":
            n["named"] += verdict.named
            n["unchanged"] += verdict.wrong is False
            if damage.kind in ACCESSES:
                n["accesses"] += 1
                n["there"] += verdict.at
            if not verdict.named:
                print(f"unnamed: {damage}: lines {verdict.lines}\n{verdict.says}")
        elif outcome == "silent" and reason:
            outcome = "explained"
            reasons.append(f"- {damage}: {reason}.")
        elif outcome in ("silent", "refused"):
            outcome = "missed"
            print(f"missed: {damage} {verdict.says}".strip())
        n[outcome] += 1
    n["seconds"] = round(time.perf_counter() - start)
    columns = ("damaged", "reported", "named", "there", "accesses", "unchanged", "values only", "same code")
    row = Row([n[name] for name in (*columns, "explained", "missed", "seconds")], reasons)
    return row, bool(n["missed"] or n["named"] < n["reported"])


def kept() -> dict[str, Row]:
    """The rows of the page as it stands."""
    rows: dict[str, Row] = {}
    for line in RESULT.read_text(encoding="utf-8").splitlines() if RESULT.exists() else ():
        for name in LANGUAGES:
            if line.startswith(f"| {name} |"):
                rows[name] = Row([int(number) for number in re.findall(r"\d+", line.replace(",", ""))], [])
            elif line.startswith(f"- {name}, "):
                rows[name].reasons.append(line)
    return rows


def page(rows: dict[str, Row]) -> str:
    """The page."""
    head = [
        "# Damaged kernels",
        "",
        f"`python benchmarks/damaged_kernels.py`, {datetime.date.today()}: right kernels in "
        f"{len(rows)} languages, one line of each changed at a time, on the emulator under all checks.",
        "",
        "- *names the user's lines*: every place that a finding names is a line of the kernel's own source that "
        "touches memory or waits.",
        "- *the damaged line*: where the damage is in an access (an index, an atomic operation made ordinary), the "
        "finding names that line. The others leave a place unwritten that another line reads, which is named, or leave "
        "a lock open, and the line that it guards is named.",
        "- *result unchanged*: of those reported, how many a test of values would pass in this run.",
        "- *values only*: the kernel reads and writes places that it may, in order, but the wrong ones: only a test of "
        "values can tell.",
        "- *explained*: nothing is said, and the result is right; the reasons are below.",
        "",
        "| language | damaged | reported | names the user's lines | the damaged line | result unchanged | values only "
        "| same PTX | explained | missed | seconds |",
        "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    total = [sum(column) for column in zip(*(row.counts for row in rows.values()), strict=True)]
    lines = [_line(name, row.counts) for name, row in rows.items()]
    reasons = [reason for row in rows.values() for reason in row.reasons]
    return "\n".join([*head, *lines, _line("all", total), "", "## Explained", "", *reasons]) + "\n"


def _line(name: str, counts: list[int]) -> str:
    first, (there, accesses), rest = counts[:3], counts[3:5], counts[5:]
    return f"| {' | '.join([name, *map(str, first), f'{there} of {accesses}', *map(str, rest)])} |"


def main(names: list[str]) -> int:
    """Damages the kernels of these languages, or of all; the status is 1 if one is missed or named elsewhere."""
    rows, status = kept(), 0
    for name in names or LANGUAGES:
        if name.lower() in PACKAGES and importlib.util.find_spec(name.lower()) is None:
            print(f"{name}: not run, for it is not installed in {sys.executable}; what is kept of it stays")
            status = 1
            continue
        rows[name], wrong = judge(name)
        status |= wrong
        rows = {each: rows[each] for each in LANGUAGES if each in rows}
        RESULT.write_text(page(rows), encoding="utf-8")
    print(RESULT.read_text(encoding="utf-8"))
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
