"""What all workers of a launch share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np

    from ptxlab.emulate.jit.running.memory_image import Image
    from ptxlab.emulate.jit.running.read_only import ReadOnly
    from ptxlab.emulate.jit.running.shadow_memory import Watched
    from ptxlab.emulate.language import Pointer
    from ptxlab.emulate.program.program import Program
    from ptxlab.emulate.runtime.report import Launch
    from ptxlab.emulate.runtime.state import MemoryMap


class LaunchState:
    """It is filled in by `Run`, before workers are made."""

    program: Program
    launch: Launch
    image: Image
    shared_size: int
    bulk: bool
    """Whether the kernel copies in bulk."""
    checks: Watched | None
    read_only: ReadOnly | None
    """The allocations of which racecheck keeps no records."""
    follow: Callable[[Any], None] | None
    """Takes the slots of each further cluster, for the checks of mbarriers."""
    chosen: tuple[Any, Any] | None
    """The blocks and the warps of which a trace is recorded."""
    functions: dict[str, int]
    """The addresses of functions that compiled rules call, by the context's fields that hold them."""
    pointers: list[Pointer[Any]]
    """To the next cluster, the word that stops the launch, the budget, and the parameters."""
    map: MemoryMap
    blocks: np.ndarray | None
    """The order in which blocks run, if there is a seed."""
    resident: int
    """The CTAs that a worker may have at once."""
    quantum: int
    workers_wanted: int
    context: np.ndarray | None
    """What the contexts of all workers begin with; None until the first worker is made."""
    stop: np.ndarray
    errors: list[BaseException]
    """What was raised where compiled code had called, for the caller's thread to raise."""
