"""Grades a class: `ptxlab course grade DIR` runs every submission in processes of its own and writes who has what.

DIR holds a file for each student (`alice.ipynb`, `bob.py`) or a folder for each (`carol/01-scalar.ipynb`, ...). Nothing
that a submission does reaches another one, the grader or the report: see `ptxlab.course.grader`. Marks are collected by
this process alone, which runs no line of any submission.
"""

from __future__ import annotations

import gc
import json
import os
import secrets
import selectors
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ptxlab.course.check import catalogue
from ptxlab.course.grader import isolation
from ptxlab.course.grader.examine import Task, examine, readable
from ptxlab.course.grader.submission import exercises_named
from ptxlab.errors import PtxlabError, UnavailableError

LARGEST = 20 << 20
"""Bytes of a submission's file; a larger one is not read."""
SUFFIXES = (".ipynb", ".py")
MESSAGE = 1 << 20
"""Bytes of the longest message from a grader's process."""


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
    """A submission with its marks. `note` says what went wrong with it as a whole, "" if nothing."""

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


@dataclass(frozen=True)
class Handed:
    """A submission as it lies in the folder: its files, read before anything runs, or why there are none."""

    student: str
    files: tuple[tuple[str, bytes], ...]
    note: str = ""


def grade(
    folder: Path, *, exercises: Sequence[str] = (), seed: int | None = None, seconds: float = 120.0, each: float = 30.0,
    memory: int = 3 << 30, jobs: int | None = None, progress: bool = True,
) -> list[Graded]:  # fmt: skip
    """The marks of every submission in a folder, by student.

    exercises: names, or beginnings such as "01"; by default all that some submission has a cell for. seed: hidden cases
    are drawn from it, the same for all; by default one at random. seconds: of a submission, each: of one exercise;
    memory: bytes that a process may take. jobs: submissions at a time, by default one a core.
    """
    if not hasattr(os, "fork"):
        raise UnavailableError("grading needs fork and resource limits, so Linux or macOS (on Windows: in WSL)")
    handed = collect(folder)
    chosen = choose(handed, exercises)
    seed = secrets.randbelow(1 << 31) if seed is None else seed
    work = Path(tempfile.mkdtemp(prefix="ptxlab-grade-"))
    work.chmod(0o711)
    allowed = list(readable())
    pool = _Pool(work, chosen, seed, each, seconds, isolation.Limits(int(seconds) + 5, memory), allowed)
    try:
        return pool.run(handed, jobs or os.cpu_count() or 1, progress)
    finally:
        shutil.rmtree(work, ignore_errors=True)


# -- what was handed in ------------------------------------------------------------------------------------------------


def collect(folder: Path) -> list[Handed]:
    """The submissions in a folder, each file read once, before any of them runs."""
    if not folder.is_dir():
        raise PtxlabError(f"{folder}: there is no such folder of submissions")
    found = [_handed(path) for path in sorted(folder.iterdir()) if _is_submission(path)]
    if not found:
        raise PtxlabError(f"{folder}: no submission in it; a submission is a .ipynb or .py file, or a folder of them")
    names = [h.student for h in found]
    twice = sorted({n for n in names if names.count(n) > 1})
    if twice:
        raise PtxlabError(f"{folder}: two submissions of {', '.join(twice)}; put the files of a student into a folder")
    return found


def _is_submission(path: Path) -> bool:
    return not path.name.startswith((".", "_")) and (path.is_dir() or path.suffix in SUFFIXES or path.is_symlink())


def _handed(path: Path) -> Handed:
    student = path.name if path.is_dir() and not path.is_symlink() else path.stem
    if path.is_symlink():
        return Handed(student, (), f"{path.name} is a link; links are not followed")
    paths = [path]
    if path.is_dir():
        inside = (p for p in sorted(path.rglob("*")) if p.suffix in SUFFIXES and p.is_file() and not p.is_symlink())
        paths = [p for p in inside if not any(part.startswith(".") for part in p.relative_to(path).parts)]
    files = []
    for p in paths:
        if p.stat().st_size > LARGEST:
            return Handed(student, (), f"{p.name} has {p.stat().st_size:,} bytes; at most {LARGEST:,} are read")
        try:
            files.append((p.name, p.read_bytes()))
        except OSError as error:
            return Handed(student, (), f"{p.name} cannot be read: {error.strerror}")
    return Handed(student, tuple(files), "" if files else "there is no .ipynb or .py file in it")


