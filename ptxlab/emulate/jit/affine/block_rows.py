"""How the threads of a warp lie in their block: what lanes add to the `%tid` of lane 0."""

from __future__ import annotations

from typing import NamedTuple

from ptxlab.targets import WARP as W


class Rows(NamedTuple):
    """How the threads of a warp lie in its block: `width` of them in a row along x, 0 where rows begin at other places
    in each warp. A kernel is built for each width."""

    width: int = W

    @staticmethod
    def of(block: tuple[int, int, int]) -> Rows:
        x, y, z = block
        if x % W == 0 or y == z == 1:
            return Rows(W)
        if x * y * z < W:
            return Rows(x if z == 1 else 0)
        return Rows(x if W % x == 0 and (z == 1 or y % (W // x) == 0) else 0)

    def steps(self, axis: str) -> list[int] | None:
        """What the lanes of a warp add to the `%tid` of lane 0 along an axis."""
        if not self.width:
            return None
        return {"x": [k % self.width for k in range(W)], "y": [k // self.width for k in range(W)], "z": [0] * W}[axis]

    def zeros(self, axis: str) -> int:
        """How many low bits of the `%tid` of lane 0 along an axis are 0 in every warp."""
        multiple = {"x": W, "y": W // self.width if self.width else 1, "z": 1}[axis]
        return (multiple & -multiple).bit_length() - 1
