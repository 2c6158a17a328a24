"""What a student has solved and what comes next: names, dates and counts in `progress.json`, and no answers.

pl.course.progress()                 # the exercises of all notebooks: solved, next; the rungs and their stars
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from itertools import groupby
from pathlib import Path
from typing import Any

from ptxlab.course.exercise import Exercise
from ptxlab.course.notebook_sources import sources
from ptxlab.errors import PtxlabError

FILE = "progress.json"
"""Beside the notebooks."""


class ProgressError(PtxlabError):
    """The file cannot be read."""


def kept() -> dict[str, Any]:
    """Exercise -> what is known of it; "last" -> the exercise that was checked last."""
    path = Path(FILE)
    if not path.exists():
        return {}
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ProgressError(f"{path.resolve()} is damaged ({error}); remove it to begin anew") from None
    return found if isinstance(found, dict) else {}


def keep(exercise: str, known: dict[str, Any]) -> None:
    """Writes what is known of an exercise."""
    found = kept() | {exercise: known, "last": exercise}
    Path(FILE).write_text(json.dumps(found, indent=1), encoding="utf-8")


def solved(known: dict[str, Any]) -> dict[str, Any]:
    """What is known of an exercise, now that it is solved."""
    return {"solved": known.get("solved") or date.today().isoformat()}


@dataclass(frozen=True)
class Progress:
    """The exercises in reading order, those that are solved, and the next one, with the one to go on with if it is
    hard. rungs: notebook -> the rung of one's own kernel there, with its stars."""

    exercises: tuple[Exercise, ...]
    solved: frozenset[str]
    rungs: Mapping[str, str]
    next: str = ""
    instead: str = ""

    def _head(self) -> tuple[str, str]:
        done = sum(e.name in self.solved for e in self.exercises)
        says = f"Next: {self.next}" if self.next else "All are solved."
        says += f", or go on with {self.instead}" if self.instead else ""
        return f"{done} of {len(self.exercises)} exercises", says

    def _rows(self) -> list[tuple[str, int, list[tuple[str, Exercise]]]]:
        """Notebook and title, how many are solved, (sign, exercise) of each."""
        heads = (re.search(r"^# # (\d\d)b? · ([^:\n]+)", path.read_text(encoding="utf-8"), re.M) for path in sources())
        found = [head.groups() for head in heads if head]
        titles = {number: ", ".join(title for n, title in found if n == number) for number, _ in found}
        return [
            (f"{number} {titles.get(number, '')}", sum(e.name in self.solved for e in group),
             [("✓" if e.name in self.solved else "▸" if e.name == self.next else "", e) for e in group])
            for number, group in ((n, list(g)) for n, g in groupby(self.exercises, lambda e: e.notebook))
        ]  # fmt: skip

    def __repr__(self) -> str:
        lines = ["   ".join(self._head())]
        for title, done, marks in self._rows():
            names = "  ".join(f"{sign or '·'} {e.name[3:]}{'*' * e.level}" for sign, e in marks)
            lines.append(f"{title:<42} {done} of {len(marks)}  {names}  {self.rungs.get(title[:2], '')}".rstrip())
        return "\n".join([*lines, "✓ solved  ▸ next  * warm-up ** medium *** hard"])

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        from ptxlab.lab import display

        look = {"✓": "background:var(--pl-add)", "▸": "border:2px solid var(--pl-accent);font-weight:650", "": ""}
        chip = "display:inline-block;border:1px solid var(--pl-edge);border-radius:4px;padding:0 6px;margin:1px 2px"
        rows, left = "", '<td style="text-align:left">'
        for title, done, marks in self._rows():
            chips = "".join(
                f'<span style="{chip};{look[sign]}">{sign} {e.name[3:]} <small>{"●" * e.level}</small></span>'
                for sign, e in marks
            )
            now = " style=background:var(--pl-pick)" * (title[:2] == self.next[:2])
            rung = self.rungs.get(title[:2], "")
            cells = (f"<b>{title[:2]}</b> {html.escape(title[3:])}", f"{done} of {len(marks)}", chips, rung)
            rows += f"<tr{now}>{left}{left.join(f'{cell}</td>' for cell in cells)}</tr>"
        head, says = map(html.escape, self._head())
        key = "✓ solved · ▸ next · ● warm-up, ●● medium, ●●● hard"
        body = display.page(display.head([f"<b>{head}</b>", says]), f"<table>{rows}</table>", f"<p>{key}</p>")
        return {"text/plain": repr(self), "text/html": body}


def progress_of(exercises: Sequence[Exercise]) -> Progress:
    """The state of some exercises. Next is the first unsolved one of the notebook in use, or else of all."""
    from ptxlab.course.scoreboard.board import rungs_won  # which imports kernels and their launches

    known, rungs = kept(), rungs_won()
    done = frozenset(name for name, what in known.items() if isinstance(what, dict) and what.get("solved"))
    left = [e for e in exercises if e.name not in done]
    here = str(known.get("last", ""))[:2]
    first = next((e for e in left if e.notebook == here), left[0] if left else None)
    if first is None:
        return Progress(tuple(exercises), done, rungs)
    other = next((e.name for e in left if e.notebook > first.notebook), "") if first.level == 3 else ""
    return Progress(tuple(exercises), done, rungs, first.name, other)
