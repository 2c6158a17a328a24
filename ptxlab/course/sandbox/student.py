"""The process that an answer runs in: executes the cells that an exercise needs, and serves the grader's questions.

It is started by `examine`, gives away what it has no use for (`isolation`) before the first line of the submission
runs, and knows nothing of hidden cases or marks. Whatever it sends is only data to the grader.
"""

from __future__ import annotations

import ast
import ctypes.util
import inspect
import itertools
import linecache
import os
import socket
import subprocess
import sys
import threading
import traceback
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from ptxlab.builder.traced import Parameter, trace
from ptxlab.course.kernel_answers import is_kernel
from ptxlab.course.sandbox import attempts, isolation, namespaces, reaper, submission
from ptxlab.course.sandbox.wire import Channel, Gone, WireError
from ptxlab.errors import PtxlabError, Span
from ptxlab.text import Module

PREPARED = (
    "numpy.random",
    "ptxlab.builder",
    "ptxlab.course",
    "ptxlab.reference",
    "ptxlab.launch.run",
    "ptxlab.attention.prefill",
    "ptxlab.attention.decode",
    "ptxlab.kernels",
)


class Student:
    """The state of the process: the submission's files, what ran so far, and the answers that the grader holds."""

    def __init__(self, channel: Channel, files: list[tuple[str, bytes]]) -> None:
        self.channel = channel
        self.files: list[submission.Submission] = []
        self.python: list[bool] = []
        self.problems: list[str] = []
        self.spaces: list[dict[str, Any]] = []
        self.ran: list[set[int]] = []
        self.held: list[Any] = []
        for name, raw in files:
            try:
                self.files.append(submission.read(name, raw))
            except ValueError as error:
                self.problems.append(str(error))
                continue
            self.python.append(name.endswith(".py"))
            space = ModuleType("__main__").__dict__ | {"__builtins__": __builtins__}
            self.spaces.append(space)
            self.ran.append(set())

    # -- the grader's questions ----------------------------------------------------------------------------------------

    def serve(self) -> None:
        """Answers until the grader has no more questions."""
        while True:
            try:
                asked = self.channel.receive()
            except Gone:
                return
            try:
                reply = getattr(self, f"on_{asked['ask']}")(**asked["with"])
            except PtxlabError as error:
                reply = {"error": str(error)}
            except BaseException as error:
                reply = {"error": thrown(error)}
            try:
                self.channel.send(reply)
            except WireError as error:
                self.channel.send({"error": str(error)})

    def on_answer(self, exercise: str, answer: str, setup: str) -> dict[str, Any]:
        """Runs the cells that an exercise needs and says what its answer is: a kernel, a function or a value. A Python
        file has the names that `setup` binds, as a notebook has them, unless it binds them itself."""
        # A file that names the exercise comes first: others may bind a variable of that name by chance.
        for named, (at, file) in itertools.product((True, False), enumerate(self.files)):
            target = file.cell_of(exercise, answer, named=named)
            if target is not None:
                if self.python[at]:
                    given: dict[str, Any] = {}
                    exec(setup, given)
                    self.spaces[at].update({n: value for n, value in given.items() if n not in self.spaces[at]})
                self._run(at, target)
                if answer in self.spaces[at]:
                    return self._describe(self.spaces[at][answer])
                if any(use is not None and answer in use.binds for use in file.use):
                    return {"missing": f"The cell of {exercise} runs, but does not assign `{answer}`."}
                return {"missing": f"No cell assigns `{answer}`: is the cell of {exercise} gone?"}
        why = "; ".join(self.problems) or f"There is no cell for {exercise} in the submission."
        return {"missing": why}

    def on_call(self, held: int, args: list[Any], named: dict[str, Any]) -> dict[str, Any]:
        """Calls a function that the grader holds."""
        return {"value": self.held[held](*args, **named)}

    def on_trace(self, held: int, score: bool, parameters: list[list[Any]]) -> dict[str, Any]:
        """The graph of a function that changes attention, as data: nodes whose arguments are earlier ones."""
        given = tuple(Parameter(*each) for each in parameters)
        graph = trace(self.held[held] if score else None, None if score else self.held[held], given)
        root = graph.score or graph.mask
        assert root is not None
        at = {node: n for n, node in enumerate(graph.nodes)}
        nodes = [[node.op, [at[arg] for arg in node.args], node.kind, node.value] for node in graph.nodes]
        indices = [[at[load], n, at[index]] for load, n, index in graph.indices]
        return {"nodes": nodes, "root": at[root], "indices": indices}

    def on_build(self, held: int, python: dict[str, Any]) -> dict[str, Any]:
        """Builds a kernel that the grader holds, with Python parameters or as it is (none)."""
        answer = self.held[held]
        built = answer(**python) if python else answer
        return {"kernel": sent_kernel(built)}

    def on_probe(self, secret: str) -> dict[str, Any]:
        """Attempts what an answer must not do, before any submission runs: what of it could be done."""
        beside = os.path.join(os.path.dirname(secret), "written")
        attempts: dict[str, Callable[[], Any]] = {
            "reads": lambda: open(secret, "rb").close(),
            "writes": lambda: [open(path, "ab") for path in (beside, secret)],
            "processes": lambda: os.fork() or os._exit(0),
            "signals": lambda: os.kill(os.getpid(), 0),
            "network": socket.socket,
            "permissions": lambda: os.chmod(".", 0o700),
        }
        could = []
        for name, attempt in attempts.items():
            try:
                attempt()
            except OSError:
                continue
            could.append(name)
        with open("mine", "wb") as file:  # and what it must be able to do
            file.write(b"x")
        return {"could": could}

    # -- running cells -------------------------------------------------------------------------------------------------

    def _run(self, at: int, target: int) -> None:
        """Runs a cell and those that it needs; where that is not enough, all cells before it."""
        file = self.files[at]
        for cell in file.needed(target)[:-1]:
            self._quietly(at, cell)
        try:
            self._execute(at, target)
        except NameError:
            for cell in range(target):
                self._quietly(at, cell)
            self._execute(at, target)

    def _quietly(self, at: int, cell: int) -> None:
        """Runs a cell that another one needs; its mistakes show there."""
        if cell not in self.ran[at]:
            try:
                self._execute(at, cell)
            except Exception as error:
                print(thrown(error))

    def _execute(self, at: int, index: int) -> None:
        cell = self.files[at].cells[index]
        linecache.cache[cell.name] = (len(cell.source), None, cell.source.splitlines(keepends=True), cell.name)
        self.ran[at].add(index)
        tree = submission.without_checks(ast.parse(cell.source, cell.name))
        exec(compile(tree, cell.name, "exec"), self.spaces[at])

    def _describe(self, answer: Any) -> dict[str, Any]:
        if isinstance(answer, Module):
            return {"value": str(answer)}
        if is_kernel(answer):
            self.held.append(answer)
            return {"kernel": len(self.held) - 1}
        if callable(answer):
            self.held.append(answer)
            return {"function": len(self.held) - 1, "name": getattr(answer, "__name__", ""), "takes": takes(answer)}
        return {"value": None if answer is ... else answer}


