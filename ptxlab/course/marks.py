"""What a submission got, and the journal that keeps it, so that grading can go on where it stopped."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from ptxlab.course.feedback import catalogue
from ptxlab.course.submission_folder import Handed
from ptxlab.errors import PtxlabError

_CONTROLS = {at: "\N{REPLACEMENT CHARACTER}" for at in (*range(32), *range(127, 160)) if chr(at) not in "\t\n\r"}


@dataclass
class Mark:
    """What an exercise of a submission got: `score` from 0 to 1, and the sentences of the feedback."""

    score: float = 0.0
    ok: bool = False
    says: list[str] = field(default_factory=list)
    parts: list[list[Any]] = field(default_factory=list)
    output: str = ""
    seconds: float = 0.0


@dataclass
class Graded:
    """A submission with its marks. `note` says what went wrong with it as a whole and what it was refused, "" if
    nothing."""

    student: str
    marks: dict[str, Mark]
    seconds: float = 0.0
    note: str = ""
    in_force: list[str] = field(default_factory=list)

    def points(self, exercise: str) -> float:
        """The points of an exercise."""
        return self.marks[exercise].score * catalogue()[exercise].points

    @property
    def total(self) -> float:
        """All points."""
        return sum(self.points(name) for name in self.marks)


def from_json(told: dict[str, Any]) -> Graded:
    """What `dataclasses.asdict` made of a submission with its marks."""
    return Graded(**told | {"marks": {name: Mark(**mark) for name, mark in told["marks"].items()}})


def without_marks(handed: Handed, exercises: Sequence[str], why: str) -> Graded:
    """A submission that was not run, with a reason."""
    return Graded(handed.student, {name: Mark(says=[why]) for name in exercises}, note=why)


class Journal:
    """The marks so far, a line of JSON for each submission after one with the seed and the exercises."""

    def __init__(self, path: Path, seed: int, exercises: Sequence[str], lines: Sequence[dict[str, Any]] = ()) -> None:
        self.path, self.seed, self.exercises = path, seed, tuple(exercises)
        self._known = {line["student"]: line for line in lines}

    @classmethod
    def read(cls, path: Path) -> Journal:
        """The journal of a grading that stopped. A last line that was not written to its end does not count."""
        try:
            lines = path.read_text(encoding="ascii").splitlines(keepends=True)
        except FileNotFoundError:
            raise PtxlabError(f"{path} is not there, so there is nothing to resume; grade without --resume") from None
        try:
            head, *rest = [json.loads(line) for line in lines if line.endswith("\n")]
            return cls(path, int(head["seed"]), [str(name) for name in head["exercises"]], rest)
        except (ValueError, KeyError, TypeError):
            raise PtxlabError(f"{path} was not written by grading; grade without --resume") from None

    def begin(self) -> None:
        """Writes the beginning, with what is known."""
        head = {"seed": self.seed, "exercises": list(self.exercises)}
        text = "".join(json.dumps(line) + "\n" for line in (head, *self._known.values()))
        replace(self.path, text)

    def known(self, handed: Handed) -> Graded | None:
        """The marks of a submission that was graded before, if its files are still the same."""
        line = self._known.get(handed.student)
        if line is None or line["digest"] != digest(handed):
            return None
        return from_json({name: value for name, value in line.items() if name != "digest"})

    def add(self, handed: Handed, graded: Graded) -> None:
        """Keeps the marks of a submission; they are on the disk when this returns."""
        line = {"digest": digest(handed)} | asdict(graded)
        with self.path.open("a", encoding="ascii") as file:
            file.write(json.dumps(line) + "\n")
            file.flush()
            os.fsync(file.fileno())


def digest(handed: Handed) -> str:
    """A hash of what was handed in."""
    found = hashlib.sha256(handed.note.encode())
    for name, raw in handed.files:
        found.update(f"\n{len(name)} {name} {len(raw)} ".encode())
        found.update(raw)
    return found.hexdigest()


def replace(path: Path, text: str) -> None:
    """Writes a file so that there is always a whole one: the old or the new. Signs that a terminal would obey are
    replaced, and what is not text, such as half of a pair of surrogates that an answer printed, becomes an escape."""
    raw = text.translate(_CONTROLS).encode("utf-8", "backslashreplace")
    place = path.resolve()
    if place.exists() and not place.is_file():  # such as /dev/stdout
        place.write_bytes(raw)
        return
    fresh = place.with_name(f".{place.name}.{os.getpid()}")
    try:
        fresh.write_bytes(raw)
        if place.exists():
            fresh.chmod(place.stat().st_mode & 0o777)
        os.replace(fresh, place)
    finally:
        fresh.unlink(missing_ok=True)
