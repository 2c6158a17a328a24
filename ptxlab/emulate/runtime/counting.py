"""What both engines count: the fields of a tally, and which instructions are counted how."""

from __future__ import annotations

import numpy as np

from ptxlab.emulate.program.model import Code
from ptxlab.isa.actions import Action

FIELDS = (
    "warps", "threads",  # that executed the instruction, whether its guard held or not
    "on_warps", "on_threads",  # those of which at least one lane, and those whose own, guard held
    "divergent",  # executions of a branch after which the lanes did not all go the same way
    "global_requests", "global_sectors", "global_ideal", "global_bytes",
    "shared_requests", "shared_wavefronts", "shared_ideal", "shared_bytes",
    "local_requests", "local_bytes",
)  # fmt: skip
"""What is counted for each instruction of a program."""

TALLY = np.dtype([(name, np.int64) for name in FIELDS])
"""One element an instruction (`Program.codes`) is what both engines give to `ptxlab.emulate.runtime.counters`."""


NEEDED = {"global": "sectors", "shared": "wavefronts"}
"""What accesses to a space need, by its name in the fields."""


def moves_pairs(code: Code) -> bool:
    """Whether an access to shared memory is one whose groups may grow: an ordinary load."""
    return code.action is Action.LOAD


def is_branch(code: Code) -> bool:
    """Whether a warp may diverge here. The `ret` of a kernel ends its threads, and is none."""
    return code.properties.jumps and (code.action is not Action.RETURN or code.register >= 0)
