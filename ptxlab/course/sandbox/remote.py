"""An answer as its grader sees it: a kernel, a function or a value that lives in the answer's own process."""

from __future__ import annotations

import inspect
import time
from functools import cached_property
from typing import Any

from ptxlab.builder.tensor_map import TensorMapType
from ptxlab.builder.traced import Number, Table, Tracer
from ptxlab.course.sandbox.wire import Channel, Gone, Silence, WireError
from ptxlab.errors import PtxlabError, Span
from ptxlab.frontends.kernel import Param, Pointer
from ptxlab.text import Module, parse


class AnswerError(PtxlabError):
    """The answer's own process said what went wrong there; the message is in its words."""


class AnswerGone(PtxlabError):
    """The answer's process has ended, or did not answer in time."""


class Line:
    """Questions to the answer's process. ends: until when it has to reply; longest: seconds of one reply."""

    def __init__(self, channel: Channel, ends: float = float("inf"), longest: float = float("inf")) -> None:
        self.channel, self.ends, self.longest, self.alive = channel, ends, longest, True

    def ask(self, what: str, **given: Any) -> dict[str, Any]:
        """The reply to a question; `AnswerError` with what went wrong there, `AnswerGone` if there is none."""
        if not self.alive:
            raise AnswerGone("the answer's process has ended")
        try:
            self.channel.send({"ask": what, "with": given})
            reply = self.channel.receive(min(self.longest, max(0.0, self.ends - time.monotonic())))
        except Silence:
            self.alive = False
            raise AnswerGone("The time was up: your code did not end. Is there an endless loop in it?") from None
        except Gone:
            self.alive = False
            raise AnswerGone(
                "The process of your code ended while it ran: it left Python (os._exit, sys.exit in a thread, a crash) "
                "or used more memory or processor time than it may."
            ) from None
        except WireError as error:
            self.alive = False
            raise AnswerGone(str(error)) from None
        if "error" in reply:
            raise AnswerError(str(reply["error"])[:4000])
        return reply


class SentKernel:
    """A kernel that came as text: `.ptx`, `.module` with the lines that wrote it, `.name` and `.params`."""

    def __init__(self, sent: dict[str, Any]) -> None:
        self.ptx, self.name = str(sent["ptx"]), str(sent["name"])
        self.params = tuple(Param(str(name), _type(*kind)) for name, *kind in sent["params"])
        self.spans = {int(line): _span(*span) for line, *span in sent["spans"]}
        self.shared, self.block = int(sent["shared"]), int(sent["block"])
        self.trailing = tuple(sent["trailing"])

    @cached_property
    def module(self) -> Module:
        """The parsed text."""
        return parse(self.ptx, file=f"<{self.name or 'kernel'}>", spans=self.spans)


def _span(file: Any, line: Any, column: Any, end_line: Any, end_column: Any, string: Any) -> Span:
    place = None if string is None else (str(string[0]), int(string[1]))
    return Span(str(file), int(line), int(column), int(end_line), int(end_column), place)


def _type(points: Any, name: Any, box: Any, swizzle: Any) -> Any:
    """The type of a parameter: of a pointer, of a tensor that the kernel copies boxes of, or a PTX type."""
    if box:
        return TensorMapType(tuple(int(n) for n in box), int(swizzle))
    return Pointer(str(name)) if points else str(name)


class RemoteKernel:
    """A kernel function of the answer: built there when its text is asked for, or with Python parameters."""

    def __init__(self, line: Line, held: int) -> None:
        self._line, self._held = line, held

    def __call__(self, **python: Any) -> SentKernel:
        """The kernel, built with Python parameters."""
        reply = self._line.ask("build", held=self._held, python=python)
        try:
            return SentKernel(reply["kernel"])
        except PtxlabError:
            raise
        except (KeyError, TypeError, ValueError) as error:
            raise AnswerError(f"the answer is not a kernel: {type(error).__name__}: {error}") from None

    @cached_property
    def _built(self) -> SentKernel:
        return self()

    @property
    def ptx(self) -> str:
        """The text."""
        return self._built.ptx

    def __getattr__(self, name: str) -> Any:
        """All else that `SentKernel` has."""
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._built, name)


class RemoteFunction:
    """A Python function of the answer: called there, with data and for data, or traced there as a mod of attention."""

    def __init__(self, line: Line, held: int, name: str, takes: list[Any]) -> None:
        self._line, self._held, self.__name__ = line, held, name
        P = inspect.Parameter
        try:
            made = [P(each, getattr(P, kind), default=[*default, P.empty][0]) for each, kind, default in takes]
            self.__signature__ = inspect.Signature(made)
        except (AttributeError, TypeError, ValueError) as error:
            raise AnswerError(f"the answer is not a function: {type(error).__name__}: {error}") from None

    def __call__(self, *args: Any, **named: Any) -> Any:
        if args and isinstance(args[0], Number):
            return self._traced(args[0].tracer, "score" == args[0].node.op, named)
        return self._line.ask("call", held=self._held, args=list(args), named=named)["value"]

    def _traced(self, tracer: Tracer, score: bool, named: dict[str, Any]) -> Number:
        """What the function makes of symbolic numbers, node by node."""
        parameters = [
            [name, value.kind, value.ndim] if isinstance(value, Table) else [name, value.node.kind, 0]
            for name, value in named.items()
        ]
        reply = self._line.ask("trace", held=self._held, score=score, parameters=parameters)
        made: list[Any] = []
        for op, args, kind, value in reply["nodes"]:
            if op == "const" and not isinstance(value, int | float):
                raise AnswerError(f"a function of numbers has the constant {value!r}")
            made.append(tracer.node(op, tuple(made[arg] for arg in args), kind, value))
        tracer.indices |= {(made[load], n, made[index]): None for load, n, index in reply["indices"]}
        return Number(tracer, made[reply["root"]])


def answer_of(line: Line, exercise: str, name: str, setup: str = "") -> Any:
    """The answer to an exercise, as something that `ptxlab.course.feedback.judge` takes. `AnswerError` where there is
    none. setup: what a notebook has before the exercise, for Python files, which need not have it."""
    reply = line.ask("answer", exercise=exercise, answer=name, setup=setup)
    if "missing" in reply:
        raise AnswerError(str(reply["missing"]))
    if "kernel" in reply:
        return RemoteKernel(line, int(reply["kernel"]))
    if "function" in reply:
        return RemoteFunction(line, int(reply["function"]), str(reply.get("name") or name), reply["takes"])
    return reply.get("value")