def takes(function: Callable[..., Any]) -> list[list[Any]]:
    """The parameters of a function: name, kind, and in a list the default, as far as it is data."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # of a function in C
        return []
    found = []
    for p in parameters:
        default = p.default if isinstance(p.default, int | float | np.ndarray) else None
        found.append([p.name, p.kind.name, [] if p.default is p.empty else [default]])
    return found


def sent_kernel(kernel: Any) -> dict[str, Any]:
    """A kernel as data: its text, its parameters, and the lines of Python that wrote it."""
    spans = dict(getattr(kernel, "spans", {}) or {})
    params = []
    for p in getattr(kernel, "params", ()):
        element = getattr(p.type, "element", None)
        box, swizzle = getattr(p.type, "box", ()), getattr(p.type, "swizzle", 0)
        params.append(
            [p.name, element is not None, _type_name(p.type if element is None else element), [*box], swizzle]
        )
    return {
        "ptx": str(kernel.ptx),
        "name": str(getattr(kernel, "name", "") or ""),
        "params": params,
        "spans": [[line, *span[:6]] for line, span in spans.items()],
        "shared": int(getattr(kernel, "shared", 0) or 0),
        "trailing": list(getattr(kernel, "trailing", ())),
        "block": int(getattr(kernel, "block", 0) or 0),
    }


def _type_name(kind: Any) -> str:
    return str(getattr(kind, "ptx", None) or getattr(kind, "name", None) or kind)


def thrown(error: BaseException) -> str:
    """An exception in words, with the line of the submission that it went through last."""
    if isinstance(error, SyntaxError):
        return f"{type(error).__name__}: {error.msg}\n{error.filename}:{error.lineno}: {(error.text or '').strip()}"
    own = [f for f in traceback.extract_tb(error.__traceback__) if f.filename.startswith(("cell ", "part "))]
    where = f"\n{Span(own[-1].filename, own[-1].lineno or 0, 0, 0, 0)}: {own[-1].line}" if own else ""
    return f"{type(error).__name__}: {error}{where}"[:4000]


def show_uncaught() -> None:
    """Shows exceptions that nobody catches, as in a thread of the answer's, with the lines of the submission.

    Python itself would look for files named like its cells in each folder that it imports from, and the answer would
    stand there as one that tried to read them."""

    def show(told: Any) -> None:
        if told.exc_value is not None and not isinstance(told.exc_value, SystemExit):
            traceback.print_exception(told.exc_value)

    threading.excepthook = show
    sys.unraisablehook = show
    sys.excepthook = lambda kind, error, trace: traceback.print_exception(kind, error, trace)


def without_helpers() -> None:
    """Tells libraries at once that the programs which they ask while they are imported are not there. They can do
    without, and otherwise each answer with a plot in it would be noted as one that tries to start a process."""
    for name in ("_findSoname_ldconfig", "_findLib_gcc", "_findLib_ld"):  # ctypes.util.find_library
        setattr(ctypes.util, name, lambda name: None)
    ask = subprocess.check_output

    def asked(args: Any, **options: Any) -> Any:
        if isinstance(args, list) and args[:1] == ["fc-list"]:  # matplotlib, which looks for fonts by itself, too
            raise FileNotFoundError(2, "No such file or directory", "fc-list")
        return ask(args, **options)

    vars(subprocess)["check_output"] = asked


def enter(start: dict[str, Any]) -> Path:
    """Goes into the namespaces that the grader asked for, and their folder; the folder to work in."""
    own = Path(start["folder"])
    if start["way"] == "layers":
        return own
    if start["way"] == "namespaces":
        namespaces.enter([Path(p) for p in start["places"]], own)
    namespaces.own_folders([Path(p) for p in start["hidden"]], isolation.Limits(*start["limits"]).disk, start["user"])
    return namespaces.HOME


def main() -> None:
    """Reads what is asked for, confines this process, tells what is in force, and serves."""
    asked, replied, tells, handle = map(int, sys.argv[1:])
    says = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM, fileno=handle)
    reaper.name_this_process()
    channel = Channel(asked, replied)
    start = channel.receive()
    for name in PREPARED:
        __import__(name)
    np.random.seed(0)
    budgets: Any = sys.modules["ptxlab.launch.budgets"]
    budgets.default_budgets = budgets.BUDGETS
    without_helpers()
    show_uncaught()
    for name in ("check", "score", "solution"):  # the grader checks, not the answer
        setattr(sys.modules["ptxlab.course"], name, lambda *args, **options: None)
    try:
        folder = enter(start)
    except OSError as error:
        channel.send({"failed": error.strerror or str(error)})
        os._exit(1)
    os.chdir(folder)
    in_force = (
        []
        if start["way"] == "layers"
        else [f"a machine of its own: no other process, file or network ({start['way']})"]
    )
    in_force.append(isolation.limit(isolation.Limits(*start["limits"])))
    in_force += isolation.confine(folder, start["user"], [Path(p) for p in start["readable"]], says)
    for name, text in start["fonts"].items():
        Path(name).write_text(text, encoding="utf-8")
    says.close()
    named = any("refusals noted" in words for words in in_force)
    packages = [path for module in list(sys.modules.values()) for path in getattr(module, "__path__", ())]
    looked_into = map(os.path.realpath, (*sys.path, *packages))  # by imports
    allowed = [*start["readable"], *start["places"], *isolation.OWN]  # as they really are, and as they are mounted
    attempts.watch(tells, str(folder), allowed, looked_into, kernel=named)
    channel.send({"in force": [words for words in in_force if words]})
    sys.argv = ["notebook"]
    Student(channel, start["files"]).serve()
    sys.stdout.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
