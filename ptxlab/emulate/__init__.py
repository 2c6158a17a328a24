"""The emulator: PTX on the CPU. Two engines, one semantics: the interpreter `step` and the JIT `jit` (llvmlite)."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ptxlab import targets
from ptxlab.emulate.program.addresses import CONST_WINDOW, GIVEN_NAME, GRID_NAME, HEADER, HEAP_NAME, HeapPiece
from ptxlab.emulate.program.lowering_cache import lower
from ptxlab.emulate.program.program import Program
from ptxlab.emulate.runtime.memory import Allocation, Memory
from ptxlab.emulate.runtime.printf_output import assertion, hint_at_grid, messages
from ptxlab.emulate.runtime.report import SHUFFLED, Launch, Report
from ptxlab.errors import DeviceFault, LaunchError, LaunchKeyboardInterrupt, optional
from ptxlab.names import source_name
from ptxlab.targets import LOCAL_PER_THREAD

if TYPE_CHECKING:
    from ptxlab.emulate.trace.recorder import TraceRecorder
    from ptxlab.text import Module

__all__ = ["Allocation", "Launch", "Memory", "Program", "Report", "execute", "lower"]


def execute(
    kernel: Module | Program,
    entry: str | None = None,
    *,
    engine: str = "jit",
    grid: Sequence[int],
    block: Sequence[int],
    params: bytes,
    memory: Memory,
    shared: int = 0,
    arch: str | None = None,
    budget: int | None = None,
    workers: int | None = None,
    tier: str | None = None,
    seed: int | None = None,
    checks: Sequence[str] = ("memcheck",),
    counters: bool = False,
    trace: Any = None,
    cooperative: bool = False,
    cluster: Sequence[int] | None = None,
    registers: int = 0,
    objects: Mapping[str, Callable[[int], np.ndarray]] | None = None,
    variables: dict[str, Any] | None = None,
) -> Report:
    """Runs one kernel of a module, or one that has been lowered, to its end on the CPU.

    grid, block: blocks and threads in x, y, z. params: the kernel's parameter block, packed as `Program.params` says.
    shared: bytes of dynamic shared memory. budget: warp-instructions after which the launch is stopped. registers: of a
    thread on a GPU, 0 where they are not known; they count for the blocks that one holds at once. tier: "quick" or
    "optimized" code of the jit engine; None: first one, then the other (see `jit.building.build`). objects: what the
    `.texref` and `.surfref` variables of these names hold, by the address of each. variables: the bytes of variables of
    the module by name, for those that differ from the text; a launch that succeeds leaves there what it has made of all
    of them. trace: a `Trace`, or a recorder of your own (see `ptxlab.emulate.step.interpreter`). Raises
    `UnsupportedInstruction` when the kernel is loaded, `DeviceFault` when it is stopped, `LaunchKeyboardInterrupt` when
    that is by hand.
    """
    gaps = "initcheck" in checks
    program = kernel if isinstance(kernel, Program) else lower(kernel, entry, arch, shared_gaps=gaps)
    launch = Launch(
        grid=_three(grid),
        block=_three(block),
        params=params,
        shared=shared,
        budget=budget,
        workers=workers,
        tier=tier,
        seed=None if seed is None else int(seed),
        checks=tuple(checks),
        counters=counters,
        trace=trace,
        cooperative=cooperative,
        cluster=_cluster(program, _three(grid), cluster),
    )
    _check_block(program, launch)
    if program.may_wait or cooperative:
        target = targets.find(program.arch) or targets.get("sm_80")
        held = targets.resident_blocks(target, launch.threads, program.shared_static + shared, registers)
        launch = launch._replace(resident=held)
    _check_grid(program, launch)
    recorder: TraceRecorder | None = trace.recorder(program, launch) if hasattr(trace, "recorder") else None
    if recorder is not None:
        launch = launch._replace(trace=recorder)
    run = _engine(engine)
    placed, given, kept = [], dict(objects or {}), {} if variables is None else variables
    if not cooperative:
        given[GRID_NAME] = lambda address: np.zeros(8, np.uint8)
    for v in program.globals:
        data = given[v.name](v.address) if v.name in given else v.contents(kept.get(v.name))
        name = source_name(v.name, program.name)
        placed.append(memory.place(v.address, data, name, v.space, writable=v.space != "const"))
        if v.space == "const":
            memory.place(CONST_WINDOW + v.address, data, name, "const window", writable=False)
    try:
        report = _run(run, program, launch, memory)
        if recorder is not None:
            report.trace = recorder.finish()
        report.messages = messages(program, memory)
        if variables is not None:
            _keep(
                variables, {v.name: a.data for v, a in zip(program.globals, placed, strict=True) if v.name not in given}
            )
        return report
    except (DeviceFault, LaunchKeyboardInterrupt) as stopped:
        from ptxlab.emulate.rules.findings import as_finding

        found = stopped
        if isinstance(stopped, DeviceFault):
            found = assertion(program, memory, stopped)
            if not cooperative:
                hint_at_grid(program, found)
            found.findings = [as_finding(program, launch, found), *stopped.findings]
        found.messages = messages(program, memory)
        if recorder is not None:
            found.trace = recorder.finish()
        raise found from None
    except MemoryError as error:
        raise LaunchError(f"memory: the launch needs more than this machine has: {error}") from None
    finally:
        if recorder is not None:
            recorder.close()
        for allocation in placed:
            memory.remove(allocation)


def _keep(variables: dict[str, Any], left: Mapping[str, np.ndarray]) -> None:
    """Keeps what a launch has left for the next one: its variables, and the heap if something on it is not freed."""
    used = HEAP_NAME in left and left[HEAP_NAME][: HEADER.itemsize].any()
    if used and GIVEN_NAME in left:
        pieces = left[GIVEN_NAME].view(HeapPiece.dtype)
        used = ((pieces["bytes"] != 0) & (pieces["freed"] == 0)).any()
    for name, data in left.items():
        if name[0] != "%" or (used and name in (HEAP_NAME, GIVEN_NAME)):
            variables[name] = data
        else:
            variables.pop(name, None)


def _engine(name: str) -> Callable[[Program, Launch, Memory], Report]:
    """What runs a program; loaded when it is first needed."""
    if name == "step":
        from ptxlab.emulate.step.interpreter import run
    elif name == "jit":
        optional("llvmlite", "device='cpu' needs llvmlite, device='step' does not")
        from ptxlab.emulate.jit import run
    else:
        raise ValueError(f"engine is 'jit' or 'step', not {name!r}")
    return run


def _run(run: Callable[..., Report], program: Program, launch: Launch, memory: Memory) -> Report:
    """Runs a kernel; with all checks in two orders of its warps, if that may find more."""
    if launch.seed is not None or not {"initcheck", "racecheck", "synccheck"}.issubset(launch.checks):
        return run(program, launch, memory)
    from ptxlab.emulate.rules.other_order import in_both_orders

    return in_both_orders(run, program, launch, memory)


def _three(size: Sequence[int]) -> tuple[int, int, int]:
    x, y, z = (*size, 1, 1)[:3]
    return int(x), int(y), int(z)


MOST_BLOCKS = 16
"""Blocks of a cluster at most; beyond 8 a GPU takes them only from kernels that allow it."""


def _cluster(program: Program, grid: tuple[int, int, int], given: Sequence[int] | None) -> tuple[int, int, int] | None:
    """The size of the clusters of a launch: what is asked for, or what the kernel says itself."""
    wanted = program.cluster
    if given is None and not wanted:
        if program.explicit_cluster:
            words = f"{program.title} is to be launched with clusters (.explicitcluster), and none are given"
            raise LaunchError(f"cluster: {words}\n  write:  cluster=(2, 1, 1)")
        return None
    size = _three(wanted if given is None else given)
    if wanted and _three(wanted) != size:
        raise LaunchError(
            f"cluster: {program.title} requires exactly {_three(wanted)} (.reqnctapercluster), not {size}"
        )
    blocks = math.prod(size)
    if min(size) < 1 or blocks > MOST_BLOCKS:
        raise LaunchError(f"cluster: a cluster has 1 to {MOST_BLOCKS} blocks, not {size}")
    if program.most_rank and blocks > program.most_rank:
        words = f"takes at most {program.most_rank} blocks per cluster (.maxclusterrank), not {blocks}"
        raise LaunchError(f"cluster: {program.title} {words}")
    if any(n % s for n, s in zip(grid, size, strict=True)):
        raise LaunchError(f"cluster: the grid {grid} is not a multiple of the cluster {size}")
    return size


def _check_grid(program: Program, launch: Launch) -> None:
    """Raises `LaunchError` for a grid that cannot be resident at once, be shuffled, or end within its budget."""
    if launch.cooperative and launch.blocks > launch.resident:
        raise LaunchError(
            f"cooperative: all blocks have to be resident at once, and the largest GPU of {program.arch} holds "
            f"{launch.resident:,} of these; the grid has {launch.blocks:,}\n  write:  pl.launch(kernel, "
            f"{launch.resident}, ...)    # and a loop over the work of the other blocks"
        )
    if launch.seed is not None and launch.blocks > SHUFFLED:
        raise LaunchError(f"seed: at most {SHUFFLED:,} blocks are shuffled, the grid has {launch.blocks:,}")
    warps = launch.blocks * -(-launch.threads // 32)
    if launch.budget is not None and warps > launch.budget:  # each runs an instruction at least
        message = f"the launch has {warps:,} warps, which run more than its {launch.budget:,} warp-instructions"
        raise DeviceFault("budget", message, kernel=program.title, hint="launch fewer blocks, or give a larger budget=")


def _check_block(program: Program, launch: Launch) -> None:
    """Refuses a block that the kernel does not allow (.reqntid, .maxntid), and more local memory than CUDA allows."""
    if program.local_size > LOCAL_PER_THREAD:
        wants = f"{program.title} needs {program.local_size:,} bytes per thread"
        raise LaunchError(f"local memory: {wants}, a GPU has at most {LOCAL_PER_THREAD:,}")
    threads, limit = launch.threads, math.prod(program.most_threads)
    exact = _three(program.exact_threads or launch.block)
    if exact != launch.block:
        raise LaunchError(f"block: {program.title} requires exactly {exact} threads (.reqntid), not {launch.block}")
    if program.most_threads and threads > limit:
        words = f"takes at most {limit} threads per block (.maxntid), the launch has {threads}"
        raise LaunchError(f"block: {program.title} {words}")
