"""How long the course's notebooks take, solutions in, without a GPU: `python -m benchmarks.notebooks [02 ...]`.

Each runs in a fresh kernel as Jupyter runs it, from its first import on. The goal is a minute: the table gives the
share of it, and how many words a student reads before the first task. `--write` puts the table into benchmarks/results.
"""

from __future__ import annotations

import argparse
import datetime
import os
import platform
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests/support")]

import notebook_runs as notebooks
from word_counts import words_in

from ptxlab.course import build

GOAL = 60.0
"""Seconds."""
RESULTS = Path(__file__).with_name("results") / "notebooks.md"


def main() -> None:
    """Prints a line for each notebook, and its cells that took more than a second."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="beginnings of notebooks' names; by default all")
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    rows = ["| notebook | s | of a minute | words before the first task | words in all |", "|---|--:|--:|--:|--:|"]
    for path in build.sources():
        if options.names and not any(path.name.startswith(name) for name in options.names):
            continue
        start = time.monotonic()
        ran = notebooks.execute(build.notebook(path, solved=True))
        took = time.monotonic() - start
        before, words = words_in(path)
        rows.append(f"| {path.stem} | {took:.1f} | {took / GOAL:.2f} | {before:,} | {words:,} |")
        print(f"{path.stem:<16}{took:6.1f} s  {took / GOAL:.2f} of a minute", flush=True)
        for seconds, line in notebooks.seconds(ran):
            if seconds > 1:
                print(f"    {seconds:5.1f} s  {line}")
    if options.write:
        where = f"{platform.machine()}, {os.cpu_count()} cores, {platform.system()}, Python {platform.python_version()}"
        load = f"load average at its end {os.getloadavg()[1]:.1f}"
        head = [
            "# The notebooks, solutions in",
            "",
            f"`python -m benchmarks.notebooks --write` on {datetime.date.today()}:",
        ]
        RESULTS.write_text("\n".join([*head, f"{where}, no GPU, {load}.", "", *rows, ""]), encoding="utf-8")


if __name__ == "__main__":
    main()
