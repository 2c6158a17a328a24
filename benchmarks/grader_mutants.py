"""Wrong variants of every exercise's solution, graded: which of them lose marks, and which are no mistakes.

    python benchmarks/grader_mutants.py            # all exercises, a quarter of an hour
    python benchmarks/grader_mutants.py 03-share   # some of them; the others stay as they were

Writes benchmarks/results/grader_mutants.json and, made from it, grader_mutants.md. `tests/support/mutants.py` makes the
variants, `tests/wrong_answers/` has those written by hand, `tests/support/equivalent_mutants.py` the reasons.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests"), str(ROOT / "tests/support")]

from equivalent_mutants import EQUIVALENT
from mutation import EACH, SEEDS, Outcome, by_hand, by_program

from ptxlab.course import catalogue, find

RESULTS = ROOT / "benchmarks" / "results" / "grader_mutants.json"
TABLE = RESULTS.with_suffix(".md")


def row(program: Sequence[Outcome], hand: Sequence[Outcome]) -> dict[str, Any]:
    """What is kept of an exercise's variants."""
    every = [*program, *hand]
    return {
        "program": len(program),
        "hand": len(hand),
        "caught": sum(outcome.how == "caught" for outcome in every),
        "not caught": [outcome.change for outcome in every if outcome.how != "caught"],
    }


def missed(name: str, found: dict[str, Any]) -> list[str]:
    """The variants that are not caught, and are mistakes."""
    return [change for change in found["not caught"] if change not in EQUIVALENT.get(name, {})]


def table(rows: dict[str, dict[str, Any]]) -> str:
    """The report in Markdown."""
    variants, caught, left = 0, 0, 0
    lines, reasons = [], []
    for name, found in rows.items():
        slipped = missed(name, found)
        equivalent = [change for change in found["not caught"] if change not in slipped]
        variants += found["program"] + found["hand"]
        caught += found["caught"]
        left += len(slipped)
        counts = (found["program"], found["hand"], found["caught"], len(equivalent), len(slipped))
        lines.append(f"| {name} | {' | '.join(map(str, counts))} |")
        reasons += [f"- {name}: `{change}`: {EQUIVALENT[name][change]}." for change in equivalent]
    head = [
        "# Wrong variants of the exercises' solutions",
        "",
        f"`python benchmarks/grader_mutants.py`: {variants:,} wrong variants of {len(rows)} exercises were graded: "
        f"{caught:,} lose marks, {len(reasons)} are no mistakes, {left} are missed.",
        "",
        f"- Up to {EACH} variants of a solution are made by program: one operator, number, operand, condition, "
        "barrier, order or line is wrong. The others are mistakes written by hand.",
        "- *caught*: a case that is always in finds it. The seed draws hidden cases only, and they are asked only "
        "where all others are right; so the mark is the same for every seed. Those by hand were graded with "
        f"{len(SEEDS)} seeds.",
        "- *equivalent*: it does what the exercise asks for, or what it does wrong cannot be seen on this machine; the "
        "reasons are below.",
        "",
        "| exercise | by program | by hand | caught | equivalent | missed |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    return "\n".join([*head, *lines, "", "## Equivalent, and why", "", *reasons]) + "\n"


def main(names: Sequence[str]) -> int:
    """Grades the variants of these exercises, or of all; the status is 1 if one is missed."""
    known = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}
    for name in names or catalogue():
        exercise = find(name)
        known[name] = row([*by_program(exercise)], [*by_hand(exercise)])
        print(name, known[name], flush=True)
        rows = {name: known[name] for name in catalogue() if name in known}
        RESULTS.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    rows = {name: known[name] for name in catalogue() if name in known}
    TABLE.write_text(table(rows), encoding="utf-8")
    slipped = {name: missed(name, found) for name, found in rows.items() if missed(name, found)}
    for name, changes in slipped.items():
        print(f"missed: {name}: {changes}")
    return int(bool(slipped))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
