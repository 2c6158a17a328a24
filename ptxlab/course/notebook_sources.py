"""The notebooks' sources, and which exercises each has: the order in which the course is read."""

from __future__ import annotations

import re
from pathlib import Path

from ptxlab.course import own

SOURCES = Path(__file__).resolve().parent / "notebooks"
PATTERN = "[0-9][0-9]*-*.py"
EXERCISE = re.compile(r"^# %% \[exercise\][ \t]+(\S+)[ \t]*$", re.MULTILINE)


def sources() -> list[Path]:
    """The sources of all notebooks, in reading order; those of one's own come last."""
    return [*sorted(SOURCES.glob(PATTERN)), *own.files(f"notebooks/{PATTERN}")]


def exercises_in(source: Path) -> list[str]:
    """The names of the exercises that a source has, in order."""
    return EXERCISE.findall(source.read_text(encoding="utf-8"))


def placed() -> list[str]:
    """The names of the exercises of all notebooks, in reading order."""
    return [name for source in sources() for name in exercises_in(source)]
