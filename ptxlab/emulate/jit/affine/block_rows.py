"""How the threads of a warp lie in their block: what lanes add to the `%tid` of lane 0."""

from __future__ import annotations

from typing import NamedTuple

from ptxlab.targets import WARP as W


class Rows(NamedTuple):
    """How the threads of a warp lie in its block: `width` of them in a row along x, 0 where rows begin at other places
    in each warp. It is part of what a kernel is built for."""

    width: int = W

    @staticmethod
    def of(block: tuple[int, int, int]) -> Rows:
        """Of a block of these dimensions."""
        x, y, z = block
        if x % W == 0 or y == z == 1:
            return Rows(W)
        divides = W % x == 0 and (z == 1 or y % (W // x) == 0)
        return Rows(x if divides else 0)

    def steps(self, axis: str) -> list[int] | None:
        """What the lanes of a warp add to the `%tid` of lane 0 along an axis."""
        if not self.width:
            return None
        return {
            "x": [k % self.width for k in range(W)],
            "y": [k // self.width for k in range(W)],
            "z": [0] * W,
        }[axis]

    def zeros(self, axis: str) -> int:
        """How many low bits of the `%tid` of lane 0 along an axis are 0 in every warp."""
        from ptxlab.emulate.jit.affine.forms import low_zeros

        return {"x": low_zeros(W), "y": low_zeros(W // self.width) if self.width else 0, "z": 0}[axis]
