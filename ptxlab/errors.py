"""Every error ptxlab raises, and the one format they are shown in: where, what, and the line to write instead."""

from __future__ import annotations

import contextlib
import importlib
import linecache
import os
import sys
import warnings
from collections.abc import Iterator, Sequence
from types import FrameType
from typing import Any, NamedTuple

_PACKAGE = os.path.dirname(os.path.abspath(__file__)) + os.sep


class Span(NamedTuple):
    """A stretch of source: 1-based lines, 0-based columns, as `code.co_positions()` gives them.

    string: of a text that was compiled from a string, the Python file and line where this line of it is. inlined:
    what it calls and the compiler has inlined, down to the instruction's own line; callers: where it is inlined itself,
    out to the kernel. text: the source there, where it is in no file.
    """

    file: str
    line: int
    column: int
    end_line: int
    end_column: int
    string: tuple[str, int] | None = None
    inlined: tuple[Span, ...] = ()
    callers: tuple[Span, ...] = ()
    text: str = ""

    @property
    def place(self) -> tuple[str, int]:
        """The file that an editor opens, and the line."""
        return self.string or (self.file, self.line)

    def __str__(self) -> str:
        file, line = self.place
        return f"{shown_file(file)}:{line}" + (f" ({self.file}:{self.line})" if self.string is not None else "")

    @property
    def source(self) -> str:
        """The source itself, all of its lines; "" where it is not known."""
        return self.text or "".join(linecache.getlines(self.file)[self.line - 1 : self.end_line]).rstrip("\n")

    @property
    def line_text(self) -> str:
        """The first line of the source; "" where it is not known."""
        return self.source.partition("\n")[0].strip()

    def headline(self) -> str:
        """The place as an editor opens it, and its first line: `kernel.cu:5: y[i] = x[i];`."""
        file, line = self.place
        stands = self.line_text and self.line_text in linecache.getline(file, line)  # else it is compiled there
        place = f"{shown_file(file)}:{line}" if stands else str(self)
        return f"{place}: {self.line_text}".removesuffix(": ")

    def steps(self) -> list[tuple[str, Span]]:
        """This place, after "", then how each call that was inlined has to do with it, in words, and where that is."""
        inlined = (("which calls", each) for each in self.inlined)
        return [("", self), *inlined, *(("called from", each) for each in self.callers)]

    def to_dict(self) -> dict[str, Any]:
        """The fields by their names, for a JSON file."""
        inner = {name: [each.to_dict() for each in getattr(self, name)] for name in ("inlined", "callers")}
        return self._asdict() | inner

    def told(self) -> list[str]:
        """The place as text, and a line for each call that was inlined."""
        return [f"{how} {span}".lstrip() for how, span in self.steps()]


def place_in_words(line: int, span: Span | None) -> str:
    """A line of PTX as a message names it in a sentence, the user's own line first: `kernel.cu:5, PTX line 40`."""
    return f"line {line}" if span is None else f"{span}, PTX line {line}"


def told_from(span: Span | None, front: str) -> list[str]:
    """The lines of a message that say where an instruction comes from, with what is there; front: what comes
    before the first."""
    steps = [] if span is None else zip(span.told(), span.steps(), strict=True)
    told = [f"{place}: {each.line_text}".removesuffix(": ") for place, (_, each) in steps]
    return [f"{front if k == 0 else ' ' * len(front)}{each}" for k, each in enumerate(told)]


def calling_frame(*between: str) -> FrameType:
    """The first frame outside of ptxlab that leads here, of a magic that of its cell, or the outermost one. between:
    other folders whose functions are not meant."""
    frame, passed = sys._getframe(), (_PACKAGE, *between)
    while frame.f_back is not None and (
        (file := frame.f_code.co_filename).startswith(passed) or f"{os.sep}IPython{os.sep}" in file
    ):
        frame = frame.f_back
    return frame


def warn(text: str, category: type[Warning] = UserWarning, *between: str) -> None:
    """Warns at the line of `calling_frame`, with the file's name as tracebacks have it."""
    frame = calling_frame(*between)
    file, registry = frame.f_code.co_filename, frame.f_globals.setdefault("__warningregistry__", {})
    module = frame.f_globals.get("__name__")
    named = file if os.path.exists(file) else shown_file(file)
    warnings.warn_explicit(text, category, named, frame.f_lineno, module, registry)


