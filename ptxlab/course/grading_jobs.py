"""A submission while it is graded: by one job, or by several side by side, each with a part of its exercises."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from ptxlab.course.marks import Graded, Mark
from ptxlab.course.sandbox.attempts import Attempts
from ptxlab.course.submission_folder import Handed


@dataclass
class Whole:
    """A submission that is being graded, by one job or by several side by side; `open` is how many are not done."""

    handed: Handed
    graded: Graded
    started: float
    open: int = 0
    attempts: Attempts = field(default_factory=Attempts)
    notes: list[tuple[str, str]] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    def note(self) -> str:
        """What the teacher should know: refused attempts, then what went wrong, in the order of the exercises."""
        words = self.attempts.words()
        refused = [f"refused: {'; '.join(words)}"] if words else []
        order = list(self.graded.marks)
        notes = [f"{name}: {says}" for name, says in sorted(self.notes, key=lambda note: order.index(note[0]))]
        return "; ".join([*refused, *dict.fromkeys(notes), *dict.fromkeys(self.problems)])


@dataclass
class Job:
    """Exercises of a submission that are being graded, by a process that may be followed by another."""

    whole: Whole
    exercises: tuple[str, ...]
    folder: Path
    user: int | None
    ends: float
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
        return self.whole.graded.marks

    def left(self) -> tuple[str, ...]:
        """The exercises without a mark so far."""
        return tuple(name for name in self.exercises if not self.marks[name].says)