def choose(handed: Sequence[Handed], wanted: Sequence[str]) -> tuple[str, ...]:
    """The exercises to grade, in reading order."""
    known = catalogue()
    if wanted:
        unknown = [w for w in wanted if not any(name.startswith(w) for name in known)]
        if unknown:
            raise PtxlabError(f"there is no exercise {unknown[0]!r}; there are {', '.join(known)}")
        return tuple(name for name in known if any(name.startswith(w) for w in wanted))
    named = set().union(*(exercises_named(raw) for h in handed for _, raw in h.files))
    chosen = tuple(name for name in known if name in named)
    if not chosen:
        raise PtxlabError("no submission has a cell for an exercise; name them, such as --exercises 01")
    return chosen


# -- processes ---------------------------------------------------------------------------------------------------------


@dataclass
class _Job:
    """A submission that is being graded, by a process that may be followed by another."""

    handed: Handed
    graded: Graded
    folder: Path
    user: int | None
    started: float
    ends: float = 0.0
    pid: int = 0
    pipe: int = -1
    buffer: bytes = b""
    now: str = ""
    children: set[int] = field(default_factory=set)
    ends_now: float = 0.0
    looked: float = 0.0

    def left(self) -> tuple[str, ...]:
        """The exercises without a mark so far."""
        return tuple(name for name, mark in self.graded.marks.items() if not mark.says)


