"""Wrong variants of every exercise's solution, graded: which of them lose marks, and which are no mistakes.

    python benchmarks/grader_mutants.py            # all exercises, a quarter of an hour
    python benchmarks/grader_mutants.py 03-share   # some of them; the others stay as they were

Writes benchmarks/results/grader_mutants.md. `tests/support/mutants.py` makes the variants, `tests/wrong_answers/` has
those written by hand. Why a variant is no mistake stands in the report: a line that is added there by hand is kept as
long as the variant gets full marks.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests"), str(ROOT / "tests/support")]

from mutation import EACH, REPORT, SEEDS, by_hand, by_program, equivalent

from ptxlab.course import catalogue, find


@dataclass
class Row:
    """What became of an exercise's variants: how many were made by program and by hand, are caught, equivalent and
    missed; and why those that are equivalent are no mistakes."""

    counts: tuple[int, ...]
    reasons: list[str]


def graded(name: str) -> Row:
    """Grades the variants of an exercise, and prints what is missed."""
    program, hand = [*by_program(find(name))], [*by_hand(find(name))]
    reasons = equivalent().get(name, {})
    left = [outcome.change for outcome in (*program, *hand) if outcome.how != "caught"]
    harmless = [change for change in left if change in reasons]
    for change in left:
        if change not in reasons:
            print(f"missed: {name}: {change}")
    caught, missed = len(program) + len(hand) - len(left), len(left) - len(harmless)
    return Row(
        (len(program), len(hand), caught, len(harmless), missed),
        [f"- {name}: `{change}`: {reasons[change]}." for change in harmless],
    )


def kept() -> dict[str, Row]:
    """The rows of the report as it stands."""
    rows: dict[str, Row] = {}
    for line in REPORT.read_text(encoding="utf-8").splitlines() if REPORT.exists() else ():
        if found := re.match(r"\| (\d\d-[\w-]+) \| ([\d |]+) \|$", line):
            rows[found[1]] = Row(tuple(map(int, found[2].split(" | "))), [])
        elif found := re.match(r"- (\d\d-[\w-]+): ", line):
            rows[found[1]].reasons.append(line)
    return rows


def report(rows: dict[str, Row]) -> str:
    """The report in Markdown."""
    columns = zip(*(row.counts for row in rows.values()), strict=True)
    program, hand, caught, harmless, missed = map(sum, columns)
    head = [
        "# Wrong variants of the exercises' solutions",
        "",
        f"`python benchmarks/grader_mutants.py`: {program + hand:,} wrong variants of {len(rows)} exercises were "
        f"graded: {caught:,} lose marks, {harmless} are no mistakes, {missed} are missed.",
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
    lines = [f"| {name} | {' | '.join(map(str, row.counts))} |" for name, row in rows.items()]
    reasons = [reason for row in rows.values() for reason in row.reasons]
    return "\n".join([*head, *lines, "", "## Equivalent, and why", "", *reasons]) + "\n"


def main(names: Sequence[str]) -> int:
    """Grades the variants of these exercises, or of all; the status is 1 if one is missed."""
    rows = kept()
    for name in names or catalogue():
        rows[name] = graded(name)
        print(name, *rows[name].counts, flush=True)
        rows = {name: rows[name] for name in catalogue() if name in rows}
        REPORT.write_text(report(rows), encoding="utf-8")
    return int(any(row.counts[-1] for row in rows.values()))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
