"""Every error ptxlab raises, and the one format they are shown in: where, what, and the line to write instead."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple


class Span(NamedTuple):
    """A stretch of Python source: 1-based lines, 0-based columns, as `code.co_positions()` gives them."""

    file: str
    line: int
    column: int
    end_line: int
    end_column: int

    def __str__(self) -> str:
        return f"{shown_file(self.file)}:{self.line}"


def shown_file(file: str) -> str:
    """A file's name as a reader knows it: the code of a notebook cell is `In[5]`, not a temporary file."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    named = shell.compile.format_code_name(file) if shell is not None else None
    return named[1] if named else file


LINE = 1000
"""Characters of a line of PTX that a message shows: machines write lines of megabytes."""


class PtxlabError(Exception):
    """The base of all errors that ptxlab raises on purpose."""


class PtxError(PtxlabError):
    """An error at a place in PTX text, shown with the line, a caret, what is wrong and what to write.

    `line` and `column` are 1-based (0 where unknown), `length` is how many characters the caret underlines,
    `source` is the text of the line, `syntax` the manual's syntax, `hint` the line to write instead, `span` the
    Python expression that emitted the line (builder kernels only). `message` and `hint` may be given as functions that
    are called when somebody reads them: looking for the word that was meant is slow, and of many errors few are shown.
    `later` leaves all but the line until then.
    """

    def __init__(
        self,
        message: str | Callable[[], str],
        *,
        line: int = 0,
        column: int = 0,
        length: int = 1,
        source: str = "",
        file: str = "<ptx>",
        syntax: str = "",
        hint: str | Callable[[], str] = "",
        span: Span | None = None,
    ) -> None:
        self._message, self._hint = message, hint
        self.line, self.column, self.length = line, column, length
        self.source, self.file, self.syntax, self.span = source, file, syntax, span
        super().__init__()

    @classmethod
    def later(cls, line: int, made: Callable[[], PtxError]) -> PtxError:
        """The error that `made` gives when somebody reads more of it than its line."""
        error = cls.__new__(cls)
        error.__dict__.update(line=line, _made=made)
        return error

    if not TYPE_CHECKING:  # or no misspelt attribute would be noticed

        def __getattr__(self, name: str) -> Any:
            """What is not there yet."""
            made = self.__dict__.pop("_made", None)
            if made is None:
                raise AttributeError(f"{type(self).__name__} has no {name}", name=name, obj=self)
            self.__dict__.update(made().__dict__)
            return getattr(self, name)

    @property
    def message(self) -> str:
        """What is wrong."""
        if not isinstance(self._message, str):
            self._message = self._message()
        return self._message

    @property
    def hint(self) -> str:
        """The line to write instead; empty where none is known."""
        if not isinstance(self._hint, str):
            self._hint = self._hint()
        return self._hint

    def __str__(self) -> str:
        return self.render()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.render()!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        message, hint = self.message, self.hint  # functions cannot be pickled
        return type(self), (message,), {**self.__dict__, "_message": message, "_hint": hint}

    def render(self) -> str:
        """The whole message: place, caret, syntax, hint and the builder's Python line."""
        place = f"{self.file}:{self.line}:{self.column}" if self.column else f"{self.file}:{self.line}"
        out = [f"{place}: {self.message}" if self.line else self.message]
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
        if self.span is not None:
            out.append(f"  from:   {self.span}")
        return "\n".join(out)


class PtxSyntaxError(PtxError):
    """The text is not PTX."""


class UnsupportedInstruction(PtxError):
    """The CPU machine does not execute this form; it is refused when the kernel is loaded, never skipped."""


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


class CompileError(PtxlabError):
    """The compiler of CUDA C++ or Triton refused a kernel; the message is in its own words, with line and caret.

    `line` is the 1-based line of the first complaint in `file` (0 where unknown), `source` that line's text, `column`
    and `length` the place in it (0 where unknown), `hint` what to do about it, `log` all that the compiler said.
    """

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
        super().__init__(f"{message}\n  hint:   {hint}" if hint else message)


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

    `kind` is one of "memcheck", "budget", "deadlock", "trap", "assert", "interrupt", "gpu"; `block` and `thread`
    are (x, y, z) or None; `line` is the 1-based PTX line; `address` the device address where there is one. `messages`
    are what the kernel's threads had printed with `printf` before (see `ptxlab.emulate.program.printf`), `trace` the
    steps until then, where they were recorded, and `findings` the fault itself and what the checks had noticed.
    """

    messages: Sequence[Any] = ()
    findings: Sequence[Any] = ()
    trace: Any = None

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
        """The whole message: check, what happened, block and thread, PTX line, builder line, hint."""
        out = [f"{self.kind}: {self.message}"]
        if self.block is not None and self.thread is not None:
            out.append(f"  at:     block {_xyz(self.block)}, thread {_xyz(self.thread)}")
        if self.line:
            name = f"{self.kernel}, " if self.kernel else ""
            out.append(f"  ptx:    {name}line {self.line}: {self.source.strip()}")
        if self.span is not None:
            out.append(f"  from:   {self.span}")
        if self.hint:
            out.append(f"  hint:   {self.hint}")
        return "\n".join(out)


def _xyz(index: tuple[int, int, int]) -> str:
    return f"({index[0]}, {index[1]}, {index[2]})"
