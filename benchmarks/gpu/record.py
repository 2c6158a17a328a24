"""What a part of the campaign has found: rows, notes, what is missing and what is wrong, on disk as they come.

A part is a module with a `main()` that measures rows and adds them to its `Record`:

    record, options = record_for("prefill", __doc__)
    for problem in problems:
        if record.has(kernel=name, seq=problem.seq):
            continue  # measured by an earlier run of this part
        if record.out_of_time():
            break
        record.add(kernel=name, seq=problem.seq, tflops=..., wrong="" or "error 3e-2, 1.6e-2 is allowed")
    sys.exit(record.end())

The file is written anew (and atomically) with every row, so that a part that dies or is stopped loses nothing, and the
next run of the part goes on behind its last row.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from pathlib import Path
from typing import Any, NoReturn

from ptxlab.gpu.faults import context_lost

DONE, WRONG, UNFINISHED, UNUSABLE = 0, 1, 3, 4
"""Exit statuses of a part: all measured and right; something wrong or missing; the time was up before the end; no part
can measure anything here."""


class Record:
    """The file `path` of one part. `seconds`: after how many it is `out_of_time`; None for never.

    rehearsal: the campaign is tried on a machine without a GPU, so what is missing there is no failure.
    """

    def __init__(self, part: str, path: Path | None = None, seconds: float | None = None, rehearsal: bool = False):
        self.part, self.path, self.seconds, self.rehearsal = part, path, seconds, rehearsal
        self.started = time.monotonic()
        self.rows: list[dict[str, Any]] = []
        self.notes: list[str] = []
        self.absent: list[dict[str, Any]] = []
        self.left = 0
        if path is not None and (found := kept(path)) is not None:
            self.rows = found["rows"]

    def has(self, **key: Any) -> bool:
        """Whether there is a row with these values, from this run or an earlier one."""
        return any(all(name in row and row[name] == value for name, value in key.items()) for row in self.rows)

    def add(self, **row: Any) -> None:
        """One more row. A value for `wrong` that is not empty says what should not be so."""
        self.rows.append(row)
        self.write()

    def note(self, text: str) -> None:
        """A sentence for whoever reads the table."""
        self.notes.append(text)
        self.write()

    def missing(self, what: str, why: str, *, optional: bool = False) -> None:
        """Something could not be measured because of what this machine lacks; a failure unless it is optional."""
        self.absent.append({"what": what, "why": why, "optional": optional or self.rehearsal})
        self.write()

    def out_of_time(self, left: int = 1) -> bool:
        """Whether the time is up; `left` says how many rows are then still to come."""
        up = self.seconds is not None and time.monotonic() - self.started > self.seconds
        if up:
            self.left = left
        return up

    @property
    def wrong(self) -> list[str]:
        """Everything that makes the part a failure."""
        said = [str(row["wrong"]) for row in self.rows if row.get("wrong")]
        return said + [f"missing: {one['what']}: {one['why']}" for one in self.absent if not one["optional"]]

    def write(self) -> None:
        """The file, written anew."""
        if self.path is None:
            return
        found = {
            "part": self.part, "rehearsal": self.rehearsal, "rows": self.rows, "notes": self.notes,
            "missing": self.absent, "wrong": self.wrong, "left": self.left,
        }  # fmt: skip
        self.path.parent.mkdir(parents=True, exist_ok=True)
        new = self.path.with_suffix(".new")
        new.write_text(json.dumps(found, indent=1, allow_nan=True) + "\n", encoding="utf-8")
        os.replace(new, self.path)

    def end(self, summary: str = "") -> int:
        """Prints what is wrong and missing, then one line that sums up; returns the exit status of the part."""
        self.write()
        for text in self.wrong:
            print(f"wrong: {text}")
        for one in self.absent:
            if one["optional"]:
                print(f"left out: {one['what']}: {one['why']}")
        if not self.rows and self.absent and not self.left:
            first = min(self.absent, key=lambda one: one["optional"])
            summary = f"nothing was measured: {first['what']}: {first['why']}"
        parts = [summary or f"{len(self.rows)} rows", *([f"{len(self.wrong)} wrong"] if self.wrong else [])]
        parts += [f"{self.left} left for the next run"] if self.left else []
        print(", ".join(parts), flush=True)
        return UNFINISHED if self.left else WRONG if self.wrong else DONE  # what is wrong stays, the rest is to come


def kept(path: Path) -> dict[str, Any] | None:
    """What a part has written to a file; None where it has not. A file that is none of a part's, as when it was cut off
    or changed by hand, is put aside, so that the part starts anew and nothing is lost."""
    if not path.exists():
        return None
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        if not isinstance(found, dict) or not all(isinstance(row, dict) for row in found["rows"]):
            raise ValueError("there are no rows in it")
    except (ValueError, KeyError, TypeError) as error:
        put_aside(path, error)
        return None
    return found


def put_aside(path: Path, error: Exception) -> None:
    """Renames a file that cannot be read, and says so."""
    aside = path.with_name(f"{path.name}.damaged")
    os.replace(path, aside)
    print(f"{path} cannot be read ({type(error).__name__}: {error}); it is put aside as {aside.name}", flush=True)


def leave(status: int) -> NoReturn:
    """Ends the part. After a fault at once: what the interpreter frees at its end might wait for the stopped kernel."""
    if context_lost():
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)
    sys.exit(status)


def record_for(part: str, doc: str | None, parser: argparse.ArgumentParser | None = None) -> tuple[Record, Any]:
    """The record and the options of a part that is started from a command line; every part knows these options."""
    parser = parser or argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path, metavar="FILE", help="where the rows are kept, and found again")
    parser.add_argument("--seconds", type=float, metavar="N", help="start nothing new after so many")
    parser.add_argument("--rehearse", action="store_true", help="small problems; what is missing here is no failure")
    options = parser.parse_args()
    return Record(part, options.json, options.seconds, options.rehearse), options
