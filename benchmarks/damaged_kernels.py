"""Right kernels damaged a line at a time, in five languages: `python benchmarks/damaged_kernels.py [language ...]`.

Each damage of `tests/support/damaged.py` is compiled and run under all checks, without a GPU. The table says how many
are reported, whether each finding names lines of the user's own text, and what becomes of the others. Languages may be
run one by one, each in a Python that has it: results are kept in results/damaged_kernels.json.
"""

from __future__ import annotations

import datetime
import importlib.util
import json
import sys
import time
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "tests" / "support"))

from damaged import EXPLAINED, LANGUAGES, Verdict, damages, judged

RESULTS, TABLE = HERE / "results" / "damaged_kernels.json", HERE / "results" / "damaged_kernels.md"
PACKAGES = ("numba", "triton")
ACCESSES = ("index", "atomic")
"""Kinds of damage whose line is itself an access to memory."""


def row(language: str) -> dict[str, Any]:
    """The counts of one language, and what stands out."""
    start = time.perf_counter()
    found: dict[str, Any] = dict.fromkeys(
        ("damaged", "reported", "named", "accesses", "there", "unchanged", "values", "same", "explained", "refused"), 0
    )
    found |= {"reasons": [], "missed": [], "unnamed": []}
    for damage in damages(language):
        verdict = judged(damage)
        reason = EXPLAINED.get((damage.kernel, damage.before.strip()))
        found["damaged"] += 1
        found["refused"] += verdict.outcome == "refused"
        found["values"] += verdict.outcome == "values only"
        found["same"] += verdict.outcome == "same code"
        if verdict.outcome == "reported":
            _count(found, verdict)
        elif verdict.outcome == "silent" and reason:
            found["explained"] += 1
            found["reasons"].append(f"{damage}: {reason}")
        elif verdict.outcome in ("silent", "refused"):
            found["missed"].append(f"{damage} {verdict.says}".strip())
        print(f"{verdict.outcome:12} {damage}", flush=True)
    found["seconds"] = round(time.perf_counter() - start)
    return found


def _count(found: dict[str, Any], verdict: Verdict) -> None:
    """Adds a damage that was reported."""
    found["reported"] += 1
    found["named"] += verdict.named
    found["unchanged"] += verdict.wrong is False
    if verdict.damage.kind in ACCESSES:
        found["accesses"] += 1
        found["there"] += verdict.at
    if not verdict.named:
        found["unnamed"].append(f"{verdict.damage}: lines {verdict.lines}\n{verdict.says}")


def table(rows: dict[str, dict[str, Any]]) -> str:
    """The page."""
    total = {
        key: sum(each[key] for each in rows.values())
        for key in next(iter(rows.values()))
        if key != "date" and not isinstance(next(iter(rows.values()))[key], list)
    }
    head = [
        "# Damaged kernels",
        "",
        f"`python benchmarks/damaged_kernels.py`, {max(each['date'] for each in rows.values())}: right kernels in "
        f"{len(rows)} languages, one line of each changed at a time, on the CPU machine under all checks.",
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
    lines = [_line(name, each, len(each["missed"])) for name, each in rows.items()]
    lines.append(_line("all", total, sum(len(each["missed"]) for each in rows.values())))
    reasons = [f"- {reason}." for each in rows.values() for reason in each["reasons"]]
    return "\n".join([*head, *lines, "", "## Explained", "", *reasons]) + "\n"


def _line(name: str, counts: dict[str, Any], missed: int) -> str:
    keys = ("damaged", "reported", "named")
    first = " | ".join(f"{counts[key]:,}" for key in keys)
    rest = " | ".join(str(counts[key]) for key in ("unchanged", "values", "same", "explained"))
    return f"| {name} | {first} | {counts['there']} of {counts['accesses']} | {rest} | {missed} | {counts['seconds']} |"


def main(names: list[str]) -> int:
    """Damages the kernels of these languages, or of all; the status is 1 if one is missed or named elsewhere."""
    known = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}
    status = 0
    for name in names or LANGUAGES:
        if name.lower() in PACKAGES and importlib.util.find_spec(name.lower()) is None:
            print(f"{name}: not run, for it is not installed in {sys.executable}; what is kept of it stays")
            status = 1
            continue
        known[name] = row(name) | {"date": datetime.date.today().isoformat()}
        for what in ("missed", "unnamed"):
            for each in known[name][what]:
                print(f"{what}: {each}")
                status = 1
        rows = {each: known[each] for each in LANGUAGES if each in known}
        RESULTS.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
        TABLE.write_text(table(rows), encoding="utf-8")
    print(TABLE.read_text(encoding="utf-8"))
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