def shown_file(file: str) -> str:
    """A file's name as a reader knows it: from the working folder if it lies in there; the code of a notebook cell is
    `In[5]`, not a temporary file."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    named = shell.compile.format_code_name(file) if shell is not None else None
    if named:
        return str(named[1])
    whole = os.path.abspath(file)
    return os.path.relpath(whole) if whole.startswith(os.getcwd() + os.sep) else file


LINE = 1000
"""Characters of a line of PTX that a message shows: machines write lines of megabytes."""


class PtxlabError(Exception):
    """The base of all errors that ptxlab raises on purpose."""


class PtxError(PtxlabError):
    """An error at a place in PTX text, shown with the line, a caret, what is wrong and what to write.

    `line` and `column` are 1-based (0 where unknown), `length` is how many characters the caret underlines,
    `source` is the text of the line, `syntax` the manual's syntax, `hint` the line to write instead, `span` the
    Python expression that emitted the line (builder kernels only).
    """

    severity = ""

    def __init__(
        self,
        message: str,
        *,
        line: int = 0,
        column: int = 0,
        length: int = 1,
        source: str = "",
        file: str = "<ptx>",
        syntax: str = "",
        hint: str = "",
        span: Span | None = None,
    ) -> None:
        self.message, self.hint = message, hint
        self.line, self.column, self.length = line, column, length
        self.source, self.file, self.syntax, self.span = source, file, syntax, span
        super().__init__(message)

    def __str__(self) -> str:
        return self.render()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.render()!r})"

    def render(self) -> str:
        """The whole message: place, caret, syntax, hint and the builder's Python line."""
        place = f"{self.file}:{self.line}:{self.column}" if self.column else f"{self.file}:{self.line}"
        out = [f"{place}: {self.severity}{self.message}" if self.line else self.message]
        if self.source:
            text = self.source.expandtabs(1)
            first = max(0, self.column - LINE // 2) if len(text) > LINE else 0
            out.append("    " + text[first : first + LINE])
            if self.column:
                out.append("    " + " " * (self.column - 1 - first) + "^" + "~" * min(LINE, max(0, self.length - 1)))
        if self.syntax:
            out.append(f"  syntax: {self.syntax}")
        if self.hint:
            out.append(f"  write:  {self.hint}")
        out += told_from(self.span, "  from:   ")
        return "\n".join(out)


class PtxWarning(PtxError):
    """Right PTX that is hardly meant (`ptxlab.text.lint`): shown beside the code, never raised. `rule` is the name by
    which a comment turns it off, `reason` what is usually wrong."""

    severity = "warning: "

    def __init__(self, message: str, *, rule: str, reason: str, **place: Any) -> None:
        super().__init__(message, **place)
        self.rule, self.reason = rule, reason

    def render(self) -> str:
        """The message as an error has it, the reason, and the comment that turns the rule off."""
        return f"{super().render()}\n  reason: {self.reason}\n  off:    {self.off}"

    @property
    def off(self) -> str:
        """The comment that turns the rule off on a line."""
        c = self.span is None or self.span.file.endswith((".cu", ".cuh", ".h", ".hpp", ".cpp"))
        return f"{'//' if c else '#'} ptxlab: ignore[{self.rule}]"

    def to_dict(self) -> dict[str, Any]:
        """What a JSON file can hold, under the names of a finding."""
        first = {"line": self.line, "source": self.source, "span": self.span and self.span.to_dict()}
        return {"check": "lint", "kind": self.rule, "message": self.message, "first": first, "write": self.hint}


class PtxSyntaxError(PtxError):
    """The text is not PTX."""


class UnsupportedInstruction(PtxError):
    """The emulator does not execute this form; it is refused when the kernel is loaded, never skipped."""

    @staticmethod
    def says(opcode: str, target: str) -> str:
        """What is said of a form, in a text for a target."""
        where = f'a GPU of {target} does: device="gpu". pl.assemble(ptx) judges its operands'
        return f"the emulator does not execute {opcode} yet; {where}"


class AssemblyError(PtxError):
    """NVIDIA's assembler refused the text; `log` holds its own words, `others` the errors after this first one."""

    def __init__(self, message: str, *, log: str = "", others: tuple[AssemblyError, ...] = (), **place: object) -> None:
        self.log, self.others = log, others
        super().__init__(message, **place)  # type: ignore[arg-type]

    @property
    def errors(self) -> tuple[AssemblyError, ...]:
        """Every error that the assembler reported, this one first."""
        return (self, *self.others)

    def render(self) -> str:
        """The whole message: this error, then the others in the order of the assembler."""
        return "\n".join([super().render(), *(other.render() for other in self.others)])


def optional(module: str, what: str, package: str = "") -> Any:
    """A module that not everybody has; `UnavailableError`, in one line, where it is missing. what: who wants it, as in
    "pl.tune needs Optuna". package: what pip installs for it, by default that of its name."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or module.partition(".")[0] != error.name.partition(".")[0]:
            raise
        raise UnavailableError(f"{what}: pip install {package or module.partition('.')[0]}") from None


class CompileError(PtxlabError):
    """The compiler of CUDA C++ or Triton refused a kernel; the message is in its own words, with line and caret.

    `line` is the 1-based line of the first complaint in `file` (0 where unknown), `source` that line's text, `column`
    and `length` the place in it (0 where unknown), `hint` what to do about it, `log` all that the compiler said.
    `span` is the Python that the line is written in, where that is a string.
    """

    span: Span | None = None

    def __init__(
        self,
        message: str,
        *,
        line: int = 0,
        source: str = "",
        file: str = "",
        hint: str = "",
        log: str = "",
        column: int = 0,
        length: int = 0,
    ) -> None:
        self.message, self.line, self.source, self.file, self.hint, self.log = message, line, source, file, hint, log
        self.column, self.length = column, length
        super().__init__(message)

    def __str__(self) -> str:
        hint = [f"  hint:   {self.hint}"] if self.hint else []
        place = [f"  from:   {self.span}"] if self.span is not None else []
        return "\n".join([self.message, *place, *hint])


class BuildError(PtxlabError):
    """The Python that writes a kernel made a mistake that would have been a silent bug."""


class LaunchError(PtxlabError, ValueError):
    """The arguments of a launch do not fit the kernel; the message names the parameter and what it wants."""


class TargetError(PtxlabError, ValueError):
    """A configuration exceeds what the target can hold; the message names the limit."""


class UnavailableError(PtxlabError, RuntimeError):
    """Something optional is missing here (a GPU, an NVIDIA wheel); the message says what to install."""


class TraceError(PtxlabError, ValueError):
    """A file is not a trace, or not one that this version reads, or is cut off or damaged; the message says which."""


class DeviceFault(PtxlabError, RuntimeError):
    """A kernel was stopped: memcheck, budget, deadlock, trap, assert or a fault of the real GPU.

    `kind` is one of "memcheck", "budget", "deadlock", "trap", "assert", "gpu"; `block` and `thread`
    are (x, y, z) or None; `line` is the 1-based PTX line; `address` the device address where there is one. `messages`
    are what the kernel's threads had printed with `printf` before (see `ptxlab.emulate.program.printf`), `trace` the
    steps until then, where they were recorded, and `findings` the fault itself and what the checks had noticed. Of a
    budget that is spent `warps` says where each warp was.
    """

    messages: Sequence[Any] = ()
    findings: Sequence[Any] = ()
    trace: Any = None
    warps: Sequence[WarpPosition] = ()

    def __init__(
        self,
        kind: str,
        message: str,
        *,
        kernel: str = "",
        block: tuple[int, int, int] | None = None,
        thread: tuple[int, int, int] | None = None,
        line: int = 0,
        source: str = "",
        address: int | None = None,
        span: Span | None = None,
        hint: str = "",
    ) -> None:
        self.kind, self.message, self.kernel, self.block, self.thread = kind, message, kernel, block, thread
        self.line, self.source, self.address, self.span, self.hint = line, source, address, span, hint
        super().__init__(self.render())

    def render(self) -> str:
        """The whole message: what happened, block and thread, PTX line, builder line, hint, earlier findings."""
        out = [f"{self.kind}: {self.message}"]
        if self.block is not None and self.thread is not None:
            out.append(f"  at:     block {_xyz(self.block)}, thread {_xyz(self.thread)}")
        if self.line:
            name = f"{self.kernel}, " if self.kernel else ""
            out.append(f"  ptx:    {name}line {self.line}: {self.source.strip()}")
        out += told_from(self.span, "  from:   ")
        if self.hint:
            out.append(f"  hint:   {self.hint}")
        if before := [each for each in self.findings[1:] if each.kind != "mbarrier wait"]:  # that is the deadlock
            count = f"{len(before)} findings, the first of them" if len(before) > 1 else "1 finding"
            out += [f"  before: {count}", *(f"    {line}" for line in str(before[0]).splitlines())]
        return "\n".join(out)

    def __str__(self) -> str:
        return self.render()


class Loop(NamedTuple):
    """A loop: its first and its last PTX line, and whether anything in it leads out: a branch, a call, an exit."""

    first: int
    last: int
    leaves: bool


class WarpPosition(NamedTuple):
    """Lanes of a warp, and where they were when their launch was stopped.

    block: (x, y, z). warp: its number in the block. lanes: those that have not exited and are at this place. line: the
    1-based PTX line that they execute next, or wait at; `source` is its text, `span` the Python that emitted it.
    waits_for: such as "barrier 0"; "" where they do not wait. loops: those around it, the innermost first.
    """

    block: tuple[int, int, int]
    warp: int
    lanes: tuple[int, ...]
    line: int
    source: str = ""
    span: Span | None = None
    waits_for: str = ""
    loops: tuple[Loop, ...] = ()


class LaunchKeyboardInterrupt(KeyboardInterrupt):
    """Ctrl-C, or a notebook's ■, has stopped a kernel on the emulator.

    `warps` says where each warp was, as the message does; `messages`, `findings` and `trace` are those of a
    `DeviceFault`. It is none, so that whatever goes on after a fault stops all the same.
    """

    messages: Sequence[Any] = ()
    findings: Sequence[Any] = ()
    trace: Any = None

    def __init__(self, message: str, *, kernel: str = "", warps: Sequence[WarpPosition] = ()) -> None:
        self.message, self.kernel, self.warps = message, kernel, warps
        super().__init__(message)


@contextlib.contextmanager
def stopped_while(doing: str) -> Iterator[None]:
    """Ctrl-C meanwhile says what was being done, unless it says so already."""
    try:
        yield
    except KeyboardInterrupt as stopped:
        if not getattr(stopped, "__notes__", ()) and not str(stopped):
            stopped.add_note(doing)
        raise


def _xyz(index: tuple[int, int, int]) -> str:
    return f"({index[0]}, {index[1]}, {index[2]})"
