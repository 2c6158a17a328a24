"""Wrong variants of every exercise's solution, graded: which of them lose marks, and which are no mistakes.

    python benchmarks/grader_mutants.py            # all exercises, a quarter of an hour
    python benchmarks/grader_mutants.py 03-share   # some of them; the others stay as they were

Writes benchmarks/results/grader_mutants.json and, made from it, grader_mutants.md. `tests/support/mutants.py` makes the
variants, `tests/wrong_answers/` has those written by hand, `tests/support/equivalent_mutants.py` the reasons.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
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
        **Counter(outcome.how for outcome in every),
        "equivalent changes": [outcome.change for outcome in every if outcome.how == "equivalent"],
        "missed changes": [outcome.change for outcome in every if outcome.how in ("missed", "hidden")],
    }


def table(rows: dict[str, dict[str, Any]]) -> str:
    """The report in Markdown."""
    total = Counter[str]()
    for found in rows.values():
        total.update({key: value for key, value in found.items() if isinstance(value, int)})
    variants = total["program"] + total["hand"]
    lines = [
        "# Wrong variants of the exercises' solutions",
        "",
        f"`python benchmarks/grader_mutants.py`: {variants:,} wrong variants of {len(rows)} exercises were graded: "
        f"{total['caught']:,} lose marks, {total['equivalent']} are no mistakes, "
        f"{total['missed'] + total['hidden']} are missed.",
        "",
        f"- Up to {EACH} variants of a solution are made by program: one operator, number, operand, condition, "
        "barrier, order or line is wrong. The others are mistakes written by hand.",
        "- *caught*: a case that is always in finds it. The seed draws hidden cases only, and they are asked only "
        "where all others are right; so the mark is the same for every seed. Those by hand were graded with "
        f"{len(SEEDS)} seeds.",
        "- *equivalent*: it does what the exercise asks for; the reasons are below.",
        "",
        "| exercise | by program | by hand | caught | equivalent | missed |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    lines += [
        f"| {name} | {found['program']} | {found['hand']} | {found.get('caught', 0)} | {found.get('equivalent', 0)} | "
        f"{found.get('missed', 0) + found.get('hidden', 0)} |"
        for name, found in rows.items()
    ]
    lines += ["", "## Equivalent, and why", ""]
    for name, found in rows.items():
        for change in found["equivalent changes"]:
            reason = EQUIVALENT[name][change]
            lines.append(f"- {name}: `{change}`: {reason}")
    return "\n".join(lines) + "\n"


def main(names: Sequence[str]) -> int:
    """Grades the variants of these exercises, or of all; the status is 1 if one is missed."""
    known = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}
    for name in names or catalogue():
        exercise = find(name)
        known[name] = row([*by_program(exercise)], [*by_hand(exercise)])
        print(name, {key: value for key, value in known[name].items() if value}, flush=True)
        rows = {name: known[name] for name in catalogue() if name in known}
        RESULTS.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    rows = {name: known[name] for name in catalogue() if name in known}
    TABLE.write_text(table(rows), encoding="utf-8")
    return int(any(found["missed changes"] for found in rows.values()))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
