"""The `.ll` files: functions in LLVM IR, with placeholders for fields of records and numbers."""

from __future__ import annotations

import functools
from importlib import resources
from typing import Any

from ptxlab.emulate.jit.fields import Filled, Placeholders
from ptxlab.emulate.runtime import memory, state
from ptxlab.emulate.runtime.state import Context, Cta, Warp

_RECORDS = {record.__name__: record for record in (Context, Cta, Warp)}


@functools.cache
def _template(name: str) -> Filled:
    return Filled(resources.files("ptxlab.emulate.jit").joinpath(name).read_text("utf-8"))


@functools.cache
def _constants() -> dict[str, Any]:
    """The kinds of fault, and the windows of generic addresses."""
    numbers = {name: value for name, value in vars(state).items() if name.isupper() and isinstance(value, int)}
    windows = ("SHARED_WINDOW", "LOCAL_WINDOW", "PARAM_WINDOW", "WINDOW_SIZE")
    return numbers | {name: getattr(memory, name) for name in windows}


def fill(name: str, **values: object) -> str:
    """The text of an `.ll` file beside this one, its names in braces filled in; see `Filled`."""
    return _template(name).substitute(Placeholders(_RECORDS, _constants() | values))
