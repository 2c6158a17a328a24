"""Which instructions the emulator runs, counted from the table, and the tests that show it.

What is executed follows from the table. The tests come from a run of the test suite that noted which test executed
which entry (see tests/support/form_recorder.py); the list is never edited by hand.
"""

from __future__ import annotations

import functools
from pathlib import Path
from typing import NamedTuple

from ptxlab.isa.entries import Op
from ptxlab.isa.table import TABLE

PATH = Path(__file__).with_name("shown.json")
"""Entry (see `key`) -> "oracle": a test of its numbers; "engines": a test in which both engines execute it."""


@functools.cache
def key(entry: Op) -> str:
    """A name for an entry of the table: its shortest opcode, which no other entry has."""
    from ptxlab.isa.examples import opcodes

    return next(opcodes(entry), entry.syntax)


@functools.cache
def _shown() -> dict[str, dict[str, str]]:
    import json

    found: dict[str, dict[str, str]] = json.loads(PATH.read_text(encoding="utf-8"))
    return found


def shown_by(entry: Op) -> tuple[str, ...]:
    """The tests that execute an entry, as `test_file.py::test_name`; none if it is assembled only."""
    return tuple(dict.fromkeys(_shown().get(key(entry), {}).values())) if entry.executed else ()


class Coverage(NamedTuple):
    """One opcode: how many entries it has, how many the emulator runs, the syntax of those it only assembles, and
    the tests that show the others, with how many entries each of them shows."""

    opcode: str
    forms: int
    executed: int
    assembled_only: tuple[str, ...]
    tests: dict[str, int]


def coverage() -> list[Coverage]:
    """A row for each opcode, by name."""
    rows = []
    for opcode, entries in sorted(TABLE.items()):
        refused = tuple(e.syntax for e in entries if not e.executed)
        tests: dict[str, int] = {}
        for entry in entries:
            for test in shown_by(entry):
                tests[test] = tests.get(test, 0) + 1
        ordered = dict(sorted(tests.items(), key=lambda pair: (-pair[1], pair[0])))
        rows.append(Coverage(opcode, len(entries), len(entries) - len(refused), refused, ordered))
    return rows


def report() -> str:
    """The coverage as text: totals, then for each opcode a line, what is assembled only, the tests, and how far
    an approximate instruction is off."""
    from ptxlab.isa.accuracy import accuracy

    rows = coverage()
    forms, executed = sum(r.forms for r in rows), sum(r.executed for r in rows)
    lines = [f"{len(rows)} opcodes, {forms} entries: {executed} executed, {forms - executed} assembled only", ""]
    for r in rows:
        state = "executed" if r.executed == r.forms else "assembled only" if not r.executed else "in part"
        lines.append(f"{r.opcode:<18} {r.executed:>3} of {r.forms:<3} {state}")
        if 0 < r.executed < r.forms:
            lines += [f"{'':<18}   not {syntax}" for syntax in r.assembled_only]
        lines += [f"{'':<18}   {n:>3} in {test}" for test, n in r.tests.items()]
        lines += [f"{'':<18}   {row.opcode}: {row}" for row in accuracy(r.opcode)]
    return "\n".join(lines)
