"""Lines to write about an argument, in the words of the caller of `launch`, so that they can be pasted."""

from __future__ import annotations

import ast
import linecache
import re
import sys
from collections.abc import Iterable, Sequence
from contextvars import ContextVar
from types import FrameType
from typing import Any

import numpy as np

from ptxlab.launch.buffers import DeviceBuffer

_LAUNCH = "launch", "ptxlab.launch.run"
_PLACES = ast.Name | ast.Attribute | ast.Subscript
COMMAND: ContextVar[Sequence[str]] = ContextVar("COMMAND", default=())
"""The words of a command line, where the arguments of `launch` are made of these."""


def written(at: int, name: str) -> str:
    """The expression of the kernel's argument number `at`, from 0 on, in the call of `launch` that is running; of
    `pl.const(x)` that is `x`. Where there is no telling, as for `*args`, the parameter's name."""
    if at < len(words := COMMAND.get()):
        return f"np.load({words[at]!r})" if words[at].endswith(".npy") else words[at]
    call = _running()
    if call is None or any(isinstance(argument, ast.Starred) for argument in call.args) or at + 3 >= len(call.args):
        return name
    argument = call.args[at + 3]
    if isinstance(argument, ast.Call) and ast.unparse(argument.func).rpartition(".")[2] in ("const", "out"):
        argument = argument.args[0] if len(argument.args) == 1 else argument
    text = ast.unparse(argument)
    return text if isinstance(argument, _PLACES | ast.Call) else f"({text})"


def in_order(names: Iterable[object], *, sizes: bool = True) -> str:
    """The line to write that calls `launch` as the call that is running, with the names of the kernel's arguments;
    sizes: and with its grid and block. "" where no line of the user's own makes the call."""
    call = _running(own=True)
    if call is None:
        return ""
    first = [*map(ast.unparse, call.args[: 3 if sizes else 1])]
    first += ["kernel", "grid", "block"][len(first) :]
    first[0] = "kernel" if len(first[0]) > 30 or "*" in first[0] else first[0]
    given = [*first, *map(str, names), *(ast.unparse(option).lstrip() for option in call.keywords if option.arg)]
    return f"\n  write:  {ast.unparse(call.func)}({', '.join(given)})"


def _running(*, own: bool = False) -> ast.Call | None:
    """The call of `launch` that is running, as it is written; own: in a file that is not of this package."""
    frame: FrameType | None = sys._getframe(2)
    while frame is not None and (frame.f_code.co_name, frame.f_globals.get("__name__")) != _LAUNCH:
        frame = frame.f_back
    user = frame.f_back if frame is not None else None
    if frame is None or user is None or getattr(frame.f_locals.get("plan"), "adapt", None) is not None:
        return None
    return None if own and str(user.f_globals.get("__name__")).startswith("ptxlab.") else _call(user)


def _assignable(text: str) -> bool:
    """Whether an expression is a place: a name (in PTX, with `$`), an attribute or an element, not a call's result."""
    return isinstance(ast.parse(text.replace("$", "_"), mode="eval").body, _PLACES)


def in_copy(name: str, copy: str, *, back: bool) -> str:
    """The lines to write to give a kernel a copy of an array, and the results back."""
    line = f"  write:  c = {copy.format(name)}    # and give c to the kernel"
    return line + (
        f"\n          {name}[...] = c    # after the launch, for results" if back and _assignable(name) else ""
    )


def cast(name: str, dtype: str, value: Any) -> str:
    """The line that makes an argument an array of another type. name: how it is written, dtype: numpy's, value: the
    argument."""
    kind = f"np.{dtype}" if hasattr(np, dtype) else f"ml_dtypes.{dtype}"
    if COMMAND.get() and not name.startswith("np.load("):
        word = dtype.replace("uint", "u").replace("int", "s").replace("float", "f")
        return re.sub(r"\w+(?=\[)", word, name)
    if COMMAND.get():
        return f"np.save({name[8:-1]}, {name}.astype({kind}))"
    if isinstance(value, DeviceBuffer):
        write = f"pl.to_device({name}.copy_to_host().astype({kind}))"
    elif hasattr(value, "copy_"):
        write = f"{name}.to(torch.{dtype})"
    elif isinstance(getattr(value, "base", None), memoryview):  # of what has no astype: `bytearray`, `array.array`
        write = f"np.{'frombuffer' if value.dtype == np.uint8 else 'asarray'}({name}, {kind})"
    elif value.dtype.kind == "c" and dtype in ("float32", "float64"):  # two floats each
        parts = "" if value.real.dtype == dtype else f".astype(np.complex{2 * int(dtype[5:])})"
        write = f"{name}{parts}.view({kind})"
    else:
        write = f"{name}.astype({kind})"
    return f"{name} = {write}    # before the launch" if _assignable(name) else write


def as_whole(name: str, value: Any) -> str:
    """The line that makes a whole number of an argument."""
    return f"{int(value)}" if COMMAND.get() else f"int({name.strip('()')})"


def _call(user: FrameType) -> ast.Call | None:
    """The call that a frame is evaluating."""
    line, end_line, column, end_column = list(user.f_code.co_positions())[user.f_lasti // 2]
    if line is None or end_line is None or column is None or end_column is None:
        return None
    lines = [text.encode() for text in linecache.getlines(user.f_code.co_filename)[line - 1 : end_line]]
    if not lines:
        return None
    lines[-1] = lines[-1][:end_column]
    lines[0] = lines[0][column:]
    try:
        found = ast.parse(b"(" + b"".join(lines) + b")", mode="eval").body
    except SyntaxError:
        return None
    return found if isinstance(found, ast.Call) else None
