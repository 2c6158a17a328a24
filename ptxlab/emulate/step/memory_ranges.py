"""Ranges of memory that addresses can lie in, as the interpreter sees them: bytes, and views of them by type."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ptxlab.emulate.rules.memcheck import fits


@dataclass(slots=True, eq=False, repr=False)
class Region:
    """A range of memory that addresses can lie in: `size` bytes from `base`; views of its bytes by type.

    `lane_offset` (int64, shape (32,)) is added in local memory to reach each lane's own. `flushes`: sums of f32 flush
    subnormal numbers there, as in global memory. `values`: what initcheck knows of it (`step.values`).
    """

    base: Any
    data: np.ndarray
    size: int
    name: str
    writable: bool = True
    written: np.ndarray | None = None
    lane_offset: np.ndarray | None = None
    flushes: bool = False
    values: Any = None
    views: dict[np.dtype[Any], np.ndarray] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        self.base = np.uint64(self.base)

    def view(self, dtype: np.dtype[Any]) -> np.ndarray:
        """The bytes as an array of a type, without a last element that would not be complete."""
        found = self.views.get(dtype)
        if found is None:
            whole = self.data.size // dtype.itemsize * dtype.itemsize
            found = self.views[dtype] = self.data[:whole].view(dtype)
        return found

    def holds(self, offset: np.ndarray, size: int) -> bool:
        """Whether accesses of `size` aligned bytes at all these offsets lie in it."""
        # The offsets are aligned if their bitwise or is. They fit if the highest does; an address below the base wraps
        # around to a huge offset. The bitwise or is at least the highest, so if it fits, all do.
        union = int(np.bitwise_or.reduce(offset))
        if union & (size - 1):
            return False
        return fits(union, size, self.size) or fits(int(np.maximum.reduce(offset)), size, self.size)

    def mark(self, index: np.ndarray, dtype: np.dtype[Any]) -> None:
        """Records that elements of this type were stored to."""
        if self.written is not None:
            if dtype.itemsize == 1:
                self.written[index] = 255
            else:
                for byte in range(dtype.itemsize):
                    self.written[index * dtype.itemsize + byte] = 255
