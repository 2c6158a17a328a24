"""Grades submissions side by side, each in processes of its own; this process only reads what their graders tell."""

from __future__ import annotations

import contextlib
import gc
import io
import json
import os
import selectors
import signal
import sys
import tempfile
import time
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

from ptxlab.course.cells import run as run_cell
from ptxlab.course.class_run import Result
from ptxlab.course.feedback import find, judge
from ptxlab.course.grading_jobs import How, Job
from ptxlab.course.marks import Graded, Mark, without_marks
from ptxlab.course.sandbox import confinement, isolation, reaper, tree
from ptxlab.course.sandbox.examine import examine
from ptxlab.course.sandbox.process import Task
from ptxlab.course.sandbox.submission import exercises_named
from ptxlab.course.submission_folder import Handed

MESSAGE = 1 << 20
"""Bytes of the longest message from a grader's process."""
ENTRIES = 20_000
"""Files and folders that a submission may have at a time."""
NOT_NAMED = (
    "no cell says which exercise it answers, so answers were looked for by their names, and of several with one name "
    "the last was taken: write `# %% [exercise] 01-predict` above each, or keep its call of `check`"
)
"""The note of a submission whose cells have no headers, tags or calls of `check`."""
CLASS = 8
"""Submissions from which on it pays to grade the solutions first."""


def prepare(how: How) -> None:
    """Does once what each of so many submissions would do again. The graders are forked from this process, so what each
    of them would import, compute and compile is there already; in a class, what the solutions need, too."""
    from ptxlab.emulate.jit.building.linked_rules import build_ahead
    from ptxlab.emulate.jit.native import llvm_thread
    from ptxlab.emulate.jit.native.code import host

    build_ahead(host())  # each submission has a cache of its own, and would build them again
    if how.count < CLASS:
        return
    for name in how.exercises:
        exercise = find(name)
        with contextlib.redirect_stdout(io.StringIO()):
            judge(exercise, run_cell(exercise, exercise.solution), seed=how.seed, graded=True)
    llvm_thread.wait_until_idle()


