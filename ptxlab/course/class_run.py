"""A class while it is graded: what is known already, what comes in, what is kept, and what an interruption leaves."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable, Generator, Sequence

from ptxlab.course.marks import Graded, Journal, without_marks
from ptxlab.course.submission_folder import Handed

Result = tuple[Handed, Graded, bool]
"""A submission, its marks, and whether they are final; those that are not are graded again by --resume."""

REST = 10
"""How many times as long as `after_each` took it is not called again: it writes a report on all, which would take
longer than grading where they are many."""


def follow(
    handed: Sequence[Handed],
    exercises: Sequence[str],
    results: Callable[[list[Handed]], Generator[Result, None, None]],
    progress: bool,
    journal: Journal | None = None,
    after_each: Callable[[list[Graded]], None] | None = None,
) -> list[Graded]:
    """The marks of a class, by student; `results` grades those whose marks are not known yet, in any order.

    journal: has each as soon as it is there. after_each: is called with all so far, but not more often than it can.
    """
    from tqdm import tqdm

    tqdm.monitor_interval = 0  # no thread of its own: this process forks
    done: dict[str, Graded] = {}
    waiting: list[Handed] = []
    rested = 0.0
    for one in handed:
        known = journal.known(one) if journal is not None else None
        if known is None:
            waiting.append(one)
        else:
            done[one.student] = known
    with tqdm(total=len(handed), initial=len(done), unit="submission", disable=not progress, file=sys.stderr) as bar:

        def keep(one: Handed, graded: Graded, final: bool) -> None:
            nonlocal rested
            done[one.student] = graded
            if final and journal is not None:
                journal.add(one, graded)
            start = time.monotonic()
            if final and after_each is not None and start >= rested:
                after_each(_sorted(done))
                rested = time.monotonic() + REST * (time.monotonic() - start)
            bar.update()
            bar.set_postfix_str(graded.student, refresh=False)

        try:
            for one in (one for one in waiting if one.note):
                keep(one, without_marks(one, exercises, one.note), True)
            with contextlib.closing(results([one for one in waiting if not one.note])) as found:
                for one, graded, final in found:
                    keep(one, graded, final)
        except KeyboardInterrupt:  # what is done is kept, and the report says what is not
            for one in handed:
                if one.student not in done:
                    done[one.student] = without_marks(one, exercises, "not graded: interrupted")
    return _sorted(done)


def _sorted(done: dict[str, Graded]) -> list[Graded]:
    return sorted(done.values(), key=lambda graded: graded.student)
