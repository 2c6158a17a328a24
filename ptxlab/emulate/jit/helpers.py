"""The parts of compiled code that are the same for every program: the `.ll` files, with their constants."""

from __future__ import annotations

import functools
from importlib import resources
from typing import Any

from ptxlab.emulate.jit import state as S
from ptxlab.emulate.jit.barrier_checks import opened, started
from ptxlab.emulate.jit.fields import Filled, Placeholders, offset
from ptxlab.emulate.jit.rulecode import call
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
    "PENDING_SHARED": "Cta.pending_shared", "PHASES": "Context.phases", "RACE": "Context.found.accesses",
    "RACE_OFFSET": "Context.found.at", "RACE_SHARED": "Cta.race_shared", "RACE_STRIDE": "Context.found.stride",
    "RACE_SHARED_STRIDE": "Cta.race_shared_stride", "SHADOW": "Context.found.written", "SHARED": "Cta.shared",
    "SHARED_SIZE": "Cta.shared_size", "SPINS": "Warp.spins", "SPIN_AT": "Warp.spin_at", "SPIN_CODE": "Warp.spin_code",
    "SPIN_FOR": "Warp.spin_for",
    "WAIT": "Warp.wait", "WARPS": "Context.warps", "WARP_ID": "Warp.warp_id",
}  # fmt: skip
"""Short names of fields in the `.ll` files of checks, copies and mbarriers."""


def _offset(path: str) -> int:
    record, _, field = path.partition(".")
    return offset(_RECORDS[record], field)


def fill(name: str, **values: object) -> str:
    """The text of an `.ll` file beside this one, its names in braces filled in; see `Filled`."""
    return _template(name).substitute(Placeholders(_RECORDS, _constants() | values))


def helpers() -> str:
    """The functions that all programs call."""
    return fill("helpers.ll")


def grid(state_size: int, start_registers: list[tuple[int, int]], *, checked: bool = False, traced: str = "") -> str:
    """`@grid(ctx)`, the loop over CTAs, for warps with so many bytes of state. `start_registers`: (offset, bytes) of
    registers that may be read before they are written; they start as zeros. checked: tells the checks of CTAs that
    start and of barriers that open. traced: code for the start of a warp (`%i`, `%i.ws`) of a block (`%n`)."""
    zeros = "\n".join(
        f"  %reg.{k} = getelementptr i8, ptr %i.ws, i64 {offset}\n"
        f"  call void @llvm.memset.p0.i64(ptr %reg.{k}, i8 0, i64 {size}, i1 false)"
        for k, (offset, size) in enumerate(start_registers)
    )
    opening = call(opened, "%ctx", "%cta", "%states", str(state_size), "%b", "%came", "%alive", "%b.over")
    return fill(
        "grid.ll",
        BARRIERS=4 * Cta.fields["bar_count"].bytes,
        AT_START=Warp.offset("first_live") - Warp.offset("wait"),
        STATE_SIZE=state_size,
        ZERO_REGISTERS=zeros,
        STARTED=f"  {call(started, '%cta')}" if checked else "",
        OPENED=f"  {opening}" if checked else "",
        TRACED=traced,
    )
