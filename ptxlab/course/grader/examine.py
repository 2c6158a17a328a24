"""One submission: starts the process of its answers, asks it for each answer, and judges them in this process."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import sysconfig
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from ptxlab.course.check import find, judge
from ptxlab.course.exercise import Feedback, Part
from ptxlab.course.grader.isolation import Limits
from ptxlab.course.grader.remote import AnswerError, AnswerGone, Line, answer_of
from ptxlab.course.grader.wire import Channel, WireError

KEPT = 2000
"""Characters of an answer's own output that are kept; the rest is read and forgotten."""
SAID = 4000
"""Characters of one sentence of feedback that are kept."""
STARTING = 30.0
"""Seconds that a process may take to start."""
PACKAGE = Path(__file__).resolve().parents[2]
SECRET = PACKAGE / "course" / "exercises"
"""What an answer may not read: the solutions."""


@dataclass(frozen=True)
class Task:
    """What is to be graded: a submission's files, its exercises, and what its processes may use."""

    student: str
    files: tuple[tuple[str, bytes], ...]
    exercises: tuple[str, ...]
    folder: Path
    seed: int
    each: float = 30.0
    user: int | None = None
    limits: Limits = field(default_factory=Limits)


class Process:
    """The process of a submission's answers."""

    def __init__(self, task: Task) -> None:
        asked, question = os.pipe()
        reply, replied = os.pipe()
        home = task.folder / "home"
        self.popen = subprocess.Popen(
            [sys.executable, "-P", "-s", "-m", "ptxlab.course.grader.student", str(asked), str(replied)],
            pass_fds=(asked, replied), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            cwd=home, env=environment(home), start_new_session=True,
        )  # fmt: skip
        os.close(asked)
        os.close(replied)
        self.channel = Channel(reply, question)
        self.line = Line(self.channel)
        self.output = ""
        self._reader = threading.Thread(target=self._drain, daemon=True)
        self._reader.start()
        self.channel.send({
            "folder": str(home), "user": task.user, "readable": [str(p) for p in readable()],
            "limits": [task.limits.seconds, task.limits.memory, task.limits.file], "files": list(task.files),
        })  # fmt: skip
        try:
            self.in_force = [str(says) for says in self.channel.receive(STARTING).get("in force", [])]
        except WireError as error:
            self.stop()
            raise WireError(f"The process for the answers did not start: {error}\n{self.output}") from None

    def _drain(self) -> None:
        """Reads all that the process prints and keeps the beginning."""
        assert self.popen.stdout is not None
        handle = self.popen.stdout.fileno()
        while True:
            try:
                part = os.read(handle, 1 << 16)
            except OSError:
                return
            if not part:
                return
            if len(self.output) < KEPT:
                self.output = (self.output + part.decode("utf-8", "replace"))[:KEPT]

    def stop(self) -> None:
        """Ends the process and all that it started in its group."""
        try:
            os.killpg(self.popen.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.popen.wait()
        self._reader.join(1.0)
        for handle in (self.channel.read, self.channel.write):
            os.close(handle)
        if self.popen.stdout is not None:
            self.popen.stdout.close()


def environment(home: Path) -> dict[str, str]:
    """The variables of an answer's process: nothing of the teacher's but the path to Python's packages."""
    kept = {name: os.environ[name] for name in ("PATH", "LANG", "LC_ALL", "SYSTEMROOT") if name in os.environ}
    one = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    own = {name: str(home) for name in ("HOME", "TMPDIR", "TMP", "TEMP", "XDG_CACHE_HOME", "PTXLAB_CACHE",
                                        "MPLCONFIGDIR", "IPYTHONDIR", "JUPYTER_CONFIG_DIR")}  # fmt: skip
    path = [str(PACKAGE.parent), *import_path()]
    return kept | one | own | {
        "PYTHONPATH": os.pathsep.join(dict.fromkeys(path)), "PYTHONDONTWRITEBYTECODE": "1", "MPLBACKEND": "Agg",
        "PYTHONUNBUFFERED": "1", "PYTHONHASHSEED": "0", "PYTHONIOENCODING": "utf-8:backslashreplace",
    }  # fmt: skip


def import_path() -> list[str]:
    """Where Python finds packages, without the folder that it was started in: submissions may lie there."""
    return [p for p in (sys.path if sys.flags.safe_path else sys.path[1:]) if p]


def readable() -> Iterator[Path]:
    """What an answer may read: the system's libraries, Python, its packages, and ptxlab without the solutions."""
    python = (sys.prefix, sys.base_prefix, *sysconfig.get_paths().values())
    places = {Path(p).resolve() for p in (str(PACKAGE.parent), *import_path(), *python)}
    places |= {Path(p) for p in ("/usr", "/lib", "/lib64", "/etc", "/sys", "/dev/urandom", "/dev/zero")}
    for place in sorted(places):
        if place.exists():
            yield from _without(place, SECRET)


def _without(place: Path, secret: Path) -> Iterator[Path]:
    """A folder, or, where something secret lies in it, what lies in it besides."""
    if not secret.is_relative_to(place):
        yield place
    elif place != secret and (place / "ptxlab").is_dir() and place != PACKAGE:
        yield from _package_and_siblings(place, secret)
    elif place != secret:
        for child in sorted(place.iterdir()):
            yield from _without(child, secret)


def _package_and_siblings(place: Path, secret: Path) -> Iterator[Path]:
    """Of a folder on the path: all packages of an installation; of a checkout ptxlab alone (it has the tests, too)."""
    checkout = (place / "pyproject.toml").exists()
    for child in sorted(place.iterdir()):
        if child.name == "ptxlab" or not checkout:
            yield from _without(child, secret)


def examine(task: Task, tell: Callable[[dict[str, Any]], None]) -> None:
    """Grades a submission and tells of each exercise as soon as it is done."""
    process: Process | None = None
    for name in task.exercises:
        start = time.monotonic()
        tell({"begins": name})
        try:
            if process is None:
                process = Process(task)
                tell({"process": process.popen.pid, "in force": process.in_force})
            process.line.ends = start + task.each
            feedback = _with_alarm(task.each + 5, partial(_judged, process.line, name, task.seed))
        except (AnswerError, AnswerGone, WireError) as error:
            feedback = failed(name, str(error))
        except Exception as error:  # the process for the answers sent something that nobody expects
            feedback = failed(name, f"The answer is not what it should be: {type(error).__name__}: {error}")
        output = "" if process is None else process.output
        says = [sentence[:SAID] for sentence in feedback.says][:8]
        parts = [[part.name[:200], part.ok] for part in feedback.parts][:200]
        tell({"exercise": name, "score": feedback.score, "ok": feedback.ok, "says": says, "parts": parts,
              "output": output, "seconds": time.monotonic() - start})  # fmt: skip
        if process is not None and not process.line.alive:
            process.stop()
            tell({"stopped": process.popen.pid})
            process = None
        elif process is not None:
            process.output = ""
    if process is not None:
        process.stop()


def _judged(line: Line, name: str, seed: int) -> Feedback:
    exercise = find(name)
    return judge(exercise, answer_of(line, name, exercise.answer), seed=seed, graded=True)


def failed(exercise: str, says: str) -> Feedback:
    """Feedback without a mark, with a reason."""
    return Feedback(exercise, False, (says,), parts=(Part("there is an answer", False, (says,)),))


class TimeIsUp(AnswerGone):
    """The check of an answer took too long."""


def _with_alarm(seconds: float, work: Callable[[], Feedback]) -> Feedback:
    """Does something, but not for longer than that."""

    def ring(signum: int, frame: Any) -> None:
        raise TimeIsUp("The time was up while your answer was checked.")

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        return work()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