class _Pool:
    """Runs submissions side by side; this process only reads what their graders tell."""

    def __init__(
        self, work: Path, exercises: tuple[str, ...], seed: int, each: float, seconds: float, limits: isolation.Limits,
        allowed: list[Path],
    ) -> None:  # fmt: skip
        self.work, self.exercises, self.seed, self.each, self.seconds = work, exercises, seed, each, seconds
        self.limits, self.allowed = limits, allowed
        self.selector = selectors.DefaultSelector()
        self.jobs: dict[int, _Job] = {}

    def run(self, handed: list[Handed], jobs: int, progress: bool) -> list[Graded]:
        """Grades all of them."""
        from tqdm import tqdm

        tqdm.monitor_interval = 0  # no thread of its own: this process forks
        done: list[Graded] = []
        waiting = list(enumerate(handed))[::-1]
        with tqdm(total=len(handed), unit="submission", disable=not progress, file=sys.stderr) as bar:
            try:
                while waiting or self.jobs:
                    while waiting and len(self.jobs) < jobs:
                        at, one = waiting.pop()
                        if one.note:
                            done.append(self._without_marks(one, one.note))
                            bar.update()
                        else:
                            self._begin(at, one)
                    for job in self._wait():
                        done.append(job.graded)
                        bar.update()
                        bar.set_postfix_str(job.graded.student, refresh=False)
            except KeyboardInterrupt:  # what is done is kept, and the report says what is not
                done += [self._without_marks(one, "not graded: interrupted") for _, one in waiting]
                done += [self._without_marks(job.handed, "not graded: interrupted") for job in self.jobs.values()]
            finally:
                for job in self.jobs.values():
                    self._kill(job)
        return sorted(done, key=lambda g: g.student)

    def _without_marks(self, handed: Handed, why: str) -> Graded:
        """A submission that was not run, with a reason."""
        return Graded(handed.student, {name: Mark(says=[why]) for name in self.exercises}, note=why)

    def _begin(self, at: int, handed: Handed) -> None:
        folder = self.work / f"{at:05}"
        (folder / "cache").mkdir(parents=True, mode=0o700)
        folder.chmod(0o711)
        graded = Graded(handed.student, {name: Mark() for name in self.exercises})
        now = time.monotonic()
        user = isolation.user_for(at, self.allowed)
        job = _Job(handed, graded, folder, user, now, now + self.seconds)
        self._home(job)
        self._start(job)

    def _home(self, job: _Job) -> None:
        """A new folder for the processes of a submission."""
        home = job.folder / "home"
        home.mkdir(mode=0o700)
        if job.user is not None:
            os.chown(home, job.user, job.user)

    def _start(self, job: _Job) -> None:
        """Starts a process that grades what is left of a submission."""
        read, write = os.pipe()
        sys.stdout.flush()
        sys.stderr.flush()
        task = Task(job.handed.student, job.handed.files, job.left(), job.folder, self.seed, self.each, job.user,
                    self.limits)  # fmt: skip
        gc.freeze()  # what this process has lying about is not for the child to finalize
        pid = os.fork()
        if pid == 0:
            os.close(read)
            _child(task, write, [j.pipe for j in self.jobs.values()])
        gc.unfreeze()
        os.close(write)
        job.pid, job.pipe, job.buffer, job.now = pid, read, b"", ""
        job.ends_now = min(job.ends, time.monotonic() + self.each + 40)
        self.jobs[read] = job
        self.selector.register(read, selectors.EVENT_READ)

    def _wait(self) -> Iterator[_Job]:
        """Reads what graders tell, ends those whose time is up, and yields the submissions that are done."""
        if not self.jobs:
            return
        soonest = min(job.ends_now for job in self.jobs.values())
        for key, _ in self.selector.select(max(0.0, min(soonest - time.monotonic(), 1.0))):
            job = self.jobs[key.fd]
            part = os.read(key.fd, 1 << 16)
            job.buffer += part
            *lines, job.buffer = job.buffer.split(b"\n")
            for line in lines:
                self._told(job, line)
            if not part or len(job.buffer) > MESSAGE:
                yield from self._ended(job, "The grader's process ended while it checked this answer.")
        now = time.monotonic()
        for job in [j for j in self.jobs.values() if now > j.looked + 1]:
            job.looked = now
            written = written_bytes(job.folder / "home")
            if written > self.limits.disk:
                yield from self._ended(job, f"It wrote {written:,} bytes; at most {self.limits.disk:,} are allowed.")
        for job in [j for j in self.jobs.values() if now > j.ends_now]:
            whole = job.ends_now >= job.ends
            says = f"The time for the whole submission was up ({self.seconds:g} s)." if whole else "The time was up."
            yield from self._ended(job, says)

    def _told(self, job: _Job, line: bytes) -> None:
        """One message of a grader's process."""
        told = json.loads(line)
        if "begins" in told:
            job.now = told["begins"]
            job.ends_now = min(job.ends, time.monotonic() + self.each + 40)
        elif "process" in told:
            job.children.add(int(told["process"]))
            job.graded.in_force = told["in force"]
        elif "stopped" in told:
            job.children.discard(int(told["stopped"]))
        elif told.get("exercise") == job.now:
            job.graded.marks[job.now] = Mark(
                float(told["score"]), bool(told["ok"]), [str(s) for s in told["says"]] or ["-"], told["parts"],
                str(told["output"]), float(told["seconds"]),
            )  # fmt: skip
            job.now = ""

    def _kill(self, job: _Job) -> None:
        """Ends the processes of a submission, with all that they have started."""
        for pid in (job.pid, *job.children):
            for kill in (os.killpg, os.kill):
                try:
                    kill(pid, signal.SIGKILL)
                except (ProcessLookupError, PermissionError):
                    pass
        os.waitpid(job.pid, 0)
        job.children.clear()

    def _ended(self, job: _Job, says: str) -> Iterator[_Job]:
        """The process of a job is over, or is to be: what is left of it goes to another, or gets nothing."""
        self.selector.unregister(job.pipe)
        os.close(job.pipe)
        del self.jobs[job.pipe]
        self._kill(job)
        shutil.rmtree(job.folder / "home", ignore_errors=True)
        if job.now and not job.graded.marks[job.now].says:
            job.graded.marks[job.now] = Mark(says=[says])
        if job.left() and time.monotonic() < job.ends:
            self._home(job)
            self._start(job)
            return
        for name in job.left():
            job.graded.marks[name] = Mark(says=[f"The time for the whole submission was up ({self.seconds:g} s)."])
        job.graded.seconds = time.monotonic() - job.started
        shutil.rmtree(job.folder, ignore_errors=True)
        yield job


def written_bytes(folder: Path) -> int:
    """Bytes of all files in a folder, as far as they can be seen."""
    found = 0
    for place, _, names in os.walk(folder):
        for name in names:
            try:
                found += os.lstat(os.path.join(place, name)).st_blocks * 512
            except OSError:  # gone in the meantime
                continue
    return found


def _child(task: Task, pipe: int, others: list[int]) -> None:
    """A grader's process: examines one submission, tells its marks, ends."""
    status = 1
    try:
        os.setsid()
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        for other in others:
            os.close(other)
        null = os.open(os.devnull, os.O_RDWR)
        for handle in (0, 1, 2):
            os.dup2(null, handle)
        isolation.hide()
        isolation.limit_memory(task.limits.memory)
        os.environ["PTXLAB_CACHE"] = os.environ["HOME"] = str(task.folder / "cache")

        def tell(message: dict[str, Any]) -> None:
            line = memoryview(json.dumps(message).encode() + b"\n")
            while line:
                line = line[os.write(pipe, line) :]

        examine(task, tell)
        status = 0
    finally:
        os._exit(status)
