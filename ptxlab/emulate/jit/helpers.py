"""The parts of compiled code that are the same for every program: the `.ll` files, with their constants."""

from __future__ import annotations

import functools
from importlib import resources
from typing import Any

from ptxlab.emulate.jit import state as S
from ptxlab.emulate.jit.fields import Filled, Placeholders, offset
from ptxlab.emulate.runtime import memory
from ptxlab.emulate.runtime.state import Allocation, Context, Cta, MemoryMap, Site, Warp

_RECORDS = {record.__name__: record for record in (Allocation, Context, Cta, MemoryMap, Site, Warp)}


@functools.cache
def _template(name: str) -> Filled:
    return Filled(resources.files("ptxlab.emulate.jit").joinpath(name).read_text("utf-8"))


@functools.cache
def _constants() -> dict[str, Any]:
    """The numbers of `ptxlab.emulate.jit.state`, and the windows of generic addresses."""
    numbers = {name: value for name, value in vars(S).items() if name.isupper() and isinstance(value, int)}
    return numbers | {name: _offset(path) for name, path in _FIELDS.items()} | {
        "SHARED_WINDOW": memory.SHARED_WINDOW, "LOCAL_WINDOW": memory.LOCAL_WINDOW,
        "PARAM_WINDOW": memory.PARAM_WINDOW, "WINDOW_SIZE": memory.WINDOW_SIZE, "POISON": memory.POISON - 256,
    }  # fmt: skip


_FIELDS = {
    "BAR": "Warp.bar", "CHECK": "Context.check", "CHECKS": "Cta.checks", "FIRST_LIVE": "Warp.first_live",
    "INIT_SHARED": "Cta.init_shared", "LINEAR": "Cta.linear", "LIVE": "Warp.live", "MEETING": "Warp.meeting",
    "PENDING_SHARED": "Cta.pending_shared", "RACE": "Context.found.accesses",
    "RACE_OFFSET": "Context.found.at", "RACE_SHARED": "Cta.race_shared", "RACE_STRIDE": "Context.found.stride",
    "RACE_SHARED_STRIDE": "Cta.race_shared_stride", "SHADOW": "Context.found.written", "SHARED": "Cta.shared",
    "SHARED_SIZE": "Cta.shared_size",
    "WAIT": "Warp.wait", "WARPS": "Context.warps", "WARP_ID": "Warp.warp_id",
}  # fmt: skip
"""Short names of fields in the `.ll` files of checks, copies and mbarriers."""


def _offset(path: str) -> int:
    record, _, field = path.partition(".")
    return offset(_RECORDS[record], field)


def fill(name: str, **values: object) -> str:
    """The text of an `.ll` file beside this one, its names in braces filled in; see `Filled`."""
    return _template(name).substitute(Placeholders(_RECORDS, _constants() | values))
