"""Which instructions the CPU machine runs, counted from the table."""

from __future__ import annotations

from dataclasses import dataclass

from ptxlab.isa.table import TABLE


@dataclass(frozen=True, slots=True)
class Coverage:
    """One opcode: how many entries it has, how many the CPU machine runs, and the syntax of those it only assembles."""

    opcode: str
    forms: int
    executed: int
    assembled_only: tuple[str, ...]


def coverage() -> list[Coverage]:
    """A row for each opcode, by name."""
    rows = []
    for opcode, entries in sorted(TABLE.items()):
        refused = tuple(e.syntax for e in entries if not e.executed)
        rows.append(Coverage(opcode, len(entries), len(entries) - len(refused), refused))
    return rows


def report() -> str:
    """The coverage as text: totals, then a line an opcode."""
    rows = coverage()
    forms, executed = sum(r.forms for r in rows), sum(r.executed for r in rows)
    lines = [f"{len(rows)} opcodes, {forms} entries: {executed} executed, {forms - executed} assembled only", ""]
    for r in rows:
        state = "executed" if r.executed == r.forms else "assembled only" if not r.executed else "in part"
        lines.append(f"{r.opcode:<18} {r.executed:>3} of {r.forms:<3} {state}")
        if 0 < r.executed < r.forms:
            lines += [f"{'':<18}   not {syntax}" for syntax in r.assembled_only]
    return "\n".join(lines)
