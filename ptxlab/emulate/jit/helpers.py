"""The parts of compiled code that are the same for every program: the `.ll` files, with their constants."""

from __future__ import annotations

import functools
from importlib import resources
from string import Template

from ptxlab.emulate.jit import state as S
from ptxlab.emulate.program.model import Program
from ptxlab.emulate.runtime import memory


@functools.cache
def _template(name: str) -> Template:
    return Template(resources.files("ptxlab.emulate.jit").joinpath(name).read_text("utf-8"))


@functools.cache
def _constants() -> dict[str, int]:
    """The offsets and numbers of `ptxlab.emulate.jit.state`, and the windows of generic addresses."""
    fields = {name: value for name, value in vars(S).items() if name.isupper() and isinstance(value, int)}
    return fields | {
        "SHARED_WINDOW": memory.SHARED_WINDOW, "LOCAL_WINDOW": memory.LOCAL_WINDOW,
        "PARAM_WINDOW": memory.PARAM_WINDOW, "WINDOW_SIZE": memory.WINDOW_SIZE,
        "GRID_Y": S.GRID + 4, "CTAID_Y": S.CTAID + 4, "CTAID_Z": S.CTAID + 8, "POISON": memory.POISON - 256,
    }  # fmt: skip


def fill(name: str, **values: object) -> str:
    """The text of an `.ll` file beside this one, its names in braces filled in."""
    return _template(name).substitute(_constants(), **values)


def helpers(program: Program, sites: int) -> str:
    """The helper functions, for a program with so many access sites."""
    return fill(
        "helpers.ll", SHARED_START=program.shared_start, LOCAL_SIZE=program.local_size,
        SHARED_WINDOW_START=memory.SHARED_WINDOW + program.shared_start, LOCAL_STRIDE=S.local_stride(program),
        SITE_COUNT=sites,
    )  # fmt: skip


def grid(
    state_size: int, start_registers: list[tuple[int, int]], entry: int, *, checked: bool = False, traced: str = ""
) -> str:  # fmt: skip
    """`@grid(ctx)`, the loop over CTAs, for warps with so many bytes of state. `start_registers`: (offset, bytes) of
    registers that may be read before they are written; they start as zeros. entry: the program counter where warps
    start. checked: tells the checks of CTAs that start and of barriers that open. traced: code for the start of a warp
    (`%i`, `%i.ws`) of a block (`%n`)."""
    zeros = "\n".join(
        f"  %reg.{k} = getelementptr i8, ptr %i.ws, i64 {offset}\n"
        f"  call void @llvm.memset.p0.i64(ptr %reg.{k}, i8 0, i64 {size}, i1 false)"
        for k, (offset, size) in enumerate(start_registers)
    )
    started = "  call void @check.started(ptr %ctx, ptr %cta)" if checked else ""
    arguments = f"i64 {state_size}, i64 %b, i32 %came, i32 %alive, i1 %b.over"
    opened = f"  call void @check.opened(ptr %ctx, ptr %cta, ptr %states, {arguments})"
    return fill(
        "grid.ll",
        STATE_SIZE=state_size,
        ZERO_REGISTERS=zeros,
        ENTRY=entry,
        STARTED=started,
        OPENED=opened if checked else "",
        TRACED=traced,
    )