class Pool:
    """Runs submissions side by side.

    way: how answers are confined; begun: number of the first process, from which its user follows.
    """

    def __init__(self, how: How, way: str, begun: int = 0) -> None:
        self.how, self.way = how, way
        self.limits = isolation.Limits(int(how.seconds) + 5, how.memory)
        self.selector = selectors.DefaultSelector()
        self.jobs: dict[int, Job] = {}
        self.begun = begun
        self.work = Path(tempfile.mkdtemp(prefix="ptxlab-grade-"))
        self.work.chmod(0o711)

    def run(self, handed: list[Handed], jobs: int) -> Generator[Result, None, None]:
        """Grades all of them, so many processes at a time, and yields each as it is done."""
        waiting = handed[::-1]
        with reaper.children():
            try:
                while waiting or self.jobs:
                    while waiting and len(self.jobs) < jobs:
                        one = waiting.pop()
                        try:
                            self._begin(one)
                        except OSError as error:  # no process or no folder could be made
                            why = f"not graded: {error.strerror}; run again with --resume"
                            yield one, without_marks(one, self.how.exercises, why), False
                    for job in self._wait():
                        yield job.handed, job.graded, True
            finally:
                for job in self.jobs.values():
                    self._kill(job)

    def close(self) -> None:
        """Removes its folder."""
        left = tree.remove(self.work)
        if left:
            print(f"ptxlab: {left}", file=sys.stderr)

    def _begin(self, handed: Handed) -> None:
        """Starts to grade a submission, in a folder and as a user of its own."""
        at, self.begun = self.begun, self.begun + 1
        folder = self.work / f"{at:05}"
        (folder / "cache").mkdir(parents=True, mode=0o700)
        folder.chmod(0o711)
        graded, start = Graded(handed.student, {name: Mark() for name in self.how.exercises}), time.monotonic()
        job = Job(handed, graded, folder, confinement.user_for(self.way, at), start, start + self.how.seconds)
        if handed.files and not any(exercises_named(raw) for _, raw in handed.files):
            job.problems.append(NOT_NAMED)
        self._home(job)
        self._start(job)

    def _home(self, job: Job) -> None:
        """A new folder for the processes of a submission."""
        home = job.folder / "home"
        home.mkdir(mode=0o700)
        if job.user is not None:
            os.chown(home, job.user, job.user)

    def _start(self, job: Job) -> None:
        """Starts a process that grades what is left of a submission."""
        read, write = os.pipe()
        pid = -1
        sys.stdout.flush()
        sys.stderr.flush()
        task = Task(
            job.handed.files, job.left(), job.folder, self.how.seed, self.how.each,
            self.how.longest, job.user, self.limits, self.way, (Path(self.how.folder),)
        )  # fmt: skip
        gc.freeze()  # what this process has lying about is not for the child to finalize
        try:
            pid = os.fork()
        except OSError:
            os.close(read)
            raise
        finally:
            gc.unfreeze()
            if pid != 0:
                os.close(write)
        if pid == 0:
            os.close(read)
            _child(task, write, [j.pipe for j in self.jobs.values()])
        job.pid, job.pipe, job.buffer, job.now = pid, read, b"", ""
        job.ends_now = min(job.ends, time.monotonic() + self.how.each + 40)
        self.jobs[read] = job
        self.selector.register(read, selectors.EVENT_READ)

    def _wait(self) -> Iterator[Job]:
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
            if self.way != "layers":  # what it writes to has a size of its own
                continue
            written, entries = tree.size(job.folder / "home", self.limits.disk, ENTRIES)
            if written > self.limits.disk:
                yield from self._ended(job, f"It wrote {written:,} bytes; at most {self.limits.disk:,} are allowed.")
            elif entries > ENTRIES:
                yield from self._ended(job, f"It made more than {ENTRIES:,} files.")
        for job in [j for j in self.jobs.values() if now > j.ends_now]:
            whole = job.ends_now >= job.ends
            says = (
                f"The time for the whole submission was up ({self.how.seconds:g} s)." if whole else "The time was up."
            )
            yield from self._ended(job, says)

    def _told(self, job: Job, line: bytes) -> None:
        """One message of a grader's process."""
        told = json.loads(line)
        if "begins" in told:
            job.now = told["begins"]
            job.ends_now = min(job.ends, time.monotonic() + self.how.each + 40)
        elif "process" in told:
            job.children.add(int(told["process"]))
            job.graded.in_force = told["in force"]
        elif "stopped" in told:
            job.children.discard(int(told["stopped"]))
        elif "refused" in told:
            for kind, examples in told["refused"].items():
                for what in examples:
                    job.attempts.add(str(kind), str(what))
        elif told.get("exercise") == job.now:
            job.marks[job.now] = Mark(
                float(told["score"]), bool(told["ok"]), [str(s) for s in told["says"]] or ["-"], told["parts"],
                str(told["output"]), float(told["seconds"])
            )  # fmt: skip
            if told["note"]:
                job.notes.append(f"{job.now}: {told['note']}")
            job.now = ""

    def _kill(self, job: Job) -> None:
        """Ends the processes of a submission, with all that they have started."""
        for pid in (job.pid, *job.children):
            for kill in (os.killpg, os.kill):
                try:
                    kill(pid, signal.SIGKILL)
                except (ProcessLookupError, PermissionError):
                    pass
        reaper.wait(job.pid, *job.children)
        job.children.clear()

    def _ended(self, job: Job, says: str) -> Iterator[Job]:
        """The process of a job is over, or is to be: what is left of it goes to another, or gets nothing. The job, if
        it is done."""
        self.selector.unregister(job.pipe)
        os.close(job.pipe)
        del self.jobs[job.pipe]
        self._kill(job)
        problem = tree.remove(job.folder / "home")
        if job.now and not job.marks[job.now].says:
            job.marks[job.now] = Mark(says=[says])
            job.notes.append(f"{job.now}: {says[0].lower()}{says[1:].rstrip('.')}")
        if job.left() and time.monotonic() < job.ends:
            try:
                self._home(job)
                self._start(job)
                return
            except OSError as error:
                problem = f"no further process could be started: {error.strerror}"
                for name in job.left():
                    job.marks[name] = Mark(says=[problem])
        for name in job.left():
            job.marks[name] = Mark(says=[f"The time for the whole submission was up ({self.how.seconds:g} s)."])
        problem = problem or tree.remove(job.folder)
        job.problems += [problem] if problem else []
        job.graded.seconds = time.monotonic() - job.started
        job.graded.note = job.note()
        yield job


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
        isolation.die_with_parent()
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
