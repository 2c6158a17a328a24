"""One build of a kernel as numbers: tiles, warps and stages; `Config.auto` chooses them for a problem and a target."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ptxlab import targets
from ptxlab.build import Ptr, Register, u32

THREADS = 128
"""Threads a block of the one-thread-a-row kernels, and so query rows a block."""

BYTES = {"f64": 8, "f32": 4, "f16": 2, "bf16": 2}


@dataclass(frozen=True)
class Config:
    """The parameters of one build, complete and checked.

    A block has `warps` warps and computes `tile_q` query rows; it goes through the keys `tile_kv` at a time and has
    `stages` such tiles in shared memory. `kernel` and `why` say what `Config.auto` chose, and for which reasons.
    """

    head_dim: int
    causal: bool
    dtype: str
    arch: str
    tile_kv: int
    probes: bool = False
    tile_q: int = THREADS
    warps: int = THREADS // targets.WARP
    stages: int = 1
    kernel: str = field(default="", compare=False)
    why: tuple[str, ...] = field(default=(), compare=False, repr=False)

    @property
    def size(self) -> int:
        """Bytes of one element."""
        return BYTES[self.dtype]

    @property
    def threads(self) -> int:
        """Threads a block."""
        return self.warps * targets.WARP

    def types(self, real: type[Register[Any]]) -> dict[str, Any]:
        """What the type variables in a kernel's annotations stand for."""
        return {"Real": real, "Slots": Ptr[u32]} if self.probes else {"Real": real}
