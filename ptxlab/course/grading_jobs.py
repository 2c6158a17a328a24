"""How a class is graded, and a submission while it is graded: by a process that may be followed by another."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from ptxlab.course.marks import Graded, Mark
from ptxlab.course.sandbox.attempts import Attempts
from ptxlab.course.submission_folder import Handed
from ptxlab.version import __version__


@dataclass(frozen=True)
class How:
    """How a class is graded, the same on each worker; the names are those of `class_grading.grade`.

    folder: where the submissions lie here, hidden from answers on a worker that has such a folder, too. count: the
    submissions of the class."""

    exercises: tuple[str, ...]
    seed: int
    seconds: float
    each: float
    longest: float
    memory: int
    folder: str
    count: int
    unconfined: bool = False
    version: str = __version__


@dataclass
class Job:
    """A submission that is being graded in a folder and as a user of its own, and its process."""

    handed: Handed
    graded: Graded
    folder: Path
    user: int | None
    started: float
    ends: float
    attempts: Attempts = field(default_factory=Attempts)
    notes: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    pid: int = 0
    pipe: int = -1
    buffer: bytes = b""
    now: str = ""
    children: set[int] = field(default_factory=set)
    ends_now: float = 0.0
    looked: float = 0.0

    @property
    def marks(self) -> dict[str, Mark]:
        """The marks of the submission."""
        return self.graded.marks

    def left(self) -> tuple[str, ...]:
        """The exercises without a mark so far."""
        return tuple(name for name, mark in self.marks.items() if not mark.says)

    def note(self) -> str:
        """What the teacher should know: refused attempts, then what went wrong, in the order of the exercises."""
        words = self.attempts.words()
        refused = [f"refused: {'; '.join(words)}"] if words else []
        return "; ".join([*refused, *dict.fromkeys(self.notes), *dict.fromkeys(self.problems)])
