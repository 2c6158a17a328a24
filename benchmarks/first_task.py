"""How much a student reads before the first task of each notebook: `python benchmarks/first_task.py [FOLDER]`.

Words of prose and lines of code in the cells before the first exercise, and words in the whole notebook. FOLDER: other
sources than those of this checkout, to compare with.
"""

from __future__ import annotations

import argparse
import re
from pathlib import Path

from ptxlab.course import build

_CELL = re.compile(r"^# %%(.*)$", re.MULTILINE)


def counted(source: Path) -> tuple[int, int, int]:
    """(words before the first task, lines of code before it, words in all) of a notebook's source."""
    words = lines = before = code = 0
    met = False
    parts = _CELL.split(source.read_text(encoding="utf-8"))
    for kind, body in zip(parts[1::2], parts[2::2], strict=True):
        if "[exercise]" in kind and not met:
            met, before, code = True, words, lines
        if "[markdown]" in kind:
            words += len(re.findall(r"[^\W_]+", re.sub(r"\(http[^)]*\)", "", body)))
        else:
            lines += sum(bool(line.strip()) for line in body.splitlines())
    return (before, code, words) if met else (words, lines, words)


def main() -> None:
    """Prints a table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", nargs="?", type=Path, default=build.SOURCES)
    print("| notebook | words before the first task | lines of code before it | words in all |")
    print("|---|--:|--:|--:|")
    for source in sorted(parser.parse_args().folder.glob("[0-9][0-9]-*.py")):
        print(f"| {source.stem} | " + " | ".join(f"{n:,}" for n in counted(source)) + " |")


if __name__ == "__main__":
    main()
