"""Child processes that answer one question after another; one that dies or hangs loses its question, not the others.

A GPU that stops a kernel drops the whole process, and an assembler may end it, so what is doubtful runs in children:

    with Workers([sys.executable, "-m", "benchmarks.gpu.conformance", "--worker"], count=8, limit=60) as workers:
        for question in questions:
            workers.put(question)
        for question, answer in workers:  # as they come; more may be put meanwhile
            if isinstance(answer, Died): ...

The child calls `serve(answer)`. An answer that holds `"last": true` says that the child cannot be used again.
"""

from __future__ import annotations

import json
import os
import queue
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from benchmarks.gpu.corpus import ROOT


@dataclass(frozen=True)
class Died:
    """A child that gave no answer: why, with the last line that it wrote."""

    why: str


def serve(answer: Callable[[Any], Any]) -> None:
    """The child's side: a question a line on the standard input, an answer a line on what was the standard output.

    What kernels and libraries print meanwhile goes to the standard error, so that no answer is broken up.
    """
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    for line in sys.stdin:
        answers.write(json.dumps(answer(json.loads(line))) + "\n")
        answers.flush()


def environment() -> dict[str, str]:
    """The environment of a child: it finds the same ptxlab, and writes at once."""
    paths = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    return os.environ | {"PYTHONPATH": os.pathsep.join(paths), "PYTHONUNBUFFERED": "1"}


def kill(process: subprocess.Popen[Any]) -> None:
    """Ends a child that was started in a session of its own, and what it started."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


class Worker:
    """One child, started when there is a question for it and again when it has died."""

    def __init__(self, command: Sequence[str], limit: float) -> None:
        self.command, self.limit = command, limit
        self.process: subprocess.Popen[bytes] | None = None
        self.said = tempfile.TemporaryFile()
        self.rest = b""

    def ask(self, question: Any) -> Any:
        """The answer, or `Died`."""
        if self.process is None:
            self.said.seek(0)
            self.said.truncate()
            self.rest = b""
            self.process = subprocess.Popen(
                self.command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self.said,
                cwd=ROOT,
                env=environment(),
                start_new_session=True,
            )
        assert self.process.stdin is not None
        try:
            self.process.stdin.write(json.dumps(question).encode() + b"\n")
            self.process.stdin.flush()
            line = self._line()
        except BrokenPipeError:
            line = b""
        except TimeoutError:
            self.close()
            return Died(f"no answer within {self.limit:g} s; it was ended")
        if not line:
            return Died(self._end())
        answer = json.loads(line)
        if isinstance(answer, dict) and answer.get("last"):
            self.close()
        return answer

    def _line(self) -> bytes:
        """The next line of the child, b"" when it has ended."""
        assert self.process is not None
        assert self.process.stdout is not None
        end = time.monotonic() + self.limit
        while b"\n" not in self.rest:
            left = end - time.monotonic()
            if left <= 0 or not select.select([self.process.stdout], [], [], left)[0]:
                raise TimeoutError
            part = os.read(self.process.stdout.fileno(), 1 << 16)
            if not part:
                return b""
            self.rest += part
        line, _, self.rest = self.rest.partition(b"\n")
        return line

    def _end(self) -> str:
        """How a child ended that did so by itself."""
        assert self.process is not None
        status = self.process.wait()
        self.said.seek(0)
        lines = self.said.read().decode(errors="replace").split("\n")
        last = next((line.strip() for line in reversed(lines) if line.strip()), "")
        self.close()
        how = signal.Signals(-status).name if status < 0 else f"status {status}"
        return f"it ended with {how}" + (f": {last[:300]}" if last else "")

    def close(self) -> None:
        """Ends the child."""
        if self.process is not None:
            for stream in (self.process.stdin, self.process.stdout):
                assert stream is not None
                try:
                    stream.close()
                except BrokenPipeError:
                    continue  # what it did not read any more
            kill(self.process)
            self.process = None


class Workers:
    """`count` children that answer what is `put`; iterating gives (question, answer) in the order of the answers."""

    def __init__(self, command: Sequence[str], *, count: int, limit: float) -> None:
        self._all = [Worker(command, limit) for _ in range(count)]
        self._idle: queue.SimpleQueue[Worker] = queue.SimpleQueue()
        for worker in self._all:
            self._idle.put(worker)
        self._threads = ThreadPoolExecutor(count)
        self._answers: queue.SimpleQueue[tuple[Any, Any]] = queue.SimpleQueue()
        self._open = 0

    def put(self, question: Any) -> None:
        """One more question, anything that JSON can hold."""
        self._open += 1
        self._threads.submit(self._ask, question)

    def _ask(self, question: Any) -> None:
        worker = self._idle.get()
        try:
            answer = worker.ask(question)
        except Exception as error:  # handed to the iteration, which raises it
            answer = error
        self._idle.put(worker)
        self._answers.put((question, answer))

    def __iter__(self) -> Iterator[tuple[Any, Any]]:
        while self._open:
            question, answer = self._answers.get()
            self._open -= 1
            if isinstance(answer, Exception):
                raise answer
            yield question, answer

    def __enter__(self) -> Workers:
        return self

    def __exit__(self, *_: object) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)
        for worker in self._all:
            if worker.process is not None:
                kill(worker.process)  # a thread that waits for it sees its end
        self._threads.shutdown()
        for worker in self._all:
            worker.close()
            worker.said.close()
