"""The flat program of a kernel: lowered once, and cached while it is among the programs that were used last."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING

from ptxlab import forks
from ptxlab.emulate.program.program import Program
from ptxlab.garbage_collection import uncollected

if TYPE_CHECKING:
    from ptxlab.text.model import Module


def lower(
    module: Module,
    entry: str | None = None,
    arch: str | None = None,
    *,
    shared_gaps: bool = False,
    judged: bool = False,
    runs: bool = True,
) -> Program:
    """The flat program of one kernel of a module. `entry` may be left out when there is one kernel only. shared_gaps:
    with gaps between the arrays of shared memory, where the program does not depend on their places (see
    `kernel_lowering.spread`). judged: the text has run before. runs: False for
    a program that is only looked at, which may have what the emulator does not execute.

    This is the gate that every text passes before it runs: `PtxError` for the first mistake in it.
    Raises `UnsupportedInstruction` naming the line of a form that the emulator does not execute, `PtxError` for an
    undeclared register or label, `LaunchError` for an unknown kernel.
    """
    key = (id(module), entry, arch, shared_gaps, runs)
    with _lock:
        known = _recent.get(key)
        if known is not None:
            _recent.move_to_end(key)
            return known[1]
    if not judged:
        from ptxlab.text.validate import check

        check(module)
    program = _lowered(module, entry, arch, shared_gaps, runs)
    with _lock:
        _recent[key] = (module, program)  # the module is cached too, so that no other gets its id
        while len(_recent) > 32:
            _recent.popitem(last=False)
    return program


@uncollected
def _lowered(module: Module, entry: str | None, arch: str | None, shared_gaps: bool, runs: bool) -> Program:
    from ptxlab.emulate.program.kernel_lowering import KernelLowering, spread

    return spread(module, entry, arch) if shared_gaps else KernelLowering(module, entry, arch, runs=runs).program()


_lock = forks.lock()
_recent: OrderedDict[tuple[int, str | None, str | None, bool, bool], tuple[Module, Program]] = OrderedDict()
