"""Builds the setting that a reader is likely to ask for next, in a process of the lowest priority.

Who moves a slider by a step will move it again, the same way. After an answer the explorer therefore has the next
setting built by a second process, `python -m ptxlab.lab.background_builds`, which leaves machine code in the disk
cache. That process does not hold up the notebook's interpreter, takes only what its cores have left, drops work that
nobody waits for any more, and ends when it has had nothing to do for a while, or when the notebook's process does.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import queue
import subprocess
import sys
import threading
from dataclasses import replace
from typing import Any, TextIO

from IPython.core.getipython import get_ipython

from ptxlab.emulate.runtime import disk_cache
from ptxlab.errors import PtxlabError
from ptxlab.lab import explorer_views, library_subjects
from ptxlab.lab.requests import Request

SWITCH = "PTXLAB_BUILD_AHEAD"
"""The environment variable that switches this off, with "off"."""
REST = 60.0
"""Seconds without work after which the process ends."""
MOST = 100
"""Settings after which it ends too, and its memory is free; the next one begins another."""
HEAVY = 5e7
"""Multiplications of a run (see `Subject.work`) from which on a setting is not built ahead: it may run for a second."""


def switched_on() -> bool:
    """Whether anything is built ahead."""
    return os.environ.get(SWITCH) != "off"


def next_setting(before: Request, now: Request) -> Request | None:
    """The setting that is likely to come after two others: a parameter of the PTX moved on as it was moved last. None
    where something else was changed, or where it cannot be moved further."""
    changed = [(name, old, new) for (name, new), (_, old) in zip(now.values, before.values, strict=False) if old != new]
    if before.subject is not now.subject or len(changed) != 1:
        return None
    ((name, old, new),) = changed
    parameter = next((p for p in now.subject.building if p.name == name), None)
    if parameter is None or not now.subject.family:
        return None
    if parameter.choices:
        choices = list(parameter.choices)
        if old not in choices or new not in choices:
            return None
        there = 2 * choices.index(new) - choices.index(old)
        if not 0 <= there < len(choices):
            return None
        value: Any = choices[there]
    else:
        if not all(isinstance(x, int) for x in (old, new)):
            return None
        value = 2 * new - old
        if not parameter.minimum <= value <= parameter.maximum:
            return None
    after = replace(now, values=tuple((n, value if n == name else x) for n, x in now.values), sass=False)
    work = now.subject.work(after.given)
    return None if work is None or work > HEAVY else after


class Builder:
    """The process, begun when there is something to build. `build` replaces what it was asked for before."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[str] | None = None
        self._lock = threading.Lock()
        self._asked: Request | None = None
        self._gives_way = False
        atexit.register(self.end)

    def build(self, request: Request | None) -> None:
        """Asks for a setting, or for none: what is waiting is dropped, what is in work ends at its next stage."""
        with self._lock:
            if request == self._asked or disk_cache.folder() is None or not switched_on():
                return
            if request is None and self._process is None:
                return
            self._asked = request
            line = "null" if request is None else json.dumps([request.subject.name, request.values])
            try:
                self._tell(line)
            except OSError:  # it has ended, having rested
                self._drop()
                if request is not None:
                    self._tell(line)

    def _tell(self, line: str) -> None:
        if self._process is None:
            self._give_way()
            self._process = subprocess.Popen(
                [sys.executable, "-m", __name__],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                text=True,
                env={**os.environ, SWITCH: "off"},
                creationflags=getattr(subprocess, "IDLE_PRIORITY_CLASS", 0),  # of Windows, which has no nice
            )
        assert self._process.stdin is not None, "it was begun with a pipe"
        self._process.stdin.write(line + "\n")
        self._process.stdin.flush()

    def _give_way(self) -> None:
        """From now on work is dropped when a cell of the notebook runs."""
        shell = get_ipython()
        if shell is not None and not self._gives_way:
            self._gives_way = True
            shell.events.register("pre_run_cell", lambda _cell: self.build(None))

    def _drop(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            assert process.stdin is not None, "it was begun with a pipe"
            with contextlib.suppress(OSError):  # what was not read when it ended
                process.stdin.close()
            process.kill()
            process.wait()

    def end(self) -> None:
        """Ends the process, if there is one."""
        with self._lock:
            self._asked = None
            self._drop()


BUILDER = Builder()
"""That of this process: all explorers share one."""


# -- the process -------------------------------------------------------------------------------------------------------


def main(lines: TextIO) -> None:
    """Builds what the lines ask for, always the last one that has come."""
    if hasattr(os, "nice"):
        os.nice(19)
    asked: queue.SimpleQueue[str | None] = queue.SimpleQueue()
    threading.Thread(target=_read, args=(lines, asked), daemon=True).start()
    for _ in range(MOST):
        try:
            line = asked.get(timeout=REST)
        except queue.Empty:
            return
        while not asked.empty():
            line = asked.get()
        if line is None:
            return
        given = json.loads(line)
        if given is not None:
            name, values = given
            request = Request(library_subjects.named(name), tuple((n, x) for n, x in values), "cpu")
            with contextlib.suppress(PtxlabError):  # a setting that does not fit: whoever asks for it is told
                _build(request, asked)


def _build(request: Request, asked: queue.SimpleQueue[str | None]) -> None:
    """Runs a setting and records its softmax, which leaves the machine code of both in the cache, as long as nothing
    else is asked for."""
    version = explorer_views.begun(request)
    if asked.empty():
        ran = explorer_views.run(version, request)
        if asked.empty():
            explorer_views.state(version, request, ran)


def _read(lines: TextIO, asked: queue.SimpleQueue[str | None]) -> None:
    """Queues lines; None at their end, when whoever writes them is gone."""
    for line in lines:
        asked.put(line)
    asked.put(None)


if __name__ == "__main__":
    main(sys.stdin)
