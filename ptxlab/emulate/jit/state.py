"""How compiled code keeps registers behind a warp's state."""

from __future__ import annotations

from ptxlab.emulate.program.model import Program
from ptxlab.emulate.rules.warpgroup_products import Products
from ptxlab.emulate.rules.warpgroup_tiles import REGISTER
from ptxlab.emulate.runtime.state import (
    BAD_BARRIER,
    BAD_DESCRIPTOR,
    BAD_INDEX,
    BAD_MBARRIER,
    BUDGET_SPENT,
    CONVERGED,
    COPY_FROM,
    COPY_TO,
    DEADLOCK,
    DESCRIPTOR_B,
    DISAGREE,
    DIVERGED,
    DONE,
    FAULT,
    GROUP_FLAG,
    INCOMPLETE,
    LEFT_ALONE,
    NEEDS_SLOT,
    NEEDS_SLOW,
    NO_WARPGROUP,
    OUT_OF_MEMORY_RANGE,
    SPACES,
    STOPPED,
    SUSPENDED,
    TRAP,
    Allocation,
    Context,
    Cta,
    Executions,
    MemoryMap,
    Site,
    Warp,
)
from ptxlab.isa.actions import Action

__all__ = [
    "BAD_BARRIER",
    "BAD_DESCRIPTOR",
    "BAD_INDEX",
    "BAD_MBARRIER",
    "BUDGET_SPENT",
    "CONVERGED",
    "COPY_FROM",
    "COPY_TO",
    "DEADLOCK",
    "DESCRIPTOR_B",
    "DISAGREE",
    "DIVERGED",
    "DONE",
    "FAULT",
    "GROUP_FLAG",
    "INCOMPLETE",
    "LEFT_ALONE",
    "NEEDS_SLOT",
    "NEEDS_SLOW",
    "NO_WARPGROUP",
    "OUT_OF_MEMORY_RANGE",
    "SPACES",
    "STOPPED",
    "SUSPENDED",
    "TRAP",
    "Allocation",
    "Context",
    "Cta",
    "Executions",
    "MemoryMap",
    "RegisterFile",
    "Site",
    "Warp",
]

FRAGMENTS = (4 + 4 * 256 // 8) * REGISTER
"""Room for the fragments of one product: A, and B with up to 64 bytes along k and 256 columns."""

_BYTES = {"i1": 4, "i8": 1, "i16": 2, "i32": 4, "i64": 8, "f32": 4, "f64": 8}


class RegisterFile:
    """The offsets of each register in a warp's state: `vector[r]`, `scalar[r]` (0 where not uniform), and its size.
    Where the program has `wgmma`: those of the products in flight, and of the fragments of the one that is computed."""

    def __init__(self, program: Program, uniform: list[bool]) -> None:
        at = Warp.size
        self.vector, self.scalar = [], []
        for register in program.registers:
            self.vector.append(at)
            size = 4 if register.lane == "i1" else 32 * _BYTES[register.lane]
            at += -(-size // 64) * 64
        for register in program.registers:
            self.scalar.append(at if uniform[register.index] else 0)
            at += 8 if uniform[register.index] else 0
        self.products = self.fragments = 0
        if any(code.action is Action.WARPGROUP_PRODUCT for code in program.codes):
            self.products = -(-at // 64) * 64
            self.fragments = self.products + -(-Products.size // 128) * 128
            at = self.fragments + FRAGMENTS
        self.size = -(-at // 128) * 128
