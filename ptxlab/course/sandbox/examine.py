"""One submission: starts the process of its answers, asks it for each answer, and judges them in this process."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable
from functools import partial
from typing import Any

from ptxlab.course.cells import setup
from ptxlab.course.feedback import find, judge
from ptxlab.course.sandbox.process import Process, Task
from ptxlab.course.sandbox.remote import AnswerError, AnswerGone, Line, answer_of
from ptxlab.course.sandbox.wire import WireError
from ptxlab.course.verdict import Feedback, Part

SAID = 4000
"""Characters of one sentence of feedback that are kept."""


def examine(task: Task, tell: Callable[[dict[str, Any]], None]) -> None:
    """Grades a submission and tells of each exercise as soon as it is done."""
    process: Process | None = None
    for name in task.exercises:
        start, note = time.monotonic(), ""
        tell({"begins": name})
        try:
            if process is None:
                process = Process(task)
                process.line.longest = task.longest
                tell({"process": process.popen.pid, "in force": process.in_force})
            process.line.ends = start + task.each
            feedback = _with_alarm(task.each + 5, partial(_judged, process.line, name, task.seed))
        except AnswerGone as error:
            feedback = failed(name, str(error))
            how = "" if process is None or isinstance(error, TimeIsUp) else process.ended()
            note = f"the process of the answer ended: {how}" if how else "stopped: the time was up"
        except (AnswerError, OSError, WireError) as error:
            feedback = failed(name, str(error))
        except Exception as error:  # the process for the answers sent something that nobody expects
            feedback = failed(name, f"The answer is not what it should be: {type(error).__name__}: {error}")
        output = "" if process is None else process.output
        says = [sentence[:SAID] for sentence in feedback.says][:8]
        parts = [[part.name[:200], part.ok] for part in feedback.parts][:200]
        tell(
            {
                "exercise": name,
                "score": feedback.score,
                "ok": feedback.ok,
                "says": says,
                "parts": parts,
                "output": output,
                "seconds": time.monotonic() - start,
                "note": note,
            }
        )
        if process is not None and not process.line.alive:
            _stop(process, tell)
            process = None
        elif process is not None:
            process.output = ""
        if process is not None:
            tell({"refused": process.attempts.found})
    if process is not None:
        _stop(process, tell)


def _stop(process: Process, tell: Callable[[dict[str, Any]], None]) -> None:
    process.stop()
    tell({"refused": process.attempts.found})
    tell({"stopped": process.popen.pid})


def _judged(line: Line, name: str, seed: int) -> Feedback:
    exercise = find(name)
    return judge(exercise, answer_of(line, name, exercise.answer, setup(exercise)), seed=seed, graded=True)


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
